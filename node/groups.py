"""The groups that a node keeps: a replica each and, behind it, what feeds the global indexes.

A group of an index has a target, which takes rows. A group of a table has a feed for each index of the table: a tailer that
carries the group's changes there. Which indexes those are is said by the group's own settings, and changes only by an
entry of the group, which also writes or removes the cursor in its change log.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import NoReturn

from msgspec.structs import replace

from gramme.clock import Clock
from gramme.commands import IndexWrite
from gramme.errors import ResourceNotFound
from gramme.model.table import Index, TableRecord
from gramme.model.version import Version
from gramme.node.commit import CommitLoop
from gramme.node.engine.api import Engine
from gramme.node.engine.keyspace import ReplicaSettings
from gramme.node.feeds import backlog_check
from gramme.node.open_replica import open_replica
from gramme.node.proposals import Round
from gramme.node.replica import Replica
from gramme.node.tail.backfill import NOTHING, load_progress, progress_row
from gramme.node.tail.indexes import IndexReader
from gramme.node.tail.tailer import Cursors, Tailer
from gramme.node.tail.target import IndexTarget
from gramme.partitions import Partition, PartitionMap


@dataclass(frozen=True, slots=True)
class Feed:
    """What carries a group's changes to one index."""

    reader: IndexReader
    tailer: Tailer
    # Refuses writes to the table while the index is too far behind.
    check: Callable[[], None]
    task: asyncio.Task[None]


@dataclass(slots=True)
class Group:
    """`target` is there in a group of an index only. Feeds are by the id of the index."""

    replica: Replica
    cursors: Cursors
    target: IndexTarget | None
    feeds: dict[int, Feed] = field(default_factory=dict)

    def stop(self) -> None:
        for feed in self.feeds.values():
            feed.task.cancel()


class Groups:
    def __init__(
        self,
        engine: Engine,
        commits: CommitLoop,
        clock: Clock,
        seed: bytes,
        index_delay_ms: int,
    ) -> None:
        self._engine = engine
        self._commits = commits
        self._clock = clock
        self._seed = seed
        self._index_delay_ms = index_delay_ms
        self._groups: dict[int, Group] = {}
        # The same again, for whoever needs no more than the replica.
        self.replicas: dict[int, Replica] = {}
        # Groups being deleted, and the round after which they are gone.
        self._leaving: dict[int, Round] = {}
        # Who owns the tailers; there before any group is opened.
        self.tasks: asyncio.TaskGroup | None = None

    def __getitem__(self, group: int) -> Group:
        return self._groups[group]

    def open(self, named: ReplicaSettings) -> None:
        """Open a group by its own rows: what meta says of it only tells that it is here."""
        replica = open_replica(self._engine, self._commits, self._clock, named.group)
        settings = replica.settings
        is_table = settings.index is None
        indexes = settings.table.indexes if is_table else ()
        cursors = Cursors(self._engine, replica, [index.id for index in indexes])
        target = None if is_table else IndexTarget(self._engine, replica)
        self._groups[named.group] = Group(replica, cursors, target)
        self.replicas[named.group] = replica

    def close(self, groups: Iterable[int], round: Round) -> None:
        """Take no more writes for groups that `round` deletes. Who asks for them is told when that is durable."""
        for group in groups:
            self._groups.pop(group).stop()
            del self.replicas[group]
            self._leaving[group] = round

    def forget(self, groups: Iterable[int]) -> None:
        for group in groups:
            del self._leaving[group]

    async def gone(self, partition: Partition) -> NoReturn:
        """Say that a table is gone, but not before that is durable."""
        leaving = self._leaving.get(partition.group)
        if leaving is not None:
            await leaving.flushed
        raise ResourceNotFound

    def stop(self) -> None:
        for group in self._groups.values():
            group.stop()

    # Feeds

    def start_feeds(self, record: TableRecord) -> None:
        """Let every group of a table feed the indexes that its settings name."""
        maps = {name: PartitionMap(placed) for name, placed in record.index_partitions.items()}
        for partition in record.partitions:
            group = self._groups[partition.group]
            for index in group.replica.settings.table.indexes:
                progress = load_progress(self._engine, partition.group, index.id)
                filling = progress is not None
                self._start(group, index, maps[index.name], filling=filling, has_sent=True)

    def add_feed(self, id: int, index: Index, where: PartitionMap) -> Round | None:
        """Let a group feed another index, from its next entry on. None if it does so already."""
        group = self._groups[id]
        replica, table = group.replica, group.replica.settings.table
        if any(known.id == index.id for known in table.indexes):
            return None
        table = replace(table, indexes=(*table.indexes, index))
        cursor = group.cursors.add(index.id, Version(replica.state.index + 1, 0))
        nothing_sent = progress_row(id, index.id, NOTHING)
        settings = replace(replica.settings, table=table)
        round = replica.change_settings(settings, [cursor, nothing_sent])
        self._start(group, index, where, filling=True, has_sent=False)
        return round

    def drop_feed(self, id: int, index: Index) -> Round | None:
        """Let a group feed an index no more, from its next entry on. None if it does not do so."""
        group = self._groups[id]
        replica, table = group.replica, group.replica.settings.table
        kept = tuple(known for known in table.indexes if known.id != index.id)
        if kept == table.indexes:
            return None
        feed = group.feeds.pop(index.id)
        feed.task.cancel()
        replica.on_admit.remove(feed.check)
        replica.on_flushed.remove(feed.tailer.wake)
        settings = replace(replica.settings, table=replace(table, indexes=kept))
        rows = [*group.cursors.drop(index.id), progress_row(id, index.id, None)]
        return replica.change_settings(settings, rows)

    def _start(
        self, group: Group, index: Index, where: PartitionMap, *, filling: bool, has_sent: bool
    ) -> None:
        assert self.tasks is not None
        replica = group.replica
        reader = IndexReader(
            replica, index, where, self._seed, self._send, filling=filling, has_sent=has_sent
        )
        tailer = Tailer(
            self._engine, replica, group.cursors, reader, self._clock, self._index_delay_ms
        )
        check = backlog_check(tailer, index.name)
        replica.on_admit.append(check)
        task = self.tasks.create_task(tailer.run())
        group.feeds[index.id] = Feed(reader, tailer, check, task)

    async def _send(self, group: int, write: IndexWrite) -> None:
        kept = self._groups.get(group)
        if kept is None:
            # The table or the index was deleted since, and whoever sends will be stopped.
            return
        assert kept.target is not None, f"group {group} keeps no index"
        await kept.target.apply(write)
