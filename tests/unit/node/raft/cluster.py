"""Replicas and a network the test rules over. The safety properties are checked after every event."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable

from gramme.node.raft.core import Raft
from gramme.node.raft.messages import (
    Configuration,
    Entry,
    EntryKind,
    HardState,
    InstallSnapshot,
    Message,
    ReplicaId,
)
from gramme.node.raft.ready import Role
from gramme.node.raft.settings import Settings
from tests.unit.node.raft.shell import Effects, Shell, Stored

# Far beyond what any of these tests needs; a test that reaches it has found a loop.
EVENTS_MAX = 20_000


def an_entry(term: int, index: int, data: bytes = b"") -> Entry:
    return Entry(term, index, EntryKind.NORMAL, data)


def log_of_terms(*terms: int) -> tuple[Entry, ...]:
    return tuple(an_entry(term, index) for index, term in enumerate(terms, start=1))


class Cluster:
    """`logs` gives a replica's log on disk by its terms; its term is then the last of these."""

    def __init__(
        self,
        voters: int = 3,
        *,
        learners: Iterable[int] = (),
        settings: Settings | None = None,
        logs: dict[int, tuple[int, ...]] | None = None,
        terms: dict[int, int] | None = None,
        draw: Callable[[int, int], int] | None = None,
    ) -> None:
        self.settings = settings or Settings()
        self.draw = draw or random.Random(1).randint
        self.configuration = Configuration(
            tuple(map(ReplicaId, range(1, voters + 1))), tuple(map(ReplicaId, learners))
        )
        self.shells: dict[int, Shell] = {}
        self.network: list[Message] = []
        self.cut: set[int] = set()
        self.lose: Callable[[Message], bool] = lambda message: False
        self.lost: list[Message] = []
        self._leaders: dict[int, int] = {}
        self._history: dict[int, tuple[int, int, bytes]] = {}
        for replica in (*self.configuration.voters, *self.configuration.learners):
            entries = log_of_terms(*(logs or {}).get(replica, ()))
            term = (terms or {}).get(replica, entries[-1].term if entries else 0)
            self.add(replica, Stored(HardState(term), self.configuration, entries=entries))

    def add(self, replica: int, stored: Stored | None = None) -> Shell:
        """Start a replica. Without `stored` it knows nothing, not even who is in the group."""
        if stored is None:
            stored = Stored(HardState(), Configuration(()))
        shell = Shell(ReplicaId(replica), stored, self.settings, self.draw)
        self.shells[replica] = shell
        return shell

    def __getitem__(self, replica: int) -> Raft:
        return self.shells[replica].raft

    @property
    def leader(self) -> Raft:
        """The one that leads in the highest term."""
        leaders = [s.raft for s in self.shells.values() if s.raft.role is Role.LEADER]
        return max(leaders, key=lambda raft: raft.term)

    # What happens

    def work(self, replica: int) -> None:
        self._send(self.shells[replica].work())

    def flush(self, replica: int) -> None:
        """Let all flushes of a replica finish."""
        shell = self.shells[replica]
        self.work(replica)
        while shell.flushes:
            self._send(shell.flush())
        self.check()

    def deliver(self, message: Message) -> None:
        shell = self.shells.get(message.to)
        if shell is not None:
            shell.raft.step(message)
            self.work(message.to)
        if isinstance(message, InstallSnapshot) and message.sender in self.shells:
            sender = self.shells[message.sender].raft
            sender.snapshot_sent(message.to, message.snapshot.index)
        self.check()

    def drop(self, message: Message) -> None:
        """Lose it. Who ships a snapshot notices."""
        self.lost.append(message)
        if isinstance(message, InstallSnapshot):
            self[message.sender].snapshot_failed(message.to)

    def settle(self) -> None:
        """Deliver and flush until nothing is left to do. Time stands still."""
        for _ in range(EVENTS_MAX):
            for replica in self.shells:
                self.work(replica)
            waiting = [replica for replica, shell in self.shells.items() if shell.flushes]
            if self.network:
                self.deliver(self.network.pop(0))
            elif waiting:
                for replica in waiting:
                    self.flush(replica)
            else:
                return
        raise AssertionError("the cluster does not come to rest")

    def tick(self, count: int = 1, *replicas: int) -> None:
        """Let time pass, all being settled after every tick."""
        for _ in range(count):
            for replica in replicas or tuple(self.shells):
                self[replica].tick()
            self.settle()

    def elect(self, replica: int) -> Raft:
        """Make it the leader, whatever the others think of their leader now."""
        for other in self.shells.values():
            for _ in range(self.settings.election_ticks - 1):
                if other.raft.role is not Role.LEADER:
                    other.raft.tick()
        for shell in self.shells.values():
            if shell.raft.role is Role.FOLLOWER and shell.replica not in self.cut:
                shell.raft._elapsed = self.settings.election_ticks
        self[replica].campaign()
        self.settle()
        assert self[replica].role is Role.LEADER
        return self[replica]

    def propose(self, *data: bytes) -> None:
        for each in data:
            self.leader.propose(each)
        self.settle()

    def crash(self, replica: int, kept: int = 0) -> None:
        self.shells[replica].crash(kept)
        arriving = [message for message in self.network if message.to == replica]
        self.network = [message for message in self.network if message.to != replica]
        for message in arriving:
            self.drop(message)
        self.check()

    def effects(self, replica: int) -> list[bytes]:
        """What was applied, empty entries aside."""
        return [data for _, _, data in self.shells[replica].disk.stored.effects if data]

    def _send(self, messages: list[Message]) -> None:
        for message in messages:
            if isinstance(message, InstallSnapshot):
                index, target = message.snapshot.index, self.shells.get(message.to)
                effects = self.shells[message.sender].disk.stored.effects
                image: Effects = tuple(effect for effect in effects if effect[0] <= index)
                if target is not None:
                    target.images[index] = image
            if {message.sender, message.to} & self.cut or self.lose(message):
                self.drop(message)
            else:
                self.network.append(message)

    # What must hold

    def check(self) -> None:
        for replica, shell in self.shells.items():
            raft = shell.raft
            if raft.role is Role.LEADER:
                assert self._leaders.setdefault(raft.term, replica) == replica
            for effect in shell.disk.stored.effects:
                assert self._history.setdefault(effect[0], effect) == effect
