"""What a query finds, page by page or item by item; a page is asked for when it is wanted."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Any

from gramme.client.values import Item, attributes_of, item_of

Fetch = Callable[[dict[str, Any]], Awaitable[dict[str, Any]]]


@dataclass(frozen=True, slots=True)
class Page:
    """`last_key` is where the next page starts; None if this is the last one. A page may have no items and not be the last."""

    items: list[Item]
    scanned_count: int
    last_key: Item | None


class Pages:
    """Iterating gives items. Every iteration begins anew."""

    def __init__(
        self, fetch: Fetch, request: dict[str, Any], start: Mapping[str, object] | None
    ) -> None:
        self._fetch = fetch
        self._request = request
        self._start = None if start is None else attributes_of(start)

    async def __aiter__(self) -> AsyncIterator[Item]:
        async for page in self.pages():
            for item in page.items:
                yield item

    async def pages(self) -> AsyncIterator[Page]:
        start = self._start
        while True:
            from_here = {} if start is None else {"ExclusiveStartKey": start}
            answer = await self._fetch({**self._request, **from_here})
            start = answer.get("LastEvaluatedKey")
            yield Page(
                [item_of(item) for item in answer.get("Items", ())],
                answer["ScannedCount"],
                None if start is None else item_of(start),
            )
            if start is None:
                return
