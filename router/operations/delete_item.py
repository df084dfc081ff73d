"""DeleteItem: the item with a key, if there is one."""

from __future__ import annotations

from typing import Any

from gramme.commands import Delete
from gramme.model.keys import check_key
from gramme.model.values import normalise_item
from gramme.router.operations.consumed import answer_to_write
from gramme.router.operations.context import Caller, Context
from gramme.router.operations.expressions import parse_condition
from gramme.router.operations.keys import locate
from gramme.router.operations.parameters import Parameters, wants_old
from gramme.router.operations.tables import find_table
from gramme.router.validation.interpreter import validate

PARAMETERS = Parameters(("ConditionExpression",), ("Expected", "ConditionalOperator"))


async def delete_item(context: Context, caller: Caller, body: dict[str, Any]) -> bytes:
    validate("DeleteItem", body)
    plain = PARAMETERS.all.isdisjoint(body)
    if not plain:
        PARAMETERS.check(body)
    key = body["Key"]
    normalise_item(key)
    return_old = wants_old(body)
    condition = None if plain else parse_condition(body)
    entry = find_table(context, caller, body["TableName"])
    check_key(entry.table, key)

    row, partition = locate(context.catalog.seed, entry, key)
    if condition is None:
        delete = Delete(row, None, {}, return_old)
    else:
        show_item = body.get("ReturnValuesOnConditionCheckFailure") == "ALL_OLD"
        values = body.get("ExpressionAttributeValues") or {}
        delete = Delete(row, condition, values, return_old, show_item)
    return answer_to_write(body, await context.nodes.write(partition, delete))
