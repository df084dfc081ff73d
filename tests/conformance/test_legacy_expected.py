"""Expected and ConditionalOperator of PutItem, UpdateItem and DeleteItem."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from tests.conformance.tables import Item, invalid, refusal, unique_name

if TYPE_CHECKING:
    from types_boto3_dynamodb import DynamoDBClient

INVALID = "One or more parameter values were invalid: "

# What the conditions meet, beside the key.
STORED: Item = {
    "n": {"N": "5"},
    "s": {"S": "hello"},
    "b": {"B": b"hello"},
    "set": {"SS": ["a", "b"]},
    "numbers": {"NS": ["1", "2"]},
    "list": {"L": [{"N": "1"}, {"BOOL": True}]},
    "map": {"M": {"x": {"SS": ["a", "b"]}}},
    "yes": {"BOOL": True},
}


def operator(name: str, *values: Item) -> Item:
    return {"ComparisonOperator": name, "AttributeValueList": list(values)}


def holds(dynamodb: DynamoDBClient, table: str, pk: str, expected: Item, **changes: Any) -> bool:
    """Whether a PutItem of what is stored already passes its condition."""
    item = {"pk": {"S": pk}} | STORED
    dynamodb.put_item(TableName=table, Item=item)
    try:
        dynamodb.put_item(TableName=table, Item=item, Expected=expected, **changes)
    except dynamodb.exceptions.ConditionalCheckFailedException:
        return False
    return True


@pytest.mark.parametrize(
    ("attribute", "expectation", "expected"),
    [
        ("n", {"Value": {"N": "5.0"}}, True),
        ("n", {"Value": {"N": "5"}, "Exists": True}, True),
        ("n", {"Value": {"S": "5"}}, False),
        ("none", {"Value": {"N": "5"}}, False),
        ("none", {"Exists": False}, True),
        ("n", {"Exists": False}, False),
        ("n", operator("EQ", {"N": "5e0"}), True),
        ("n", {"ComparisonOperator": "GT", "Value": {"N": "4"}}, True),
        ("set", operator("EQ", {"SS": ["b", "a"]}), True),
        ("map", operator("EQ", {"M": {"x": {"SS": ["b", "a"]}}}), True),
        ("list", operator("EQ", {"L": [{"N": "1"}, {"BOOL": True}]}), True),
        ("list", operator("NE", {"L": [{"N": "1"}]}), True),
        ("n", operator("NE", {"N": "5"}), False),
        ("n", operator("NE", {"S": "5"}), True),
        ("none", operator("NE", {"N": "5"}), True),
        ("n", operator("LE", {"N": "5"}), True),
        ("n", operator("LT", {"N": "5"}), False),
        ("n", operator("LT", {"N": "10"}), True),
        ("n", operator("GE", {"N": "5"}), True),
        ("n", operator("GT", {"N": "5"}), False),
        ("s", operator("GT", {"N": "4"}), False),
        ("none", operator("LE", {"N": "5"}), False),
        ("s", operator("BETWEEN", {"S": "h"}, {"S": "i"}), True),
        ("s", operator("BETWEEN", {"S": "i"}, {"S": "i"}), False),
        ("n", operator("IN", {"N": "4"}, {"N": "5"}), True),
        ("numbers", operator("IN", {"N": "1"}), False),
        ("none", operator("NULL"), True),
        ("n", operator("NULL"), False),
        ("n", {"ComparisonOperator": "NOT_NULL"}, True),
        ("none", {"ComparisonOperator": "NOT_NULL"}, False),
        ("s", operator("CONTAINS", {"S": "ell"}), True),
        ("b", operator("CONTAINS", {"B": b"ell"}), True),
        ("set", operator("CONTAINS", {"S": "a"}), True),
        ("numbers", operator("CONTAINS", {"N": "2.0"}), True),
        ("list", operator("CONTAINS", {"BOOL": True}), True),
        ("none", operator("CONTAINS", {"S": "a"}), False),
        ("s", operator("NOT_CONTAINS", {"S": "x"}), True),
        ("s", operator("NOT_CONTAINS", {"N": "1"}), True),
        ("set", operator("NOT_CONTAINS", {"S": "a"}), False),
        ("none", operator("NOT_CONTAINS", {"S": "a"}), False),
        ("s", operator("BEGINS_WITH", {"S": "he"}), True),
        ("b", operator("BEGINS_WITH", {"B": b"he"}), True),
        ("n", operator("BEGINS_WITH", {"S": "5"}), False),
    ],
)
def test_write_happens_if_the_attribute_is_as_expected(
    dynamodb: DynamoDBClient,
    table: str,
    pk: str,
    attribute: str,
    expectation: Item,
    expected: bool,
) -> None:
    assert holds(dynamodb, table, pk, {attribute: expectation}) is expected


@pytest.mark.parametrize(
    ("conditional_operator", "expected"), [(None, False), ("AND", False), ("OR", True)]
)
def test_conditional_operator_joins_the_expectations(
    dynamodb: DynamoDBClient,
    table: str,
    pk: str,
    conditional_operator: str | None,
    expected: bool,
) -> None:
    both = {"n": {"Value": {"N": "5"}}, "none": operator("NOT_NULL")}
    changes = {} if conditional_operator is None else {"ConditionalOperator": conditional_operator}

    assert holds(dynamodb, table, pk, both, **changes) is expected


def test_path_in_a_name_is_a_part_of_the_name(
    dynamodb: DynamoDBClient, table: str, pk: str
) -> None:
    assert holds(dynamodb, table, pk, {"map.x": {"Exists": False}})


def test_empty_expected_asks_for_nothing(dynamodb: DynamoDBClient, table: str, pk: str) -> None:
    assert holds(dynamodb, table, pk, {})


def test_delete_happens_if_the_item_is_as_expected(
    dynamodb: DynamoDBClient, table: str, pk: str
) -> None:
    key = {"pk": {"S": pk}}
    dynamodb.put_item(TableName=table, Item=key | STORED)

    wrong = {"n": operator("LT", {"N": "5"})}
    failed = refusal(dynamodb.delete_item, TableName=table, Key=key, Expected=wrong)
    right: Any = {"n": {"Value": {"N": "5"}}}
    answer = dynamodb.delete_item(TableName=table, Key=key, Expected=right, ReturnValues="ALL_OLD")

    assert failed == ("ConditionalCheckFailedException", "The conditional request failed")
    assert answer["Attributes"] == key | STORED
    assert "Item" not in dynamodb.get_item(TableName=table, Key=key, ConsistentRead=True)


def test_failed_expectation_shows_the_item_if_asked(
    dynamodb: DynamoDBClient, table: str, pk: str
) -> None:
    item = {"pk": {"S": pk}, "n": {"N": "5"}}
    dynamodb.put_item(TableName=table, Item=item)

    with pytest.raises(dynamodb.exceptions.ConditionalCheckFailedException) as failure:
        dynamodb.put_item(
            TableName=table,
            Item=item,
            Expected={"n": {"Exists": False}},
            ReturnValuesOnConditionCheckFailure="ALL_OLD",
        )

    response: Item = dict(failure.value.response)
    assert response["Item"] == item


def a_write(operation: str, **changes: Any) -> dict[str, Any]:
    """Parameters for a table that does not exist: what is wrong is found before it is looked for."""
    name = "Item" if operation == "put_item" else "Key"
    return {"TableName": unique_name("none"), name: {"pk": {"S": "a"}}} | changes


@pytest.mark.parametrize("operation", ["put_item", "update_item", "delete_item"])
@pytest.mark.parametrize(
    ("expectation", "reason"),
    [
        ({}, "Value must be provided when Exists is null for Attribute: a"),
        ({"Exists": True}, "Value must be provided when Exists is true for Attribute: a"),
        (
            {"Exists": False, "Value": {"S": "x"}},
            "Value cannot be used when Exists is false for Attribute: a",
        ),
        (
            {"ComparisonOperator": "LT"},
            "Value or AttributeValueList must be used with ComparisonOperator: LT for Attribute: a",
        ),
        (
            {"Exists": True, "ComparisonOperator": "LT"},
            "Exists and ComparisonOperator cannot be used together for Attribute: a",
        ),
        (
            {"ComparisonOperator": "LT", "Value": {"S": "x"}, "AttributeValueList": [{"S": "x"}]},
            "Value and AttributeValueList cannot be used together for Attribute: a",
        ),
        (
            {"AttributeValueList": [{"S": "x"}]},
            "AttributeValueList can only be used with a ComparisonOperator for Attribute: a",
        ),
        (
            {"Exists": True, "AttributeValueList": []},
            "AttributeValueList can only be used with a ComparisonOperator for Attribute: a",
        ),
        (operator("EQ"), "Invalid number of argument(s) for the EQ ComparisonOperator"),
        (operator("IN"), "Invalid number of argument(s) for the IN ComparisonOperator"),
        (
            operator("NULL", {"S": "x"}),
            "Invalid number of argument(s) for the NULL ComparisonOperator",
        ),
        (
            {"ComparisonOperator": "NOT_NULL", "Value": {"S": "x"}},
            "Invalid number of argument(s) for the NOT_NULL ComparisonOperator",
        ),
        (
            operator("BETWEEN", {"N": "1"}, {"N": "2"}, {"N": "3"}),
            "Invalid number of argument(s) for the BETWEEN ComparisonOperator",
        ),
        (
            operator("IN", {"S": "b"}, {"N": "1"}),
            "AttributeValues inside AttributeValueList must be of same type",
        ),
        (
            operator("BEGINS_WITH", {"N": "1"}),
            "ComparisonOperator BEGINS_WITH is not valid for N AttributeValue type",
        ),
        ({"Value": {"SS": []}}, "An string set  may not be empty"),
    ],
)
def test_expectation_that_makes_no_sense_is_refused(
    dynamodb: DynamoDBClient, operation: str, expectation: Item, reason: str
) -> None:
    parameters = a_write(operation, Expected={"a": expectation})

    assert invalid(getattr(dynamodb, operation), **parameters) == INVALID + reason


def test_bounds_in_the_wrong_order_are_refused(dynamodb: DynamoDBClient) -> None:
    expected = {"a": operator("BETWEEN", {"S": "b"}, {"S": "a"})}

    message = invalid(dynamodb.delete_item, **a_write("delete_item", Expected=expected))

    assert message == (
        "The BETWEEN condition was provided a range where the lower bound "
        "is greater than the upper bound"
    )


@pytest.mark.parametrize("operation", ["put_item", "update_item", "delete_item"])
@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({}, "ConditionalOperator cannot be used without Filter or Expected"),
        ({"Expected": {}}, "ConditionalOperator cannot be used without Filter or Expected"),
        (
            {"Expected": {"a": {"Exists": False}}},
            "ConditionalOperator can only be used when Filter or Expected has two or more elements",
        ),
        (
            {"Expected": {"a": {}}, "ConditionExpression": "a = b"},
            (
                "Can not use both expression and non-expression parameters in the same request: "
                "Non-expression parameters: {Expected, ConditionalOperator} "
                "Expression parameters: {ConditionExpression}"
            ),
        ),
    ],
)
def test_conditional_operator_needs_something_to_join(
    dynamodb: DynamoDBClient, operation: str, changes: Item, message: str
) -> None:
    parameters = a_write(operation, ConditionalOperator="AND", **changes)

    assert invalid(getattr(dynamodb, operation), **parameters) == message


def test_item_is_measured_before_its_condition_is_looked_at(dynamodb: DynamoDBClient) -> None:
    item = {"pk": {"S": "a"}, "s": {"S": "x" * 409_600}}

    message = invalid(
        dynamodb.put_item, TableName=unique_name("none"), Item=item, Expected={"a": {}}
    )

    assert message == "Item size has exceeded the maximum allowed size"
