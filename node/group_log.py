"""A replica's log on disk: entries, what must be remembered of votes, and how far it has been applied.

The rows are in the `raft` family, under the group's number; `keyspace.py` has their keys. An entry's row is its term, its
kind and its data, so that a term is found without decoding. The data of an ordinary entry are operations: apply writes
them as they are, the same on every replica.
"""

from __future__ import annotations

import struct
from collections import deque
from collections.abc import Iterable

import msgspec

from gramme.node.engine.api import Engine, Family, Operation, RangeDelete, Row
from gramme.node.engine.keyspace import (
    log_base_key,
    log_entry_key,
    log_hard_state_key,
    log_position_key,
)
from gramme.node.raft.messages import Configuration, Entry, EntryKind, HardState, ReplicaId

_HEAD = struct.Struct(">QB")
_BASE = struct.Struct(">QQ")

# When the log holds more than the first, entries that are applied go until the second is left for followers behind.
LOG_BYTES_MAX = 16 << 20
LOG_BYTES_KEPT = 4 << 20
# A leader keeps what a follower still needs, minutes of writes, up to here.
LOG_BYTES_BEHIND_MAX = 512 << 20

_operations = msgspec.msgpack.Encoder()
_operations_decoder = msgspec.msgpack.Decoder(list[Operation])


class Position(msgspec.Struct, frozen=True, array_like=True):
    """How far a replica has applied its log, and who was in the group then. Written with the effects."""

    replica: ReplicaId
    index: int
    term: int
    configuration: Configuration
    # The node that each member's replica lives on.
    nodes: dict[int, int]


def first_position(replica: ReplicaId, placed: dict[int, int]) -> Position:
    """Of a replica that a group is founded with. `placed` has the node of each of them.

    Logs begin after an entry that nobody has. A replica that comes later has nothing at all, so it needs a snapshot, and finds
    out by asking for that entry.
    """
    voters = tuple(ReplicaId(voter) for voter in placed)
    return Position(replica, 1, 0, Configuration(voters), placed)


def encode_operations(operations: list[Operation]) -> bytes:
    return _operations.encode(operations)


def decode_operations(data: bytes) -> list[Operation]:
    return _operations_decoder.decode(data) if data else []


def first_log_rows(group: int, position: Position) -> list[Row]:
    """What makes a replica that has nothing yet."""
    base = Row(Family.RAFT, log_base_key(group), _BASE.pack(position.index, position.term))
    return [base, position_row(group, position)]


def position_row(group: int, position: Position) -> Row:
    return Row(Family.RAFT, log_position_key(group), msgspec.msgpack.encode(position))


def load_position(engine: Engine, group: int) -> Position | None:
    """None if this node has no replica of a group that keeps a log."""
    raw = engine.get(Family.RAFT, log_position_key(group))
    return None if raw is None else msgspec.msgpack.decode(raw, type=Position)


class GroupLog:
    """The log of one replica as it is written; `LogStorage` to the core of Raft.

    What the methods return is to be written by the caller, at once and in order.
    """

    def __init__(self, engine: Engine, group: int) -> None:
        self._engine = engine
        self._group = group
        raw = engine.get(Family.RAFT, log_base_key(group))
        assert raw is not None, f"the log of group {group} has lost its beginning"
        self._base, self._base_term = _BASE.unpack(raw)
        lower, upper = log_entry_key(group, 0), log_entry_key(group, (1 << 64) - 1)
        # Index and size of each entry, to know what goes when the log has grown too long.
        self._sizes: deque[tuple[int, int]] = deque()
        self._bytes = 0
        self._last = self._base
        for key, value in engine.scan(Family.RAFT, lower, upper):
            self._last = int.from_bytes(key[-8:])
            self._grow(self._last, len(value))

    # What the core reads

    def first_index(self) -> int:
        return int(self._base) + 1

    def last_index(self) -> int:
        return int(self._last)

    def term(self, index: int) -> int:
        if index == self._base:
            return int(self._base_term)
        return int(_HEAD.unpack_from(self._row(index))[0])

    def entries(self, low: int, high: int, bytes_max: int) -> list[Entry]:
        found: list[Entry] = []
        size = 0
        lower, upper = log_entry_key(self._group, low), log_entry_key(self._group, high + 1)
        for number, (_, raw) in enumerate(self._engine.scan(Family.RAFT, lower, upper)):
            size += len(raw)
            if found and size > bytes_max:
                break
            term, kind = _HEAD.unpack_from(raw)
            found.append(Entry(term, low + number, EntryKind(kind), raw[_HEAD.size :]))
        return found

    def hard_state(self) -> HardState:
        raw = self._engine.get(Family.RAFT, log_hard_state_key(self._group))
        return HardState() if raw is None else msgspec.msgpack.decode(raw, type=HardState)

    def _row(self, index: int) -> bytes:
        raw = self._engine.get(Family.RAFT, log_entry_key(self._group, index))
        assert raw is not None, f"the log of group {self._group} has lost entry {index}"
        return raw

    @property
    def is_long(self) -> bool:
        """Whether there is more than should be kept."""
        return self._bytes > LOG_BYTES_MAX

    # What is written

    def remember(self, hard_state: HardState) -> Row:
        value = msgspec.msgpack.encode(hard_state)
        return Row(Family.RAFT, log_hard_state_key(self._group), value)

    def append(self, entries: list[Entry]) -> Iterable[Row]:
        """Write entries in the place of all that is there from the first one's index on."""
        first = entries[0].index
        while self._sizes and self._sizes[-1][0] >= first:
            self._bytes -= self._sizes.pop()[1]
        for entry in entries:
            value = _HEAD.pack(entry.term, entry.kind) + entry.data
            self._grow(entry.index, len(value))
            yield Row(Family.RAFT, log_entry_key(self._group, entry.index), value)
        for index in range(entries[-1].index + 1, self._last + 1):
            yield Row(Family.RAFT, log_entry_key(self._group, index), None)
        self._last = entries[-1].index

    def compact(self, applied: int, needed: int) -> tuple[int, list[Operation]] | None:
        """Drop old entries if there are too many: up to which index, and what removes them.

        Followers are known to have all entries up to `needed`.
        """
        base = self._base
        last = applied if self._bytes > LOG_BYTES_BEHIND_MAX else min(applied, needed)
        while self._sizes and self._bytes > LOG_BYTES_KEPT and self._sizes[0][0] <= last:
            base, size = self._sizes.popleft()
            self._bytes -= size
        if base == self._base:
            return None
        self._base_term = self.term(base)
        lower, upper = log_entry_key(self._group, self._base), log_entry_key(self._group, base + 1)
        self._base = base
        row = Row(Family.RAFT, log_base_key(self._group), _BASE.pack(base, self._base_term))
        return base, [RangeDelete(Family.RAFT, lower, upper), row]

    def restart(self, index: int, term: int) -> list[Operation]:
        """Begin anew after a snapshot of everything up to `index`."""
        lower, upper = log_entry_key(self._group, 0), log_entry_key(self._group, (1 << 64) - 1)
        self._base = self._last = index
        self._base_term = term
        self._sizes.clear()
        self._bytes = 0
        row = Row(Family.RAFT, log_base_key(self._group), _BASE.pack(index, term))
        return [RangeDelete(Family.RAFT, lower, upper), row]

    def _grow(self, index: int, size: int) -> None:
        self._sizes.append((index, size))
        self._bytes += size
