"""Takes tables and their indexes from state to state, until they are settled.

Runs where meta is led from. For what a state has to bring about the groups of the table follow meta's record (`feeds.py`); here
they are only asked how far they are. Each state is durable before the next begins, so whoever leads meta next, or starts next,
goes on from the record. A state lasts until its `settles_at_ms` at least. Each table and each index has a task of its own: a
group that has no leader holds up nobody else.

A table:           CREATING and UPDATING end in ACTIVE; after DELETING it goes with all its rows
An added index:    ALLOCATING until every group leaves changes for it; BACKFILLING until every group has sent the items from
                   before and the changes of meanwhile; then ACTIVE
A removed index:   DELETING until no group feeds it; then it goes with its rows and groups
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable, Coroutine
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from typing import Any

from msgspec.structs import replace

from gramme.clock import Clock
from gramme.commands import Feed, GetFeed, Result
from gramme.errors import NotLeader, OutcomeUnknown
from gramme.model.table import Index, IndexPhase, Table, TableRecord
from gramme.node.meta import Meta
from gramme.partitions import Partition

# How often groups are asked again, of which only those on this node tell that they have come further.
POLL_S = 0.05
# Tables and indexes that are worked at at the same time, those included whose groups have no leader.
AT_ONCE = 500
# Of one table. Where they are in this process it is under a millisecond.
GROUPS_ASKED_PER_TURN = 16

# Asks the leader of a group, whoever that is. Returns None if the group is gone.
AskLeader = Callable[[int, GetFeed], Awaitable[Result]]


@dataclass(frozen=True, slots=True)
class _Driven:
    """A table or an index that is worked at. `progress` is set when a group has come further with it."""

    task: asyncio.Task[None]
    progress: asyncio.Event


class TableDriver:
    def __init__(
        self,
        clock: Clock,
        meta: Callable[[], Meta],
        leads: Callable[[], bool],
        ask: AskLeader,
    ) -> None:
        """`leads` tells whether meta is led from here."""
        self._clock = clock
        self._meta = meta
        self._leads = leads
        self._ask = ask
        # By the ids of tables and indexes.
        self._driving: dict[int, _Driven] = {}
        self._news = asyncio.Event()

    def look(self) -> None:
        """Tables may have changed, or who leads meta."""
        self._news.set()

    def look_at(self, index: int) -> None:
        """A group has come further with an index, which is known by its id."""
        if index in self._driving:
            self._driving[index].progress.set()

    async def run(self) -> None:
        async with asyncio.TaskGroup() as tasks:
            while True:
                self._news.clear()
                if self._begin(tasks):
                    await self._news.wait()
                else:
                    await _set_or_later(self._news)

    def _begin(self, tasks: asyncio.TaskGroup) -> bool:
        """Returns whether everything that is unsettled is worked at."""
        if not self._leads():
            for driven in self._driving.values():
                driven.task.cancel()
            return not self._meta().unsettled()
        for record in self._meta().unsettled():
            table, index = record.table, record.table.unsettled_index
            if table.status != "ACTIVE":
                self._drive(tasks, table.id, partial(self._settle, table))
            if index is not None:
                self._drive(tasks, index.id, partial(self._advance, table, index.id))
        return len(self._driving) < AT_ONCE

    def _drive(
        self,
        tasks: asyncio.TaskGroup,
        id: int,
        work: Callable[[asyncio.Event], Coroutine[Any, Any, None]],
    ) -> None:
        async def drive() -> None:
            # Otherwise whoever leads meta now goes on.
            with suppress(NotLeader, OutcomeUnknown):
                await work(progress)

        if id not in self._driving and len(self._driving) < AT_ONCE:
            progress = asyncio.Event()
            task = tasks.create_task(drive())
            self._driving[id] = _Driven(task, progress)
            task.add_done_callback(lambda _: self._ended(id))

    def _ended(self, id: int) -> None:
        del self._driving[id]
        self._news.set()

    async def _settle(self, table: Table, _: asyncio.Event) -> None:
        """Make a table ACTIVE, or remove it, when its state has lasted as long as it was told to."""
        while (record := self._meta().current(table)) is not None:
            if record.table.status == "ACTIVE":
                return
            await self._clock.wait_until(record.table.settles_at_ms)
            is_doomed = record.table.status == "DELETING"
            await self._change(record, Meta.delete if is_doomed else Meta.settle)

    async def _advance(self, table: Table, id: int, progress: asyncio.Event) -> None:
        """Take an index of a table from phase to phase."""
        phase: IndexPhase = "ACTIVE"
        waiting_for: deque[Partition] = deque()
        while (record := self._meta().current(table)) is not None:
            index = record.table.unsettled_index
            if index is None or index.id != id:
                return
            if index.phase != phase:
                phase, waiting_for = index.phase, deque(record.partitions)
            await self._clock.wait_until(index.settles_at_ms)
            progress.clear()
            if await self._have_come(waiting_for, index):
                await self._end_phase(record, index)
            if self._meta().current(table) is record:
                await _set_or_later(progress)

    async def _have_come(self, waiting_for: deque[Partition], index: Index) -> bool:
        """Whether all these groups have done what the phase is for. Those that have are waited for no more."""
        while waiting_for:
            feed = await self._ask(waiting_for[0].group, GetFeed(index.id))
            if not isinstance(feed, Feed) or not _is_done(index.phase, feed):
                return False
            waiting_for.popleft()
            if not len(waiting_for) % GROUPS_ASKED_PER_TURN:
                await asyncio.sleep(0)
        return True

    async def _end_phase(self, record: TableRecord, index: Index) -> None:
        match index.phase:
            case "ALLOCATING":
                await self._enter(record, index, "BACKFILLING")
            case "BACKFILLING":
                await self._enter(record, index, "ACTIVE")
            case "DELETING":
                await self._change(record, lambda meta, record: meta.remove_index(record, index))

    async def _enter(self, record: TableRecord, index: Index, phase: IndexPhase) -> None:
        lasts_ms = index.phase_lasts_ms if phase != "ACTIVE" else 0
        settles_at_ms = self._clock.now_ms() + lasts_ms if lasts_ms else 0
        entered = replace(index, phase=phase, settles_at_ms=settles_at_ms)
        await self._change(record, lambda meta, record: meta.change_phase(record, entered))

    async def _change(
        self,
        record: TableRecord,
        change: Callable[[Meta, TableRecord], Coroutine[Any, Any, None]],
    ) -> None:
        """Change a table unless somebody has since its record was looked at. Then it is to be looked at anew."""
        meta = self._meta()
        async with meta.lock:
            if meta.current(record.table) is record:
                await change(meta, record)


def _is_done(phase: IndexPhase, feed: Feed) -> bool:
    """Whether a group has done what a phase of an index is for. What is done stays so, whoever leads the group."""
    match phase:
        case "ALLOCATING":
            return feed.known
        case "BACKFILLING":
            return feed.filled
        case _:
            return not feed.known


async def _set_or_later(event: asyncio.Event) -> None:
    """Wait for an event, but not for long."""
    with suppress(TimeoutError):
        async with asyncio.timeout(POLL_S):
            await event.wait()
