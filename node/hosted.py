"""A replica that shares its group with other nodes: its log, its rows and, while it leads, its duties.

Besides the duties that a replica by itself has too, who leads forgets old request ids: only those who ask over a network ask again.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from gramme.commands import AllWritten, Delete, Feed, GetFeed, IndexWrite, Put, WriteAll, Written
from gramme.errors import Throttling
from gramme.model.table import TableRecord
from gramme.node.consensus import Consensus
from gramme.node.duties import Duties
from gramme.node.feeds import Feeding, while_leading
from gramme.node.proposals import Round
from gramme.node.replica import Replica
from gramme.node.request_ids import Sweeper

# About a millisecond of proposing a batch.
SLICE_BYTES_PROPOSED = 256 << 10


class Hosted:
    """One replica of this node."""

    def __init__(
        self, replica: Replica, consensus: Consensus, record: TableRecord, feeding: Feeding
    ) -> None:
        self.replica = replica
        self.consensus = consensus
        self.record = record
        self._feeding = feeding
        # There while this replica leads.
        self.duties: Duties | None = None
        self._sweeping: asyncio.Task[None] | None = None

    def follow_leadership(self) -> None:
        """Start or stop what only a leader does."""
        serving = self.consensus.serving
        if serving and self.duties is None:
            self._begin()
        elif not serving:
            self.stop()

    def follow(self, record: TableRecord) -> None:
        """Meta's record of the table has changed."""
        self.record = record
        if self.duties is not None:
            self.duties.follow(record)

    def stop(self) -> None:
        if self.duties is not None:
            self.duties.stop()
            self.duties = None
        if self._sweeping is not None:
            self._sweeping.cancel()
            self._sweeping = None

    async def write_all(self, command: WriteAll, id: bytes, *, first: bool) -> AllWritten:
        """Do writes side by side. Those that there is no room for are refused, each by itself."""
        writes: Sequence[Put | Delete] = command.writes
        answers: list[Written | Throttling] = []
        rounds: dict[Round, None] = {}
        unchanged = False
        term = self.consensus.leading_term
        while writes:
            if self.consensus.leading_term != term:
                raise self.consensus.not_leader()
            begun = self.replica.begin(writes, SLICE_BYTES_PROPOSED, id, first=first)
            rounds |= dict.fromkeys(begun.rounds)
            unchanged |= begun.unchanged
            answers += begun.answers
            writes = writes[len(begun.answers) :]
            if writes:
                await asyncio.sleep(0)
        for round in rounds:
            await round.flushed
        if unchanged:
            await self.consensus.confirm()
        return AllWritten.of(answers)

    async def answer_node(self, command: IndexWrite | GetFeed) -> Feed | None:
        """What other nodes ask. Raises NotLeader, Throttling and StaleSource."""
        if isinstance(command, GetFeed):
            return self.feed(command.index)
        await self.take(command)
        return None

    async def take(self, write: IndexWrite) -> None:
        """Take rows for an index. Raises NotLeader, Throttling and StaleSource."""
        if self.duties is None or self.duties.target is None:
            raise self.consensus.not_leader()
        self.consensus.admit()
        await self.duties.target.apply(write)

    def feed(self, index: int) -> Feed:
        """How far this group has come with an index. Raises NotLeader."""
        if self.duties is None or self.duties.feeds is None:
            raise self.consensus.not_leader()
        return self.duties.feeds.state(index)

    def _begin(self) -> None:
        feeding, replica = self._feeding, self.replica
        self.duties = Duties(replica, self.consensus, self.record, feeding)
        if replica.settings.index is None:
            sweeper = Sweeper(feeding.engine, feeding.clock, replica)
            self._sweeping = feeding.tasks.create_task(while_leading(sweeper.run))
