"""The response of Query and Scan: a page's items, its counts, and where to go on."""

from __future__ import annotations

from typing import Any

from gramme.capacity import read_units
from gramme.commands import Page
from gramme.model.table import LocalIndex
from gramme.router.operations.consumed import Used, consumed, is_asked_for
from gramme.router.operations.target import Target


def answer_with_page(body: dict[str, Any], target: Target, page: Page) -> bytes:
    end = b'"Count":%d,"ScannedCount":%d' % (page.count, page.scanned)
    if page.last_key is not None:
        end += b',"LastEvaluatedKey":' + page.last_key
    if is_asked_for(body):
        end += b"," + consumed(body, _used(target, page, body.get("ConsistentRead") is True))
    if body.get("Select") == "COUNT":
        return b"{%b}" % end
    # A page may be a megabyte, so its items are copied no more often than they must.
    return b"".join((b'{"Items":[', b",".join(page.items), b"],", end, b"}"))


def _used(target: Target, page: Page, consistent: bool) -> Used:
    # The sizes of a page's items are rounded up together, not one by one.
    units = read_units(page.size, consistent)
    index = target.index
    if index is None:
        return Used(units)
    if isinstance(index, LocalIndex):
        # But what is fetched from the table is: each item is read by itself.
        fetched = float(page.fetched_blocks) if consistent else page.fetched_blocks / 2
        return Used(fetched, in_local={index.name: units})
    return Used(in_global={index.name: units})
