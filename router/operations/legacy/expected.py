"""Expected: the condition of a write, from before there was ConditionExpression.

An attribute's expectation is written in one of two ways: with Value and Exists, or with ComparisonOperator and
AttributeValueList. Of what could be mixed up DynamoDB takes only Value for the one member of AttributeValueList.
"""

from __future__ import annotations

from typing import Any

from gramme.errors import ValidationError
from gramme.expressions import tree
from gramme.expressions.condition import Condition
from gramme.model.item import Values
from gramme.model.values import INVALID, normalise_value
from gramme.router.operations.legacy.comparisons import check_values, compare, join
from gramme.router.operations.legacy.values import GivenValues, compile_condition


def expected_condition(body: dict[str, Any]) -> tuple[Condition | None, Values]:
    """What Expected and ConditionalOperator ask of the stored item, and the values they ask it with."""
    expected = body.get("Expected")
    if not expected:
        return None, {}
    given = GivenValues("Expected", expected)
    tests = [_test(name, expectation, given) for name, expectation in expected.items()]
    return compile_condition(join(tests, body.get("ConditionalOperator"))), given.values


def _test(name: str, expectation: dict[str, Any], given: GivenValues) -> tree.Test:
    value, exists = expectation.get("Value"), expectation.get("Exists")
    operator, values = (
        expectation.get("ComparisonOperator"),
        expectation.get("AttributeValueList"),
    )
    if value is not None and values is not None:
        raise _refusal("Value and AttributeValueList cannot be used together", name)
    if operator is not None:
        if exists is not None:
            raise _refusal("Exists and ComparisonOperator cannot be used together", name)
        if value is None and values is None and operator not in ("NULL", "NOT_NULL"):
            raise _refusal(
                f"Value or AttributeValueList must be used with ComparisonOperator: {operator}",
                name,
            )
        operands = (values or ()) if value is None else (value,)
        return compare(name, operator, check_values(operator, operands), given)
    if values is not None:
        raise _refusal("AttributeValueList can only be used with a ComparisonOperator", name)
    if exists is False:
        if value is not None:
            raise _refusal("Value cannot be used when Exists is false", name)
        return compare(name, "NULL", (), given)
    if value is None:
        shown = "null" if exists is None else "true"
        raise _refusal(f"Value must be provided when Exists is {shown}", name)
    normalise_value(value)
    return compare(name, "EQ", (value,), given)


def _refusal(reason: str, name: str) -> ValidationError:
    return ValidationError(f"{INVALID}{reason} for Attribute: {name}")
