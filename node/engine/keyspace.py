"""The disk format: which row of which family has which key. `docs/disk-format.md` tells it in prose.

    raft     group | 00                      replica state: term, index, epoch, checksum, totals, stamp
             group | 01                      replica settings: table, range, log id, indexes it feeds
             group | 02 | reader             cursor of a reader of the group's change log
             group | 03 | source group       fence: the newest (epoch, term) heard from a source of index rows
             group | 04 | reader             backfill: the last key that a new index has been given; none once it has all
             group | 05                      of a group with a log: how far it is applied, and its members then
             group | 06                      of a group with a log: term, vote and commit index
             group | 07                      of a group with a log: index and term of the entry before the first
             group | 08 | index              entry of the log
             group | 09                      of a replica that is being given a snapshot: what it must remember
    item     table | token | key             item, or row of a global index
    lsi      index | token | key             row of a local index: partition key, index's sort key, table's sort key
    dedupe   table | token | key             of an index: the version at which a row was deleted
             table | token | request id      of a table: when a write was done under this id, and its answer
    change   log id | index | ordinal        change
    sys      "table/" account / region / name, "next-id"
             "member/" number                of a node, as all agree: its data directory, and its replica of meta
             "node/" number                  of another node: the id of the data directory it was first met with
             "principal/" access key         who may ask, with the secret

Numbers are big-endian: group, log id and index 8 bytes, table and ordinal 4, token 8. A partition is a range of
tokens and is not named in an item's key, so a split moves no items.
"""

from __future__ import annotations

import struct

import msgspec

from gramme.model.change import Change
from gramme.model.principal import Principal
from gramme.model.table import Table, TableRecord
from gramme.model.version import Version
from gramme.partitions import TOKEN_SPACE

# Raised when the meaning of any row changes. A directory with a higher one is refused.
DISK_FORMAT = 1

_U32 = struct.Struct(">I")
_U64 = struct.Struct(">Q")
_POSITION = struct.Struct(">QI")
_STATE = struct.Struct(">B7Q")
_STATE_FORMAT = 1
# After the state, for each local index of the table in its order: rows and their bytes.
_LOCAL_TOTALS = struct.Struct(">2Q")

SYS_NEXT_ID = b"next-id"
SYS_TABLES = b"table/"
SYS_MEMBERS = b"member/"
SYS_NODES = b"node/"
SYS_PRINCIPALS = b"principal/"


class ReplicaState(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """What apply leaves behind besides rows; written in the same batch as the rows it sums up.

    `checksum` is the sum, modulo 2^64, of the CRC-32s of all item rows: replicas at one index agree on it,
    and a scan of the rows can verify it. `local` has the count and the bytes of each local index's rows; it is empty
    until there is one.
    """

    term: int
    index: int
    epoch: int
    checksum: int
    item_count: int
    item_bytes: int
    clock: int
    local: tuple[tuple[int, int], ...] = ()


class ReplicaSettings(msgspec.Struct, frozen=True):
    """What apply depends on. It changes only by an entry in the group's own log.

    `index` names the global index this group keeps; None for a table's own partition. `dropped_index` is the greatest id
    of an index of the table that the group has ceased to feed, 0 if there is none: a lower one never comes again.
    """

    group: int
    table: Table
    index: str | None
    start: int
    last: int
    log_id: int
    dropped_index: int = 0


def table_prefix(table_id: int) -> bytes:
    return _U32.pack(table_id)


def token_bound(table_id: int, token: int) -> bytes:
    """The key before which all rows of lower tokens lie. `token` may be one past the last."""
    if token >= TOKEN_SPACE:
        return _U32.pack(table_id + 1)
    return _U32.pack(table_id) + _U64.pack(token)


def state_key(group: int) -> bytes:
    return _U64.pack(group) + b"\0"


def settings_key(group: int) -> bytes:
    return _U64.pack(group) + b"\1"


def cursor_key(group: int, reader: int) -> bytes:
    return _U64.pack(group) + b"\2" + _U32.pack(reader)


def fence_key(group: int, source: int) -> bytes:
    return _U64.pack(group) + b"\3" + _U64.pack(source)


def backfill_key(group: int, reader: int) -> bytes:
    return _U64.pack(group) + b"\4" + _U32.pack(reader)


def member_key(number: int) -> bytes:
    return SYS_MEMBERS + str(number).encode()


def node_key(number: int) -> bytes:
    return SYS_NODES + str(number).encode()


def principal_key(access_key: str) -> bytes:
    return SYS_PRINCIPALS + access_key.encode()


def log_position_key(group: int) -> bytes:
    return _U64.pack(group) + b"\5"


def log_hard_state_key(group: int) -> bytes:
    return _U64.pack(group) + b"\6"


def log_base_key(group: int) -> bytes:
    return _U64.pack(group) + b"\7"


def log_entry_key(group: int, index: int) -> bytes:
    return _U64.pack(group) + b"\x08" + _U64.pack(index)


def incomplete_key(group: int) -> bytes:
    return _U64.pack(group) + b"\x09"


def group_range(group: int) -> tuple[bytes, bytes]:
    """All rows of a group in the raft family."""
    return _U64.pack(group), _U64.pack(group + 1)


def change_key(log_id: int, version: Version) -> bytes:
    return _U64.pack(log_id) + encode_position(version)


def log_range(log_id: int) -> tuple[bytes, bytes]:
    return _U64.pack(log_id), _U64.pack(log_id + 1)


def encode_position(version: Version) -> bytes:
    return _POSITION.pack(version.apply_index, version.ordinal)


def decode_position(raw: bytes) -> Version:
    return Version(*_POSITION.unpack(raw))


def encode_state(state: ReplicaState) -> bytes:
    *fixed, local = msgspec.structs.astuple(state)
    encoded = _STATE.pack(_STATE_FORMAT, *fixed)
    for totals in local:
        encoded += _LOCAL_TOTALS.pack(*totals)
    return encoded


def decode_state(raw: bytes) -> ReplicaState:
    local = tuple(_LOCAL_TOTALS.iter_unpack(raw[_STATE.size :]))
    state = ReplicaState(*_STATE.unpack_from(raw)[1:])
    return msgspec.structs.replace(state, local=local) if local else state


_changes = msgspec.msgpack.Encoder()
_change_decoder = msgspec.msgpack.Decoder(Change)
_settings_decoder = msgspec.msgpack.Decoder(ReplicaSettings)
_table_decoder = msgspec.msgpack.Decoder(TableRecord)
_principal_decoder = msgspec.msgpack.Decoder(Principal)


def encode_change(change: Change) -> bytes:
    return _changes.encode(change)


def decode_change(raw: bytes) -> Change:
    return _change_decoder.decode(raw)


def encode_settings(settings: ReplicaSettings) -> bytes:
    return msgspec.msgpack.encode(settings)


def decode_settings(raw: bytes) -> ReplicaSettings:
    return _settings_decoder.decode(raw)


def encode_tombstone(source: int, version: Version) -> bytes:
    return _U64.pack(source) + encode_position(version)


def decode_tombstone(raw: bytes) -> tuple[int, Version]:
    return _U64.unpack_from(raw)[0], Version(*_POSITION.unpack_from(raw, _U64.size))


def encode_fence(epoch: int, term: int) -> bytes:
    return _U64.pack(epoch) + _U64.pack(term)


def decode_fence(raw: bytes) -> tuple[int, int]:
    return _U64.unpack_from(raw)[0], _U64.unpack_from(raw, _U64.size)[0]


def table_key(account: str, region: str, name: str) -> bytes:
    return SYS_TABLES + f"{account}/{region}/{name}".encode()


def encode_table(record: TableRecord) -> bytes:
    return msgspec.msgpack.encode(record)


def decode_table(raw: bytes) -> TableRecord:
    return _table_decoder.decode(raw)


def encode_principal(principal: Principal) -> bytes:
    return msgspec.msgpack.encode(principal)


def decode_principal(raw: bytes) -> Principal:
    return _principal_decoder.decode(raw)
