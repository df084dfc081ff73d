"""DeleteTable."""

from __future__ import annotations

from typing import TYPE_CHECKING

from botocore.exceptions import ClientError

from tests.conformance.tables import TableFactory, a_table, refusal, unique_name
from tests.support.waiting import until

if TYPE_CHECKING:
    from types_boto3_dynamodb import DynamoDBClient

DELETED_TIMEOUT_S = 60.0


def is_gone(dynamodb: DynamoDBClient, name: str) -> bool:
    try:
        dynamodb.describe_table(TableName=name)
    except ClientError as error:
        return error.response["Error"]["Code"] == "ResourceNotFoundException"
    return False


def delete(dynamodb: DynamoDBClient, name: str) -> None:
    dynamodb.delete_table(TableName=name)
    until(lambda: is_gone(dynamodb, name), DELETED_TIMEOUT_S, f"{name} is gone")


def test_table_is_being_deleted(dynamodb: DynamoDBClient, tables: TableFactory) -> None:
    name = tables.create()

    table = dynamodb.delete_table(TableName=name)["TableDescription"]

    assert table["TableName"] == name
    assert table["TableStatus"] == "DELETING"
    assert table["BillingModeSummary"]["BillingMode"] == "PAY_PER_REQUEST"
    assert "LastUpdateToPayPerRequestDateTime" in table["BillingModeSummary"]
    # Of what is on its way out DynamoDB shows less.
    assert not {"CreationDateTime", "KeySchema", "AttributeDefinitions"} & table.keys()


def test_deleted_table_is_gone(dynamodb: DynamoDBClient, tables: TableFactory) -> None:
    name = tables.create()

    delete(dynamodb, name)

    code, message = refusal(dynamodb.get_item, TableName=name, Key={"pk": {"S": "a"}})
    assert code == "ResourceNotFoundException"
    assert message == "Requested resource not found"
    assert name not in dynamodb.list_tables(ExclusiveStartTableName=name[:-1])["TableNames"]


def test_table_of_the_same_name_begins_empty(
    dynamodb: DynamoDBClient, tables: TableFactory
) -> None:
    name = tables.create()
    dynamodb.put_item(TableName=name, Item={"pk": {"S": "a"}})
    delete(dynamodb, name)

    tables.create_from(a_table(TableName=name))

    answer = dynamodb.get_item(TableName=name, Key={"pk": {"S": "a"}}, ConsistentRead=True)
    assert "Item" not in answer


def test_missing_table_is_named(dynamodb: DynamoDBClient) -> None:
    name = unique_name("missing")

    code, message = refusal(dynamodb.delete_table, TableName=name)

    assert code == "ResourceNotFoundException"
    assert message == f"Requested resource not found: Table: {name} not found"
