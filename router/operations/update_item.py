"""UpdateItem: some attributes of an item, which begins as its bare key if there is none."""

from __future__ import annotations

from typing import Any

from gramme.commands import Update
from gramme.errors import ValidationError
from gramme.expressions.condition import Condition
from gramme.expressions.update import UpdateExpression
from gramme.model.table import Table
from gramme.model.values import normalise_item
from gramme.router.operations.consumed import answer_to_write
from gramme.router.operations.context import Caller, Context
from gramme.router.operations.expressions import check_scalar_keys, placeholders_of
from gramme.router.operations.keys import locate_key
from gramme.router.operations.parameters import Parameters
from gramme.router.validation.interpreter import validate

PARAMETERS = Parameters(
    ("UpdateExpression", "ConditionExpression"),
    ("AttributeUpdates", "Expected", "ConditionalOperator"),
)


async def update_item(context: Context, caller: Caller, body: dict[str, Any]) -> bytes:
    validate("UpdateItem", body)
    plain = PARAMETERS.all.isdisjoint(body)
    if not plain:
        PARAMETERS.check(body)
    key = body["Key"]
    table_name = body["TableName"]
    placed = context.catalog.place(caller, table_name, key)
    if placed is None:
        normalise_item(key)
    update, condition = (None, None) if plain else _expressions(body)
    entry, (row, partition) = placed or locate_key(context, caller, table_name, key)
    if update is not None:
        _check_keys_stay(entry.table, update)
        check_scalar_keys(entry.table, update)

    command = Update(
        row,
        key,
        update,
        condition,
        body.get("ExpressionAttributeValues") or {},
        body.get("ReturnValues") or "NONE",
        body.get("ReturnValuesOnConditionCheckFailure") == "ALL_OLD",
    )
    return answer_to_write(body, await context.nodes.write(partition, command))


def _expressions(body: dict[str, Any]) -> tuple[UpdateExpression | None, Condition | None]:
    update_text = body.get("UpdateExpression")
    condition_text = body.get("ConditionExpression")
    if update_text is None and condition_text is None:
        return None, None
    placeholders = placeholders_of(body)
    update = None if update_text is None else placeholders.update(update_text)
    condition = None
    if condition_text is not None:
        condition = placeholders.condition(condition_text, "ConditionExpression")
    placeholders.finish()
    return update, condition


def _check_keys_stay(table: Table, update: UpdateExpression) -> None:
    for attribute in table.keys:
        if attribute.name in update.attributes:
            raise ValidationError(
                "One or more parameter values were invalid: "
                f"Cannot update attribute {attribute.name}. This attribute is part of the key"
            )
