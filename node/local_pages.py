"""Pages of a local index: rows of the `lsi` family, and the items behind them where the page shows more than they have.

What a local index does not project is fetched from the item, one read for each. A page that fetches makes a new scan for each
slice, so that the rows and the items of a slice are of one moment: what the index says of an item is then true of it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator

from gramme.capacity import READ_UNIT_SIZE
from gramme.codec.item import HEADER_BYTES, size_of
from gramme.codec.json import decode_item, encode_item
from gramme.codec.key import encode_attributes
from gramme.commands import PAGE_SIZE_MAX, PAGE_STORED_BYTES_MAX, Page, Query, Scan
from gramme.model.item import Item
from gramme.model.table import Table
from gramme.node.engine.api import Engine, Family
from gramme.node.engine.keyspace import table_prefix
from gramme.node.flushed import Flushed
from gramme.node.pages import last_key_of, query_range, read_page, scan_range
from gramme.partitions import TOKEN_BYTES

# About a millisecond of work, as for other pages: each fetched item is found by itself and may be decoded.
SLICE_BYTES_FETCHED = 64 << 10
SLICE_FETCHES = 64

Range = tuple[bytes, bytes]
# What a page must wait for that shows what the engine has under a token just now; under any, if it is empty.
Unflushed = Callable[[bytes], Flushed | None]


class LocalPages:
    """Reads the local indexes of one partition of a table."""

    def __init__(self, engine: Engine, table: Table, unflushed: Unflushed) -> None:
        self._engine = engine
        self._table = table
        self._unflushed = unflushed

    async def query(self, query: Query) -> Page:
        assert query.local is not None
        where = query_range(table_prefix(query.local.index), query)
        token = query.lower[:TOKEN_BYTES]
        return await self._read(query, where, token, PAGE_SIZE_MAX, PAGE_STORED_BYTES_MAX)

    async def scan(self, scan: Scan) -> Page:
        assert scan.local is not None
        where = scan_range(scan.local.index, scan)
        return await self._read(scan, where, b"", scan.size_max, scan.stored_bytes_max)

    async def _read(
        self, query: Query | Scan, where: Range, token: bytes, size_max: int, stored_bytes_max: int
    ) -> Page:
        assert query.local is not None
        if where[0] >= where[1]:
            return Page([], 0, 0, 0, None)
        if query.local.fetches:
            fetching = _Fetching(query, size_max, stored_bytes_max)
            return await self._fetch(fetching, query, where, token)
        unflushed = self._unflushed(token)
        rows = self._rows(query, where)
        page = await read_page(rows, query, size_max, stored_bytes_max)
        if unflushed is not None:
            await unflushed
        return page

    async def _fetch(
        self, page: _Fetching, query: Query | Scan, where: Range, token: bytes
    ) -> Page:
        # Rounds are flushed one after the other, so the last one that was seen is the last to wait for.
        last_seen: Flushed | None = None
        while True:
            last_seen = self._unflushed(token) or last_seen
            after = page.read_slice(self._rows(query, where), self._item_of)
            if after is None:
                break
            where = (after + b"\0", where[1]) if _is_forward(query) else (where[0], after)
            await asyncio.sleep(0)
        if last_seen is not None:
            await last_seen
        return page.finish()

    def _rows(self, query: Query | Scan, where: Range) -> Iterator[tuple[bytes, bytes]]:
        return self._engine.scan(Family.LSI, *where, forward=_is_forward(query))

    def _item_of(self, row_key: bytes, view: Item) -> bytes:
        """The stored item that a row is of. `row_key` begins with the index's id and the token."""
        prefix = table_prefix(self._table.id)
        token = row_key[len(prefix) : len(prefix) + TOKEN_BYTES]
        key = encode_attributes(self._table.keys, view)
        stored = self._engine.get(Family.ITEM, prefix + token + key)
        assert stored is not None, "a local index has a row without an item"
        return stored


class _Fetching:
    """A page as it fills: the index's rows that pass the filter, each shown as its item."""

    def __init__(self, query: Query | Scan, size_max: int, stored_bytes_max: int) -> None:
        self._query = query
        self._size_max = size_max
        self._stored_bytes_max = stored_bytes_max
        self._items: list[bytes] = []
        self._scanned = self._size = self._stored_bytes = 0
        self._fetched_size = self._fetched_blocks = 0
        self._last_key: bytes | None = None

    def read_slice(
        self, rows: Iterator[tuple[bytes, bytes]], item_of: Callable[[bytes, Item], bytes]
    ) -> bytes | None:
        """Read on, and return the key of the row to go on after, or None if the page is done."""
        slice_end = self._stored_bytes + SLICE_BYTES_FETCHED
        rows_end = self._scanned + SLICE_FETCHES
        for row_key, stored in rows:
            body = stored[HEADER_BYTES:]
            self._scanned += 1
            self._size += size_of(stored)
            self._stored_bytes += len(stored)
            view = decode_item(body)
            if self._passes(view):
                self._show(item_of(row_key, view))
            if self._is_full():
                self._last_key = last_key_of(body, self._query.key_names)
                return None
            if self._stored_bytes > slice_end or self._scanned == rows_end:
                return row_key
        return None

    def finish(self) -> Page:
        return Page(
            self._items,
            len(self._items),
            self._scanned,
            self._size,
            self._last_key,
            self._stored_bytes,
            self._fetched_size,
            self._fetched_blocks,
        )

    def _passes(self, view: Item) -> bool:
        filter = self._query.filter
        return filter is None or filter.test(view, self._query.values)

    def _show(self, stored: bytes) -> None:
        size = size_of(stored)
        self._fetched_size += size
        self._fetched_blocks += -(-size // READ_UNIT_SIZE)
        self._stored_bytes += len(stored)
        body = stored[HEADER_BYTES:]
        projection = self._query.projection
        if projection is not None:
            body = encode_item(projection.project(decode_item(body)))
        self._items.append(body)

    def _is_full(self) -> bool:
        # What was fetched was read as well, and a page must end somewhere.
        return (
            self._scanned == self._query.limit
            or self._size + self._fetched_size >= self._size_max
            or self._stored_bytes >= self._stored_bytes_max
        )


def _is_forward(query: Query | Scan) -> bool:
    return not isinstance(query, Query) or query.forward
