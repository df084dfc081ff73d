"""ComparisonOperator and its AttributeValueList: what an operator may be given, and the test it stands for."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from gramme.errors import ValidationError
from gramme.expressions import tree
from gramme.expressions.relations import ORDERED, less
from gramme.model.item import AttributeValue
from gramme.model.values import INVALID, normalise_value
from gramme.router.operations.legacy.values import GivenValues, check_count

_COMPARATORS: Final[dict[str, tree.Comparator]] = {
    "EQ": "=",
    "NE": "<>",
    "LE": "<=",
    "LT": "<",
    "GE": ">=",
    "GT": ">",
}
# How many values an operator takes, where it is not one. IN takes any number but none.
_COUNTS: Final = {"NULL": 0, "NOT_NULL": 0, "BETWEEN": 2}
# The types an operator takes. What is not here takes all, lists and maps included.
_SCALARS: Final = ORDERED | {"BOOL", "NULL"}
_TYPES: Final = {
    "LE": ORDERED,
    "LT": ORDERED,
    "GE": ORDERED,
    "GT": ORDERED,
    "IN": ORDERED,
    "BETWEEN": ORDERED,
    "BEGINS_WITH": frozenset({"S", "B"}),
    "CONTAINS": _SCALARS,
    "NOT_CONTAINS": _SCALARS,
}


def read_comparison(name: str, condition: dict[str, Any], given: GivenValues) -> tree.Test:
    """One member of a QueryFilter, a ScanFilter or KeyConditions, checked."""
    operator: str = condition["ComparisonOperator"]
    values = check_values(operator, condition.get("AttributeValueList") or ())
    return compare(name, operator, values, given)


def check_values(operator: str, values: Sequence[AttributeValue]) -> Sequence[AttributeValue]:
    """Check the values an operator is given, in DynamoDB's order, and put them in normal form."""
    check_count("AttributeValueList", len(values))
    for value in values:
        normalise_value(value)
    if len(values) != _COUNTS.get(operator, 1) and not (operator == "IN" and values):
        raise ValidationError(
            f"{INVALID}Invalid number of argument(s) for the {operator} ComparisonOperator"
        )
    if any(value.keys() != values[0].keys() for value in values):
        raise ValidationError(
            f"{INVALID}AttributeValues inside AttributeValueList must be of same type"
        )
    if operator in _TYPES:
        # They are of one type, so the first speaks for all.
        (kind,) = values[0]
        if kind not in _TYPES[operator]:
            raise ValidationError(
                f"{INVALID}ComparisonOperator {operator} is not valid for {kind} AttributeValue type"
            )
    if operator == "BETWEEN" and less(values[1], values[0]):
        raise ValidationError(
            "The BETWEEN condition was provided a range where the lower bound "
            "is greater than the upper bound"
        )
    return values


def compare(
    name: str, operator: str, values: Sequence[AttributeValue], given: GivenValues
) -> tree.Test:
    """The test that an attribute is to pass."""
    path = tree.Path((name,))
    operands = [given.add(value) for value in values]
    match operator:
        case "NULL":
            return tree.Call("attribute_not_exists", (path,))
        case "NOT_NULL":
            return tree.Call("attribute_exists", (path,))
        case "IN":
            return tree.In(path, tuple(operands))
        case "BETWEEN":
            return tree.Between(path, *operands)
        case "BEGINS_WITH":
            return tree.Call("begins_with", (path, operands[0]))
        case "CONTAINS":
            return tree.Call("contains", (path, operands[0]))
        case "NOT_CONTAINS":
            # An attribute that is missing neither contains a value nor does it not, unlike with NE.
            contains = tree.Call("contains", (path, operands[0]))
            return tree.And((tree.Call("attribute_exists", (path,)), tree.Not(contains)))
        case _:
            return tree.Compare(_COMPARATORS[operator], path, operands[0])


def join(tests: Sequence[tree.Test], conditional_operator: str | None) -> tree.Test:
    """All of the tests, or with OR any of them."""
    if len(tests) == 1:
        return tests[0]
    return tree.Or(tuple(tests)) if conditional_operator == "OR" else tree.And(tuple(tests))
