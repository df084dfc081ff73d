"""Random runs of whole groups: crashes, lost and repeated messages, slow flushes, snapshots, changes of membership.

After every event the safety properties hold, and when the faults stop the group agrees and serves.
"""

from __future__ import annotations

import random
from contextlib import suppress

import pytest

from gramme.node.raft.configuration import Change, ChangeKind
from gramme.node.raft.messages import ReplicaId
from gramme.node.raft.ready import Role
from gramme.node.raft.refusals import Refused
from gramme.node.raft.settings import Settings
from tests.unit.node.raft.cluster import Cluster

STEPS = 3000
SETTINGS = Settings(
    append_bytes_max=80,
    in_flight_appends_max=3,
    in_flight_bytes_max=200,
    uncommitted_bytes_max=400,
    committed_bytes_max=100,
    cached_bytes_max=150,
)


class Run:
    """One run. Everything it draws comes from its seed."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.cluster = Cluster(3, learners=[4], settings=SETTINGS, draw=self.random.randint)
        self.cluster.add(5)
        self.proposed = 0
        # The commit index every read must see, by the read's context.
        self.reads: dict[int, int] = {}
        self.answered = 0
        self.actions = {
            self.tick: 8,
            self.deliver: 80,
            self.flush: 40,
            self.propose: 20,
            self.lose: 2,
            self.repeat: 4,
            self.crash: 0.5,
            self.cut: 0.5,
            self.heal: 3,
            self.compact: 3,
            self.change: 0.5,
            self.transfer: 0.5,
            self.read: 5,
        }

    def go(self) -> None:
        names, weights = list(self.actions), list(self.actions.values())
        for action in self.random.choices(names, weights, k=STEPS):
            action()
            for shell in self.cluster.shells.values():
                self.cluster.work(shell.replica)
            self.cluster.check()
            self.check_reads()

    def some(self) -> int:
        return self.random.choice(list(self.cluster.shells))

    def tick(self) -> None:
        for replica in self.cluster.shells:
            if self.random.random() < 0.9:
                self.cluster[replica].tick()

    def deliver(self) -> None:
        network = self.cluster.network
        for _ in range(3):
            if network:
                at = min(self.random.randrange(len(network)), self.random.randrange(len(network)))
                message = network.pop(at)
                if {message.to, message.sender} & self.cluster.cut:
                    self.cluster.drop(message)
                else:
                    self.cluster.deliver(message)

    def flush(self) -> None:
        shell = self.cluster.shells[self.some()]
        if shell.flushes:
            self.cluster._send(shell.flush())

    def propose(self) -> None:
        self.proposed += 1
        with suppress(Refused):
            self.cluster[self.some()].propose(b"%d" % self.proposed)

    def lose(self) -> None:
        if self.cluster.network:
            at = self.random.randrange(len(self.cluster.network))
            self.cluster.drop(self.cluster.network.pop(at))

    def repeat(self) -> None:
        if self.cluster.network:
            self.cluster.network.append(self.random.choice(self.cluster.network))

    def crash(self) -> None:
        replica = self.some()
        shell = self.cluster.shells[replica]
        shell.crash(self.random.randint(0, len(shell.flushes)))
        shell.read_states.clear()

    def cut(self) -> None:
        self.cluster.cut = {self.some()}

    def heal(self) -> None:
        self.cluster.cut = set()

    def compact(self) -> None:
        shell = self.cluster.shells[self.some()]
        stored = shell.disk.stored
        if stored.applied > stored.compacted[0] and stored.applied <= shell.durable.applied:
            shell.compact(self.random.randint(stored.compacted[0] + 1, stored.applied))

    def change(self) -> None:
        change = Change(self.random.choice(list(ChangeKind)), ReplicaId(self.random.randint(1, 5)))
        with suppress(Refused):
            self.cluster[self.some()].propose_configuration(change)

    def transfer(self) -> None:
        with suppress(Refused):
            self.cluster[self.some()].transfer(ReplicaId(self.some()))

    def read(self) -> None:
        context = len(self.reads)
        with suppress(Refused):
            self.cluster[self.some()].read(context)
            committed = max(shell.raft.log.committed for shell in self.cluster.shells.values())
            self.reads[context] = committed

    def check_reads(self) -> None:
        for shell in self.cluster.shells.values():
            for state in shell.read_states:
                assert state.index >= self.reads[state.context]
                self.answered += 1
            shell.read_states.clear()

    def recover(self) -> None:
        """No more faults: somebody leads, and every member has what it has."""
        self.cluster.cut = set()
        self.cluster.settle()
        self.cluster.tick(60)
        leader = self.cluster.leader
        self.cluster.propose(b"end")
        self.cluster.tick(10)
        for member in leader.configurations.members:
            assert self.cluster[member].leader == leader.replica
            assert self.cluster.effects(member)[-1] == b"end"
        others = [shell.raft for shell in self.cluster.shells.values() if shell.raft is not leader]
        assert all(other.role is not Role.LEADER for other in others)


@pytest.mark.parametrize("seed", range(12))
def test_nothing_that_happens_breaks_the_rules_or_stops_the_group_for_good(seed: int) -> None:
    print(f"seed {seed}")
    run = Run(seed)

    run.go()

    run.recover()


def test_the_random_runs_do_something() -> None:
    runs = [Run(seed) for seed in range(100, 104)]

    for run in runs:
        run.go()

    assert sum(len(max(map(run.cluster.effects, range(1, 5)), key=len)) for run in runs) > 100
    assert sum(run.answered for run in runs) > 20
