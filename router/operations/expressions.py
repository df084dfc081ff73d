"""The expressions of a request, parsed with the names and values that the request gives them."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

from gramme.errors import ValidationError
from gramme.expressions import tree
from gramme.expressions.condition import Condition
from gramme.expressions.parser import CACHE_SIZE
from gramme.expressions.placeholders import Placeholders
from gramme.expressions.projection import Projection
from gramme.expressions.update import UpdateExpression
from gramme.model.table import Table
from gramme.model.values import normalise_values

Expression = Condition | Projection | UpdateExpression

_NOT_SCALAR = (
    "Key attributes must be scalars; list random access '[]' and map lookup '.' are not allowed"
)


def placeholders_of(body: dict[str, Any]) -> Placeholders:
    """Names and values, checked before any expression is read."""
    values = body.get("ExpressionAttributeValues")
    placeholders = Placeholders(body.get("ExpressionAttributeNames"), values)
    if values is not None:
        normalise_values(values)
    return placeholders


def parse_condition(body: dict[str, Any]) -> Condition | None:
    """The ConditionExpression of a request that has no other expression."""
    text = body.get("ConditionExpression")
    if text is None:
        return None
    placeholders = placeholders_of(body)
    condition = placeholders.condition(text, "ConditionExpression")
    placeholders.finish()
    return condition


def check_scalar_keys(table: Table, expression: Expression | None) -> None:
    """Keys have no insides, so no path may go into one."""
    if expression is None:
        return
    entered = _entered(expression)
    if not entered:
        return
    for attribute in table.keys:
        if attribute.name in entered:
            raise ValidationError(f"{_NOT_SCALAR}: Key: {attribute.name}")
    for index in table.indexes:
        for attribute in index.keys:
            if attribute.name in entered:
                raise ValidationError(f"{_NOT_SCALAR}: IndexKey: {attribute.name}")


# Expressions are themselves cached, so a text that is used again finds its answer here by identity.
@lru_cache(CACHE_SIZE)
def _entered(expression: Expression) -> frozenset[str]:
    """The attributes that a path of the expression goes into."""
    return frozenset(
        str(node.parts[0])
        for node in tree.walk(expression.tree)
        if isinstance(node, tree.Path) and len(node.parts) > 1
    )
