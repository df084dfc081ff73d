"""A replica that shares its group with other nodes: its log, its rows and, while it leads, what feeds the indexes.

Who leads runs the tailers and takes rows for an index. Both keep things in memory that only a leader keeps up to date, so
they are made anew whenever this replica begins to lead, from what is applied, and thrown away when it ceases to.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from dataclasses import dataclass
from typing import Any

from gramme.clock import Clock
from gramme.commands import IndexWrite
from gramme.errors import NotLeader, OutcomeUnknown, StaleSource, Throttling
from gramme.model.table import Index
from gramme.node.consensus import Consensus
from gramme.node.engine.api import Engine
from gramme.node.groups import INDEX_BACKLOG_MAX
from gramme.node.replica import Replica
from gramme.node.request_ids import Sweeper
from gramme.node.tail.backfill import load_progress
from gramme.node.tail.indexes import IndexReader
from gramme.node.tail.tailer import Cursors, Tailer
from gramme.node.tail.target import IndexTarget
from gramme.partitions import PartitionMap

SendIndex = Callable[[int, IndexWrite], Coroutine[Any, Any, None]]


@dataclass(frozen=True, slots=True)
class Feeding:
    """What every replica of a node needs to feed indexes."""

    engine: Engine
    clock: Clock
    seed: bytes
    delay_ms: int
    tasks: asyncio.TaskGroup
    send: SendIndex


class Hosted:
    """One replica of this node. `indexes` are the partitions of the table's indexes, by name."""

    def __init__(
        self,
        replica: Replica,
        consensus: Consensus,
        indexes: dict[str, PartitionMap],
        feeding: Feeding,
    ) -> None:
        self.replica = replica
        self.consensus = consensus
        self._indexes = indexes
        self._feeding = feeding
        self._target: IndexTarget | None = None
        self._tailing: list[asyncio.Task[None]] = []
        self._leads = False

    def follow_leadership(self) -> None:
        """Start or stop what only a leader does."""
        serving = self.consensus.serving
        if serving == self._leads:
            return
        self._leads = serving
        if serving:
            self._begin()
        else:
            self.stop()

    def stop(self) -> None:
        self._leads = False
        self._target = None
        for task in self._tailing:
            task.cancel()
        self._tailing = []
        self.replica.on_admit.clear()
        self.replica.on_flushed.clear()

    async def take(self, write: IndexWrite) -> None:
        """Take rows for an index. Raises NotLeader and StaleSource."""
        if self._target is None:
            raise NotLeader(self.consensus.leader_node)
        await self._target.apply(write)

    def _begin(self) -> None:
        replica, feeding = self.replica, self._feeding
        if replica.settings.index is not None:
            self._target = IndexTarget(feeding.engine, replica)
            return
        sweeper = Sweeper(feeding.engine, feeding.clock, replica)
        self._tailing.append(feeding.tasks.create_task(_while_leading(sweeper.run())))
        indexes = replica.settings.table.indexes
        cursors = Cursors(feeding.engine, replica, [index.id for index in indexes])
        for index in indexes:
            self._feed(index, cursors)

    def _feed(self, index: Index, cursors: Cursors) -> None:
        replica, feeding = self.replica, self._feeding
        progress = load_progress(feeding.engine, replica.settings.group, index.id)
        reader = IndexReader(
            replica,
            index,
            self._indexes[index.name],
            feeding.seed,
            feeding.send,
            filling=progress is not None,
        )
        tailer = Tailer(feeding.engine, replica, cursors, reader, feeding.clock, feeding.delay_ms)

        def check() -> None:
            if tailer.backlog() > INDEX_BACKLOG_MAX:
                raise Throttling(
                    f"The index {index.name} is too far behind its table. Try again later."
                )

        replica.on_admit.append(check)
        self._tailing.append(feeding.tasks.create_task(_while_leading(tailer.run())))


async def _while_leading(work: Coroutine[Any, Any, None]) -> None:
    try:
        await work
    except* (NotLeader, OutcomeUnknown, StaleSource):
        # Another replica leads now, and does the same there.
        pass
