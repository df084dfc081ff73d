"""The receiving end of a global index: applies rows that are newer than what it has.

Messages may be repeated, after a crash or by a leader that does not know it was replaced. A row is applied only if its
version is newer than the row's, and a delete leaves a tombstone with its version, even where there was no row: otherwise
a repeated put of an older version would bring the row back. A tombstone goes when its source says that nothing up to
its version will ever be sent again.
"""

from __future__ import annotations

from collections import deque

from gramme.codec.item import version_of
from gramme.commands import IndexRow, IndexWrite
from gramme.errors import StaleSource
from gramme.model.version import Version
from gramme.node.apply import item_row
from gramme.node.engine.api import Engine, Family, Operation, Row
from gramme.node.engine.keyspace import (
    decode_fence,
    decode_tombstone,
    encode_fence,
    encode_tombstone,
    fence_key,
    token_bound,
)
from gramme.node.proposals import Round
from gramme.node.replica import Pending, Replica


class IndexTarget:
    def __init__(self, engine: Engine, replica: Replica) -> None:
        self._engine = engine
        self._replica = replica
        self._fences: dict[int, tuple[int, int]] = {}
        # The version of each deleted row, and the same in the order they may be forgotten, by source.
        self._tombstones: dict[bytes, Version] = {}
        self._forgettable: dict[int, deque[tuple[Version, bytes]]] = {}
        self._load_tombstones()

    async def apply(self, write: IndexWrite) -> None:
        """Returns when the rows are durable. Raises StaleSource."""
        operations = self._fence(write)
        stamp = self._replica.next_stamp()
        replaced: list[tuple[bytes | None, Row]] = []
        newest: dict[bytes, tuple[bytes | None, Version]] = {}
        known: dict[Round, None] = {}
        for row in write.rows:
            stored, version = newest.get(row.key) or self._current(row.key)
            if version is not None and row.version <= version:
                # It may have been sent before, and be on its way still.
                current = self._replica.current(row.key)
                if isinstance(current, Pending):
                    known[current.round] = None
                continue
            item = item_row(self._replica.row_key(row.key), row.body, row.size, row.version, stamp)
            if row.body is not None or stored is not None:
                operations.append(item)
            self._bury(write.source, row, operations)
            replaced.append((stored, item))
            newest[row.key] = (item.value, row.version)
        self._forget(write.source, write.watermark, operations)
        if operations:
            round = self._replica.propose(operations, replaced, stamp)
            for key, (stored, version) in newest.items():
                self._replica.remember(key, Pending(stored, version, round))
            known[round] = None
        for round in known:
            await round.flushed

    def _fence(self, write: IndexWrite) -> list[Operation]:
        group, claim = self._replica.settings.group, (write.epoch, write.term)
        known = self._fences.get(write.source)
        if known is None:
            raw = self._engine.get(Family.RAFT, fence_key(group, write.source))
            known = (0, 0) if raw is None else decode_fence(raw)
        if claim < known:
            raise StaleSource(f"group {write.source} spoke as {claim}, after {known}")
        self._fences[write.source] = claim
        if claim == known:
            return []
        return [Row(Family.RAFT, fence_key(group, write.source), encode_fence(*claim))]

    def _current(self, key: bytes) -> tuple[bytes | None, Version | None]:
        current = self._replica.current(key)
        if isinstance(current, Pending):
            return current.stored, current.version
        if current is not None:
            return current, version_of(current)
        return None, self._tombstones.get(key)

    def _bury(self, source: int, row: IndexRow, operations: list[Operation]) -> None:
        """Keep the tombstone of a deleted row, or drop that of a row which is back."""
        row_key = self._replica.row_key(row.key)
        if row.body is None:
            operations.append(Row(Family.DEDUPE, row_key, encode_tombstone(source, row.version)))
            self._tombstones[row.key] = row.version
            self._forgettable.setdefault(source, deque()).append((row.version, row.key))
        elif self._tombstones.pop(row.key, None) is not None:
            operations.append(Row(Family.DEDUPE, row_key, None))

    def _forget(self, source: int, watermark: Version, operations: list[Operation]) -> None:
        queue = self._forgettable.get(source)
        while queue and queue[0][0] <= watermark:
            version, key = queue.popleft()
            # The row may have come back, or been deleted again, since.
            if self._tombstones.get(key) == version:
                del self._tombstones[key]
                operations.append(Row(Family.DEDUPE, self._replica.row_key(key), None))

    def _load_tombstones(self) -> None:
        settings, table_id = self._replica.settings, self._replica.table_id
        lower, upper = (
            token_bound(table_id, settings.start),
            token_bound(table_id, settings.last + 1),
        )
        prefix_bytes = len(self._replica.row_key(b""))
        found = []
        for row_key, raw in self._engine.scan(Family.DEDUPE, lower, upper):
            source, version = decode_tombstone(raw)
            found.append((source, version, row_key[prefix_bytes:]))
        for source, version, key in sorted(found):
            self._tombstones[key] = version
            self._forgettable.setdefault(source, deque()).append((version, key))
