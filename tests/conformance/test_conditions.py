"""What conditions say of an item: comparisons, functions, and the grammar that joins them.

A ConditionExpression is tried by an update that changes nothing. Filters and conditions are one language.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from botocore.exceptions import ClientError

from tests.conformance.placeholders import placeholders
from tests.conformance.tables import Item, unique_name

if TYPE_CHECKING:
    from types_boto3_dynamodb import DynamoDBClient

# What the conditions are about, beside the key.
ITEM: Item = {
    "s": {"S": "banana"},
    "accent": {"S": "é"},
    "n": {"N": "10"},
    "b": {"B": b"\x80\x01"},
    "yes": {"BOOL": True},
    "nil": {"NULL": True},
    "ss": {"SS": ["a", "b"]},
    "ns": {"NS": ["1", "2.5"]},
    "bs": {"BS": [b"x", b"y"]},
    "l": {"L": [{"S": "a"}, {"N": "1"}, {"L": [{"N": "2"}]}]},
    "m": {"M": {"x": {"N": "1"}, "inner": {"M": {"s": {"SS": ["p", "q"]}}}}},
}


@pytest.fixture(scope="session")
def item(dynamodb: DynamoDBClient, table: str) -> Item:
    """The key of the item that the conditions are about."""
    key: Item = {"pk": {"S": unique_name("conditions")}}
    dynamodb.put_item(TableName=table, Item=key | ITEM)
    return key


def holds(dynamodb: DynamoDBClient, table: str, key: Item, expression: str) -> bool:
    try:
        dynamodb.update_item(
            TableName=table,
            Key=key,
            ConditionExpression=expression,
            **placeholders(expression),
        )
    except ClientError as error:
        assert error.response["Error"]["Code"] == "ConditionalCheckFailedException", error
        return False
    return True


TRUE = [
    "s = :s",
    "n = :ten",
    "b = :b",
    "yes = :true",
    "nil = :null",
    # Sets are equal in any order, in documents too, and lists are not.
    "ss = :ba_set",
    "ns = :ns",
    "bs = :bs",
    "l = :l",
    "m = :m",
    "NOT l = :l_reversed",
    # Numbers are exact: no two collapse because they are close.
    "NOT ns = :ns_close",
    "ns <> :ns_close",
    # What is missing is equal to nothing, itself neither.
    "NOT nothing = :s",
    "NOT nothing = absent",
    "nothing <> absent",
    "nothing <> :s",
    "NOT nothing < :s",
    "NOT nothing >= :s",
    "NOT nothing BETWEEN :one AND :n",
    "NOT nothing IN (:s)",
    "NOT begins_with(nothing, :s)",
    "NOT contains(nothing, :s)",
    "NOT size(nothing) >= :one",
    # Types never mix.
    "NOT n = :s",
    "n <> :s",
    "NOT s < :n",
    "NOT s > :n",
    "NOT s BETWEEN :nine AND :eleven",
    "NOT begins_with(n, :s)",
    # Text by its bytes, binary by unsigned bytes, numbers by value.
    "accent > :z",
    "b > :b7f",
    "b > :b80",
    "n > :nine",
    "n BETWEEN :nine AND :eleven",
    "n BETWEEN :n AND :ten",
    ":nine < n",
    # A wrong type in the item makes the condition false, and is no mistake.
    "NOT yes < :n",
    "NOT ss > :s",
    "NOT nil BETWEEN :one AND :n",
    "NOT l < m",
    # Bounds in the wrong order are a mistake only if both are known before.
    "NOT n BETWEEN :eleven AND m.x",
    "NOT n BETWEEN s AND :eleven",
    "n IN (:s, :ten)",
    "NOT n IN (:s, :nine)",
    "n in (n_other, :n)",
    # Functions.
    "attribute_exists(m.x)",
    "attribute_exists(l[2][0])",
    "attribute_not_exists(l[3])",
    "attribute_not_exists(m.x.y)",
    "begins_with(s, :ba)",
    "begins_with(s, :empty)",
    "begins_with(b, :b80)",
    "NOT begins_with(s, :an)",
    "contains(s, :an)",
    "contains(b, :b80)",
    "contains(ss, :a)",
    "contains(bs, :x)",
    "contains(ns, :one)",
    "NOT contains(ns, :a)",
    "contains(l, :one)",
    "contains(l, :inner)",
    "NOT contains(l, :two)",
    "NOT contains(m, :x)",
    "NOT contains(s, :n)",
    "NOT contains(s, :ba_set)",
    "contains(:s, :an)",
    # size is a number: characters, bytes, members. Of a number, a truth or null there is none.
    "size(s) = :six",
    "size(accent) = :one",
    "size(b) = :two",
    "size(ss) = :two",
    "size(ns) = :two",
    "size(bs) = :two",
    "size(l) = :three",
    "size(m) = :two",
    "size(l[2]) = :one",
    "NOT size(n) > :one",
    "NOT size(n) <= :one",
    "NOT size(yes) = :one",
    "NOT size(nil) = :one",
    "size(s) = size(:s)",
    "size(ss) BETWEEN :one AND :three",
    "size(ss) IN (:one, :two)",
    ":two = size(ss)",
    # Keywords are the same in any case, and AND binds closer than OR.
    "s = :s And n = :n",
    "s = :a or n = :n",
    "not s = :a",
    "n between :nine and :eleven",
    "s = :s OR s = :a AND n = :nine",
    "NOT s = :a AND n = :n",
    "NOT (s = :s AND n = :nine)",
    "NOT NOT s = :s",
    # A pair of parentheses is redundant only directly in another.
    "(s = :s)",
    "((s = :s) AND n = :n)",
    "(s = :s AND (n = :n OR n = :nine))",
    "(s) = (:s)",
    "(size(s)) = :six",
]


@pytest.mark.parametrize("expression", TRUE)
def test_condition_holds(dynamodb: DynamoDBClient, table: str, item: Item, expression: str) -> None:
    assert holds(dynamodb, table, item, expression)


TYPES = {
    "s": "S",
    "n": "N",
    "b": "B",
    "yes": "BOOL",
    "nil": "NULL",
    "ss": "SS",
    "ns": "NS",
    "bs": "BS",
    "l": "L",
    "m": "M",
}


@pytest.mark.parametrize("name", TYPES)
def test_attribute_has_one_type(
    dynamodb: DynamoDBClient, table: str, item: Item, name: str
) -> None:
    found = [
        type
        for type in TYPES.values()
        if holds(dynamodb, table, item, f"attribute_type({name}, :type_{type.lower()})")
    ]

    assert found == [TYPES[name]]


@pytest.mark.parametrize("expression", ["nothing <> :s", "attribute_not_exists(pk)", "NOT s = :s"])
def test_missing_item_is_an_empty_one(
    dynamodb: DynamoDBClient, table: str, pk: str, expression: str
) -> None:
    assert holds(dynamodb, table, {"pk": {"S": pk}}, expression)


@pytest.mark.parametrize("name", ["#1", "#_", "#1_a", "#s"])
def test_name_placeholder_may_begin_with_anything(
    dynamodb: DynamoDBClient, table: str, item: Item, name: str
) -> None:
    dynamodb.update_item(
        TableName=table,
        Key=item,
        ConditionExpression=f"{name} = :1",
        ExpressionAttributeNames={name: "s"},
        ExpressionAttributeValues={":1": {"S": "banana"}},
    )


@pytest.mark.parametrize("operation", ["put_item", "update_item", "delete_item"])
def test_failed_condition_shows_the_item_only_if_there_was_one(
    dynamodb: DynamoDBClient, table: str, pk: str, operation: str
) -> None:
    key: Item = {"pk": {"S": pk}}
    parameters: Any = {
        "TableName": table,
        "ConditionExpression": "n > :n",
        "ExpressionAttributeValues": {":n": {"N": "1"}},
        "ReturnValuesOnConditionCheckFailure": "ALL_OLD",
    } | ({"Item": key} if operation == "put_item" else {"Key": key})

    with pytest.raises(ClientError) as without:
        getattr(dynamodb, operation)(**parameters)
    dynamodb.put_item(TableName=table, Item=key | {"n": {"N": "1"}})
    with pytest.raises(ClientError) as with_item:
        getattr(dynamodb, operation)(**parameters)

    assert "Item" not in without.value.response
    response: Any = with_item.value.response
    assert response["Item"] == key | {"n": {"N": "1"}}
