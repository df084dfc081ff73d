"""DeleteItem: the item with a key, if there is one."""

from __future__ import annotations

from typing import Any

from gramme.commands import Delete
from gramme.model.values import normalise_item
from gramme.router.operations.context import Caller, Context
from gramme.router.operations.expressions import read_condition
from gramme.router.operations.item_collections import metrics_of_write
from gramme.router.operations.keys import locate_key
from gramme.router.operations.parameters import Parameters, wants_old
from gramme.router.operations.write_answer import answer_to_write, asks_index_units
from gramme.router.validation.interpreter import validate

PARAMETERS = Parameters(("ConditionExpression",), ("Expected", "ConditionalOperator"))


async def delete_item(context: Context, caller: Caller, body: dict[str, Any]) -> bytes:
    validate("DeleteItem", body)
    plain = PARAMETERS.all.isdisjoint(body)
    if not plain:
        PARAMETERS.check(body)
    key = body["Key"]
    table_name = body["TableName"]
    placed = context.catalog.place(caller, table_name, key)
    if placed is None:
        normalise_item(key)
    return_old = wants_old(body)
    condition = None
    if not plain:
        condition, values = read_condition(body)
    entry, (row, partition) = placed or locate_key(context, caller, table_name, key)

    units = "ReturnConsumedCapacity" in body and asks_index_units(body, entry.table)
    if condition is None:
        delete = Delete(row, None, {}, return_old, False, units)
    else:
        show_item = body.get("ReturnValuesOnConditionCheckFailure") == "ALL_OLD"
        delete = Delete(row, condition, values, return_old, show_item, units)
    written = await context.nodes.write(partition, delete)
    if not entry.table.local_indexes:
        return answer_to_write(body, written)
    metrics = await metrics_of_write(context, body, entry, partition, key)
    return answer_to_write(body, written, metrics)
