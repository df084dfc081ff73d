"""GetItem: one item by its key."""

from __future__ import annotations

from typing import Any

from gramme.capacity import read_units
from gramme.commands import Get
from gramme.expressions.placeholders import Placeholders
from gramme.expressions.projection import Projection
from gramme.model.values import normalise_item
from gramme.router.operations.consumed import consumed_by_table
from gramme.router.operations.context import Caller, Context
from gramme.router.operations.expressions import ExpressionReader, check_scalar_keys
from gramme.router.operations.keys import locate_key
from gramme.router.operations.legacy.attributes_to_get import attributes_to_get
from gramme.router.operations.parameters import Parameters
from gramme.router.validation.interpreter import validate

PARAMETERS = Parameters(("ProjectionExpression",), ("AttributesToGet",))


async def get_item(context: Context, caller: Caller, body: dict[str, Any]) -> bytes:
    if len(body) == 2:
        # The usual request has a table and a key and no wishes. If both are known to be good, nothing is left to check.
        name, key = body.get("TableName"), body.get("Key")
        if type(name) is str and type(key) is dict:
            placed = context.catalog.place(caller, name, key)
            if placed is not None:
                row, partition = placed[1]
                item = (await context.nodes.get(partition, Get(row))).item
                return b"{}" if item is None else b'{"Item":%b}' % item
    return await _get_in_full(context, caller, body)


async def _get_in_full(context: Context, caller: Caller, body: dict[str, Any]) -> bytes:
    validate("GetItem", body)
    plain = PARAMETERS.all.isdisjoint(body)
    if not plain:
        PARAMETERS.check(body)
    key = body["Key"]
    table_name = body["TableName"]
    placed = context.catalog.place(caller, table_name, key)
    if placed is None:
        normalise_item(key)
    projection = None if plain else _projection(body)
    entry, (row, partition) = placed or locate_key(context, caller, table_name, key)
    if projection is not None:
        check_scalar_keys(entry.table, projection)

    consistent = body.get("ConsistentRead") is True
    found = await context.nodes.get(partition, Get(row, consistent, projection))

    item = found.item
    if body.get("ReturnConsumedCapacity") is None:
        return b"{}" if item is None else b'{"Item":' + item + b"}"
    members = [] if item is None else [b'"Item":' + item]
    consumed = consumed_by_table(body, read_units(found.size, consistent))
    if consumed is not None:
        members.append(consumed)
    return b"{" + b",".join(members) + b"}"


def _projection(body: dict[str, Any]) -> Projection | None:
    names = body.get("AttributesToGet")
    return PROJECTIONS.read(body) if names is None else attributes_to_get(names)


def _read_projection(placeholders: Placeholders, body: dict[str, Any]) -> Projection | None:
    text = body.get("ProjectionExpression")
    return None if text is None else placeholders.projection(text)


PROJECTIONS = ExpressionReader(("ProjectionExpression",), _read_projection, has_values=False)
