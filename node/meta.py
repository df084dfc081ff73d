"""Group 0: which tables there are, and which partitions keep them.

Meta's rows are in the `sys` family and change through the same commit loop as everything else. Changes are made one at a
time, by whoever holds the lock. The first rows of a new group are in the same batch as the table that names it, so a crash leaves both or neither;
ids are given out once and never again.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable

import msgspec

from gramme.codec.key import successor
from gramme.commands import CreateTable, DeleteTable
from gramme.errors import ResourceInUse, ResourceNotFound
from gramme.model.table import Table
from gramme.node.engine.api import Engine, Family, Operation, RangeDelete, Row
from gramme.node.engine.keyspace import (
    SYS_NEXT_ID,
    SYS_TABLES,
    ReplicaSettings,
    ReplicaState,
    TableRecord,
    decode_state,
    decode_table,
    encode_settings,
    encode_state,
    encode_table,
    group_range,
    log_range,
    settings_key,
    state_key,
    table_key,
    token_bound,
)
from gramme.node.replica import Commits, Entry, Round
from gramme.partitions import TOKEN_SPACE, GroupId, Partition, TableId, even_ranges

META_GROUP = 0
FIRST_TERM = 1
FIRST_EPOCH = 1

EMPTY_STATE = ReplicaState(FIRST_TERM, 0, FIRST_EPOCH, 0, 0, 0, 0)

_Name = tuple[str, str, str]


class Meta:
    def __init__(self, engine: Engine, commits: Commits) -> None:
        self._commits = commits
        self.lock = asyncio.Lock()
        self.state_key = state_key(META_GROUP)
        raw = engine.get(Family.RAFT, self.state_key)
        self._state = EMPTY_STATE if raw is None else decode_state(raw)
        raw = engine.get(Family.SYS, SYS_NEXT_ID)
        self._next_id = 1 if raw is None else int.from_bytes(raw)
        records = [
            decode_table(raw)
            for _, raw in engine.scan(Family.SYS, SYS_TABLES, successor(SYS_TABLES))
        ]
        self._records: dict[_Name, TableRecord] = {
            _name(record.table): record for record in records
        }

    def records(self) -> Iterable[TableRecord]:
        return self._records.values()

    async def create(self, command: CreateTable) -> TableRecord:
        """Raises ResourceInUse if there is such a table."""
        name = _name(command.table)
        if name in self._records:
            raise ResourceInUse(f"Table already exists: {command.table.name}")
        record = self._place(command)
        operations: list[Operation] = [
            Row(Family.SYS, table_key(*name), encode_table(record)),
            Row(Family.SYS, SYS_NEXT_ID, self._next_id.to_bytes(8)),
        ]
        for settings in settings_of(record):
            operations.append(_row(settings_key(settings.group), encode_settings(settings)))
            operations.append(_row(state_key(settings.group), encode_state(EMPTY_STATE)))
        await self._propose(operations).flushed
        self._records[name] = record
        return record

    def find(self, command: DeleteTable) -> TableRecord:
        """Raises ResourceNotFound."""
        record = self._records.get((command.account, command.region, command.name))
        if record is None:
            raise ResourceNotFound(f"Requested resource not found: Table: {command.name} not found")
        return record

    def delete(self, record: TableRecord) -> Round:
        """Propose to remove a table with all its rows. Its replicas must take no more writes from now on."""
        operations: list[Operation] = [Row(Family.SYS, table_key(*_name(record.table)), None)]
        for table_id in (record.table.id, *(index.id for index in record.table.indexes)):
            lower, upper = token_bound(table_id, 0), token_bound(table_id, TOKEN_SPACE)
            operations.append(RangeDelete(Family.ITEM, lower, upper))
            operations.append(RangeDelete(Family.DEDUPE, lower, upper))
        for settings in settings_of(record):
            operations.append(RangeDelete(Family.CHANGE, *log_range(settings.log_id)))
            operations.append(RangeDelete(Family.RAFT, *group_range(settings.group)))
        del self._records[_name(record.table)]
        return self._propose(operations)

    def _place(self, command: CreateTable) -> TableRecord:
        """Give the table, its indexes and their partitions their ids."""
        indexes = tuple(
            msgspec.structs.replace(index, id=self._take_id()) for index in command.table.indexes
        )
        table = msgspec.structs.replace(command.table, id=self._take_id(), indexes=indexes)
        return TableRecord(
            table,
            self._partitions(table.id, command.partitions),
            {index.name: self._partitions(index.id, command.partitions) for index in indexes},
        )

    def _partitions(self, table_id: int, count: int) -> tuple[Partition, ...]:
        return tuple(
            Partition(GroupId(self._take_id()), TableId(table_id), start, last, FIRST_EPOCH)
            for start, last in even_ranges(count)
        )

    def _take_id(self) -> int:
        self._next_id += 1
        return self._next_id - 1

    def _propose(self, operations: list[Operation]) -> Round:
        self._state = msgspec.structs.replace(self._state, index=self._state.index + 1)
        return self._commits.propose(self, Entry(operations, self._state, 0, ()))

    def writing(self, round: Round) -> None:
        pass

    def settled(self, round: Round, entries: list[Entry]) -> None:
        pass


def settings_of(record: TableRecord) -> list[ReplicaSettings]:
    """The settings of all groups of a table. A group's first change log has the group's own number."""
    found = []
    kept: list[tuple[str | None, tuple[Partition, ...]]] = [(None, record.partitions)]
    kept.extend(record.index_partitions.items())
    for index, partitions in kept:
        for partition in partitions:
            group, start, last = partition.group, partition.start, partition.last
            found.append(ReplicaSettings(group, record.table, index, start, last, log_id=group))
    return found


def _name(table: Table) -> _Name:
    return table.account, table.region, table.name


def _row(key: bytes, value: bytes) -> Row:
    return Row(Family.RAFT, key, value)
