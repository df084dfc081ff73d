"""The response of Query and Scan: a page's items, its counts, and where to go on."""

from __future__ import annotations

from typing import Any

from gramme.capacity import read_units
from gramme.commands import Page
from gramme.router.operations.consumed import consumed_by_index, consumed_by_table
from gramme.router.operations.target import Target


def answer_with_page(body: dict[str, Any], target: Target, page: Page) -> bytes:
    end = b'"Count":%d,"ScannedCount":%d' % (page.count, page.scanned)
    if page.last_key is not None:
        end += b',"LastEvaluatedKey":' + page.last_key
    if body.get("ReturnConsumedCapacity") is not None:
        # The sizes of a page's items are rounded up together, not one by one.
        units = read_units(page.size, body.get("ConsistentRead") is True)
        consumed_by = consumed_by_table if target.index is None else consumed_by_index
        consumed = consumed_by(body, units)
        if consumed is not None:
            end += b"," + consumed
    if body.get("Select") == "COUNT":
        return b"{%b}" % end
    # A page may be a megabyte, so its items are copied no more often than they must.
    return b"".join((b'{"Items":[', b",".join(page.items), b"],", end, b"}"))
