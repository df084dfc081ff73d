"""PutItem."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from botocore.exceptions import ClientError

from tests.conformance.tables import Gsi, Item, TableFactory, invalid, refusal, unique_name

if TYPE_CHECKING:
    from types_boto3_dynamodb import DynamoDBClient

INVALID = "One or more parameter values were invalid: "


def get(dynamodb: DynamoDBClient, table: str, pk: str) -> Item | None:
    answer = dynamodb.get_item(TableName=table, Key={"pk": {"S": pk}}, ConsistentRead=True)
    return answer.get("Item")


def test_every_type_comes_back_as_it_went(dynamodb: DynamoDBClient, table: str, pk: str) -> None:
    item: Item = {
        "pk": {"S": pk},
        "string": {"S": "Zénobe \u2764 \U0001f600"},
        "empty": {"S": ""},
        "number": {"N": "-12.5"},
        "binary": {"B": b"\x00\xff"},
        "true": {"BOOL": True},
        "null": {"NULL": True},
        "strings": {"SS": ["b", "a", ""]},
        "numbers": {"NS": ["2", "10"]},
        "binaries": {"BS": [b"x", b""]},
        "list": {"L": [{"S": "a"}, {"N": "1"}, {"L": []}]},
        "map": {"M": {"inner": {"M": {"x": {"BOOL": False}}}, "none": {"M": {}}}},
    }

    answer = dynamodb.put_item(TableName=table, Item=item)

    assert "Attributes" not in answer
    stored = get(dynamodb, table, pk)
    assert stored is not None
    for name in ("strings", "numbers", "binaries"):
        tag = next(iter(item[name]))
        assert sorted(stored.pop(name)[tag]) == sorted(item.pop(name)[tag])
    assert stored == item


@pytest.mark.parametrize(
    ("given", "stored"),
    [
        ("+5", "5"),
        ("5.", "5"),
        (".5", "0.5"),
        ("007", "7"),
        ("1e3", "1000"),
        ("1.20", "1.2"),
        ("-0", "0"),
        ("12345678901234567890123456789012345678", "12345678901234567890123456789012345678"),
    ],
)
def test_numbers_are_normalised(
    dynamodb: DynamoDBClient, table: str, pk: str, given: str, stored: str
) -> None:
    dynamodb.put_item(TableName=table, Item={"pk": {"S": pk}, "n": {"N": given}})

    assert get(dynamodb, table, pk) == {"pk": {"S": pk}, "n": {"N": stored}}


def test_put_replaces_the_whole_item(dynamodb: DynamoDBClient, table: str, pk: str) -> None:
    old: Item = {"pk": {"S": pk}, "a": {"N": "1"}}
    new: Item = {"pk": {"S": pk}, "b": {"N": "2"}}
    dynamodb.put_item(TableName=table, Item=old)

    answer = dynamodb.put_item(TableName=table, Item=new, ReturnValues="ALL_OLD")

    assert answer["Attributes"] == old
    assert get(dynamodb, table, pk) == new


def test_first_put_has_no_old_attributes(dynamodb: DynamoDBClient, table: str, pk: str) -> None:
    answer = dynamodb.put_item(TableName=table, Item={"pk": {"S": pk}}, ReturnValues="ALL_OLD")

    assert "Attributes" not in answer


def test_condition_that_holds_lets_the_put_through(
    dynamodb: DynamoDBClient, table: str, pk: str
) -> None:
    dynamodb.put_item(TableName=table, Item={"pk": {"S": pk}, "n": {"N": "1"}})

    dynamodb.put_item(
        TableName=table,
        Item={"pk": {"S": pk}, "n": {"N": "2"}},
        ConditionExpression="#n < :max",
        ExpressionAttributeNames={"#n": "n"},
        ExpressionAttributeValues={":max": {"N": "2"}},
    )

    assert get(dynamodb, table, pk) == {"pk": {"S": pk}, "n": {"N": "2"}}


def test_condition_that_fails_keeps_the_item(dynamodb: DynamoDBClient, table: str, pk: str) -> None:
    item: Item = {"pk": {"S": pk}, "n": {"N": "1"}}
    dynamodb.put_item(TableName=table, Item=item)

    code, message = refusal(
        dynamodb.put_item,
        TableName=table,
        Item={"pk": {"S": pk}},
        ConditionExpression="attribute_not_exists(pk)",
    )

    assert code == "ConditionalCheckFailedException"
    assert message == "The conditional request failed"
    assert get(dynamodb, table, pk) == item


def test_failed_condition_shows_the_item_if_asked(
    dynamodb: DynamoDBClient, table: str, pk: str
) -> None:
    item: Item = {"pk": {"S": pk}, "n": {"N": "1"}}
    dynamodb.put_item(TableName=table, Item=item)

    with pytest.raises(ClientError) as failure:
        dynamodb.put_item(
            TableName=table,
            Item={"pk": {"S": pk}},
            ConditionExpression="attribute_not_exists(pk)",
            ReturnValuesOnConditionCheckFailure="ALL_OLD",
        )

    response: Any = failure.value.response
    assert response["Item"] == item


@pytest.mark.parametrize(
    ("detail", "consumed"),
    [("TOTAL", {}), ("INDEXES", {"Table": {"CapacityUnits": 2.0}})],
)
def test_put_is_charged_by_the_kilobyte(
    dynamodb: DynamoDBClient, table: str, pk: str, detail: Any, consumed: Item
) -> None:
    answer = dynamodb.put_item(
        TableName=table,
        Item={"pk": {"S": pk}, "text": {"S": "x" * 1024}},
        ReturnConsumedCapacity=detail,
    )

    assert answer["ConsumedCapacity"] == {"TableName": table, "CapacityUnits": 2.0} | consumed


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ({"SS": []}, f"{INVALID}An string set  may not be empty"),
        ({"NS": []}, f"{INVALID}An number set  may not be empty"),
        ({"SS": ["a", "a"]}, f"{INVALID}Input collection [a, a] contains duplicates."),
        ({"NULL": False}, f"{INVALID}Null attribute value types must have the value of true"),
        ({"N": "x"}, "The parameter cannot be converted to a numeric value: x"),
        (
            {"N": "1" * 39},
            "Attempting to store more than 38 significant digits in a Number",
        ),
        (
            {"N": "1e126"},
            (
                "Number overflow. Attempting to store a number with magnitude larger than "
                "supported range"
            ),
        ),
        (
            {},
            "Supplied AttributeValue is empty, must contain exactly one of the supported datatypes",
        ),
    ],
)
def test_value_is_refused(
    dynamodb: DynamoDBClient, table: str, pk: str, value: Any, message: str
) -> None:
    item = {"pk": {"S": pk}, "bad": value}

    assert invalid(dynamodb.put_item, TableName=table, Item=item) == message


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        (
            {"TableName": ""},
            (
                "1 validation error detected: Value '' at 'tableName' failed to satisfy constraint: "
                "Member must have length greater than or equal to 1"
            ),
        ),
        (
            {"TableName": "bad table!"},
            (
                "1 validation error detected: Value 'bad table!' at 'tableName' "
                "failed to satisfy constraint: "
                "Member must satisfy regular expression pattern: [a-zA-Z0-9_.-]+"
            ),
        ),
        (
            {"ReturnValues": "UPDATED_NEW"},
            "ReturnValues can only be ALL_OLD or NONE",
        ),
        (
            {
                "Expected": {"pk": {"Exists": False}},
                "ConditionExpression": "attribute_not_exists(pk)",
            },
            (
                "Can not use both expression and non-expression parameters in the same request: "
                "Non-expression parameters: {Expected} Expression parameters: {ConditionExpression}"
            ),
        ),
        (
            {"ExpressionAttributeValues": {":v": {"S": "x"}}},
            (
                "ExpressionAttributeValues can only be specified when using expressions: "
                "ConditionExpression is null"
            ),
        ),
        (
            {"ExpressionAttributeNames": {"#n": "x"}},
            "ExpressionAttributeNames can only be specified when using expressions",
        ),
        (
            {"ConditionExpression": ""},
            "Invalid ConditionExpression: The expression can not be empty;",
        ),
        (
            {
                "ConditionExpression": "a = :v",
                "ExpressionAttributeValues": {":v": {"S": "x"}, ":w": {"S": "x"}},
            },
            "Value provided in ExpressionAttributeValues unused in expressions: keys: {:w}",
        ),
        (
            {"ConditionExpression": "#a = :v", "ExpressionAttributeValues": {":v": {"S": "x"}}},
            (
                "Invalid ConditionExpression: An expression attribute name used in the document path "
                "is not defined; attribute name: #a"
            ),
        ),
    ],
)
def test_put_is_refused_even_without_a_table(
    dynamodb: DynamoDBClient, changes: dict[str, Any], message: str
) -> None:
    parameters = {"TableName": unique_name("missing"), "Item": {"pk": {"S": "a"}}} | changes

    assert invalid(dynamodb.put_item, **parameters) == message


def test_missing_table_is_not_named(dynamodb: DynamoDBClient) -> None:
    code, message = refusal(
        dynamodb.put_item, TableName=unique_name("missing"), Item={"pk": {"S": "a"}}
    )

    assert code == "ResourceNotFoundException"
    assert message == "Requested resource not found"


@pytest.mark.parametrize(
    ("item", "message"),
    [
        ({"a": {"S": "x"}}, f"{INVALID}Missing the key pk in the item"),
        ({"pk": {"N": "1"}}, f"{INVALID}Type mismatch for key pk expected: S actual: N"),
        (
            {"pk": {"S": ""}},
            (
                "One or more parameter values are not valid. The AttributeValue for a key attribute "
                "cannot contain an empty string value. Key: pk"
            ),
        ),
        (
            {"pk": {"S": "x" * 2049}},
            f"{INVALID}Size of hashkey has exceeded the maximum size limit of2048 bytes",
        ),
        ({"pk": {"S": "a"}, "b": {"S": "x" * 409600}}, None),
    ],
)
def test_item_is_refused(
    dynamodb: DynamoDBClient, table: str, item: Item, message: str | None
) -> None:
    expected = message or "Item size has exceeded the maximum allowed size"

    assert invalid(dynamodb.put_item, TableName=table, Item=item) == expected


def test_index_keys_are_checked_on_every_put(
    dynamodb: DynamoDBClient, tables: TableFactory
) -> None:
    name = tables.create("pk:S", Gsi("gsi", "g:S"))

    message = invalid(dynamodb.put_item, TableName=name, Item={"pk": {"S": "a"}, "g": {"N": "1"}})

    assert message == (
        f"{INVALID}Type mismatch for Index Key g Expected: S Actual: N IndexName: gsi"
    )


def test_an_attribute_has_a_name(dynamodb: DynamoDBClient, table: str, pk: str) -> None:
    item: Item = {"pk": {"S": pk}, "": {"S": "a"}}

    assert invalid(dynamodb.put_item, TableName=table, Item=item) == "Empty attribute name"
    assert get(dynamodb, table, pk) is None
