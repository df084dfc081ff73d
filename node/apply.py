"""Pure: from a committed effect to rows, and to the sums a replica keeps of its rows."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple
from zlib import crc32

from gramme.capacity import item_size
from gramme.codec.item import body_of, encode_stored, size_of
from gramme.codec.json import decode_item, encode_item
from gramme.codec.key import encode_component
from gramme.commands import Totals
from gramme.model.change import Change
from gramme.model.item import Item
from gramme.model.table import LocalIndex, Table
from gramme.model.version import Stamp, Version
from gramme.node.engine.api import Family, Row
from gramme.node.engine.keyspace import ReplicaState, change_key, encode_change, table_prefix
from gramme.node.views import has_key, project
from gramme.partitions import TOKEN_BYTES

_SUM = (1 << 64) - 1

# Of each local index, in the table's order, how many rows there are and their bytes.
LocalTotals = tuple[tuple[int, int], ...]


def item_row(row_key: bytes, body: bytes | None, size: int, version: Version, stamp: Stamp) -> Row:
    stored = None if body is None else encode_stored(body, size, version, stamp)
    return Row(Family.ITEM, row_key, stored)


def change_row(
    log_id: int, key: bytes, version: Version, stamp: Stamp, old: bytes | None, row: Row
) -> Row:
    """The change that `row` makes to the stored item `old`. It goes into the same batch as the row."""
    change = Change(
        key,
        version,
        stamp,
        None if old is None else body_of(old),
        None if row.value is None else body_of(row.value),
    )
    return Row(Family.CHANGE, change_key(log_id, version), encode_change(change))


class LocalRows(NamedTuple):
    """What a write does to the local indexes: rows to put and to delete, and the totals after it."""

    rows: list[Row]
    totals: LocalTotals


def local_rows(
    table: Table,
    totals: LocalTotals,
    key: bytes,
    old: bytes | None,
    row: Row,
    version: Version,
    stamp: Stamp,
) -> LocalRows:
    """The rows of the local indexes when `row` replaces the stored item `old`. They go into the same batch.

    A row whose view of the item stays as it was is left alone, with the version it has.
    """
    before = None if old is None else decode_item(body_of(old))
    after = None if row.value is None else decode_item(body_of(row.value))
    rows: list[Row] = []
    sums: list[tuple[int, int]] = []
    for index, (count, size) in zip(table.local_indexes, totals or _none(table), strict=True):
        old_view = _local_view(table, index, key, before, old)
        new_view = _local_view(table, index, key, after, row.value)
        if old_view is not None:
            count, size = count - 1, size - old_view.size
            if new_view is None or new_view.key != old_view.key:
                rows.append(Row(Family.LSI, old_view.key, None))
        if new_view is not None:
            count, size = count + 1, size + new_view.size
            if old_view is None or (old_view.key, old_view.item) != (new_view.key, new_view.item):
                # All of an item is stored as the item is.
                value = row.value if index.projection == "ALL" else new_view.stored(version, stamp)
                rows.append(Row(Family.LSI, new_view.key, value))
        sums.append((count, size))
    return LocalRows(rows, tuple(sums))


class _LocalView(NamedTuple):
    """A row of a local index: its key, what it shows of the item, and the size of that."""

    key: bytes
    item: Item
    size: int

    def stored(self, version: Version, stamp: Stamp) -> bytes:
        return encode_stored(encode_item(self.item), self.size, version, stamp)


def _local_view(
    table: Table, index: LocalIndex, key: bytes, item: Item | None, stored: bytes | None
) -> _LocalView | None:
    """The row that the index has for an item, whose stored form is `stored`; None if it has none."""
    if item is None or stored is None or not has_key(index, item):
        return None
    hashed = encode_component(table.hash.type, item[table.hash.name])
    split = TOKEN_BYTES + len(hashed)
    ranged = encode_component(index.range.type, item[index.range.name])
    row_key = table_prefix(index.id) + key[:split] + ranged + key[split:]
    view = project(table, index, item)
    return _LocalView(row_key, view, size_of(stored) if view is item else item_size(view))


def _none(table: Table) -> LocalTotals:
    return ((0, 0),) * len(table.local_indexes)


class Sums:
    """What a replica knows of its rows as a whole, kept up to date with each row that takes another one's place."""

    __slots__ = ("checksum", "clock", "item_bytes", "item_count", "local")

    def __init__(self, state: ReplicaState) -> None:
        self.checksum = state.checksum
        self.item_count = state.item_count
        self.item_bytes = state.item_bytes
        self.clock = state.clock
        self.local: LocalTotals = state.local

    def replace(self, old: bytes | None, row: Row) -> None:
        """`row` takes the place of the stored item `old`."""
        key_checksum = crc32(row.key)
        checksum = self.checksum
        if old is not None:
            checksum -= crc32(old, key_checksum)
            self.item_count -= 1
            self.item_bytes -= size_of(old)
        new = row.value
        if new is not None:
            checksum += crc32(new, key_checksum)
            self.item_count += 1
            self.item_bytes += size_of(new)
        self.checksum = checksum & _SUM


def sum_totals(states: Iterable[ReplicaState]) -> Totals:
    """What several replicas of one table hold together."""
    count = size = 0
    local: dict[int, tuple[int, int]] = {}
    for state in states:
        count += state.item_count
        size += state.item_bytes
        for position, (rows, row_bytes) in enumerate(state.local):
            known_rows, known_bytes = local.get(position, (0, 0))
            local[position] = known_rows + rows, known_bytes + row_bytes
    return Totals(count, size, tuple(Totals(*sums) for sums in local.values()))
