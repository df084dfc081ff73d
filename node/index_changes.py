"""Adding a global index to a table that is in use, and removing one: what is done in which order.

Adding:    1. meta's record has the index, ALLOCATING, and the index's groups are made: one batch
           2. each group of the table has an entry from which on it leaves changes for the index; its tailer starts
           3. the record says BACKFILLING, and group by group the items from before that entry are sent
           4. when every tailer has come past the point where the backfill began, the record says ACTIVE
Removing:  1. the record says DELETING; the backfill, if it still goes on, ends
           2. each group of the table has an entry from which on it leaves no changes for the index and has no cursor
           3. the record has the index no more, and all of its rows and groups go: one batch

Each step is durable before the next begins, and each can be found out to have been done or not: the first of all by the
record, the entries by the settings of each group, the backfill by its progress. So a start takes up what a crash broke off.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Coroutine, Iterable
from typing import Any, TypeVar

from msgspec.structs import replace

from gramme.clock import Clock
from gramme.model.table import Index, IndexPhase, Table, TableRecord
from gramme.node.engine.api import Engine
from gramme.node.groups import Groups
from gramme.node.meta import Meta
from gramme.node.proposals import Commits, Round
from gramme.node.table_records import settings_for
from gramme.node.tail.backfill import Backfill
from gramme.partitions import PartitionMap

T = TypeVar("T")

# About a millisecond of opening groups, or of proposing to them.
GROUPS_PER_TURN = 8


class IndexChanges:
    """`announce` is told of every record that changes."""

    def __init__(
        self,
        engine: Engine,
        commits: Commits,
        meta: Meta,
        groups: Groups,
        clock: Clock,
        announce: Callable[[TableRecord], None],
    ) -> None:
        self._engine = engine
        self._commits = commits
        self._meta = meta
        self._groups = groups
        self._clock = clock
        self._announce = announce
        # Who sees to which index, by its id.
        self._building: dict[int, asyncio.Task[None]] = {}
        self._removing: dict[int, asyncio.Task[None]] = {}
        # Backfills of many indexes take their slices one by one, or together they would hold up the loop.
        self._turn = asyncio.Lock()
        # There before anything is taken up.
        self.tasks: asyncio.TaskGroup | None = None
        self._stopping = False

    def stop(self) -> None:
        """Begin nothing more, and leave what was begun to the next start."""
        self._stopping = True
        for task in (*self._building.values(), *self._removing.values()):
            task.cancel()

    async def follow(self, record: TableRecord) -> None:
        """Begin what an alteration asks for. Returns when the groups of the table durably know a new index."""
        index = record.table.unsettled_index
        if index is None:
            return
        if index.phase == "ALLOCATING" and index.id not in self._building:
            async for settings in _in_turns(settings_for(record, index.name)):
                self._groups.open(settings)
            where = PartitionMap(record.index_partitions[index.name])
            rounds = []
            async for partition in _in_turns(record.partitions):
                if self._stopping:
                    return
                rounds.append(self._groups.add_feed(partition.group, index, where))
            await _all_flushed(rounds)
        if not self._stopping:
            self.take_up(record)

    def take_up(self, record: TableRecord) -> None:
        """Go on with the index that is being added or removed, if there is one, from whatever step it is at."""
        index = record.table.unsettled_index
        if index is None or index.id in self._removing:
            return
        if index.phase == "DELETING":
            if index.id in self._building:
                self._building[index.id].cancel()
            self._work(self._removing, index, self._remove(record, index))
        elif index.id not in self._building:
            where = PartitionMap(record.index_partitions[index.name])
            # After a crash some groups may not know of the index yet.
            begun = [
                self._groups.add_feed(partition.group, index, where)
                for partition in record.partitions
            ]
            self._work(self._building, index, self._build(record, index, begun))

    def _work(
        self,
        working: dict[int, asyncio.Task[None]],
        index: Index,
        work: Coroutine[Any, Any, None],
    ) -> None:
        assert self.tasks is not None
        task = working[index.id] = self.tasks.create_task(work)
        task.add_done_callback(lambda _: working.pop(index.id))

    async def _build(self, record: TableRecord, index: Index, begun: list[Round | None]) -> None:
        # Only then does the engine show all items that no change was left of.
        await _all_flushed(begun)
        if index.phase == "ALLOCATING":
            await self._clock.wait_until(index.settles_at_ms)
            index = await self._enter(record.table, index, "BACKFILLING")
        for partition in record.partitions:
            await self._fill(partition.group, index)
        await self._clock.wait_until(index.settles_at_ms)
        await self._enter(record.table, index, "ACTIVE")

    async def _fill(self, id: int, index: Index) -> None:
        """Give an index all that one group of its table has for it."""
        group = self._groups[id]
        feed = group.feeds[index.id]
        began_at = group.replica.flushed_index
        admit = self._commits.admit
        await Backfill(self._engine, group.replica, feed.reader, admit, self._turn).run()
        await feed.tailer.reached(began_at)

    async def _remove(self, record: TableRecord, index: Index) -> None:
        rounds = []
        async for partition in _in_turns(record.partitions):
            rounds.append(self._groups.drop_feed(partition.group, index))
        await _all_flushed(rounds)
        await self._clock.wait_until(index.settles_at_ms)
        async with self._meta.lock:
            groups = [settings.group for settings in settings_for(record, index.name)]
            # In one step, so that no write can be proposed after the removal.
            remaining, round = self._meta.remove_index(self._current(record.table), index)
            self._groups.close(groups, round)
            await round.flushed
            self._announce(remaining)
            self._groups.forget(groups)

    async def _enter(self, table: Table, index: Index, phase: IndexPhase) -> Index:
        """Let an index be in its next phase, durably."""
        async with self._meta.lock:
            record = self._current(table)
            # Its throughput may have been changed since.
            known = next(known for known in record.table.indexes if known.id == index.id)
            settles_at_ms = self._clock.now_ms() + known.phase_lasts_ms
            if phase == "ACTIVE" or not known.phase_lasts_ms:
                settles_at_ms = 0
            entered = replace(known, phase=phase, settles_at_ms=settles_at_ms)
            self._announce(await self._meta.change_phase(record, entered))
            return entered

    def _current(self, table: Table) -> TableRecord:
        record = self._meta.current(table)
        assert record is not None, "a table was deleted while an index of it was unsettled"
        return record


async def _in_turns(them: Iterable[T]) -> AsyncIterator[T]:
    """Each of them, with others let run in between: there may be hundreds."""
    for number, one in enumerate(them, start=1):
        yield one
        if not number % GROUPS_PER_TURN:
            await asyncio.sleep(0)


async def _all_flushed(rounds: Iterable[Round | None]) -> None:
    for round in rounds:
        if round is not None:
            await round.flushed
