"""GetItem."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from tests.conformance.tables import Item, TableFactory, invalid, refusal, unique_name

if TYPE_CHECKING:
    from types_boto3_dynamodb import DynamoDBClient


def an_item(pk: str) -> Item:
    return {
        "pk": {"S": pk},
        "a": {"N": "1"},
        "list": {"L": [{"S": "x"}, {"S": "y"}, {"S": "z"}]},
        "map": {"M": {"in": {"S": "deep"}, "out": {"S": "there"}}},
        "cells": {
            "L": [
                {"M": {"a": {"N": "1"}, "b": {"N": "2"}}},
                {"M": {"a": {"N": "3"}, "b": {"N": "4"}}},
            ]
        },
    }


def test_item_is_read(dynamodb: DynamoDBClient, table: str, pk: str) -> None:
    dynamodb.put_item(TableName=table, Item=an_item(pk))

    answer = dynamodb.get_item(TableName=table, Key={"pk": {"S": pk}}, ConsistentRead=True)

    assert answer["Item"] == an_item(pk)
    assert "ConsumedCapacity" not in answer


def test_missing_item_is_no_item(dynamodb: DynamoDBClient, table: str, pk: str) -> None:
    assert "Item" not in dynamodb.get_item(TableName=table, Key={"pk": {"S": pk}})


def test_range_key_tells_items_apart(dynamodb: DynamoDBClient, composite: str, pk: str) -> None:
    for number in ("1", "2"):
        item: Item = {"pk": {"S": pk}, "sk": {"N": number}, "v": {"S": number}}
        dynamodb.put_item(TableName=composite, Item=item)

    answer = dynamodb.get_item(
        TableName=composite, Key={"pk": {"S": pk}, "sk": {"N": "2"}}, ConsistentRead=True
    )

    assert answer["Item"]["v"] == {"S": "2"}


@pytest.mark.parametrize("spelling", ["1e3", "1000.0", "+1000", "0001000"])
def test_number_keys_are_the_same_by_value(
    dynamodb: DynamoDBClient, composite: str, pk: str, spelling: str
) -> None:
    dynamodb.put_item(TableName=composite, Item={"pk": {"S": pk}, "sk": {"N": "1000"}})

    answer = dynamodb.get_item(
        TableName=composite, Key={"pk": {"S": pk}, "sk": {"N": spelling}}, ConsistentRead=True
    )

    assert answer["Item"] == {"pk": {"S": pk}, "sk": {"N": "1000"}}


@pytest.mark.parametrize(
    ("type", "value"), [("S", "a\x00b"), ("N", "-1.5"), ("B", b"\x00\xff\x00")]
)
def test_partition_key_has_any_key_type(
    dynamodb: DynamoDBClient, tables: TableFactory, type: str, value: Any
) -> None:
    name = tables.create(f"k:{type}")
    item: Item = {"k": {type: value}, "v": {"S": "x"}}
    dynamodb.put_item(TableName=name, Item=item)

    answer = dynamodb.get_item(TableName=name, Key={"k": {type: value}}, ConsistentRead=True)

    assert answer["Item"] == item


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        ("a", {"a": {"N": "1"}}),
        ("#m.#in", {"map": {"M": {"in": {"S": "deep"}}}}),
        ("#l[0], #l[2]", {"list": {"L": [{"S": "x"}, {"S": "z"}]}}),
        ("#l[2], #l[0]", {"list": {"L": [{"S": "x"}, {"S": "z"}]}}),
        ("cells[1].b, cells[1].a", {"cells": {"L": [{"M": {"a": {"N": "3"}, "b": {"N": "4"}}}]}}),
        (
            "cells[1].b, cells[0].a",
            {"cells": {"L": [{"M": {"a": {"N": "1"}}}, {"M": {"b": {"N": "4"}}}]}},
        ),
        ("cells[0].a.deeper", {}),
        ("a[0]", {}),
        ("nothing", {}),
        ("#l[9]", {}),
    ],
)
def test_projection_picks_attributes(
    dynamodb: DynamoDBClient, table: str, pk: str, expression: str, expected: Item
) -> None:
    dynamodb.put_item(TableName=table, Item=an_item(pk))
    names = {"#m": "map", "#in": "in", "#l": "list"}
    parameters: dict[str, Any] = {"TableName": table, "Key": {"pk": {"S": pk}}}
    used = {name: names[name] for name in names if name in expression}
    if used:
        parameters["ExpressionAttributeNames"] = used

    answer = dynamodb.get_item(**parameters, ProjectionExpression=expression, ConsistentRead=True)

    assert answer["Item"] == expected


@pytest.mark.parametrize(
    ("size", "consistent", "units"),
    [(0, False, 0.5), (0, True, 1.0), (4096, False, 1.0), (4096, True, 2.0)],
)
def test_read_is_charged_by_four_kilobytes(
    dynamodb: DynamoDBClient, table: str, pk: str, size: int, consistent: bool, units: float
) -> None:
    if size:
        dynamodb.put_item(TableName=table, Item={"pk": {"S": pk}, "text": {"S": "x" * size}})

    answer = dynamodb.get_item(
        TableName=table,
        Key={"pk": {"S": pk}},
        ConsistentRead=consistent,
        ReturnConsumedCapacity="TOTAL",
    )

    # Without ConsistentRead the item may not be seen yet, and then costs as little as none.
    assert answer["ConsumedCapacity"]["CapacityUnits"] in (units, 0.5 if not consistent else units)
    assert answer["ConsumedCapacity"]["TableName"] == table


def test_table_is_found_by_its_arn(dynamodb: DynamoDBClient, table: str, pk: str) -> None:
    arn = dynamodb.describe_table(TableName=table)["Table"]["TableArn"]
    dynamodb.put_item(TableName=arn, Item={"pk": {"S": pk}})

    answer = dynamodb.get_item(TableName=arn, Key={"pk": {"S": pk}}, ConsistentRead=True)

    assert answer["Item"] == {"pk": {"S": pk}}


@pytest.mark.parametrize(
    "key",
    [
        {"pk": {"S": "a"}},
        {"pk": {"S": "a"}, "sk": {"S": "1"}},
        {"pk": {"S": "a"}, "sk": {"N": "1"}, "x": {"S": "x"}},
        {"pk": {"S": "a"}, "x": {"N": "1"}},
        {},
    ],
    ids=["half", "wrong type", "too much", "wrong name", "nothing"],
)
def test_key_must_fit_the_schema(dynamodb: DynamoDBClient, composite: str, key: Item) -> None:
    message = invalid(dynamodb.get_item, TableName=composite, Key=key)

    assert message == "The provided key element does not match the schema"


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        (
            {"ReturnConsumedCapacity": "X"},
            (
                "1 validation error detected: Value 'X' at 'returnConsumedCapacity' "
                "failed to satisfy constraint: "
                "Member must satisfy enum value set: [INDEXES, TOTAL, NONE]"
            ),
        ),
        (
            {"ProjectionExpression": "!!! INVALID !!!"},
            'Invalid ProjectionExpression: Syntax error; token: "!", near: "!!"',
        ),
        (
            {"ProjectionExpression": "a, a"},
            (
                "Invalid ProjectionExpression: Two document paths overlap with each other; must "
                "remove or rewrite one of these paths; path one: [a], path two: [a]"
            ),
        ),
        (
            {"ProjectionExpression": "a.b, c, a"},
            (
                "Invalid ProjectionExpression: Two document paths overlap with each other; must "
                "remove or rewrite one of these paths; path one: [a, b], path two: [a]"
            ),
        ),
        (
            {"ProjectionExpression": "a.b, a[0]"},
            (
                "Invalid ProjectionExpression: Two document paths conflict with each other; must "
                "remove or rewrite one of these paths; path one: [a, b], path two: [a, [0]]"
            ),
        ),
        (
            {"ProjectionExpression": "#a", "ExpressionAttributeNames": {"#b": "b"}},
            (
                "Invalid ProjectionExpression: An expression attribute name used in the document "
                "path is not defined; attribute name: #a"
            ),
        ),
        (
            {"ProjectionExpression": "a, Name"},
            (
                "Invalid ProjectionExpression: Attribute name is a reserved keyword; "
                "reserved keyword: Name"
            ),
        ),
        (
            {"ProjectionExpression": "a", "AttributesToGet": ["a"]},
            (
                "Can not use both expression and non-expression parameters in the same request: "
                "Non-expression parameters: {AttributesToGet} "
                "Expression parameters: {ProjectionExpression}"
            ),
        ),
        (
            {"ProjectionExpression": "a", "ExpressionAttributeNames": {"#u": "x"}},
            "Value provided in ExpressionAttributeNames unused in expressions: keys: {#u}",
        ),
    ],
)
def test_get_is_refused_even_without_a_table(
    dynamodb: DynamoDBClient, changes: dict[str, Any], message: str
) -> None:
    parameters = {"TableName": unique_name("missing"), "Key": {"pk": {"S": "a"}}} | changes

    assert invalid(dynamodb.get_item, **parameters) == message


def test_missing_table_is_not_named(dynamodb: DynamoDBClient) -> None:
    code, message = refusal(
        dynamodb.get_item, TableName=unique_name("missing"), Key={"pk": {"S": "a"}}
    )

    assert code == "ResourceNotFoundException"
    assert message == "Requested resource not found"
