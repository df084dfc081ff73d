"""Queries that are refused, and in which words."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from tests.conformance.tables import Gsi, Item, TableFactory, invalid, refusal, unique_name

if TYPE_CHECKING:
    from types_boto3_dynamodb import DynamoDBClient

CONDITION = "Invalid KeyConditionExpression: "
EMPTY_KEY = "The AttributeValue for a key attribute cannot contain an empty string value."


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        (
            {"Limit": 0},
            (
                "1 validation error detected: Value at 'Limit' failed to satisfy constraint: "
                "Member must have value greater than or equal to 1"
            ),
        ),
        (
            {"Select": "X"},
            (
                "1 validation error detected: Value 'X' at 'select' failed to satisfy constraint: "
                "Member must satisfy enum value set: "
                "[SPECIFIC_ATTRIBUTES, COUNT, ALL_ATTRIBUTES, ALL_PROJECTED_ATTRIBUTES]"
            ),
        ),
        (
            {"Select": "SPECIFIC_ATTRIBUTES"},
            (
                "1 validation error detected: Must specify the AttributesToGet or "
                "ProjectionExpression when choosing to get SPECIFIC_ATTRIBUTES"
            ),
        ),
        (
            {"Select": "ALL_PROJECTED_ATTRIBUTES"},
            (
                "1 validation error detected: ALL_PROJECTED_ATTRIBUTES can be used only "
                "when Querying using an IndexName"
            ),
        ),
        (
            {"Select": "ALL_ATTRIBUTES", "ProjectionExpression": "a"},
            (
                "1 validation error detected: Cannot specify the ProjectionExpression "
                "when choosing to get ALL_ATTRIBUTES"
            ),
        ),
        (
            {"Select": "COUNT", "ProjectionExpression": "a"},
            (
                "1 validation error detected: Cannot specify the ProjectionExpression "
                "when choosing to get only the Count"
            ),
        ),
        (
            {"KeyConditionExpression": ""},
            "Invalid KeyConditionExpression: The expression can not be empty;",
        ),
        (
            {"KeyConditionExpression": "((pk = :v))"},
            "Invalid KeyConditionExpression: The expression has redundant parentheses;",
        ),
        (
            {"ExpressionAttributeNames": {"#unused": "x"}},
            "Value provided in ExpressionAttributeNames unused in expressions: keys: {#unused}",
        ),
        (
            {"FilterExpression": "#missing = :v"},
            (
                "Invalid FilterExpression: An expression attribute name used in the document path "
                "is not defined; attribute name: #missing"
            ),
        ),
        (
            {"KeyConditionExpression": "pk = :v OR sk = :v"},
            f"{CONDITION}Invalid operator used in KeyConditionExpression: OR",
        ),
        (
            {"QueryFilter": {}},
            (
                "Can not use both expression and non-expression parameters in the same request: "
                "Non-expression parameters: {QueryFilter} "
                "Expression parameters: {KeyConditionExpression}"
            ),
        ),
    ],
)
def test_query_is_refused_even_without_a_table(
    dynamodb: DynamoDBClient, changes: dict[str, Any], message: str
) -> None:
    parameters = {
        "TableName": unique_name("missing"),
        "KeyConditionExpression": "pk = :v",
        "ExpressionAttributeValues": {":v": {"S": "a"}},
    } | changes

    assert invalid(dynamodb.query, **parameters) == message


@pytest.mark.parametrize(
    ("condition", "message"),
    [
        ("pk = :v AND NOT sk = :v", "Invalid operator used in KeyConditionExpression: NOT"),
        ("pk IN (:v)", "Invalid operator used in KeyConditionExpression: IN"),
        ("pk = :v AND sk <> :v", "Invalid operator used in KeyConditionExpression: <>"),
        ("contains(pk, :v)", "Invalid operator used in KeyConditionExpression: contains"),
        (
            "pk.a = :v",
            "KeyConditionExpressions cannot have conditions on nested attributes",
        ),
        (
            "pk[0] = :v",
            "KeyConditionExpressions cannot have conditions on nested attributes",
        ),
        ("pk = :v AND size(sk) = :v", "KeyConditionExpressions cannot contain nested operations"),
        (
            "pk = :v AND pk = :v",
            "KeyConditionExpressions must only contain one condition per key",
        ),
        (
            "pk = :v AND sk = a",
            (
                "Invalid condition in KeyConditionExpression: "
                "Multiple attribute names used in one condition"
            ),
        ),
        (
            "pk = :v AND :v BETWEEN sk AND a",
            (
                "Invalid condition in KeyConditionExpression: "
                "BETWEEN operator must have the key attribute as its first operand"
            ),
        ),
        ("(pk = :v) AND ((sk = :v))", "The expression has redundant parentheses;"),
        ("pk = :v AND sk", 'Syntax error; token: "<EOF>", near: "sk"'),
        ("BEGINS_WITH(pk, :v)", "Invalid function name; function: BEGINS_WITH"),
    ],
)
def test_key_condition_is_refused_even_without_a_table(
    dynamodb: DynamoDBClient, condition: str, message: str
) -> None:
    refused = invalid(
        dynamodb.query,
        TableName=unique_name("missing"),
        KeyConditionExpression=condition,
        ExpressionAttributeValues={":v": {"S": "a"}},
    )

    assert refused == CONDITION + message


def test_key_condition_is_required(dynamodb: DynamoDBClient, composite: str) -> None:
    message = invalid(dynamodb.query, TableName=composite)

    assert message == (
        "Either the KeyConditions or KeyConditionExpression parameter "
        "must be specified in the request."
    )


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        (
            {"KeyConditionExpression": "sk = :v"},
            "Query condition missed key schema element: pk",
        ),
        (
            {"KeyConditionExpression": "attr1 = :v"},
            "Query condition missed key schema element: pk",
        ),
        ({"KeyConditionExpression": "pk > :v"}, "Query key condition not supported"),
        (
            {"KeyConditionExpression": "pk = :v AND sk = :v"},
            (
                "One or more parameter values were invalid: "
                "Condition parameter type does not match schema type"
            ),
        ),
        (
            {"FilterExpression": "pk = :v"},
            (
                "Filter Expression can only contain non-primary key attributes: "
                "Primary key attribute: pk"
            ),
        ),
        (
            {"FilterExpression": "sk = :v"},
            (
                "Filter Expression can only contain non-primary key attributes: "
                "Primary key attribute: sk"
            ),
        ),
        (
            {"KeyConditionExpression": "pk = :v AND begins_with(sk, :v)"},
            (
                "One or more parameter values were invalid: "
                "Condition parameter type does not match schema type"
            ),
        ),
        (
            {"KeyConditionExpression": "begins_with(pk, :v)"},
            "Query key condition not supported",
        ),
        (
            {"IndexName": "nothing"},
            "The table does not have the specified index: nothing",
        ),
    ],
)
def test_query_does_not_fit_the_schema(
    dynamodb: DynamoDBClient, composite: str, changes: dict[str, Any], message: str
) -> None:
    parameters = {
        "TableName": composite,
        "KeyConditionExpression": "pk = :v",
        "ExpressionAttributeValues": {":v": {"S": "a"}},
    } | changes

    assert invalid(dynamodb.query, **parameters) == message


@pytest.mark.parametrize(
    ("condition", "key", "message"),
    [
        ("pk = :pk", {"bad": {"S": "p"}}, "The provided starting key is invalid"),
        ("pk = :pk", {"pk": {"S": "p"}}, "The provided starting key is invalid"),
        (
            "pk = :pk",
            {"pk": {"S": "p"}, "sk": {"S": "1"}},
            "The provided key element does not match the schema",
        ),
        (
            "pk = :pk",
            {"pk": {"S": "other"}, "sk": {"N": "1"}},
            "The provided starting key is outside query boundaries based on provided conditions",
        ),
        (
            "pk = :pk AND sk > :five",
            {"pk": {"S": "p"}, "sk": {"N": "1"}},
            "The provided starting key does not match the range key predicate",
        ),
    ],
)
def test_start_key_is_refused(
    dynamodb: DynamoDBClient, composite: str, condition: str, key: Item, message: str
) -> None:
    values: Item = {":pk": {"S": "p"}}
    if ":five" in condition:
        values[":five"] = {"N": "5"}

    refused = invalid(
        dynamodb.query,
        TableName=composite,
        KeyConditionExpression=condition,
        ExpressionAttributeValues=values,
        ExclusiveStartKey=key,
    )

    assert refused == message


def test_query_for_one_item_cannot_go_on(dynamodb: DynamoDBClient, table: str) -> None:
    message = invalid(
        dynamodb.query,
        TableName=table,
        KeyConditionExpression="pk = :v",
        ExpressionAttributeValues={":v": {"S": "a"}},
        ExclusiveStartKey={"pk": {"S": "a"}},
    )

    assert message == (
        "The provided exclusive start key is invalid: ExclusiveStartKey: {pk=AttributeValue: {S:a}}"
    )


@pytest.mark.parametrize("operator", ["=", ">="])
def test_key_is_not_empty(dynamodb: DynamoDBClient, tables: TableFactory, operator: str) -> None:
    name = tables.create("pk:S sk:S", Gsi("gsi", "g:S h:S"))
    of_table: Item = {"TableName": name, "KeyConditionExpression": f"pk = :v AND sk {operator} :e"}
    of_index: Item = {
        "TableName": name,
        "IndexName": "gsi",
        "KeyConditionExpression": f"g = :v AND h {operator} :e",
    }
    values: Item = {":v": {"S": "a"}, ":e": {"S": ""}}

    table = invalid(dynamodb.query, **of_table, ExpressionAttributeValues=values)
    index = invalid(dynamodb.query, **of_index, ExpressionAttributeValues=values)

    assert table == f"One or more parameter values are not valid. {EMPTY_KEY} Key: sk"
    assert index == (
        "One or more parameter values are not valid. "
        "A value specified for a secondary index key is not supported. "
        f"{EMPTY_KEY} IndexName: gsi, IndexKey: h"
    )


def test_missing_table_is_not_named(dynamodb: DynamoDBClient) -> None:
    code, message = refusal(
        dynamodb.query,
        TableName=unique_name("missing"),
        KeyConditionExpression="pk = :v",
        ExpressionAttributeValues={":v": {"S": "a"}},
    )

    assert code == "ResourceNotFoundException"
    assert message == "Requested resource not found"
