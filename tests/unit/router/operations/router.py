"""A router over fake nodes, and the requests the tests send it."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import Any, Self

import orjson
import pytest

from gramme.clock import VirtualClock
from gramme.errors import GrammeError
from gramme.router.catalog import Catalog
from gramme.router.operations.all import OPERATIONS
from gramme.router.operations.context import Caller, Context
from tests.unit.router.operations.fake_nodes import FakeNodes

CALLER = Caller("000000000000", "us-east-1")
NOW_MS = 1_760_000_000_500

Body = dict[str, Any]

HASH_ONLY: Body = {
    "TableName": "simple",
    "AttributeDefinitions": [{"AttributeName": "id", "AttributeType": "S"}],
    "KeySchema": [{"AttributeName": "id", "KeyType": "HASH"}],
    "BillingMode": "PAY_PER_REQUEST",
}
COMPOSITE: Body = {
    "TableName": "music",
    "AttributeDefinitions": [
        {"AttributeName": "artist", "AttributeType": "S"},
        {"AttributeName": "year", "AttributeType": "N"},
        {"AttributeName": "genre", "AttributeType": "S"},
    ],
    "KeySchema": [
        {"AttributeName": "artist", "KeyType": "HASH"},
        {"AttributeName": "year", "KeyType": "RANGE"},
    ],
    "GlobalSecondaryIndexes": [
        {
            "IndexName": "by-genre",
            "KeySchema": [
                {"AttributeName": "genre", "KeyType": "HASH"},
                {"AttributeName": "year", "KeyType": "RANGE"},
            ],
            "Projection": {"ProjectionType": "INCLUDE", "NonKeyAttributes": ["title"]},
        }
    ],
    "BillingMode": "PAY_PER_REQUEST",
}


@dataclass
class Router:
    context: Context
    nodes: FakeNodes

    @classmethod
    def start(cls, partitions: int = 4) -> Self:
        catalog = Catalog(b"seed")
        nodes = FakeNodes(catalog)
        return cls(Context(catalog, nodes, VirtualClock(NOW_MS), partitions), nodes)

    def ask(self, operation: str, body: Body) -> Body:
        """Send a copy of `body`, as a request's own body would be, and decode the answer."""
        answer: Body = orjson.loads(self.ask_raw(operation, body))
        return answer

    def ask_raw(self, operation: str, body: Body) -> bytes:
        own = orjson.loads(orjson.dumps(body))

        async def run() -> bytes:
            return await OPERATIONS[operation](self.context, CALLER, own)

        return asyncio.run(run())

    def refusal(self, operation: str, body: Body, kind: type[GrammeError]) -> str | None:
        with pytest.raises(kind) as failure:
            self.ask(operation, body)
        return failure.value.message
