"""What a leading replica of a table does for its global indexes: it feeds each of them, and fills those that are new.

Which indexes there should be is said by meta's record of the table, which every node follows; which ones the group feeds, by
the group's own settings, and these change only by an entry of its log. So whoever leads compares the two whenever the record
changes and when it begins to lead, and proposes what is missing. Whoever leads meta asks how far each group has come, and
takes the index from phase to phase (`table_driver.py`).

A leader's copy of meta may be old, older than what the group did under the leader before. So an index is added only if it is newer
than those the group has dropped, and dropped only because the record says DELETING, never because it says nothing of it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Coroutine
from dataclasses import dataclass
from typing import Any

from msgspec.structs import replace

from gramme.clock import Clock
from gramme.commands import Feed, IndexWrite
from gramme.errors import NotLeader, OutcomeUnknown, StaleSource, Throttling
from gramme.model.table import Index, TableRecord
from gramme.model.version import Version
from gramme.node.engine.api import Engine, Operation
from gramme.node.engine.keyspace import ReplicaSettings
from gramme.node.proposals import Commits
from gramme.node.replica import Replica
from gramme.node.tail.backfill import NOTHING, Backfill, load_progress, progress_row
from gramme.node.tail.indexes import IndexReader
from gramme.node.tail.tailer import Cursors, Tailer
from gramme.partitions import PartitionMap

# Changes an index may be behind its table before the table takes no more writes.
INDEX_BACKLOG_MAX = 1_000_000

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
    # Told, with an index's id, that a group has come further with it.
    on_progress: Callable[[int], None]
    # Backfills of many groups take their slices one by one, or together they would hold up the loop.
    turn: asyncio.Lock


@dataclass(slots=True)
class _Fed:
    """One index that is fed. When the tailer has come past `reach`, nothing from before is left to be delivered."""

    reader: IndexReader
    tailer: Tailer
    check: Callable[[], None]
    reach: int
    tasks: list[asyncio.Task[None]]


class Feeds:
    """Made when a replica begins to lead, and stopped when it ceases to."""

    def __init__(
        self, replica: Replica, commits: Commits, record: TableRecord, feeding: Feeding
    ) -> None:
        self._replica = replica
        self._commits = commits
        self._feeding = feeding
        self._record = record
        known = [index.id for index in replica.settings.table.indexes]
        self._cursors = Cursors(feeding.engine, replica, known)
        self._fed: dict[int, _Fed] = {}
        self.follow(record)

    def stop(self) -> None:
        for index in list(self._fed):
            self._starve(index)

    def follow(self, record: TableRecord) -> None:
        """Feed the indexes that the record names."""
        self._record = record
        known = {index.id for index in self._replica.settings.table.indexes}
        for index in record.table.indexes:
            if index.phase == "DELETING":
                if index.id in known:
                    self._drop(index)
            elif index.id in known:
                self._feed(index)
            elif index.id > self._replica.settings.dropped_index:
                self._add(index)
            if index.phase == "BACKFILLING":
                self._fill(index.id)

    def state(self, index: int) -> Feed:
        """How far this group has come with an index."""
        engine, group = self._feeding.engine, self._replica.settings.group
        fed = self._fed.get(index)
        # The settings of this replica are ahead of what is applied; the progress row is not.
        applied = any(known.id == index for known in self._replica.applied_settings().table.indexes)
        filled = (
            fed is not None
            and applied
            and load_progress(engine, group, index) is None
            and fed.tailer.complete >= fed.reach
        )
        return Feed(applied, filled)

    def _add(self, index: Index) -> None:
        replica = self._replica
        table = replica.settings.table
        cursor = self._cursors.add(index.id, Version(replica.state.index + 1, 0))
        progress = progress_row(replica.settings.group, index.id, NOTHING)
        settings = replace(replica.settings, table=replace(table, indexes=(*table.indexes, index)))
        self._change(index, settings, [cursor, progress])
        self._feed(index, filling=True)

    def _drop(self, index: Index) -> None:
        self._starve(index.id)
        settings = self._replica.settings
        kept = tuple(known for known in settings.table.indexes if known.id != index.id)
        settings = replace(
            settings,
            table=replace(settings.table, indexes=kept),
            dropped_index=max(index.id, settings.dropped_index),
        )
        progress = progress_row(settings.group, index.id, None)
        self._change(index, settings, [*self._cursors.drop(index.id), progress])

    def _change(self, index: Index, settings: ReplicaSettings, rows: list[Operation]) -> None:
        """Propose other settings, which tell that the group feeds an index, or does so no more."""
        round = self._replica.change_settings(settings, rows)
        round.flushed.add_done_callback(lambda _: self._feeding.on_progress(index.id))

    def _feed(self, index: Index, *, filling: bool = False) -> None:
        """Begin to feed an index that the settings name, unless that has begun."""
        replica, feeding = self._replica, self._feeding
        placed = self._record.index_partitions.get(index.name)
        if index.id in self._fed or placed is None:
            # A record that is older than the settings does not say where the index is.
            return
        progress = load_progress(feeding.engine, replica.settings.group, index.id)
        reader = IndexReader(
            replica,
            index,
            PartitionMap(placed),
            feeding.seed,
            feeding.send,
            filling=filling or progress is not None,
            has_sent=not filling,
        )
        tailer = Tailer(
            feeding.engine, replica, self._cursors, reader, feeding.clock, feeding.delay_ms
        )
        check = backlog_check(tailer, index.name)
        replica.on_admit.append(check)
        task = feeding.tasks.create_task(while_leading(tailer.run))
        self._fed[index.id] = _Fed(reader, tailer, check, replica.flushed_index, [task])

    def _fill(self, index: int) -> None:
        fed = self._fed.get(index)
        group = self._replica.settings.group
        if fed is None or len(fed.tasks) > 1:
            return
        if load_progress(self._feeding.engine, group, index) is None:
            return
        fed.reach = self._replica.flushed_index
        backfill = Backfill(
            self._feeding.engine,
            self._replica,
            fed.reader,
            self._commits.admit,
            self._feeding.turn,
        )

        async def run() -> None:
            await backfill.run()
            self._feeding.on_progress(index)

        fed.tasks.append(self._feeding.tasks.create_task(while_leading(run)))

    def _starve(self, index: int) -> None:
        fed = self._fed.pop(index, None)
        if fed is not None:
            for task in fed.tasks:
                task.cancel()
            self._replica.on_admit.remove(fed.check)
            self._replica.on_flushed.remove(fed.tailer.wake)


def backlog_check(tailer: Tailer, index: str) -> Callable[[], None]:
    """What refuses writes to the table while an index is too far behind it."""

    def check() -> None:
        if tailer.backlog() > INDEX_BACKLOG_MAX:
            raise Throttling(f"The index {index} is too far behind its table. Try again later.")

    return check


async def while_leading(work: Callable[[], Awaitable[None]]) -> None:
    """Work that ends when another replica leads, which then does the same there."""
    try:
        await work()
    except* (NotLeader, OutcomeUnknown, StaleSource):
        pass
