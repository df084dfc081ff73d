"""AttributesToGet of GetItem."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.conformance.tables import Item, invalid, unique_name

if TYPE_CHECKING:
    from types_boto3_dynamodb import DynamoDBClient


@pytest.mark.parametrize(
    ("names", "expected"),
    [
        (["n"], {"n": {"N": "1"}}),
        (["n", "none", "map"], {"n": {"N": "1"}, "map": {"M": {"a": {"N": "2"}}}}),
        (["map.a", "list[0]"], {"map.a": {"S": "dotted"}}),
        (["none"], {}),
    ],
)
def test_only_the_attributes_asked_for_are_got(
    dynamodb: DynamoDBClient, table: str, pk: str, names: list[str], expected: Item
) -> None:
    key = {"pk": {"S": pk}}
    item: Item = {
        "n": {"N": "1"},
        "map": {"M": {"a": {"N": "2"}}},
        "map.a": {"S": "dotted"},
        "list": {"L": [{"N": "3"}]},
    }
    dynamodb.put_item(TableName=table, Item=key | item)

    answer = dynamodb.get_item(TableName=table, Key=key, AttributesToGet=names)

    assert answer["Item"] == expected


def test_missing_item_is_not_got(dynamodb: DynamoDBClient, table: str, pk: str) -> None:
    answer = dynamodb.get_item(TableName=table, Key={"pk": {"S": pk}}, AttributesToGet=["n"])

    assert "Item" not in answer


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        (
            {"AttributesToGet": ["a", "b", "b", "a"]},
            "One or more parameter values were invalid: Duplicate value in attribute name: b",
        ),
        (
            {"AttributesToGet": ["a", "a"], "Key": {"pk": {"N": "x"}}},
            "The parameter cannot be converted to a numeric value: x",
        ),
        (
            {"AttributesToGet": []},
            (
                "1 validation error detected: Value '[]' at 'attributesToGet' failed to satisfy "
                "constraint: Member must have length greater than or equal to 1"
            ),
        ),
        (
            {"AttributesToGet": ["a", "a"], "ProjectionExpression": ""},
            (
                "Can not use both expression and non-expression parameters in the same request: "
                "Non-expression parameters: {AttributesToGet} "
                "Expression parameters: {ProjectionExpression}"
            ),
        ),
        (
            {"AttributesToGet": ["a"], "ExpressionAttributeNames": {"#a": "a"}},
            "ExpressionAttributeNames can only be specified when using expressions",
        ),
    ],
)
def test_mistakes_are_found_before_the_table_is_looked_for(
    dynamodb: DynamoDBClient, changes: Item, message: str
) -> None:
    parameters: Item = {"TableName": unique_name("none"), "Key": {"pk": {"S": "a"}}} | changes

    assert invalid(dynamodb.get_item, **parameters) == message


def test_an_attribute_to_get_has_a_name(dynamodb: DynamoDBClient, table: str, pk: str) -> None:
    message = invalid(
        dynamodb.get_item, TableName=table, Key={"pk": {"S": pk}}, AttributesToGet=[""]
    )

    assert message == "Empty attribute name"
