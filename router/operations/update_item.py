"""UpdateItem: some attributes of an item, which begins as its bare key if there is none."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

from gramme.commands import Update
from gramme.errors import ValidationError
from gramme.expressions.condition import Condition
from gramme.expressions.parser import CACHE_SIZE
from gramme.expressions.placeholders import Placeholders
from gramme.expressions.update import UpdateExpression
from gramme.model.item import Values
from gramme.model.table import Table
from gramme.model.values import normalise_item
from gramme.router.catalog import CatalogEntry
from gramme.router.operations.context import Caller, Context
from gramme.router.operations.expressions import ExpressionReader, check_scalar_keys
from gramme.router.operations.index_key_types import check_index_key_types
from gramme.router.operations.item_collections import metrics_of_write
from gramme.router.operations.keys import locate_key
from gramme.router.operations.legacy.attribute_updates import attribute_updates
from gramme.router.operations.legacy.expected import expected_condition
from gramme.router.operations.parameters import Parameters
from gramme.router.operations.write_answer import answer_to_write, asks_index_units
from gramme.router.validation.interpreter import validate

PARAMETERS = Parameters(
    ("UpdateExpression", "ConditionExpression"),
    ("AttributeUpdates", "Expected", "ConditionalOperator"),
)


async def update_item(context: Context, caller: Caller, body: dict[str, Any]) -> bytes:
    validate("UpdateItem", body)
    plain = PARAMETERS.all.isdisjoint(body)
    has_older = not plain and PARAMETERS.check(body)
    key = body["Key"]
    table_name = body["TableName"]
    placed = context.catalog.place(caller, table_name, key)
    if placed is None:
        normalise_item(key)
    if has_older:
        update, condition, values = _read_older(body)
    else:
        update, condition = (None, None) if plain else EXPRESSIONS.read(body)
        values = body.get("ExpressionAttributeValues") or {}
    entry, (row, partition) = placed or locate_key(context, caller, table_name, key)
    if update is not None and (entry.table.indexes or entry.table.local_indexes):
        check_index_key_types(entry, update, values)
    if has_older and update is not None:
        _check_keys_stay(entry.table, update)
    elif update is not None:
        _check_update(entry, update)

    command = Update(
        row,
        key,
        update,
        condition,
        values,
        body.get("ReturnValues") or "NONE",
        body.get("ReturnValuesOnConditionCheckFailure") == "ALL_OLD",
        "ReturnConsumedCapacity" in body and asks_index_units(body, entry.table),
    )
    written = await context.nodes.write(partition, command)
    if not entry.table.local_indexes:
        return answer_to_write(body, written)
    metrics = await metrics_of_write(context, body, entry, partition, key)
    return answer_to_write(body, written, metrics)


def _read_expressions(
    placeholders: Placeholders, body: dict[str, Any]
) -> tuple[UpdateExpression | None, Condition | None]:
    update = condition = None
    if (text := body.get("UpdateExpression")) is not None:
        update = placeholders.update(text)
    if (text := body.get("ConditionExpression")) is not None:
        condition = placeholders.condition(text, "ConditionExpression")
    return update, condition


def _read_older(
    body: dict[str, Any],
) -> tuple[UpdateExpression | None, Condition | None, Values]:
    update, new_values = attribute_updates(body)
    condition, expected_values = expected_condition(body)
    return update, condition, new_values | expected_values


EXPRESSIONS = ExpressionReader(("UpdateExpression", "ConditionExpression"), _read_expressions)


# Only the table and the text decide, so what was found good once is good for all requests like it.
@lru_cache(CACHE_SIZE)
def _check_update(entry: CatalogEntry, update: UpdateExpression) -> None:
    _check_keys_stay(entry.table, update)
    check_scalar_keys(entry.table, update)


def _check_keys_stay(table: Table, update: UpdateExpression) -> None:
    for attribute in table.keys:
        if attribute.name in update.attributes:
            raise ValidationError(
                "One or more parameter values were invalid: "
                f"Cannot update attribute {attribute.name}. This attribute is part of the key"
            )
