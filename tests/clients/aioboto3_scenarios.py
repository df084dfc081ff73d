"""What aioboto3 does to a server, as a program: `aioboto3_scenarios.py ENDPOINT SCENARIO`.

It runs in aioboto3's own environment, which has neither pytest nor this package: everything it needs is here. Each scenario
gets a resource and a table of its own, with a global index, and asserts for itself.
"""

from __future__ import annotations

import asyncio
import sys
import time
from collections.abc import Awaitable, Callable
from decimal import Decimal
from typing import Any
from uuid import uuid4

import aioboto3
from boto3.dynamodb.conditions import Attr, Key

INDEX_TIMEOUT_S = 30.0
WRITERS = 20


async def items_go_in_and_come_out(dynamodb: Any, table: Any) -> None:
    item = {"pk": "a", "sk": 1, "price": Decimal("9.99"), "tags": {"x"}, "blob": b"\x00\xff"}

    await table.put_item(Item=item)
    read = (await table.get_item(Key={"pk": "a", "sk": 1}, ConsistentRead=True))["Item"]

    assert read == item, read


async def bytes_of_a_large_answer_survive_their_way(dynamodb: Any, table: Any) -> None:
    blob = bytes(range(256)) * 1000

    await table.put_item(Item={"pk": "large", "sk": 1, "blob": blob})
    read = await table.get_item(Key={"pk": "large", "sk": 1}, ConsistentRead=True)

    assert read["Item"]["blob"] == blob
    assert read["ResponseMetadata"]["RetryAttempts"] == 0, read["ResponseMetadata"]


async def the_batch_writer_sends_more_than_a_batch(dynamodb: Any, table: Any) -> None:
    async with table.batch_writer() as batch:
        for number in range(60):
            await batch.put_item(Item={"pk": "batch", "sk": number})

    found = await table.query(KeyConditionExpression=Key("pk").eq("batch"), ConsistentRead=True)
    assert [item["sk"] for item in found["Items"]] == list(range(60)), found


async def concurrent_counters_lose_nothing(dynamodb: Any, table: Any) -> None:
    async def add() -> None:
        await table.update_item(
            Key={"pk": "counter", "sk": 0},
            UpdateExpression="ADD hits :one",
            ExpressionAttributeValues={":one": 1},
        )

    await asyncio.gather(*(add() for _ in range(WRITERS)))

    read = await table.get_item(Key={"pk": "counter", "sk": 0}, ConsistentRead=True)
    assert read["Item"]["hits"] == WRITERS, read


async def one_of_many_concurrent_creates_wins(dynamodb: Any, table: Any) -> None:
    refused = dynamodb.meta.client.exceptions.ConditionalCheckFailedException

    async def claim(owner: int) -> bool:
        try:
            await table.put_item(
                Item={"pk": "name", "sk": 0, "owner": owner},
                ConditionExpression=Attr("pk").not_exists(),
            )
        except refused:
            return False
        return True

    won = await asyncio.gather(*(claim(owner) for owner in range(WRITERS)))

    read = await table.get_item(Key={"pk": "name", "sk": 0}, ConsistentRead=True)
    assert won.count(True) == 1, won
    assert read["Item"]["owner"] == won.index(True), read


async def paginators_are_iterated_asynchronously(dynamodb: Any, table: Any) -> None:
    for number in range(7):
        await table.put_item(Item={"pk": "page", "sk": number})

    pages = dynamodb.meta.client.get_paginator("query").paginate(
        TableName=table.name,
        KeyConditionExpression=Key("pk").eq("page"),
        PaginationConfig={"PageSize": 3},
    )

    assert [item["sk"] async for page in pages for item in page["Items"]] == list(range(7))


async def an_index_catches_up(dynamodb: Any, table: Any) -> None:
    for number in range(3):
        await table.put_item(Item={"pk": "index", "sk": number, "colour": "red"})

    async def seen() -> list[Decimal]:
        red = Key("colour").eq("red")
        found = await table.query(IndexName="by-colour", KeyConditionExpression=red)
        return [item["sk"] for item in found["Items"]]

    deadline = time.monotonic() + INDEX_TIMEOUT_S
    while await seen() != [0, 1, 2]:
        assert time.monotonic() < deadline, await seen()


async def _main(endpoint: str, scenario: Callable[[Any, Any], Awaitable[None]]) -> None:
    async with aioboto3.Session().resource("dynamodb", endpoint_url=endpoint) as dynamodb:
        table = await dynamodb.create_table(
            TableName=f"gramme-aioboto3-{uuid4().hex[:12]}",
            KeySchema=[
                {"AttributeName": "pk", "KeyType": "HASH"},
                {"AttributeName": "sk", "KeyType": "RANGE"},
            ],
            AttributeDefinitions=[
                {"AttributeName": "pk", "AttributeType": "S"},
                {"AttributeName": "sk", "AttributeType": "N"},
                {"AttributeName": "colour", "AttributeType": "S"},
            ],
            GlobalSecondaryIndexes=[
                {
                    "IndexName": "by-colour",
                    "KeySchema": [
                        {"AttributeName": "colour", "KeyType": "HASH"},
                        {"AttributeName": "sk", "KeyType": "RANGE"},
                    ],
                    "Projection": {"ProjectionType": "ALL"},
                }
            ],
            BillingMode="PAY_PER_REQUEST",
        )
        try:
            await table.wait_until_exists()
            await scenario(dynamodb, table)
        finally:
            await table.delete()
            await table.wait_until_not_exists()


if __name__ == "__main__":
    asyncio.run(_main(sys.argv[1], globals()[sys.argv[2]]))
