"""Takes an index that is added or removed from phase to phase, once every group of its table has come as far.

Runs where meta is led from. The groups do their part by following meta's record (`feeds.py`); here they are only asked. Each
phase is durable before the next begins, so whoever leads meta next goes on from the record. Each index has a task of its own: a
group that has no leader holds up nobody's but its own table's.

Adding:    ALLOCATING until every group leaves changes for the index; BACKFILLING until every group has sent the items from
           before and the changes of meanwhile; then ACTIVE
Removing:  DELETING until no group feeds the index; then it goes with its rows and groups
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress
from functools import partial

from msgspec.structs import replace

from gramme.commands import Feed, GetFeed, Result
from gramme.errors import NotLeader, OutcomeUnknown
from gramme.model.table import Index, IndexPhase, TableRecord
from gramme.node.meta import Meta

POLL_S = 0.05
# Indexes that are taken to their next phase at the same time, those included whose groups have no leader.
AT_ONCE = 500

# Asks the leader of a group, whoever that is. Returns None if the group is gone.
AskLeader = Callable[[int, GetFeed], Awaitable[Result]]


class IndexDriver:
    def __init__(self, meta: Callable[[], Meta], leads: Callable[[], bool], ask: AskLeader) -> None:
        """`leads` tells whether meta is led from here."""
        self._meta = meta
        self._leads = leads
        self._ask = ask
        # By the ids of indexes.
        self._driving: dict[int, asyncio.Task[None]] = {}

    async def run(self) -> None:
        async with asyncio.TaskGroup() as tasks:
            while True:
                await asyncio.sleep(POLL_S)
                self._look(tasks)

    def _look(self, tasks: asyncio.TaskGroup) -> None:
        driving = self._driving
        if not self._leads():
            for task in driving.values():
                task.cancel()
            return
        for record in self._meta().records():
            index = record.table.unsettled_index
            if index is not None and index.id not in driving and len(driving) < AT_ONCE:
                task = driving[index.id] = tasks.create_task(self._drive(record, index))
                task.add_done_callback(partial(self._driven, index.id))

    def _driven(self, index: int, _: asyncio.Task[None]) -> None:
        del self._driving[index]

    async def _drive(self, record: TableRecord, index: Index) -> None:
        # Otherwise whoever leads meta now goes on.
        with suppress(NotLeader, OutcomeUnknown):
            await self._advance(record, index)

    async def _advance(self, record: TableRecord, index: Index) -> None:
        feeds = [
            feed
            for partition in record.partitions
            if isinstance(feed := await self._ask(partition.group, GetFeed(index.id)), Feed)
        ]
        if len(feeds) < len(record.partitions):
            return
        match index.phase:
            case "ALLOCATING" if all(feed.known for feed in feeds):
                await self._enter(record, index, "BACKFILLING")
            case "BACKFILLING" if all(feed.filled for feed in feeds):
                await self._enter(record, index, "ACTIVE")
            case "DELETING" if not any(feed.known for feed in feeds):
                await self._remove(record, index)

    async def _enter(self, record: TableRecord, index: Index, phase: IndexPhase) -> None:
        async with self._meta().lock:
            current = self._meta().current(record.table)
            if current is not None and current.table.unsettled_index == index:
                await self._meta().change_phase(
                    current, replace(index, phase=phase, settles_at_ms=0)
                )

    async def _remove(self, record: TableRecord, index: Index) -> None:
        async with self._meta().lock:
            current = self._meta().current(record.table)
            if current is not None and current.table.unsettled_index == index:
                _, round = self._meta().remove_index(current, index)
                await round.flushed
