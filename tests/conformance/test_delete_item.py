"""DeleteItem."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from tests.conformance.tables import Item, invalid, refusal, unique_name

if TYPE_CHECKING:
    from types_boto3_dynamodb import DynamoDBClient


def put(dynamodb: DynamoDBClient, table: str, pk: str) -> Item:
    item: Item = {"pk": {"S": pk}, "n": {"N": "1"}}
    dynamodb.put_item(TableName=table, Item=item)
    return item


def exists(dynamodb: DynamoDBClient, table: str, pk: str) -> bool:
    answer = dynamodb.get_item(TableName=table, Key={"pk": {"S": pk}}, ConsistentRead=True)
    return "Item" in answer


def test_deleted_item_is_gone(dynamodb: DynamoDBClient, table: str, pk: str) -> None:
    put(dynamodb, table, pk)

    answer = dynamodb.delete_item(TableName=table, Key={"pk": {"S": pk}})

    assert "Attributes" not in answer
    assert not exists(dynamodb, table, pk)


def test_deleted_item_is_returned_if_asked(dynamodb: DynamoDBClient, table: str, pk: str) -> None:
    item = put(dynamodb, table, pk)

    answer = dynamodb.delete_item(TableName=table, Key={"pk": {"S": pk}}, ReturnValues="ALL_OLD")

    assert answer["Attributes"] == item


def test_deleting_nothing_is_no_error(dynamodb: DynamoDBClient, table: str, pk: str) -> None:
    answer = dynamodb.delete_item(
        TableName=table,
        Key={"pk": {"S": pk}},
        ReturnValues="ALL_OLD",
        ReturnConsumedCapacity="TOTAL",
    )

    assert "Attributes" not in answer
    assert answer["ConsumedCapacity"] == {"TableName": table, "CapacityUnits": 1.0}


def test_delete_is_charged_for_what_was_there(
    dynamodb: DynamoDBClient, table: str, pk: str
) -> None:
    dynamodb.put_item(TableName=table, Item={"pk": {"S": pk}, "text": {"S": "x" * 2048}})

    answer = dynamodb.delete_item(
        TableName=table, Key={"pk": {"S": pk}}, ReturnConsumedCapacity="TOTAL"
    )

    assert answer["ConsumedCapacity"]["CapacityUnits"] == 3.0


@pytest.mark.parametrize(("maximum", "deleted"), [("2", True), ("1", False)])
def test_condition_decides(
    dynamodb: DynamoDBClient, table: str, pk: str, maximum: str, deleted: bool
) -> None:
    put(dynamodb, table, pk)
    parameters: dict[str, Any] = {
        "TableName": table,
        "Key": {"pk": {"S": pk}},
        "ConditionExpression": "n < :max",
        "ExpressionAttributeValues": {":max": {"N": maximum}},
    }

    if deleted:
        dynamodb.delete_item(**parameters)
    else:
        code, message = refusal(dynamodb.delete_item, **parameters)
        assert code == "ConditionalCheckFailedException"
        assert message == "The conditional request failed"

    assert exists(dynamodb, table, pk) is not deleted


def test_condition_on_a_missing_item_fails(dynamodb: DynamoDBClient, table: str, pk: str) -> None:
    code, _ = refusal(
        dynamodb.delete_item,
        TableName=table,
        Key={"pk": {"S": pk}},
        ConditionExpression="attribute_exists(pk)",
    )

    assert code == "ConditionalCheckFailedException"


def test_key_must_fit_the_schema(dynamodb: DynamoDBClient, composite: str) -> None:
    message = invalid(dynamodb.delete_item, TableName=composite, Key={"pk": {"S": "a"}})

    assert message == "The provided key element does not match the schema"


def test_new_values_are_not_returned(dynamodb: DynamoDBClient, table: str, pk: str) -> None:
    message = invalid(
        dynamodb.delete_item, TableName=table, Key={"pk": {"S": pk}}, ReturnValues="ALL_NEW"
    )

    assert message == "ReturnValues can only be ALL_OLD or NONE"


def test_missing_table_is_not_named(dynamodb: DynamoDBClient) -> None:
    code, message = refusal(
        dynamodb.delete_item, TableName=unique_name("missing"), Key={"pk": {"S": "a"}}
    )

    assert code == "ResourceNotFoundException"
    assert message == "Requested resource not found"
