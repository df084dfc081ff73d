"""DescribeTable."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.conformance.tables import (
    Gsi,
    TableFactory,
    definitions,
    key_schema,
    refusal,
    unique_name,
)

if TYPE_CHECKING:
    from types_boto3_dynamodb import DynamoDBClient


def test_table_is_described(dynamodb: DynamoDBClient, tables: TableFactory) -> None:
    name = tables.create("pk:S sk:N", Gsi("gsi", "g:B", "KEYS_ONLY"))

    table = dynamodb.describe_table(TableName=name)["Table"]

    assert table["TableName"] == name
    assert table["TableStatus"] == "ACTIVE"
    assert table["KeySchema"] == key_schema("pk:S sk:N")
    assert sorted(table["AttributeDefinitions"], key=str) == sorted(
        definitions("pk:S sk:N g:B"), key=str
    )
    assert table["BillingModeSummary"]["BillingMode"] == "PAY_PER_REQUEST"
    assert table["ProvisionedThroughput"]["ReadCapacityUnits"] == 0
    assert table["GlobalSecondaryIndexes"][0]["IndexStatus"] == "ACTIVE"
    assert table["DeletionProtectionEnabled"] is False


def test_table_id_is_stable(dynamodb: DynamoDBClient, tables: TableFactory) -> None:
    name = tables.create()

    first = dynamodb.describe_table(TableName=name)["Table"]
    second = dynamodb.describe_table(TableName=name)["Table"]

    assert len(first["TableId"]) == 36
    assert first["TableId"] == second["TableId"]
    assert first["CreationDateTime"] == second["CreationDateTime"]


def test_table_is_found_by_its_arn(dynamodb: DynamoDBClient, tables: TableFactory) -> None:
    name = tables.create()
    arn = dynamodb.describe_table(TableName=name)["Table"]["TableArn"]

    assert dynamodb.describe_table(TableName=arn)["Table"]["TableName"] == name


def test_missing_table_is_named(dynamodb: DynamoDBClient) -> None:
    name = unique_name("missing")

    code, message = refusal(dynamodb.describe_table, TableName=name)

    assert code == "ResourceNotFoundException"
    assert message == f"Requested resource not found: Table: {name} not found"
