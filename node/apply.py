"""Pure: from a committed effect to rows, and to the sums a replica keeps of its rows."""

from __future__ import annotations

from collections.abc import Iterable
from zlib import crc32

from gramme.codec.item import body_of, encode_stored, size_of
from gramme.model.change import Change
from gramme.model.version import Stamp, Version
from gramme.node.engine.api import Family, Operation, Row
from gramme.node.engine.keyspace import ReplicaState, change_key, encode_change

_SUM = (1 << 64) - 1


def item_row(row_key: bytes, body: bytes | None, size: int, version: Version, stamp: Stamp) -> Row:
    stored = None if body is None else encode_stored(body, size, version, stamp)
    return Row(Family.ITEM, row_key, stored)


def change_row(
    log_id: int, key: bytes, version: Version, stamp: Stamp, old: bytes | None, row: Row
) -> Operation:
    """The change that `row` makes to the stored item `old`. It goes into the same batch as the row."""
    change = Change(
        key,
        version,
        stamp,
        None if old is None else body_of(old),
        None if row.value is None else body_of(row.value),
    )
    return Row(Family.CHANGE, change_key(log_id, version), encode_change(change))


def next_state(
    state: ReplicaState, index: int, clock: int, replaced: Iterable[tuple[bytes | None, Row]]
) -> ReplicaState:
    """The replica's sums after each row has replaced what stood in its place."""
    checksum, count, total = state.checksum, state.item_count, state.item_bytes
    for old, row in replaced:
        key_checksum = crc32(row.key)
        if old is not None:
            checksum -= crc32(old, key_checksum)
            count -= 1
            total -= size_of(old)
        new = row.value
        if new is not None:
            checksum += crc32(new, key_checksum)
            count += 1
            total += size_of(new)
    return ReplicaState(state.term, index, state.epoch, checksum & _SUM, count, total, clock)
