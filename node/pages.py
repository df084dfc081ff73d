"""One page of a query or a scan: rows in key order, a slice at a time, until a limit is met.

DynamoDB counts towards a page's megabyte what was read, before filter and projection, and counts towards Limit what
was evaluated. A slice is what may be done without letting other requests run; the scan itself is a view of one moment, so
stopping between slices changes nothing in it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator

from gramme.codec.item import HEADER_BYTES, size_of
from gramme.codec.json import decode_item, encode_item
from gramme.commands import PAGE_SIZE_MAX, PAGE_STORED_BYTES_MAX, Page, Query, Scan
from gramme.node.engine.keyspace import table_prefix, token_bound

# About a millisecond of work: rows that are only copied are cheap, rows that are decoded are not.
SLICE_BYTES_COPIED = 256 << 10
SLICE_BYTES_DECODED = 64 << 10
SLICE_ROWS = 512


def query_range(prefix: bytes, query: Query) -> tuple[bytes, bytes]:
    """Where the rows of a query are that have not been seen yet, behind the prefix of their table or index."""
    lower, upper = prefix + query.lower, prefix + query.upper
    if query.start is not None:
        if query.forward:
            lower = max(lower, prefix + query.start + b"\0")
        else:
            upper = min(upper, prefix + query.start)
    return lower, upper


def scan_range(table_id: int, scan: Scan) -> tuple[bytes, bytes]:
    """Likewise for a scan, of a table or an index with this id."""
    lower = token_bound(table_id, scan.first)
    if scan.start is not None:
        lower = max(lower, table_prefix(table_id) + scan.start + b"\0")
    return lower, token_bound(table_id, scan.last + 1)


async def read_page(
    rows: Iterator[tuple[bytes, bytes]],
    query: Query | Scan,
    size_max: int = PAGE_SIZE_MAX,
    stored_bytes_max: int = PAGE_STORED_BYTES_MAX,
) -> Page:
    """Read `rows`, which begin after the query's start key, into a page."""
    select = _selector(query)
    slice_bytes = SLICE_BYTES_COPIED if select is None else SLICE_BYTES_DECODED
    limit = query.limit or -1
    items: list[bytes] = []
    size = scanned = stored_bytes = 0
    slice_end = slice_bytes
    body = b""
    more = False
    for _, stored in rows:
        body = stored[HEADER_BYTES:]
        scanned += 1
        size += size_of(stored)
        stored_bytes += len(stored)
        shown = body if select is None else select(body)
        if shown is not None:
            items.append(shown)
        if scanned == limit or size >= size_max or stored_bytes >= stored_bytes_max:
            more = True
            break
        if stored_bytes > slice_end or not scanned % SLICE_ROWS:
            slice_end = stored_bytes + slice_bytes
            await asyncio.sleep(0)
    count = len(items)
    last_key = last_key_of(body, query.key_names) if more else None
    return Page([] if query.count_only else items, count, scanned, size, last_key, stored_bytes)


def _selector(query: Query | Scan) -> Callable[[bytes], bytes | None] | None:
    """What to show of an item, None where the filter leaves it out; or None if all is shown of all."""
    condition, projection, values = query.filter, query.projection, query.values
    if condition is None and projection is None:
        return None

    def select(body: bytes) -> bytes | None:
        item = decode_item(body)
        if condition is not None and not condition.test(item, values):
            return None
        if projection is None or query.count_only:
            return body
        return encode_item(projection.project(item))

    return select


def last_key_of(body: bytes, key_names: tuple[str, ...]) -> bytes:
    item = decode_item(body)
    return encode_item({name: item[name] for name in key_names})
