"""What is asked of every server: the table, its items and the operations.

Item number `n` lives under partition key `n // 25` and sort key `n % 25`, so a table of any size can be
asked for single items and for a Query of 25. Keys have a fixed width: a request is a template of
constant length in which a generator only replaces the slots.
"""

import json
import random
import string
from collections.abc import Mapping
from dataclasses import dataclass

from bench.wire import request_text

TABLE = "bench"
ITEMS_PER_PARTITION_KEY = 25
BATCH_ITEMS_MAX = 25
SCAN_PAGE_BYTES = 1 << 20

PARTITION_KEY = "p%08d"
SORT_KEY = "s%02d"
PARTITION_SLOT = "<partition>"
SORT_SLOT = "<sort>"
DATA_SLOT = "<data>"

# Item data is a random window of this text, so a disk engine cannot compress it away.
NOISE = "".join(random.Random(25).choices(string.ascii_letters + string.digits, k=1 << 15))


@dataclass(frozen=True, slots=True)
class Dataset:
    """How many items a table holds, and how much data each carries beside its keys."""

    items: int
    data_bytes: int


@dataclass(frozen=True, slots=True)
class Workload:
    """One operation on random keys: request pieces between slots, and what an answer must weigh."""

    name: str
    pieces: tuple[str, ...]
    dataset: Dataset
    answer_bytes_min: int

    def request(self, chance: random.Random) -> bytes:
        number = chance.randrange(self.dataset.items)
        slots = {
            PARTITION_SLOT: PARTITION_KEY % (number // ITEMS_PER_PARTITION_KEY),
            SORT_SLOT: SORT_KEY % (number % ITEMS_PER_PARTITION_KEY),
        }

        def text(piece: str) -> str:
            if piece == DATA_SLOT:
                return data_for(chance.randrange(len(NOISE)), self.dataset.data_bytes)
            return slots.get(piece, piece)

        return "".join(map(text, self.pieces)).encode("ascii")


def workloads(dataset: Dataset) -> tuple[Workload, ...]:
    """The operations that every comparison runs, in the order of the report."""
    key = {"pk": {"S": PARTITION_SLOT}, "sk": {"S": SORT_SLOT}}
    item = {**key, "data": {"S": DATA_SLOT}, "visits": {"N": "0"}}
    get = {"TableName": TABLE, "Key": key}
    put = {"TableName": TABLE, "Item": item}
    update = {
        "TableName": TABLE,
        "Key": key,
        "UpdateExpression": "SET visits = visits + :one",
        "ConditionExpression": "attribute_exists(pk)",
        "ExpressionAttributeValues": {":one": {"N": "1"}},
    }
    query = {
        "TableName": TABLE,
        "KeyConditionExpression": "pk = :pk",
        "ExpressionAttributeValues": {":pk": {"S": PARTITION_SLOT}},
    }
    batch = {
        "RequestItems": {
            TABLE: [
                {"PutRequest": {"Item": {**item, "sk": {"S": SORT_KEY % number}}}}
                for number in range(BATCH_ITEMS_MAX)
            ]
        }
    }
    page_bytes = dataset.data_bytes * min(ITEMS_PER_PARTITION_KEY, dataset.items)
    scan_bytes = min(SCAN_PAGE_BYTES, dataset.data_bytes * dataset.items)
    return (
        workload("GetItem", get, dataset, dataset.data_bytes),
        workload("PutItem", put, dataset, 2),
        workload("UpdateItem", update, dataset, 2),
        workload("Query", query, dataset, page_bytes),
        workload("BatchWriteItem", batch, dataset, 2),
        workload("Scan", {"TableName": TABLE}, dataset, scan_bytes),
    )


def point_read(dataset: Dataset, consistent: bool) -> Workload:
    """GetItem, as strong as is asked for."""
    key = {"pk": {"S": PARTITION_SLOT}, "sk": {"S": SORT_SLOT}}
    get = {"TableName": TABLE, "Key": key, "ConsistentRead": consistent}
    return workload("GetItem", get, dataset, dataset.data_bytes)


def workload(
    operation: str, body: Mapping[str, object], dataset: Dataset, answer_bytes_min: int
) -> Workload:
    text = json.dumps(body, separators=(",", ":"))
    widths = {
        PARTITION_SLOT: len(PARTITION_KEY % 0),
        SORT_SLOT: len(SORT_KEY % 0),
        DATA_SLOT: dataset.data_bytes,
    }
    sized = text
    for slot, width in widths.items():
        sized = sized.replace(slot, "0" * width)
    head = request_text(operation, sized).removesuffix(sized)
    return Workload(operation, split_at_slots(head + text), dataset, answer_bytes_min)


def split_at_slots(text: str) -> tuple[str, ...]:
    """`text` as constant pieces and slots, in order, without empty pieces."""
    pieces = [text]
    for slot in (PARTITION_SLOT, SORT_SLOT, DATA_SLOT):
        split: list[str] = []
        for piece in pieces:
            head, *rest = piece.split(slot)
            split.append(head)
            for part in rest:
                split += [slot, part]
        pieces = split
    return tuple(piece for piece in pieces if piece)


def data_for(start: int, data_bytes: int) -> str:
    """`data_bytes` of noise from `start` on, wrapping around."""
    start %= len(NOISE)
    text = NOISE[start : start + data_bytes]
    while len(text) < data_bytes:
        text += NOISE[: data_bytes - len(text)]
    return text


def item_text(number: int, data_bytes: int) -> str:
    """Item `number` of a dataset as DynamoDB JSON."""
    partition = PARTITION_KEY % (number // ITEMS_PER_PARTITION_KEY)
    sort = SORT_KEY % (number % ITEMS_PER_PARTITION_KEY)
    data = data_for(number * 7919, data_bytes)
    return (
        f'{{"pk":{{"S":"{partition}"}},"sk":{{"S":"{sort}"}},'
        f'"data":{{"S":"{data}"}},"visits":{{"N":"0"}}}}'
    )
