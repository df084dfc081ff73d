"""Write sharding: a key that is too busy becomes several, and reading gathers them again.

A partition key's items live in one place, which takes about 1,000 writes a second. "All of today's events" is such a key.
Spread it over "today#0" to "today#7" and the writes go to eight places; a reader asks all eight at once and merges.

The shard is computed from the event's own name, not drawn at random, so that one event is found with one read, and an event
that is sent twice is still one event. Choose the number of shards by the writes you expect: every read pays for each of them.
"""

from __future__ import annotations

import heapq
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from itertools import islice
from zlib import crc32

from boto3.dynamodb.conditions import Key

from tables import Item, Table, temporary_table

SHARDS = 8
EVENTS = 200
DAY = "2026-11-18"


def shard_of(event: str) -> int:
    # Not hash(), which is another in every Python process.
    return crc32(event.encode()) % SHARDS


def key_of(day: str, event: str) -> Item:
    return {"day_shard": f"{day}#{shard_of(event)}", "event": event}


def newest_of_shard(table: Table, day: str, shard: int, page_size: int) -> Iterator[Item]:
    """The events of one shard, newest first, read a page at a time and no further than asked for."""
    request: Item = {
        "KeyConditionExpression": Key("day_shard").eq(f"{day}#{shard}"),
        "ScanIndexForward": False,
        "Limit": page_size,
        "ConsistentRead": True,
    }
    while True:
        page = table.query(**request)
        yield from page["Items"]
        if "LastEvaluatedKey" not in page:
            return
        request["ExclusiveStartKey"] = page["LastEvaluatedKey"]


def newest(table: Table, day: str, count: int) -> list[Item]:
    """Scatter: ask every shard at once. Gather: each is in order already, so they only need merging."""

    def from_one(shard: int) -> list[Item]:
        # All of the newest could be in one shard, so each is asked for that many.
        return list(islice(newest_of_shard(table, day, shard, count), count))

    with ThreadPoolExecutor(SHARDS) as threads:
        answers = threads.map(from_one, range(SHARDS))
        merged = heapq.merge(*answers, key=lambda item: item["event"], reverse=True)
        return list(islice(merged, count))


def main() -> None:
    with temporary_table("write-sharding", "day_shard:S event:S") as table:
        events = [f"12:{number // 60:02}:{number % 60:02}" for number in range(EVENTS)]
        with table.batch_writer() as batch:
            for event in events:
                batch.put_item(Item=key_of(DAY, event))
        spread = Counter(shard_of(event) for event in events)
        print(f"\nWrote {EVENTS} events of one day over {len(spread)} keys:")
        print(f"  each took from {min(spread.values())} to {max(spread.values())}")
        assert len(spread) == SHARDS

        print("\nThe newest five, from all shards at once:")
        five = [item["event"] for item in newest(table, DAY, 5)]
        print(f"  {', '.join(five)}")
        assert five == sorted(events, reverse=True)[:5]

        print("The whole day, merged:")
        everything = [item["event"] for item in newest(table, DAY, EVENTS)]
        print(f"  {len(everything)} events, in order, none missing and none twice")
        assert everything == sorted(events, reverse=True)

        print("\nOne event needs one read, because its name says where it is:")
        found = table.get_item(Key=key_of(DAY, "12:01:01"), ConsistentRead=True)["Item"]
        print(f"  {found['event']} is in {found['day_shard']}")
        assert found["event"] == "12:01:01"


if __name__ == "__main__":
    main()
