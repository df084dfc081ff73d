"""BatchWriteItem: up to 25 puts and deletes, of any tables, each on its own.

The whole request is checked before anything is written. The writes go to the node together, so that they share a flush.
What the node has no room for just now comes back as UnprocessedItems, and is the caller's to send again.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from typing import Any, Final, NamedTuple

import orjson

from gramme.codec.json import encode_item
from gramme.commands import Delete, Put, Written
from gramme.errors import Throttling, ValidationError
from gramme.model.item import Item
from gramme.model.keys import check_index_keys, check_key
from gramme.model.table import Table
from gramme.model.values import ITEM_SIZE_MAX, SEVERAL, TOO_LARGE, normalise_item
from gramme.partitions import GroupId, Partition
from gramme.router.catalog import CatalogEntry, Place
from gramme.router.operations.consumed import Used, consumed_by_tables, is_asked_for
from gramme.router.operations.context import Caller, Context
from gramme.router.operations.item_collections import are_asked_for, metrics_of_batch
from gramme.router.operations.keys import locate
from gramme.router.operations.tables import find_table
from gramme.router.validation.interpreter import validate

REQUESTS_MAX: Final = 25
# About a millisecond of checking and encoding, after which others get a turn of the loop.
SLICE_BYTES: Final = 128 << 10

_TOO_MANY = "Too many items requested for the BatchWriteItem call"
_DUPLICATES = "Provided list of item keys contains duplicates"

# A table's name or ARN as the caller wrote it -> its PutRequests and DeleteRequests.
Requests = dict[str, list[dict[str, Any]]]


class Source(NamedTuple):
    """A request as the caller wrote it, and the table it is for by the name or ARN that the caller gave."""

    name: str
    table: Table
    request: dict[str, Any]


class Batch(NamedTuple):
    """The writes, and of each what it came from."""

    writes: list[tuple[Partition, Put | Delete]]
    sources: list[Source]


async def batch_write_item(context: Context, caller: Caller, body: dict[str, Any]) -> bytes:
    validate("BatchWriteItem", body)
    requests: Requests = body["RequestItems"]
    sizes = await _normalise(requests)
    batch = await _read_batch(context, caller, requests, sizes, is_asked_for(body))
    answers = await context.nodes.write_all(batch.writes)
    members = [b'"UnprocessedItems":' + orjson.dumps(_unprocessed(batch, answers))]
    if are_asked_for(body):
        members.append(await metrics_of_batch(context, _written(batch, answers)))
    if is_asked_for(body):
        members.append(consumed_by_tables(body, _used(batch, answers)))
    return b"{" + b",".join(members) + b"}"


async def _normalise(requests: Requests) -> list[int]:
    """Check what needs no table, put all values in their normal form, and return the sizes of items and keys."""
    sizes: list[int] = []
    slice_bytes = 0
    for of_table in requests.values():
        for request in of_table:
            if len(sizes) == REQUESTS_MAX:
                raise ValidationError(_TOO_MANY)
            if slice_bytes > SLICE_BYTES:
                slice_bytes = 0
                await asyncio.sleep(0)
            size = _normalise_request(request)
            sizes.append(size)
            slice_bytes += size
    return sizes


def _normalise_request(request: dict[str, Any]) -> int:
    put, delete = request.get("PutRequest"), request.get("DeleteRequest")
    if (put is None) == (delete is None):
        # DynamoDB has no words of its own for this.
        raise ValidationError(SEVERAL)
    if put is None:
        assert delete is not None
        return normalise_item(delete["Key"])
    size = normalise_item(put["Item"])
    if size > ITEM_SIZE_MAX:
        raise ValidationError(TOO_LARGE)
    return size


async def _read_batch(
    context: Context, caller: Caller, requests: Requests, sizes: list[int], asks_units: bool
) -> Batch:
    """Everything that needs the tables. `asks_units` tells that the caller wants to know what the writes cost."""
    batch = Batch([], [])
    # A table may be given twice, by its name and by its ARN, but a group belongs to one table.
    seen: set[tuple[GroupId, bytes]] = set()
    next_size = iter(sizes)
    slice_bytes = 0
    for name, of_table in requests.items():
        entry = find_table(context, caller, name)
        units = asks_units and bool(entry.table.indexes or entry.table.local_indexes)
        for request in of_table:
            if slice_bytes > SLICE_BYTES:
                slice_bytes = 0
                await asyncio.sleep(0)
            size = next(next_size)
            write, partition = _read_request(context.catalog.seed, entry, request, size, units)
            where = partition.group, write.key
            if where in seen:
                raise ValidationError(_DUPLICATES)
            seen.add(where)
            slice_bytes += size
            batch.writes.append((partition, write))
            batch.sources.append(Source(name, entry.table, request))
    return batch


def _read_request(
    seed: bytes, entry: CatalogEntry, request: dict[str, Any], size: int, index_units: bool
) -> tuple[Put | Delete, Partition]:
    put = request.get("PutRequest")
    if put is None:
        key = request["DeleteRequest"]["Key"]
        place = entry.place(key, True)
        if place is None:
            check_key(entry.table, key)
            place = locate(seed, entry, key)
        return Delete(place[0], index_units=index_units), place[1]
    item = put["Item"]
    row, partition = entry.place(item, False) or _locate_item(seed, entry, item)
    if entry.table.indexes or entry.table.local_indexes:
        check_index_keys(entry.table, item)
    return Put(row, encode_item(item), size, index_units=index_units), partition


def _locate_item(seed: bytes, entry: CatalogEntry, item: dict[str, Any]) -> Place:
    """A batch says of an item's key what other operations say of a Key, and less than PutItem does."""
    names = [attribute.name for attribute in entry.table.keys]
    check_key(entry.table, {name: item[name] for name in names if name in item})
    return locate(seed, entry, item)


def _unprocessed(batch: Batch, answers: list[Written | Throttling]) -> Requests:
    """What was refused for now. If that is everything, the batch is refused as a whole, as DynamoDB does."""
    refused = [answer for answer in answers if type(answer) is Throttling]
    if len(refused) == len(answers):
        raise refused[0]
    unprocessed: Requests = {}
    if refused:
        for source, answer in zip(batch.sources, answers, strict=True):
            if type(answer) is Throttling:
                unprocessed.setdefault(source.name, []).append(_known(source.request))
    return unprocessed


def _known(request: dict[str, Any]) -> dict[str, Any]:
    """A request without what DynamoDB ignores: nobody has looked at that."""
    put = request.get("PutRequest")
    if put is None:
        return {"DeleteRequest": {"Key": request["DeleteRequest"]["Key"]}}
    return {"PutRequest": {"Item": put["Item"]}}


def _used(batch: Batch, answers: list[Written | Throttling]) -> dict[str, Used]:
    used: dict[str, Used] = {}
    for source, answer in zip(batch.sources, answers, strict=True):
        of_table = used.setdefault(source.name, Used())
        if isinstance(answer, Written):
            of_table.add(answer)
    return used


def _written(
    batch: Batch, answers: list[Written | Throttling]
) -> Iterator[tuple[str, Table, Partition, Item]]:
    """Of each write that was done its table, its partition, and the item or the key it was given."""
    for source, (partition, _), answer in zip(batch.sources, batch.writes, answers, strict=True):
        if isinstance(answer, Written):
            put = source.request.get("PutRequest")
            item = source.request["DeleteRequest"]["Key"] if put is None else put["Item"]
            yield source.name, source.table, partition, item
