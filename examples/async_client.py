"""gramme.client: many calls at once over one connection, and what to do when nobody knows what became of one.

The other examples talk to any endpoint in the language of AWS. This one talks to Gramme's own gateway, with asyncio: start
a server with `gramme serve --gateway-port 8001`. Calls that are made at the same time travel together, so `gather` is
not only shorter than a loop but also many times faster.

A write whose answer was lost is never sent again behind your back: it raises OutcomeUnknown. A condition makes it safe to try
again yourself: if it had happened, the condition now says so.
"""

from __future__ import annotations

import asyncio
import sys
from decimal import Decimal
from uuid import uuid4

import gramme.client
from gramme.client import Client, ConditionalCheckFailed, Disconnected, OutcomeUnknown

DEFAULT_ADDRESS = "localhost:8001"
VISITORS = 200
ATTEMPTS_MAX = 3


async def add_song(client: Client, table: str, song: str) -> bool:
    """Whether it is new. Trying again is safe: the second time it is either still new or already there."""
    item = {"Artist": "Ada", "Song": song, "Plays": 0, "Tags": {"loud", "fast"}}
    for attempt in range(1, ATTEMPTS_MAX + 1):
        try:
            await client.put(table, item, condition="attribute_not_exists(Song)")
            return True
        except ConditionalCheckFailed:
            return attempt > 1
        except OutcomeUnknown:
            if attempt == ATTEMPTS_MAX:
                raise
    raise AssertionError("not reached")


async def play(client: Client, table: str, song: str) -> Decimal:
    played = await client.update(
        table,
        {"Artist": "Ada", "Song": song},
        "ADD Plays :one",
        values={":one": 1},
        returning="UPDATED_NEW",
    )
    assert played is not None
    count: Decimal = played["Plays"]
    return count


async def show(client: Client, table: str) -> None:
    songs = [f"Song {number:02}" for number in range(25)]
    new = await asyncio.gather(*(add_song(client, table, song) for song in songs))
    again = await add_song(client, table, "Song 00")
    print(f"{sum(new)} songs written at once; the first one once more: {again}")
    assert all(new)
    assert not again

    counts = await asyncio.gather(*(play(client, table, "Song 07") for _ in range(VISITORS)))
    print(f"{VISITORS} plays at once, and the count is {max(counts)}")
    assert sorted(counts) == list(range(1, VISITORS + 1))

    found = client.query(
        table,
        "Artist = :a AND begins_with(Song, :s)",
        values={":a": "Ada", ":s": "Song 0"},
        consistent=True,
        page_size=4,
    )
    sizes = [len(page.items) async for page in found.pages()]
    played = [item["Song"] async for item in found if item["Plays"]]
    print(f"pages of {sizes}; played were {played}")
    assert sum(sizes) == 10


async def main(address: str) -> None:
    table = f"example-async-client-{uuid4().hex[:8]}"
    async with gramme.client.connect(
        address, region="us-east-1", access_key="example", secret_key="example"
    ) as client:
        # What gramme.client has no method for is called as in DynamoDB's API.
        await client.call(
            "CreateTable",
            {
                "TableName": table,
                "BillingMode": "PAY_PER_REQUEST",
                "AttributeDefinitions": [
                    {"AttributeName": "Artist", "AttributeType": "S"},
                    {"AttributeName": "Song", "AttributeType": "S"},
                ],
                "KeySchema": [
                    {"AttributeName": "Artist", "KeyType": "HASH"},
                    {"AttributeName": "Song", "KeyType": "RANGE"},
                ],
            },
        )
        try:
            await show(client, table)
        finally:
            await client.call("DeleteTable", {"TableName": table})
            print(f"Removed the table {table}")


if __name__ == "__main__":
    address = next(iter(sys.argv[1:]), DEFAULT_ADDRESS)
    try:
        asyncio.run(main(address))
    except Disconnected:
        sys.exit(
            f"Nobody listens on {address}. Start a server in another terminal: "
            "gramme serve --gateway-port 8001"
        )
