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
from gramme.commands import AlterTable, CreateTable, DeleteTable
from gramme.errors import (
    STILL_IN_USE,
    ResourceInUse,
    ResourceNotFound,
    TableChanged,
    ValidationError,
)
from gramme.model.table import Table, TableStatus
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
        existing = self._records.get(name)
        if existing is not None:
            if existing.table.status == "CREATING":
                raise ResourceInUse(f"{STILL_IN_USE}Table is being created: {command.table.name}")
            raise ResourceInUse(f"Table already exists: {command.table.name}")
        record = self._place(command)
        operations: list[Operation] = [
            _record_row(record),
            Row(Family.SYS, SYS_NEXT_ID, self._next_id.to_bytes(8)),
        ]
        for settings in settings_of(record):
            operations.append(_row(settings_key(settings.group), encode_settings(settings)))
            operations.append(_row(state_key(settings.group), encode_state(EMPTY_STATE)))
        await self._propose(operations).flushed
        self._records[name] = record
        return record

    async def alter(self, command: AlterTable) -> TableRecord:
        """Raises TableChanged if the table is not the expected one.

        A group has its own copy of the table, from which it works. That copy does not change here, so nothing that
        the group works by may: keys and indexes change through the logs of the groups.
        """
        record = self._records.get(_name(command.expected))
        if record is None or record.table != command.expected:
            raise TableChanged(f"{STILL_IN_USE}Table is being updated: {command.expected.name}")
        assert _shape(command.table) == _shape(record.table), "the shape of a table was altered"
        altered = msgspec.structs.replace(record, table=command.table)
        await self._propose([_record_row(altered)]).flushed
        self._records[_name(command.table)] = altered
        return altered

    def find(self, command: DeleteTable) -> TableRecord:
        """The table to be deleted. Raises ResourceNotFound, ResourceInUse, and ValidationError if it is protected."""
        record = self._records.get((command.account, command.region, command.name))
        if record is None:
            raise ResourceNotFound(f"Requested resource not found: Table: {command.name} not found")
        table = record.table
        if table.status == "CREATING":
            raise ResourceInUse(f"{STILL_IN_USE}Table is being created: {table.name}")
        if table.status == "UPDATING":
            raise ResourceInUse(f"{STILL_IN_USE}Table is being updated: {table.name}")
        if table.deletion_protection and table.status != "DELETING":
            raise ValidationError(
                "Resource cannot be deleted as it is currently protected against deletion. "
                "Disable deletion protection first."
            )
        return record

    async def doom(self, record: TableRecord, settles_at_ms: int) -> TableRecord:
        """Let a table be DELETING for a while before it is deleted, over restarts too."""
        doomed = with_status(record, "DELETING", settles_at_ms)
        await self._propose([_record_row(doomed)]).flushed
        self._records[_name(doomed.table)] = doomed
        return doomed

    def current(self, table: Table) -> TableRecord | None:
        """What there is now under the name of `table`, if it is the same table."""
        record = self._records.get(_name(table))
        return record if record is not None and record.table.id == table.id else None

    def settle(self, record: TableRecord) -> TableRecord:
        """Make a table ACTIVE. This is not on disk: a table found in creation or update at a start is ACTIVE then."""
        settled = self._records[_name(record.table)] = with_status(record, "ACTIVE", 0)
        return settled

    def delete(self, record: TableRecord) -> Round:
        """Propose to remove a table with all its rows. Its replicas must take no more writes from now on."""
        operations: list[Operation] = [Row(Family.SYS, table_key(*_name(record.table)), None)]
        for local in record.table.local_indexes:
            operations.append(RangeDelete(Family.LSI, *_all_rows(local.id)))
        for table_id in (record.table.id, *(index.id for index in record.table.indexes)):
            lower, upper = _all_rows(table_id)
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
        local_indexes = tuple(
            msgspec.structs.replace(index, id=self._take_id())
            for index in command.table.local_indexes
        )
        table = msgspec.structs.replace(
            command.table, id=self._take_id(), indexes=indexes, local_indexes=local_indexes
        )
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


def with_status(record: TableRecord, status: TableStatus, settles_at_ms: int) -> TableRecord:
    table = msgspec.structs.replace(record.table, status=status, settles_at_ms=settles_at_ms)
    return msgspec.structs.replace(record, table=table)


def _name(table: Table) -> _Name:
    return table.account, table.region, table.name


def _shape(table: Table) -> tuple[object, ...]:
    """What the groups of a table work by."""
    indexes = [
        (index.id, index.name, index.keys, index.projection, index.non_key_attributes)
        for index in table.indexes
    ]
    return table.id, _name(table), table.keys, indexes, table.local_indexes


def _all_rows(table_id: int) -> tuple[bytes, bytes]:
    return token_bound(table_id, 0), token_bound(table_id, TOKEN_SPACE)


def _record_row(record: TableRecord) -> Row:
    return Row(Family.SYS, table_key(*_name(record.table)), encode_table(record))


def _row(key: bytes, value: bytes) -> Row:
    return Row(Family.RAFT, key, value)
