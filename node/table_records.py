"""What meta's record of a table says of its groups: their first settings, and the rows that make and remove them."""

from __future__ import annotations

from typing import TypeVar

import msgspec

from gramme.model.table import Index, Table, TableRecord, TableStatus
from gramme.node.engine.api import Family, Operation, RangeDelete, Row
from gramme.node.engine.keyspace import (
    ReplicaSettings,
    ReplicaState,
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
from gramme.partitions import TOKEN_SPACE

FIRST_TERM = 1
FIRST_EPOCH = 1

EMPTY_STATE = ReplicaState(FIRST_TERM, 0, FIRST_EPOCH, 0, 0, 0, 0)

Name = tuple[str, str, str]
Key = TypeVar("Key")
Value = TypeVar("Value")


def groups_of(record: TableRecord) -> list[int]:
    """The groups of a table's indexes, then those of the table itself."""
    return [
        partition.group
        for partitions in (*record.index_partitions.values(), record.partitions)
        for partition in partitions
    ]


def settings_of(record: TableRecord) -> list[ReplicaSettings]:
    """The settings of all groups of a table and its indexes."""
    return [
        settings
        for index in (None, *record.index_partitions)
        for settings in settings_for(record, index)
    ]


def settings_for(record: TableRecord, index: str | None) -> list[ReplicaSettings]:
    """The first settings of the groups of a table, or of one of its indexes.

    A group's first change log has the group's own number.
    """
    partitions = record.partitions if index is None else record.index_partitions[index]
    return [
        ReplicaSettings(
            partition.group,
            record.table,
            index,
            partition.start,
            partition.last,
            log_id=partition.group,
        )
        for partition in partitions
    ]


def with_status(record: TableRecord, status: TableStatus, settles_at_ms: int) -> TableRecord:
    table = msgspec.structs.replace(record.table, status=status, settles_at_ms=settles_at_ms)
    return msgspec.structs.replace(record, table=table)


def without_index(record: TableRecord, index: Index) -> TableRecord:
    gone = {partition.group for partition in record.index_partitions[index.name]}
    kept = tuple(other for other in record.table.indexes if other.id != index.id)
    return msgspec.structs.replace(
        record,
        table=msgspec.structs.replace(record.table, indexes=kept),
        index_partitions=_without(record.index_partitions, {index.name}),
        placement=_without(record.placement, gone),
        founders=_without(record.founders, gone),
    )


def _without(them: dict[Key, Value], keys: set[Key]) -> dict[Key, Value]:
    return {key: value for key, value in them.items() if key not in keys}


def name_of(table: Table) -> Name:
    return table.account, table.region, table.name


def shape_of(table: Table, added: Index | None) -> tuple[object, ...]:
    """What the groups of a table work by, but for an index that is being added."""
    indexes = [
        (index.id, index.name, index.keys, index.projection, index.non_key_attributes)
        for index in table.indexes
        if index is not added
    ]
    return table.id, name_of(table), table.keys, indexes, table.local_indexes


def all_rows(table_id: int) -> tuple[bytes, bytes]:
    return token_bound(table_id, 0), token_bound(table_id, TOKEN_SPACE)


def first_rows(record: TableRecord, index: str | None) -> list[Operation]:
    """What makes the groups of a table, or of one of its indexes."""
    return [row for settings in settings_for(record, index) for row in _first_rows(settings)]


def first_rows_of(record: TableRecord, group: int) -> list[Row]:
    """What makes one of the groups of a table, or of its indexes, where only the record is known, as it is by now.

    Of its indexes those that are ACTIVE were there at first, or have been entered in the group's log, which is to come. Of others
    nobody knows whether the group has heard.
    """
    active = tuple(index for index in record.table.indexes if index.phase == "ACTIVE")
    table = msgspec.structs.replace(record.table, indexes=active)
    return [
        row
        for settings in settings_of(record)
        if settings.group == group
        for row in _first_rows(msgspec.structs.replace(settings, table=table))
    ]


def last_rows(record: TableRecord, table_id: int, index: str | None) -> list[Operation]:
    """What removes all rows of a table, or of one of its indexes, and its groups."""
    lower, upper = all_rows(table_id)
    operations: list[Operation] = [
        RangeDelete(Family.ITEM, lower, upper),
        RangeDelete(Family.DEDUPE, lower, upper),
    ]
    for settings in settings_for(record, index):
        operations.append(RangeDelete(Family.CHANGE, *log_range(settings.log_id)))
        operations.append(RangeDelete(Family.RAFT, *group_range(settings.group)))
    return operations


def record_row(record: TableRecord) -> Row:
    return Row(Family.SYS, table_key(*name_of(record.table)), encode_table(record))


def _first_rows(settings: ReplicaSettings) -> list[Row]:
    return [
        _row(settings_key(settings.group), encode_settings(settings)),
        _row(state_key(settings.group), encode_state(EMPTY_STATE)),
    ]


def _row(key: bytes, value: bytes) -> Row:
    return Row(Family.RAFT, key, value)
