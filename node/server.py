"""A storage node: finds the replica a command is for, and owns what runs behind it.

Embedded, a router calls this object where a cluster will have a gRPC stream; it has the methods of the router's seam.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import NoReturn

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
from gramme.errors import ResourceNotFound, Throttling
from gramme.model.table import Table
from gramme.node.apply import sum_totals
from gramme.node.commit import CommitLoop
from gramme.node.engine.api import Engine, Family
from gramme.node.engine.keyspace import (
    ReplicaSettings,
    TableRecord,
    decode_settings,
    decode_state,
    settings_key,
    state_key,
)
from gramme.node.meta import Meta, settings_of
from gramme.node.pauses import tidy_in_pauses
from gramme.node.replica import Replica, Round
from gramme.node.tail.indexes import IndexReader, IndexWrite
from gramme.node.tail.tailer import Cursors, Tailer
from gramme.node.tail.target import IndexTarget
from gramme.partitions import Partition, PartitionMap

# Entries an index may be behind its table before the table takes no more writes.
INDEX_BACKLOG_MAX = 1_000_000
# About a millisecond of proposing a batch: most of it is copying and summing up the items.
SLICE_BYTES_PROPOSED = 256 << 10
# The clock may be a virtual one, which nobody can sleep by.
SETTLE_POLL_S = 0.01


@dataclass(slots=True)
class NodeSettings:
    seed: bytes
    # Holds changes back from indexes, so that an application can be seen to cope with a stale one.
    index_delay_ms: int = 0


@dataclass(slots=True)
class _Group:
    replica: Replica
    target: IndexTarget | None = None
    tailers: list[asyncio.Task[None]] = field(default_factory=list)

    def stop_tailers(self) -> None:
        for tailer in self.tailers:
            tailer.cancel()


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
        self._groups: dict[int, _Group] = {}
        self._replicas: dict[int, Replica] = {}
        # Groups of tables being deleted, and the round after which they are gone.
        self._leaving: dict[int, Round] = {}
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
            self._tasks = tasks
            tasks.create_task(self._commits.run())
            pauses = tidy_in_pauses(self._engine, self._commits, self._on_failure)
            self._tidying = tasks.create_task(pauses)
            for record in list(self._meta.records()):
                if record.table.status == "DELETING":
                    self._open(record)
                    self._settle_later(record.table)
                else:
                    self._open(self._meta.settle(record))
            ready.set()

    def stop(self) -> None:
        """Finish what has been proposed, then let `run` return."""
        # Tailers first: what they propose after the commit loop has ended, nobody would flush.
        self._stopping = True
        if self._tidying is not None:
            self._tidying.cancel()
        for group in self._groups.values():
            group.stop_tailers()
        for waiting in self._settling:
            waiting.cancel()
        self._commits.stop()

    # The seam

    async def get(self, partition: Partition, get: Get) -> Found:
        replica = self._replicas.get(partition.group) or await self._gone(partition)
        return await replica.get(get)

    async def write(self, partition: Partition, write: Write) -> Written:
        replica = self._replicas.get(partition.group) or await self._gone(partition)
        return await replica.write(write)

    async def query(self, partition: Partition, query: Query) -> Page:
        replica = self._replicas.get(partition.group) or await self._gone(partition)
        return await replica.query(query)

    async def scan(self, partition: Partition, scan: Scan) -> Page:
        replica = self._replicas.get(partition.group) or await self._gone(partition)
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
                replica = self._replicas.get(partition.group) or await self._gone(partition)
                try:
                    begun = replica.begin([writes[position][1] for position in positions], left)
                except Throttling as refusal:
                    answers.update((position, refusal) for position in positions)
                    break
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
            replica = self._replicas.get(partition.group) or await self._gone(partition)
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
                    self.on_table(record)
                case DeleteTable():
                    return await self._begin_delete(command)
            self._settle_later(record.table)
            return record.table

    # Groups

    async def _gone(self, partition: Partition) -> NoReturn:
        """Say that a table is gone, but not before that is durable."""
        leaving = self._leaving.get(partition.group)
        if leaving is not None:
            await leaving.flushed
        raise ResourceNotFound

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
        for group in groups:
            self._groups.pop(group).stop_tailers()
            del self._replicas[group]
            self._leaving[group] = round
        await round.flushed
        self.on_drop(record.table)
        for group in groups:
            del self._leaving[group]

    def _settle_later(self, table: Table) -> None:
        """See to it that a table which is not ACTIVE does not stay so."""
        if table.status == "ACTIVE" or self._stopping:
            return
        assert self._tasks is not None
        waiting = self._tasks.create_task(self._settle(table))
        self._settling.add(waiting)
        waiting.add_done_callback(self._settling.discard)

    async def _settle(self, table: Table) -> None:
        while self._clock.now_ms() < table.settles_at_ms:
            await asyncio.sleep(SETTLE_POLL_S)
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
            self._groups[settings.group] = self._open_group(settings)
        for partition in record.partitions:
            self._start_tailers(record, self._groups[partition.group])
        for settings in settings_of(record):
            self._replicas[settings.group] = self._groups[settings.group].replica
        self.on_table(record)

    def _open_group(self, named: ReplicaSettings) -> _Group:
        """Open a group by its own rows: what meta says of it only tells that it is here."""
        settings = self._engine.get(Family.RAFT, settings_key(named.group))
        state = self._engine.get(Family.RAFT, state_key(named.group))
        assert settings is not None and state is not None, f"group {named.group} has lost its rows"
        replica = Replica(
            self._engine, self._commits, self._clock, decode_settings(settings), decode_state(state)
        )
        target = None if named.index is None else IndexTarget(self._engine, replica)
        return _Group(replica, target)

    def _start_tailers(self, record: TableRecord, group: _Group) -> None:
        assert self._tasks is not None
        replica = group.replica
        indexes = replica.settings.table.indexes
        replica.watched = bool(indexes)
        cursors = Cursors(self._engine, replica, [index.id for index in indexes])
        for index in indexes:
            partitions = PartitionMap(record.index_partitions[index.name])
            reader = IndexReader(replica, index, partitions, self._settings.seed, self._send)
            tailer = Tailer(
                self._engine, replica, cursors, reader, self._clock, self._settings.index_delay_ms
            )
            replica.on_admit.append(_backlog_check(tailer, index.name))
            group.tailers.append(self._tasks.create_task(tailer.run()))

    async def _send(self, group: int, write: IndexWrite) -> None:
        kept = self._groups.get(group)
        if kept is None:
            # The table was deleted since, and whoever sends will be stopped.
            return
        assert kept.target is not None, f"group {group} keeps no index"
        await kept.target.apply(write)


def _backlog_check(tailer: Tailer, index: str) -> Callable[[], None]:
    def check() -> None:
        if tailer.backlog() > INDEX_BACKLOG_MAX:
            raise Throttling(f"The index {index} is too far behind its table. Try again later.")

    return check


def _by_partition(
    writes: Sequence[tuple[Partition, Put | Delete]],
) -> Iterable[tuple[Partition, list[int]]]:
    """The positions of each partition's writes."""
    found: dict[int, tuple[Partition, list[int]]] = {}
    for position, (partition, _) in enumerate(writes):
        found.setdefault(partition.group, (partition, []))[1].append(position)
    return found.values()
