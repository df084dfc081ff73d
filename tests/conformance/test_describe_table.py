"""DescribeTable."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tests.conformance.tables import (
    Gsi,
    TableFactory,
    a_table,
    definitions,
    eventually,
    invalid,
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


def test_items_are_counted(dynamodb: DynamoDBClient, tables: TableFactory) -> None:
    name = tables.create("pk:S", Gsi("gsi", "g:S", "KEYS_ONLY"))
    for number in range(5):
        item: dict[str, Any] = {"pk": {"S": f"key{number}"}, "more": {"S": "text"}}
        if number < 2:
            item["g"] = {"S": "group"}
        dynamodb.put_item(TableName=name, Item=item)
    dynamodb.delete_item(TableName=name, Key={"pk": {"S": "key4"}})

    def counts() -> tuple[int, int]:
        table = dynamodb.describe_table(TableName=name)["Table"]
        return table["ItemCount"], table["GlobalSecondaryIndexes"][0]["ItemCount"]

    eventually(counts, (4, 2))
    table = dynamodb.describe_table(TableName=name)["Table"]
    # Names and values, in bytes: pk + key0 + more + text, and twice g + group.
    assert table["TableSizeBytes"] == 4 * (2 + 4 + 4 + 4) + 2 * (1 + 5)
    assert table["GlobalSecondaryIndexes"][0]["IndexSizeBytes"] == 2 * (2 + 4 + 1 + 5)


def test_what_was_asked_for_is_shown(dynamodb: DynamoDBClient, tables: TableFactory) -> None:
    key = "arn:aws:kms:us-east-1:000000000000:key/11111111-2222-3333-4444-555555555555"
    parameters = a_table(
        "pk:S",
        Gsi("gsi", "g:S", "INCLUDE", ("z", "a")),
        DeletionProtectionEnabled=True,
        TableClass="STANDARD_INFREQUENT_ACCESS",
        SSESpecification={"Enabled": True, "SSEType": "KMS", "KMSMasterKeyId": key},
        OnDemandThroughput={"MaxReadRequestUnits": 100},
        WarmThroughput={"ReadUnitsPerSecond": 12_500},
    )
    parameters["GlobalSecondaryIndexes"][0] |= {
        "OnDemandThroughput": {"MaxWriteRequestUnits": 50},
        "WarmThroughput": {"ReadUnitsPerSecond": 13_000, "WriteUnitsPerSecond": 5_000},
    }
    name = tables.create_from(parameters)
    try:
        table = dynamodb.describe_table(TableName=name)["Table"]
    finally:
        dynamodb.update_table(TableName=name, DeletionProtectionEnabled=False)

    assert table["DeletionProtectionEnabled"] is True
    assert table["TableClassSummary"] == {"TableClass": "STANDARD_INFREQUENT_ACCESS"}
    assert table["SSEDescription"] == {
        "Status": "ENABLED",
        "SSEType": "KMS",
        "KMSMasterKeyArn": key,
    }
    assert table["OnDemandThroughput"] == {"MaxReadRequestUnits": 100}
    assert table["WarmThroughput"] == {
        "ReadUnitsPerSecond": 12_500,
        "WriteUnitsPerSecond": 4_000,
        "Status": "ACTIVE",
    }
    index = table["GlobalSecondaryIndexes"][0]
    assert index["OnDemandThroughput"] == {"MaxWriteRequestUnits": 50}
    assert index["WarmThroughput"]["ReadUnitsPerSecond"] == 13_000
    assert index["Projection"]["NonKeyAttributes"] == ["a", "z"]


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


def test_arn_leads_to_tables_of_the_caller_only(dynamodb: DynamoDBClient, table: str) -> None:
    arn = dynamodb.describe_table(TableName=table)["Table"]["TableArn"]
    _, _, _, region, account, _ = arn.split(":")
    theirs = arn.replace(account, "123456789012")
    elsewhere = arn.replace(region, "ap-south-1")
    key = {"pk": {"S": "a"}}

    for call, parameters in ((dynamodb.describe_table, {}), (dynamodb.get_item, {"Key": key})):
        denied = refusal(call, TableName=theirs, **parameters)
        message = invalid(call, TableName=elsewhere, **parameters)

        assert denied == ("AccessDeniedException", "Access is denied")
        assert message == f"1 validation error detected: Invalid AWS region in '{elsewhere}'"


def test_missing_table_is_named_without_its_arn(dynamodb: DynamoDBClient, table: str) -> None:
    name = unique_name("missing")
    arn = dynamodb.describe_table(TableName=table)["Table"]["TableArn"].replace(table, name)

    assert refusal(dynamodb.describe_table, TableName=arn) == (
        "ResourceNotFoundException",
        f"Requested resource not found: Table: {name} not found",
    )


def test_missing_table_is_named(dynamodb: DynamoDBClient) -> None:
    name = unique_name("missing")

    code, message = refusal(dynamodb.describe_table, TableName=name)

    assert code == "ResourceNotFoundException"
    assert message == f"Requested resource not found: Table: {name} not found"
