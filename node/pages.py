"""One page of a query: rows in key order, a slice at a time, until a limit is met.

DynamoDB counts towards a page's megabyte what was read, before filter and projection, and counts towards Limit what
was evaluated. A slice is what may be done without letting other requests run; the scan itself is a view of one moment, so
stopping between slices changes nothing in it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator

from gramme.codec.item import HEADER_BYTES
from gramme.codec.json import decode_item, encode_item
from gramme.commands import Page, Query

PAGE_BYTES_MAX = 1 << 20
# About a millisecond of work: rows that are only copied are cheap, rows that are decoded are not.
SLICE_BYTES_COPIED = 256 << 10
SLICE_BYTES_DECODED = 64 << 10
SLICE_ROWS = 512


async def read_page(rows: Iterator[tuple[bytes, bytes]], query: Query) -> Page:
    """Read `rows`, which begin after the query's start key, into a page."""
    if query.filter is None and query.projection is None:
        return await _copy(rows, query)
    return await _select(rows, query)


async def _copy(rows: Iterator[tuple[bytes, bytes]], query: Query) -> Page:
    limit = query.limit or -1
    items: list[bytes] = []
    size = scanned = 0
    slice_end = SLICE_BYTES_COPIED
    more = False
    for _, stored in rows:
        items.append(stored[HEADER_BYTES:])
        scanned += 1
        size += int.from_bytes(stored[2:6])
        if scanned == limit or size >= PAGE_BYTES_MAX:
            more = True
            break
        if size > slice_end or not scanned % SLICE_ROWS:
            slice_end = size + SLICE_BYTES_COPIED
            await asyncio.sleep(0)
    last_key = _last_key(items[-1], query.key_names) if more else None
    return Page([] if query.count_only else items, scanned, scanned, size, last_key)


async def _select(rows: Iterator[tuple[bytes, bytes]], query: Query) -> Page:
    limit = query.limit or -1
    condition, projection, values = query.filter, query.projection, query.values
    items: list[bytes] = []
    count = size = scanned = 0
    slice_end = SLICE_BYTES_DECODED
    body = b""
    more = False
    for _, stored in rows:
        body = stored[HEADER_BYTES:]
        scanned += 1
        size += int.from_bytes(stored[2:6])
        item = decode_item(body)
        if condition is None or condition.test(item, values):
            count += 1
            if not query.count_only:
                items.append(body if projection is None else encode_item(projection.project(item)))
        if scanned == limit or size >= PAGE_BYTES_MAX:
            more = True
            break
        if size > slice_end or not scanned % SLICE_ROWS:
            slice_end = size + SLICE_BYTES_DECODED
            await asyncio.sleep(0)
    return Page(items, count, scanned, size, _last_key(body, query.key_names) if more else None)


def _last_key(body: bytes, key_names: tuple[str, ...]) -> bytes:
    item = decode_item(body)
    return encode_item({name: item[name] for name in key_names})
