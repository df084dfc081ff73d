"""Fills a server with a dataset: the table, then its items by BatchWriteItem, or PutItem without it; and reads it."""

import json
import time
from collections.abc import Callable, Iterator, Sequence

from bench.epoll import ClosedLoop
from bench.progress import Progress
from bench.servers import Server
from bench.wire import Answer, Client, request_bytes
from bench.workloads import (
    BATCH_ITEMS_MAX,
    ITEMS_PER_PARTITION_KEY,
    PARTITION_KEY,
    PARTITION_SLOT,
    TABLE,
    Dataset,
    item_text,
    workloads,
)

BATCH_CONNECTIONS = 4
PUT_CONNECTIONS = 64
READ_CONNECTIONS = 16
TABLE_TIMEOUT_S = 20.0


def fill(server: Server, dataset: Dataset) -> float:
    """Create the table and put every item of `dataset`; return the seconds it took."""
    client = Client(server.address)
    create_table(client)
    client.close()
    return put_all(server, dataset.items, lambda number: item_text(number, dataset.data_bytes))


def put_all(server: Server, items: int, text: Callable[[int], str]) -> float:
    """Put items 0 to `items`, each given as DynamoDB JSON by `text`; return the seconds it took."""
    client = Client(server.address)
    batches = has_batches(client, text)
    client.close()
    progress = Progress(f"fill {server.kind.name}", items)
    items_per_request = BATCH_ITEMS_MAX if batches else 1
    loop = ClosedLoop(
        server.address,
        BATCH_CONNECTIONS if batches else PUT_CONNECTIONS,
        batch_requests(items, text) if batches else put_requests(items, text),
        complaint,
        keep_latencies=False,
    )
    tally = loop.run(lambda: progress.advance(items_per_request))
    if tally.failures or tally.broken:
        raise RuntimeError(f"filling {server.kind.name} failed: {tally.reason}")
    return tally.seconds


def read_all(server: Server, dataset: Dataset) -> None:
    """Query every partition key of `dataset` once."""
    asked = next(each for each in workloads(dataset) if each.name == "Query")
    partitions = -(-dataset.items // ITEMS_PER_PARTITION_KEY)
    progress = Progress(f"read {server.kind.name}", partitions)

    def requests() -> Iterator[bytes]:
        for number in range(partitions):
            slots = {PARTITION_SLOT: PARTITION_KEY % number}
            yield "".join(slots.get(piece, piece) for piece in asked.pieces).encode("ascii")

    loop = ClosedLoop(server.address, READ_CONNECTIONS, requests(), complaint, keep_latencies=False)
    tally = loop.run(progress.advance)
    if tally.failures or tally.broken:
        raise RuntimeError(f"reading {server.kind.name} failed: {tally.reason}")


def create_table(client: Client, name: str = TABLE) -> None:
    """Create a table like the bench's, and wait until it is active."""
    keys = (("pk", "HASH"), ("sk", "RANGE"))
    definition = {
        "TableName": name,
        "KeySchema": [{"AttributeName": key, "KeyType": kind} for key, kind in keys],
        "AttributeDefinitions": [{"AttributeName": key, "AttributeType": "S"} for key, _ in keys],
        "BillingMode": "PAY_PER_REQUEST",
    }
    created = client.call("CreateTable", definition)
    if created.status != 200:
        raise RuntimeError(f"CreateTable failed: {created.body.decode(errors='replace')}")
    deadline = time.monotonic() + TABLE_TIMEOUT_S
    while time.monotonic() < deadline:
        described = client.call("DescribeTable", {"TableName": name})
        if described.status == 200 and b'"ACTIVE"' in described.body:
            return
        time.sleep(0.05)
    raise RuntimeError("the table never became active")


def has_batches(client: Client, text: Callable[[int], str]) -> bool:
    """Whether the server knows BatchWriteItem; asking puts the first item."""
    return complaint(client.send(batch_request([text(0)]))) is None


def batch_requests(items: int, text: Callable[[int], str]) -> Iterator[bytes]:
    for first in range(0, items, BATCH_ITEMS_MAX):
        end = min(first + BATCH_ITEMS_MAX, items)
        yield batch_request([text(number) for number in range(first, end)])


def batch_request(texts: Sequence[str]) -> bytes:
    puts = ",".join(f'{{"PutRequest":{{"Item":{text}}}}}' for text in texts)
    return request_bytes("BatchWriteItem", f'{{"RequestItems":{{"{TABLE}":[{puts}]}}}}')


def put_requests(items: int, text: Callable[[int], str]) -> Iterator[bytes]:
    for number in range(items):
        yield request_bytes("PutItem", f'{{"TableName":"{TABLE}","Item":{text(number)}}}')


def complaint(answer: Answer) -> str | None:
    if answer.status != 200:
        return f"{answer.status} {answer.body[:200].decode(errors='replace')}"
    if json.loads(answer.body).get("UnprocessedItems"):
        return "items were left unprocessed"
    return None
