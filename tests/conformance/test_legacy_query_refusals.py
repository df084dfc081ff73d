"""Queries by KeyConditions, QueryFilter and AttributesToGet that are refused, and in which words."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.conformance.tables import Gsi, Item, TableFactory, invalid, unique_name

if TYPE_CHECKING:
    from types_boto3_dynamodb import DynamoDBClient

INVALID = "One or more parameter values were invalid: "
ORDERED = ("S", "N", "B")
VALUES: Item = {
    "S": {"S": "a"},
    "N": {"N": "1"},
    "B": {"B": b"a"},
    "BOOL": {"BOOL": True},
    "NULL": {"NULL": True},
    "SS": {"SS": ["a"]},
    "NS": {"NS": ["1"]},
    "BS": {"BS": [b"a"]},
    "L": {"L": []},
    "M": {"M": {}},
}
# The types that the values of an operator may have.
ALLOWED = {
    **dict.fromkeys(("LE", "LT", "GE", "GT", "IN", "BETWEEN"), ORDERED),
    **dict.fromkeys(("CONTAINS", "NOT_CONTAINS"), (*ORDERED, "BOOL", "NULL")),
    "BEGINS_WITH": ("S", "B"),
}


def operator(name: str, *values: Item) -> Item:
    return {"ComparisonOperator": name, "AttributeValueList": list(values)}


@pytest.fixture(scope="module")
def songs(tables: TableFactory) -> str:
    return tables.create("pk:S sk:N", Gsi("by-tag", "tag:S sk:N", "INCLUDE", ("title",)))


@pytest.mark.parametrize(
    ("conditions", "message"),
    [
        ({}, "Conditions can be of length 1 or 2 only"),
        (
            {name: operator("NULL") for name in ("pk", "sk", "x")},
            "Conditions can be of length 1 or 2 only",
        ),
        (
            {"pk": operator("EQ")},
            INVALID + "Invalid number of argument(s) for the EQ ComparisonOperator",
        ),
        (
            {"pk": {"ComparisonOperator": "EQ"}},
            INVALID + "Invalid number of argument(s) for the EQ ComparisonOperator",
        ),
        (
            {"pk": operator("IN", {"S": "b"}, {"N": "1"})},
            INVALID + "AttributeValues inside AttributeValueList must be of same type",
        ),
        (
            {"pk": operator("BETWEEN", {"S": "b"}, {"S": "a"})},
            (
                "The BETWEEN condition was provided a range where the lower bound "
                "is greater than the upper bound"
            ),
        ),
        (
            {"pk": operator("EQ", {"N": "x"}, {})},
            "The parameter cannot be converted to a numeric value: x",
        ),
    ],
)
def test_mistake_in_key_conditions_is_found_before_the_table_is_looked_for(
    dynamodb: DynamoDBClient, conditions: Item, message: str
) -> None:
    parameters: Item = {"TableName": unique_name("none"), "KeyConditions": conditions}

    assert invalid(dynamodb.query, **parameters) == message


@pytest.mark.parametrize("parameter", ["QueryFilter", "KeyConditions"])
@pytest.mark.parametrize("name", sorted(ALLOWED))
def test_operator_takes_values_of_its_types_only(
    dynamodb: DynamoDBClient, parameter: str, name: str
) -> None:
    count = 2 if name == "BETWEEN" else 1
    for kind in VALUES.keys() - ALLOWED[name]:
        condition = operator(name, *[VALUES[kind]] * count)
        parameters: Item = {"TableName": unique_name("none"), parameter: {"a": condition}}

        message = invalid(dynamodb.query, **parameters)

        assert message == (
            f"{INVALID}ComparisonOperator {name} is not valid for {kind} AttributeValue type"
        )


@pytest.mark.parametrize(
    ("conditions", "message"),
    [
        ({"sk": operator("EQ", {"N": "1"})}, "Query condition missed key schema element: pk"),
        (
            {"pk": operator("EQ", {"S": "p"}), "x": operator("EQ", {"N": "1"})},
            "Query condition missed key schema element: sk",
        ),
        ({"pk": operator("GT", {"S": "p"})}, "Query key condition not supported"),
        (
            {"pk": operator("EQ", {"N": "1"})},
            INVALID + "Condition parameter type does not match schema type",
        ),
        (
            {"pk": operator("EQ", {"S": "p"}), "sk": operator("BEGINS_WITH", {"S": "1"})},
            INVALID + "Condition parameter type does not match schema type",
        ),
        *(
            (
                {"pk": operator("EQ", {"S": "p"}), "sk": condition},
                "Attempted conditional constraint is not an indexable operation",
            )
            for condition in (
                operator("NE", {"N": "1"}),
                operator("IN", {"N": "1"}),
                operator("NULL"),
                operator("NOT_NULL"),
                operator("CONTAINS", {"N": "1"}),
                operator("NOT_CONTAINS", {"N": "1"}),
            )
        ),
        (
            {"pk": operator("NE", {"N": "1"})},
            "Attempted conditional constraint is not an indexable operation",
        ),
    ],
)
def test_key_conditions_must_fit_the_key(
    dynamodb: DynamoDBClient, songs: str, conditions: Item, message: str
) -> None:
    parameters: Item = {"TableName": songs, "KeyConditions": conditions}

    assert invalid(dynamodb.query, **parameters) == message


def test_hash_only_table_takes_one_condition(dynamodb: DynamoDBClient, table: str) -> None:
    conditions = {"pk": operator("EQ", {"S": "p"}), "x": operator("EQ", {"N": "1"})}
    parameters: Item = {"TableName": table, "KeyConditions": conditions}

    assert invalid(dynamodb.query, **parameters) == "Query key condition not supported"


@pytest.mark.parametrize("name", ["pk", "sk"])
def test_key_is_not_filtered_by(dynamodb: DynamoDBClient, songs: str, name: str) -> None:
    parameters: Item = {
        "TableName": songs,
        "KeyConditions": {"pk": operator("EQ", {"S": "p"})},
        "QueryFilter": {"tag": operator("NOT_NULL"), name: operator("NOT_NULL")},
    }

    assert invalid(dynamodb.query, **parameters) == (
        f"QueryFilter can only contain non-primary key attributes: Primary key attribute: {name}"
    )


def test_index_gives_only_what_is_projected_into_it(dynamodb: DynamoDBClient, songs: str) -> None:
    parameters: Item = {
        "TableName": songs,
        "IndexName": "by-tag",
        "KeyConditions": {"tag": operator("EQ", {"S": "even"})},
        "AttributesToGet": ["title", "other"],
    }

    assert invalid(dynamodb.query, **parameters) == (
        INVALID + "Global secondary index by-tag does not project [other]"
    )


BAD_FILTER = {"a": operator("EQ")}
BAD_COUNT = INVALID + "Invalid number of argument(s) for the EQ ComparisonOperator"


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        (
            {"AttributesToGet": ["a"], "Select": "COUNT"},
            (
                "1 validation error detected: Cannot specify the AttributesToGet "
                "when choosing to get only the Count"
            ),
        ),
        (
            {"AttributesToGet": ["a"], "Select": "ALL_ATTRIBUTES"},
            (
                "1 validation error detected: Cannot specify the AttributesToGet "
                "when choosing to get ALL_ATTRIBUTES"
            ),
        ),
        ({"QueryFilter": BAD_FILTER, "AttributesToGet": ["a", "a"]}, BAD_COUNT),
        (
            {"AttributesToGet": ["b", "a", "a"], "ExclusiveStartKey": {"a": {}}},
            INVALID + "Duplicate value in attribute name: a",
        ),
        (
            {"ExclusiveStartKey": {"a": {}}, "KeyConditions": BAD_FILTER},
            (
                "The provided starting key is invalid: Supplied AttributeValue is empty, "
                "must contain exactly one of the supported datatypes"
            ),
        ),
        (
            {"QueryFilter": {"a": operator("NULL")}},
            (
                "Either the KeyConditions or KeyConditionExpression parameter "
                "must be specified in the request."
            ),
        ),
        (
            {"FilterExpression": "", "KeyConditions": BAD_FILTER},
            "Invalid FilterExpression: The expression can not be empty;",
        ),
        (
            {"ConditionalOperator": "AND"},
            "ConditionalOperator cannot be used without Filter or Expected",
        ),
        (
            {"ConditionalOperator": "AND", "QueryFilter": BAD_FILTER},
            "ConditionalOperator can only be used when Filter or Expected has two or more elements",
        ),
        (
            {"KeyConditions": {}, "ExpressionAttributeValues": {":a": {"S": "x"}}},
            (
                "ExpressionAttributeValues can only be specified when using expressions: "
                "FilterExpression and KeyConditionExpression are null"
            ),
        ),
        (
            {
                "QueryFilter": {},
                "ConditionalOperator": "OR",
                "KeyConditions": {},
                "AttributesToGet": ["a"],
                "FilterExpression": "",
            },
            (
                "Can not use both expression and non-expression parameters in the same request: "
                "Non-expression parameters: {AttributesToGet, QueryFilter, ConditionalOperator} "
                "Expression parameters: {FilterExpression}"
            ),
        ),
        (
            {"KeyConditions": {}, "KeyConditionExpression": ""},
            (
                "Can not use both expression and non-expression parameters in the same request: "
                "Non-expression parameters: {KeyConditions} "
                "Expression parameters: {KeyConditionExpression}"
            ),
        ),
    ],
)
def test_mistakes_are_found_in_order(dynamodb: DynamoDBClient, changes: Item, message: str) -> None:
    parameters: Item = {"TableName": unique_name("none")} | changes

    assert invalid(dynamodb.query, **parameters) == message
