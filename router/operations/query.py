"""Query: the items of one partition key, of a table or an index, in the order of their sort keys."""

from __future__ import annotations

from typing import Any

import msgspec

from gramme.commands import Query
from gramme.errors import ValidationError
from gramme.expressions.condition import Condition
from gramme.expressions.key_condition import KeyCondition
from gramme.expressions.placeholders import Placeholders
from gramme.expressions.projection import Projection
from gramme.model.item import Item, Values
from gramme.partitions import TOKEN_BYTES
from gramme.router.operations.bounds import bounds_of, names_one_row
from gramme.router.operations.context import Caller, Context
from gramme.router.operations.expressions import ExpressionReader, check_scalar_keys
from gramme.router.operations.legacy.filters import OlderParameters, read_older
from gramme.router.operations.legacy.key_conditions import key_conditions
from gramme.router.operations.page_answer import answer_with_page
from gramme.router.operations.parameters import Parameters
from gramme.router.operations.selection import (
    check_filter,
    check_projected,
    check_select,
    local_read,
)
from gramme.router.operations.start_key import check_start_key, normalise_start_key, start_row
from gramme.router.operations.target import Target, find_target
from gramme.router.validation.interpreter import validate

PARAMETERS = Parameters(
    ("ProjectionExpression", "FilterExpression", "KeyConditionExpression"),
    ("AttributesToGet", "QueryFilter", "ConditionalOperator", "KeyConditions"),
)


class Expressions(msgspec.Struct, frozen=True, gc=False):
    """`key_condition` is None where KeyConditions are there instead."""

    key_condition: KeyCondition | None
    filter: Condition | None
    projection: Projection | None


async def query(context: Context, caller: Caller, body: dict[str, Any]) -> bytes:
    validate("Query", body)
    has_older = PARAMETERS.check(body)
    check_select(body)
    older = read_older(body, "QueryFilter") if has_older else None
    start_key = normalise_start_key(body)
    if body.get("KeyConditionExpression") is None and body.get("KeyConditions") is None:
        raise ValidationError(
            "Either the KeyConditions or KeyConditionExpression parameter "
            "must be specified in the request."
        )
    expressions = EXPRESSIONS.read(body)
    values = body.get("ExpressionAttributeValues") or {}
    if older is not None:
        expressions, values = _complete(body, expressions, values, older)
    target = find_target(context, caller, body)
    command = _command(context.catalog.seed, target, body, expressions, values, start_key)
    partition = target.partitions.find(command.lower[:TOKEN_BYTES])
    page = await context.nodes.query(partition, command)
    return answer_with_page(body, target, page)


def _read_expressions(placeholders: Placeholders, body: dict[str, Any]) -> Expressions:
    key_condition = filter = projection = None
    if (text := body.get("KeyConditionExpression")) is not None:
        key_condition = placeholders.key_condition(text)
    if (text := body.get("FilterExpression")) is not None:
        filter = placeholders.condition(text, "FilterExpression")
    if (text := body.get("ProjectionExpression")) is not None:
        projection = placeholders.projection(text)
    return Expressions(key_condition, filter, projection)


EXPRESSIONS = ExpressionReader(
    ("KeyConditionExpression", "FilterExpression", "ProjectionExpression"), _read_expressions
)


def _complete(
    body: dict[str, Any], expressions: Expressions, values: Values, older: OlderParameters
) -> tuple[Expressions, Values]:
    """The expressions, and what the older parameters say in the place of those that are not there."""
    key_condition = expressions.key_condition
    values = values | older.values
    if key_condition is None:
        of_index = body.get("IndexName") is not None
        key_condition, key_values = key_conditions(body["KeyConditions"], of_index=of_index)
        values |= key_values
    filter = expressions.filter if older.filter is None else older.filter
    projection = expressions.projection if older.projection is None else older.projection
    return Expressions(key_condition, filter, projection), values


def _command(
    seed: bytes,
    target: Target,
    body: dict[str, Any],
    expressions: Expressions,
    values: Values,
    start_key: Item | None,
) -> Query:
    """Everything that needs the schema, in the order DynamoDB finds fault with it."""
    filter, projection = expressions.filter, expressions.projection
    if start_key is not None:
        check_start_key(target, start_key)
    assert expressions.key_condition is not None
    key_condition, index = expressions.key_condition, body.get("IndexName")
    wanted = key_condition.bind(values, target.hashes, target.ranges, index)
    bounds = bounds_of(seed, target, wanted)
    start = None
    if start_key is not None:
        start = start_row(seed, target, start_key, wanted, bounds)
    select = body.get("Select")
    if projection is not None or filter is not None or target.index is not None:
        check_scalar_keys(target.table, projection)
        check_filter(target, filter, is_older=body.get("QueryFilter") is not None)
        check_projected(target, select, projection, filter)
        check_scalar_keys(target.table, filter)
    return Query(
        bounds.lower,
        bounds.upper,
        target.key_names,
        start,
        body.get("ScanIndexForward") is not False,
        # A whole key names one row: there is nothing to go on with, and a start key would be refused.
        None if names_one_row(target, wanted) else body.get("Limit"),
        body.get("ConsistentRead") is True,
        filter,
        values,
        projection,
        select == "COUNT",
        None if target.index is None else local_read(target, select, projection),
    )
