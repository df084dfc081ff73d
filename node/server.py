"""A storage node: finds the replica a command is for, and owns what runs behind it.

Embedded, a router calls this object where a cluster will have a gRPC stream; it has the methods of the router's seam.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from gramme.clock import Clock
from gramme.commands import (
    Administration,
    AlterTable,
    CreateTable,
    Delete,
    DeleteTable,
    Found,
    Get,
    Page,
    Put,
    Query,
    Scan,
    Totals,
    Write,
    Written,
)
from gramme.errors import Throttling
from gramme.model.table import Table, TableRecord
from gramme.node.apply import sum_totals
from gramme.node.commit import CommitLoop
from gramme.node.engine.api import Engine
from gramme.node.groups import Groups
from gramme.node.index_changes import IndexChanges
from gramme.node.meta import Meta
from gramme.node.pauses import tidy_in_pauses
from gramme.node.proposals import Round
from gramme.node.table_records import settings_of
from gramme.partitions import Partition

# About a millisecond of proposing a batch: most of it is copying and summing up the items.
SLICE_BYTES_PROPOSED = 256 << 10


@dataclass(slots=True)
class NodeSettings:
    seed: bytes
    # Holds changes back from indexes, so that an application can be seen to cope with a stale one.
    index_delay_ms: int = 0


class Node:
    """`run` must be running for anything else to make progress."""

    def __init__(
        self,
        engine: Engine,
        clock: Clock,
        settings: NodeSettings,
        on_failure: Callable[[str], None],
    ) -> None:
        self._engine = engine
        self._clock = clock
        self._settings = settings
        self._on_failure = on_failure
        self._commits = CommitLoop(engine, on_failure)
        self._meta = Meta(engine, self._commits)
        self._groups = Groups(engine, self._commits, clock, settings.seed, settings.index_delay_ms)
        self._replicas = self._groups.replicas
        self._indexes = IndexChanges(
            engine,
            self._commits,
            self._meta,
            self._groups,
            clock,
            lambda record: self.on_table(record),
        )
        # Those who wait to make tables ACTIVE, or to delete them.
        self._settling: set[asyncio.Task[None]] = set()
        self._tasks: asyncio.TaskGroup | None = None
        self._tidying: asyncio.Task[None] | None = None
        self._stopping = False
        # Told of every table there is, and of what changes.
        self.on_table: Callable[[TableRecord], None] = lambda record: None
        self.on_drop: Callable[[Table], None] = lambda table: None

    async def run(self, ready: asyncio.Event) -> None:
        """Serve until stopped. Sets `ready` once every table is open."""
        async with asyncio.TaskGroup() as tasks:
            self._tasks = self._groups.tasks = self._indexes.tasks = tasks
            tasks.create_task(self._commits.run())
            pauses = tidy_in_pauses(self._engine, self._commits, self._on_failure)
            self._tidying = tasks.create_task(pauses)
            for record in list(self._meta.records()):
                if record.table.status == "DELETING":
                    self._open(record)
                    self._settle_later(record.table)
                else:
                    self._open(self._meta.settle(record))
                    self._indexes.take_up(record)
            ready.set()

    def stop(self) -> None:
        """Finish what has been proposed, then let `run` return."""
        # Tailers first: what they propose after the commit loop has ended, nobody would flush.
        self._stopping = True
        if self._tidying is not None:
            self._tidying.cancel()
        self._indexes.stop()
        self._groups.stop()
        for waiting in self._settling:
            waiting.cancel()
        self._commits.stop()

    # The seam

    def get(self, partition: Partition, get: Get) -> Coroutine[Any, Any, Found]:
        replica = self._replicas.get(partition.group)
        return self._groups.gone(partition) if replica is None else replica.get(get)

    def write(self, partition: Partition, write: Write) -> Coroutine[Any, Any, Written]:
        replica = self._replicas.get(partition.group)
        return self._groups.gone(partition) if replica is None else replica.write(write)

    async def query(self, partition: Partition, query: Query) -> Page:
        replica = self._replicas.get(partition.group) or await self._groups.gone(partition)
        return await replica.query(query)

    async def scan(self, partition: Partition, scan: Scan) -> Page:
        replica = self._replicas.get(partition.group) or await self._groups.gone(partition)
        return await replica.scan(scan)

    async def write_all(
        self, writes: Sequence[tuple[Partition, Put | Delete]]
    ) -> list[Written | Throttling]:
        """All writes are proposed before any is waited for, so that a usual batch is in one round."""
        answers: dict[int, Written | Throttling] = {}
        rounds: set[Round] = set()
        left = SLICE_BYTES_PROPOSED
        for partition, positions in _by_partition(writes):
            while positions:
                if left <= 0:
                    left = SLICE_BYTES_PROPOSED
                    await asyncio.sleep(0)
                replica = self._replicas.get(partition.group) or await self._groups.gone(partition)
                begun = replica.begin([writes[position][1] for position in positions], left)
                left -= begun.size_bytes
                rounds |= begun.rounds
                answers.update(zip(positions, begun.answers, strict=False))
                positions = positions[len(begun.answers) :]
        for round in rounds:
            await round.flushed
        return [answers[position] for position in range(len(writes))]

    async def totals(self, partitions: Sequence[Partition]) -> Totals:
        states = []
        for partition in partitions:
            replica = self._replicas.get(partition.group) or await self._groups.gone(partition)
            states.append(replica.flushed_state)
        return sum_totals(states)

    async def administer(self, command: Administration) -> Table:
        async with self._meta.lock:
            match command:
                case CreateTable():
                    record = await self._meta.create(command)
                    # A server that is stopping opens it the next time it starts.
                    if not self._stopping:
                        self._open(record)
                case AlterTable():
                    record = await self._meta.alter(command)
                    if not self._stopping:
                        await self._indexes.follow(record)
                    self.on_table(record)
                case DeleteTable():
                    return await self._begin_delete(command)
            self._settle_later(record.table)
            return record.table

    # Tables

    async def _begin_delete(self, command: DeleteTable) -> Table:
        """Returns the table as it was."""
        record = self._meta.find(command)
        if record.table.status == "DELETING":
            return record.table
        if command.settles_at_ms == 0:
            await self._delete(record)
        else:
            doomed = await self._meta.doom(record, command.settles_at_ms)
            self.on_table(doomed)
            self._settle_later(doomed.table)
        return record.table

    async def _delete(self, record: TableRecord) -> None:
        groups = [settings.group for settings in settings_of(record)]
        # In one step, so that no write can be proposed after the delete.
        round = self._meta.delete(record)
        self._groups.close(groups, round)
        await round.flushed
        self.on_drop(record.table)
        self._groups.forget(groups)

    def _settle_later(self, table: Table) -> None:
        """See to it that a table which is not ACTIVE does not stay so."""
        if table.status == "ACTIVE" or self._stopping:
            return
        assert self._tasks is not None
        waiting = self._tasks.create_task(self._settle(table))
        self._settling.add(waiting)
        waiting.add_done_callback(self._settling.discard)

    async def _settle(self, table: Table) -> None:
        await self._clock.wait_until(table.settles_at_ms)
        async with self._meta.lock:
            record = self._meta.current(table)
            # Whoever changed the table since waits for it too.
            if record is None or record.table.settles_at_ms != table.settles_at_ms:
                return
            if record.table.status == "DELETING":
                await self._delete(record)
            else:
                self.on_table(self._meta.settle(record))

    def _open(self, record: TableRecord) -> None:
        for settings in settings_of(record):
            self._groups.open(settings)
        self._groups.start_feeds(record)
        self.on_table(record)


def _by_partition(
    writes: Sequence[tuple[Partition, Put | Delete]],
) -> Iterable[tuple[Partition, list[int]]]:
    """The positions of each partition's writes."""
    found: dict[int, tuple[Partition, list[int]]] = {}
    for position, (partition, _) in enumerate(writes):
        found.setdefault(partition.group, (partition, []))[1].append(position)
    return found.values()
