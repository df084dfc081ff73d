"""One replica of a group of three, whose two peers the test plays itself."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from gramme.clock import VirtualClock
from gramme.codec.item import body_of
from gramme.node.commit import CommitLoop
from gramme.node.consensus import SETTINGS, Consensus
from gramme.node.engine.api import Family
from gramme.node.engine.keyspace import decode_state, state_key, table_prefix
from gramme.node.group_log import Position, load_position
from gramme.node.raft.messages import (
    AppendEntries,
    AppendResponse,
    Configuration,
    Entry,
    Heartbeat,
    HeartbeatResponse,
    Message,
    ReplicaId,
    RequestVote,
    VoteResponse,
)
from gramme.node.raft.settings import Settings
from gramme.node.replica import Replica
from tests.support.cluster import first_rows, settings_of
from tests.support.simulated_node import let_go
from tests.unit.node.fixtures import NOW_MS, GatedEngine, key_of, settle

GROUP = 10
ME, PEER, OTHER = ReplicaId(1), ReplicaId(2), ReplicaId(3)
VOTERS = Configuration((ME, PEER, OTHER))
NODES = {1: 1, 2: 2, 3: 3}


class Lone:
    """`sent` is what the replica has sent and nobody has taken yet. `commits` may be another group's."""

    def __init__(
        self,
        engine: GatedEngine,
        settings: Settings,
        group: int = GROUP,
        commits: CommitLoop | None = None,
    ) -> None:
        self.engine = engine
        self.group = group
        self.sent: list[Message] = []
        self.failures: list[str] = []
        self.commits = commits or CommitLoop(engine, self.failures.append)
        position = load_position(engine, group)
        assert position is not None
        self.consensus = Consensus(
            *(engine, self.commits, group, position),
            lambda node, group, message: self.sent.append(message),
            lambda low, high: low,
            settings,
        )
        raw = engine.get(Family.RAFT, state_key(group))
        assert raw is not None
        clock = VirtualClock(NOW_MS)
        self.replica = Replica(
            *(engine, self.consensus, clock, settings_of(group), decode_state(raw)),
            replicated=True,
        )
        self.consensus.machine = self.replica

    def receive(self, *messages: Message) -> None:
        """Take these in one frame."""
        for message in messages:
            self.consensus.hear(NODES[message.sender], message)
        self.consensus.pump()

    async def lead(self) -> None:
        """Be elected, and apply the entry that a leader begins with."""
        for _ in range(2 * self.consensus.raft.settings.election_ticks):
            self.consensus.tick()
        await settle()
        for asked in (True, False):
            requests = [message for message in self.sent if isinstance(message, RequestVote)]
            request = next(one for one in requests if one.pre is asked and one.to == PEER)
            self.receive(VoteResponse(PEER, ME, request.term, asked, True))
            await settle()
        await self.acknowledge()
        assert self.consensus.serving

    async def acknowledge(self) -> None:
        """Let a peer hold all there is."""
        self.receive(self.acknowledgement())
        await settle()

    def acknowledgement(self) -> AppendResponse:
        raft = self.consensus.raft
        return AppendResponse(PEER, ME, raft.term, raft.log.last_index)

    def append(
        self, term: int, previous: tuple[int, int], *entries: Entry, commit: int = 0
    ) -> None:
        """Hear from a peer that leads `term`. `previous` is an index and its term."""
        self.receive(AppendEntries(PEER, ME, term, *previous, commit, list(entries)))

    def stored(self, id: str) -> bytes | None:
        """The item as the engine has it."""
        stored = self.engine.get(Family.ITEM, table_prefix(self.group) + key_of(id))
        return None if stored is None else body_of(stored)

    def appends(self) -> list[AppendEntries]:
        return [message for message in self.sent if isinstance(message, AppendEntries)]

    def heartbeat(self) -> HeartbeatResponse:
        """A peer's answer to the newest heartbeat."""
        beats = [message for message in self.sent if isinstance(message, Heartbeat)]
        newest = max(beat.round for beat in beats)
        return HeartbeatResponse(PEER, ME, self.consensus.raft.term, newest)


def new_engine() -> GatedEngine:
    engine = GatedEngine()
    found(engine, GROUP)
    return engine


def found(engine: GatedEngine, group: int) -> None:
    engine.write(first_rows(group, Position(ME, 0, 0, VOTERS, NODES)))


@asynccontextmanager
async def lone(
    engine: GatedEngine | None = None, settings: Settings | None = None
) -> AsyncIterator[Lone]:
    made = Lone(engine or new_engine(), settings or SETTINGS)
    async with asyncio.TaskGroup() as tasks:
        loop = tasks.create_task(made.commits.run())
        try:
            yield made
        finally:
            made.engine.gate.set()
            loop.cancel()
            let_go(made.consensus)
    assert made.failures == []
