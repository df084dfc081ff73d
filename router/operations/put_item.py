"""PutItem: a whole item, in place of what has its key."""

from __future__ import annotations

from typing import Any

from gramme.codec.json import encode_item
from gramme.commands import Put
from gramme.errors import ValidationError
from gramme.model.keys import check_index_keys, check_item_keys
from gramme.model.values import ITEM_SIZE_MAX, TOO_LARGE, normalise_item
from gramme.router.operations.context import Caller, Context
from gramme.router.operations.expressions import read_condition
from gramme.router.operations.item_collections import metrics_of_write
from gramme.router.operations.keys import locate
from gramme.router.operations.parameters import Parameters, wants_old
from gramme.router.operations.tables import find_table
from gramme.router.operations.write_answer import answer_to_write, asks_index_units
from gramme.router.validation.interpreter import validate

PARAMETERS = Parameters(("ConditionExpression",), ("Expected", "ConditionalOperator"))


async def put_item(context: Context, caller: Caller, body: dict[str, Any]) -> bytes:
    validate("PutItem", body)
    plain = PARAMETERS.all.isdisjoint(body)
    if not plain:
        PARAMETERS.check(body)
    item = body["Item"]
    size = normalise_item(item)
    return_old = wants_old(body)
    # DynamoDB checks the item's size before its condition and before it looks for the table.
    if size > ITEM_SIZE_MAX:
        raise ValidationError(TOO_LARGE)
    condition = None
    if not plain:
        condition, values = read_condition(body)
    entry = find_table(context, caller, body["TableName"])
    table = entry.table
    place = entry.place(item, False)
    if place is None:
        check_item_keys(table, item)
    if table.indexes or table.local_indexes:
        check_index_keys(table, item)

    row, partition = place or locate(context.catalog.seed, entry, item)
    units = "ReturnConsumedCapacity" in body and asks_index_units(body, table)
    if condition is None:
        put = Put(row, encode_item(item), size, None, {}, return_old, False, units)
    else:
        show_item = body.get("ReturnValuesOnConditionCheckFailure") == "ALL_OLD"
        put = Put(row, encode_item(item), size, condition, values, return_old, show_item, units)
    collection_key = {table.hash.name: item[table.hash.name]} if table.local_indexes else {}
    writing = context.nodes.write(partition, put)
    # What was made of the item must not wait for the flush too: it would fill the processor's caches.
    del item, put, body["Item"]
    written = await writing
    if not table.local_indexes:
        return answer_to_write(body, written)
    metrics = await metrics_of_write(context, body, entry, partition, collection_key)
    return answer_to_write(body, written, metrics)
