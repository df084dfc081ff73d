"""The backfill: gives a new index the items that a group had before the group began to leave changes for it.

It reads the group's items in the order of their keys and sends what the index has of them, each with the item's own
version, to the targets that the tailer sends to as well. Whichever of the two is late with an item, the target's test of
versions puts it right; the tombstones of rows that go meanwhile are kept until the backfill has ended. How far it has
come is saved about once a second, as an entry of the group, and the row is gone when it has come to the end.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator

from gramme.commands import IndexRow
from gramme.errors import Throttling
from gramme.node.engine.api import Engine, Family, Row
from gramme.node.engine.keyspace import backfill_key, token_bound
from gramme.node.proposals import Round
from gramme.node.replica import Replica
from gramme.node.tail.indexes import IndexReader

# About a millisecond of decoding, projecting and encoding; what the targets do with the rows is as much again.
SLICE_ROWS = 64
SLICE_BYTES = 64 << 10
# A scan keeps the engine from dropping what it shows, so a new one is begun whenever the progress is saved.
PROGRESS_INTERVAL_S = 1.0
PAUSE_S = 0.01

# Of the progress: no item has been sent yet. Every key is greater.
NOTHING = b""


def load_progress(engine: Engine, group: int, reader: int) -> bytes | None:
    """The last key that was sent and saved; None if there is nothing left to send."""
    return engine.get(Family.RAFT, backfill_key(group, reader))


def progress_row(group: int, reader: int, key: bytes | None) -> Row:
    return Row(Family.RAFT, backfill_key(group, reader), key)


class Backfill:
    """Runs once over one group's items for one index, from where the last run had come to."""

    def __init__(
        self,
        engine: Engine,
        replica: Replica,
        reader: IndexReader,
        admit: Callable[[], None],
        turn: asyncio.Lock,
    ) -> None:
        """`admit` raises Throttling while there is no room for more writes. Backfills take slices in `turn`."""
        self._engine = engine
        self._replica = replica
        self._reader = reader
        self._admit = admit
        self._turn = turn

    async def run(self) -> None:
        """Returns when the index durably has all the items, and nothing will be sent again."""
        key = load_progress(self._engine, self._replica.settings.group, self._reader.id)
        while key is not None:
            key = await self._stretch(key)
            await self._save(key).flushed
        await self._reader.filled()

    async def _stretch(self, key: bytes) -> bytes | None:
        """Send items after `key` for a while. Returns the last one's key, or None if there are no more."""
        loop = asyncio.get_running_loop()
        save_at_s = loop.time() + PROGRESS_INTERVAL_S
        rows = self._rows_after(key)
        # Nobody may be told of what is shown but not flushed, and who reads the index is told.
        await self._replica.shown_is_flushed()
        while True:
            async with self._turn:
                found, last = self._slice(rows)
                await asyncio.sleep(0)
            if found:
                await self._send(found)
            if last is None:
                return None
            if loop.time() >= save_at_s:
                return last

    def _rows_after(self, key: bytes) -> Iterator[tuple[bytes, bytes]]:
        settings, table_id = self._replica.settings, self._replica.table_id
        lower = max(
            token_bound(table_id, settings.start),
            self._replica.row_key(key + b"\0" if key else key),
        )
        return self._engine.scan(Family.ITEM, lower, token_bound(table_id, settings.last + 1))

    def _slice(self, rows: Iterator[tuple[bytes, bytes]]) -> tuple[list[IndexRow], bytes | None]:
        """What the index has of the next items, and the last one's key; None if these were all."""
        found: list[IndexRow] = []
        prefix_bytes = len(self._replica.row_key(b""))
        size = 0
        for count, (row_key, stored) in enumerate(rows, start=1):
            key = row_key[prefix_bytes:]
            row = self._reader.row_of(key, stored)
            if row is not None:
                found.append(row)
            size += len(stored)
            if count == SLICE_ROWS or size >= SLICE_BYTES:
                return found, key
        return found, None

    async def _send(self, rows: list[IndexRow]) -> None:
        """The index can wait; those who write to tables come first."""
        while True:
            try:
                self._admit()
                break
            except Throttling:
                await asyncio.sleep(PAUSE_S)
        await self._reader.send(rows)

    def _save(self, key: bytes | None) -> Round:
        row = progress_row(self._replica.settings.group, self._reader.id, key)
        return self._replica.propose_rows([row])
