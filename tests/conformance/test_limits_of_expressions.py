"""The limits of expressions, each at its edge: the most that goes, and the least that does not."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from tests.conformance.tables import Item, invalid

if TYPE_CHECKING:
    from types_boto3_dynamodb import DynamoDBClient


def condition(dynamodb: DynamoDBClient, table: str, expression: str, **changes: Any) -> None:
    """Ask whether there is no such item, and more."""
    dynamodb.delete_item(
        TableName=table, Key={"pk": {"S": "no"}}, ConditionExpression=expression, **changes
    )


def test_expression_has_at_most_4096_bytes(dynamodb: DynamoDBClient, table: str) -> None:
    full = f"attribute_not_exists({'n' * 4074})"
    assert len(full) == 4096
    condition(dynamodb, table, full)

    for long in (full + " ", f"attribute_not_exists({'n' * 4074}) ", f"{full[:-2]}\u00e9)"):
        message = invalid(condition, dynamodb=dynamodb, table=table, expression=long)
        assert message == (
            "Invalid ConditionExpression: Expression size has exceeded the maximum allowed size; "
            "expression size: 4097"
        )


def test_expression_is_measured_before_names_are_put_in(
    dynamodb: DynamoDBClient, table: str
) -> None:
    names = {"#n": "n" * 5000}

    condition(dynamodb, table, "attribute_not_exists(#n)", ExpressionAttributeNames=names)


@pytest.mark.parametrize("operators", [300, 301])
def test_condition_has_at_most_300_operators(
    dynamodb: DynamoDBClient, table: str, operators: int
) -> None:
    # A NOT, and a comparison and an OR for each of the rest. Functions do not count.
    count, nots = divmod(operators + 1, 2)
    expression = "NOT " * nots + " OR ".join(["a<>:v"] * count)
    parameters: Item = {
        "dynamodb": dynamodb,
        "table": table,
        "expression": f"{expression}",
        "ExpressionAttributeValues": {":v": {"N": "1"}},
    }

    if operators <= 300:
        condition(**parameters)
    else:
        message = invalid(condition, **parameters)
        assert message == (
            "Invalid ConditionExpression: The expression contains too many operators; "
            "operator count: 301"
        )


def test_functions_are_no_operators(dynamodb: DynamoDBClient, table: str) -> None:
    calls = " OR ".join(["contains(a,:v)"] * 150 + ["attribute_not_exists(a)"])

    condition(dynamodb, table, calls, ExpressionAttributeValues={":v": {"S": "1"}})


@pytest.mark.parametrize("count", [100, 101])
def test_in_has_at_most_100_choices(dynamodb: DynamoDBClient, table: str, count: int) -> None:
    names = [f":v{number}" for number in range(count)]
    parameters: Item = {
        "dynamodb": dynamodb,
        "table": table,
        "expression": f"NOT a IN ({', '.join(names)})",
        "ExpressionAttributeValues": {name: {"S": name} for name in names},
    }

    if count <= 100:
        condition(**parameters)
    else:
        message = invalid(condition, **parameters)
        assert message == (
            "Invalid ConditionExpression: The IN operator is provided with too many operands; "
            "number of operands: 101"
        )


@pytest.mark.parametrize("part", [".a", "[0]"])
def test_path_has_at_most_32_levels(dynamodb: DynamoDBClient, table: str, part: str) -> None:
    condition(dynamodb, table, f"attribute_not_exists(a{part * 31})")

    message = invalid(
        condition, dynamodb=dynamodb, table=table, expression=f"attribute_exists(a{part * 32})"
    )

    assert message.startswith("Invalid ConditionExpression: The document path has too many nesting")


@pytest.mark.parametrize("index", [2**31, 10**20])
def test_index_of_a_list_fits_an_integer(dynamodb: DynamoDBClient, table: str, index: int) -> None:
    condition(dynamodb, table, f"attribute_not_exists(a[{2**31 - 1}])")

    message = invalid(
        condition, dynamodb=dynamodb, table=table, expression=f"attribute_exists(a[{index}])"
    )

    assert message == (
        "Invalid ConditionExpression: List index is not within the allowable range; "
        f"index: [{index}]"
    )


@pytest.mark.parametrize("length", [255, 256])
def test_placeholder_has_at_most_255_bytes(
    dynamodb: DynamoDBClient, table: str, length: int
) -> None:
    name, value = "#".ljust(length, "n"), ":".ljust(length, "v")
    of_name: Item = {
        "expression": f"attribute_not_exists({name})",
        "ExpressionAttributeNames": {name: "n"},
    }
    of_value: Item = {
        "expression": f"a <> {value}",
        "ExpressionAttributeValues": {value: {"S": "x"}},
    }

    for parameters in (of_name, of_value):
        if length <= 255:
            condition(dynamodb, table, **parameters)
        else:
            message = invalid(condition, dynamodb=dynamodb, table=table, **parameters)
            assert "contains invalid key: " in message
