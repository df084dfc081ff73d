"""What Query and Scan have beside the key, from before there were expressions: a filter, and AttributesToGet.

The filter is QueryFilter or ScanFilter, whose members ConditionalOperator joins.
"""

from __future__ import annotations

from typing import Any

import msgspec

from gramme.expressions.condition import Condition
from gramme.expressions.projection import Projection
from gramme.model.item import Values
from gramme.router.operations.legacy.attributes_to_get import attributes_to_get
from gramme.router.operations.legacy.comparisons import join, read_comparison
from gramme.router.operations.legacy.values import GivenValues, compile_condition


class OlderParameters(msgspec.Struct, frozen=True, gc=False):
    """`values` are the filter's. What the request does not have is None."""

    filter: Condition | None
    values: Values
    projection: Projection | None


def read_older(body: dict[str, Any], filter_parameter: str) -> OlderParameters:
    """Check the filter and AttributesToGet, and make of them what expressions are made into."""
    # Scan looks at AttributesToGet before its filter, Query after.
    projection = _projection(body) if filter_parameter == "ScanFilter" else None
    filter, values = older_filter(body, filter_parameter)
    return OlderParameters(filter, values, projection or _projection(body))


def older_filter(body: dict[str, Any], parameter: str) -> tuple[Condition | None, Values]:
    """The filter that `parameter` and ConditionalOperator make, and its values."""
    conditions = body.get(parameter)
    if not conditions:
        return None, {}
    given = GivenValues(parameter, conditions)
    tests = [read_comparison(name, condition, given) for name, condition in conditions.items()]
    return compile_condition(join(tests, body.get("ConditionalOperator"))), given.values


def _projection(body: dict[str, Any]) -> Projection | None:
    names = body.get("AttributesToGet")
    return None if names is None else attributes_to_get(names)
