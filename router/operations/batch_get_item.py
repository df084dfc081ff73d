"""BatchGetItem: up to 100 items by their keys, of any tables, up to 16 MB.

The keys beyond that come back as UnprocessedKeys, with all that was asked of them, ready to be sent again.
"""

from __future__ import annotations

import asyncio
from typing import Any, Final, NamedTuple

import orjson

from gramme.capacity import read_units
from gramme.commands import Found, Get
from gramme.errors import ValidationError
from gramme.expressions.projection import Projection
from gramme.model.item import Item
from gramme.model.keys import check_key
from gramme.model.values import normalise_item
from gramme.router.catalog import CatalogEntry, Place
from gramme.router.operations.consumed import Used, consumed_by_tables, is_asked_for
from gramme.router.operations.context import Caller, Context
from gramme.router.operations.expressions import check_scalar_keys
from gramme.router.operations.get_item import PARAMETERS, PROJECTIONS
from gramme.router.operations.keys import locate
from gramme.router.operations.legacy.attributes_to_get import attributes_to_get
from gramme.router.operations.tables import find_table
from gramme.router.validation.interpreter import validate
from gramme.router.validation.measured import members_of

KEYS_MAX: Final = 100
ITEMS_SIZE_MAX: Final = 16 << 20
# Numbers may be much longer as text than DynamoDB counts them, and an answer is bound by what it really holds.
ANSWER_BYTES_MAX: Final = 32 << 20
# What may be read before others get a turn of the loop: about a millisecond, unless it comes from disk.
SLICE_READS: Final = 16
SLICE_BYTES: Final = 128 << 10

_MEMBERS: Final = tuple(members_of("KeysAndAttributes"))
_TOO_MANY = "Too many items requested for the BatchGetItem call"
_DUPLICATES = "Provided list of item keys contains duplicates"


class Wanted(NamedTuple):
    """What is asked of one table: `request` as it came, and what it means."""

    request: dict[str, Any]
    places: list[Place]
    consistent: bool
    projection: Projection | None


class Reading:
    """What has been read so far, of all tables."""

    __slots__ = ("bytes", "reads", "size", "slice_bytes")

    def __init__(self) -> None:
        self.size = self.bytes = self.reads = self.slice_bytes = 0

    def take(self, found: Found) -> bool:
        """Whether there was room in the answer for what was found. There always is for one item."""
        self.reads += 1
        if found.item is None:
            return True
        size, length = self.size + found.size, self.bytes + len(found.item)
        if self.bytes and (size > ITEMS_SIZE_MAX or length > ANSWER_BYTES_MAX):
            return False
        self.size, self.bytes = size, length
        self.slice_bytes += found.size + len(found.item)
        return True

    async def pause(self) -> None:
        if self.slice_bytes > SLICE_BYTES or self.reads >= SLICE_READS:
            self.slice_bytes = self.reads = 0
            await asyncio.sleep(0)


async def batch_get_item(context: Context, caller: Caller, body: dict[str, Any]) -> bytes:
    validate("BatchGetItem", body)
    requests: dict[str, dict[str, Any]] = body["RequestItems"]
    projections = _check(requests)
    wanted = {
        name: _find(context, caller, name, request, projection)
        for (name, request), projection in zip(requests.items(), projections, strict=True)
    }
    used: dict[str, Used] = {}
    parts: list[bytes] = [b'{"Responses":{']
    unprocessed: dict[str, dict[str, Any]] = {}
    reading = Reading()
    for name, of_table in wanted.items():
        founds: list[Found] = []
        if not unprocessed:
            unread = await _read(context, of_table, reading, founds)
            if unread:
                unprocessed[name] = _known(of_table.request) | {"Keys": unread}
        else:
            unprocessed[name] = _known(of_table.request)
        if used:
            parts.append(b",")
        _add_response(parts, name, founds)
        units = sum((read_units(found.size, of_table.consistent) for found in founds), 0.0)
        used[name] = Used(units)
    parts += (b'},"UnprocessedKeys":', orjson.dumps(unprocessed))
    if is_asked_for(body):
        parts += (b",", consumed_by_tables(body, used))
    parts.append(b"}")
    return b"".join(parts)


def _known(request: dict[str, Any]) -> dict[str, Any]:
    """A table's part of the request without what DynamoDB ignores: nobody has looked at that."""
    return {
        name: request[name] for name in _MEMBERS if name in request and request[name] is not None
    }


def _add_response(parts: list[bytes], name: str, founds: list[Found]) -> None:
    """An answer may have 16 MB, so its items are copied once, when all parts are joined."""
    parts.append(b'"%b":[' % name.encode())
    separator = b""
    for found in founds:
        if found.item is not None:
            parts += (separator, found.item)
            separator = b","
    parts.append(b"]")


def _check_styles(requests: dict[str, dict[str, Any]]) -> None:
    """If one table is asked for in an expression, no other may be asked for in the older style."""
    styles = ("ProjectionExpression", "AttributesToGet")
    used = {
        name: request[name]
        for request in requests.values()
        for name in styles
        if request.get(name) is not None
    }
    if len(used) == len(styles):
        PARAMETERS.check(used)


def _check(requests: dict[str, dict[str, Any]]) -> list[Projection | None]:
    """Check what needs no table, put all keys in their normal form, and return each table's projection."""
    projections = []
    count = 0
    _check_styles(requests)
    for request in requests.values():
        projection = None
        if not PARAMETERS.all.isdisjoint(request):
            projection = (
                attributes_to_get(request["AttributesToGet"])
                if PARAMETERS.check(request)
                else PROJECTIONS.read(request)
            )
        projections.append(projection)
        keys = request["Keys"]
        # A key given twice is refused only if it is spelled the same: that can be seen without the table.
        try:
            spelled = {orjson.dumps(key, option=orjson.OPT_SORT_KEYS) for key in keys}
        except orjson.JSONEncodeError:
            # Deeper than orjson writes is deeper than a value may be, and `normalise_item` has the words for it.
            spelled = set()
        for key in keys:
            normalise_item(key)
        if len(spelled) != len(keys):
            raise ValidationError(_DUPLICATES)
        count += len(keys)
        if count > KEYS_MAX:
            raise ValidationError(_TOO_MANY)
    return projections


def _find(
    context: Context,
    caller: Caller,
    name: str,
    request: dict[str, Any],
    projection: Projection | None,
) -> Wanted:
    entry = find_table(context, caller, name)
    seed = context.catalog.seed
    places = [entry.place(key, True) or _locate(seed, entry, key) for key in request["Keys"]]
    check_scalar_keys(entry.table, projection)
    return Wanted(request, places, request.get("ConsistentRead") is True, projection)


def _locate(seed: bytes, entry: CatalogEntry, key: Item) -> Place:
    check_key(entry.table, key)
    return locate(seed, entry, key)


async def _read(
    context: Context, wanted: Wanted, reading: Reading, founds: list[Found]
) -> list[Item]:
    """Read a table's items into `founds` while there is room, and return the keys that were left."""
    seen: set[bytes] = set()
    for position, (row, partition) in enumerate(wanted.places):
        # Two spellings of one number are one key, which is answered once.
        if row in seen:
            continue
        seen.add(row)
        await reading.pause()
        found = await context.nodes.get(partition, Get(row, wanted.consistent, wanted.projection))
        if not reading.take(found):
            keys: list[Item] = wanted.request["Keys"]
            return keys[position:]
        founds.append(found)
    return []
