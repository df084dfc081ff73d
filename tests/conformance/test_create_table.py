"""CreateTable: what it answers, and the definitions it refuses."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from tests.conformance.tables import (
    Gsi,
    TableFactory,
    a_table,
    definitions,
    invalid,
    key_schema,
    refusal,
)

if TYPE_CHECKING:
    from types_boto3_dynamodb import DynamoDBClient

INVALID = "One or more parameter values were invalid: "
UNITS = {"ReadCapacityUnits": 5, "WriteCapacityUnits": 5}


def test_new_table_is_being_created(dynamodb: DynamoDBClient, tables: TableFactory) -> None:
    parameters = a_table("pk:S sk:N")
    tables.names.append(parameters["TableName"])

    table = dynamodb.create_table(**parameters)["TableDescription"]

    assert table["TableName"] == parameters["TableName"]
    assert table["TableStatus"] == "CREATING"
    assert table["KeySchema"] == key_schema("pk:S sk:N")
    assert table["AttributeDefinitions"] == definitions("pk:S sk:N")
    assert table["BillingModeSummary"]["BillingMode"] == "PAY_PER_REQUEST"
    assert table["TableArn"].endswith(f":table/{parameters['TableName']}")
    assert table["ItemCount"] == 0


def test_provisioned_table_has_its_units(dynamodb: DynamoDBClient, tables: TableFactory) -> None:
    parameters = a_table(BillingMode="PROVISIONED", ProvisionedThroughput=UNITS)
    name = tables.create_from(parameters)

    table = dynamodb.describe_table(TableName=name)["Table"]

    assert table["ProvisionedThroughput"] == {"NumberOfDecreasesToday": 0} | UNITS


def test_existing_name_is_in_use(dynamodb: DynamoDBClient, tables: TableFactory) -> None:
    name = tables.create()

    code, message = refusal(dynamodb.create_table, **a_table(TableName=name))

    assert code == "ResourceInUseException"
    assert message == f"Table already exists: {name}"


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        (
            {"TableName": "ab"},
            (
                "1 validation error detected: Value 'ab' at 'tableName' failed to satisfy constraint: "
                "Member must have length greater than or equal to 3"
            ),
        ),
        (
            {"AttributeDefinitions": [{"AttributeName": "pk", "AttributeType": "X"}]},
            (
                "1 validation error detected: Value 'X' at "
                "'attributeDefinitions.1.member.attributeType' failed to satisfy constraint: "
                "Member must satisfy enum value set: [B, N, S]"
            ),
        ),
        (
            {"KeySchema": [{"AttributeName": "pk", "KeyType": "X"}]},
            (
                "1 validation error detected: Value 'X' at 'keySchema.1.member.keyType' "
                "failed to satisfy constraint: Member must satisfy enum value set: [HASH, RANGE]"
            ),
        ),
        (
            {"ProvisionedThroughput": UNITS},
            (
                f"{INVALID}Neither ReadCapacityUnits nor WriteCapacityUnits can be specified "
                "when BillingMode is PAY_PER_REQUEST"
            ),
        ),
        (
            {"BillingMode": "PROVISIONED"},
            (
                f"{INVALID}ReadCapacityUnits and WriteCapacityUnits must both be specified "
                "when BillingMode is PROVISIONED"
            ),
        ),
        (
            {"AttributeDefinitions": definitions("pk:S more:S")},
            (
                f"{INVALID}Number of attributes in KeySchema does not exactly match "
                "number of attributes defined in AttributeDefinitions"
            ),
        ),
        (
            {"KeySchema": key_schema("pk:S pk:S")},
            "Invalid KeySchema: Some index key attribute have no definition",
        ),
        (
            {"KeySchema": key_schema("other:S")},
            (
                f"{INVALID}Some index key attributes are not defined in AttributeDefinitions. "
                "Keys: [other], AttributeDefinitions: [pk]"
            ),
        ),
        (
            {"KeySchema": [{"AttributeName": "pk", "KeyType": "RANGE"}]},
            "Invalid KeySchema: The first KeySchemaElement is not a HASH key type",
        ),
        (
            {"StreamSpecification": {"StreamEnabled": False, "StreamViewType": "KEYS_ONLY"}},
            (
                f"{INVALID}Table is being created with a stream disabled, "
                "UpdateViewType should not be specified"
            ),
        ),
        (
            {
                "BillingMode": "PROVISIONED",
                "ProvisionedThroughput": UNITS,
                "OnDemandThroughput": {"MaxReadRequestUnits": 1},
            },
            (
                f"{INVALID}MaxReadRequestUnits for OnDemandThroughput cannot be specified "
                "when table BillingMode is PROVISIONED."
            ),
        ),
        (
            {"OnDemandThroughput": {"MaxWriteRequestUnits": -1}},
            (
                f"{INVALID}Requested MaxWriteRequestUnits for OnDemandThroughput for table "
                "is outside of valid range"
            ),
        ),
        (
            {"WarmThroughput": {"WriteUnitsPerSecond": 3_999}},
            (
                f"{INVALID}Requested WriteUnitsPerSecond for WarmThroughput for table is lower "
                "than initial throughput for OnDemand. See: https://docs.aws.amazon.com/"
                "amazondynamodb/latest/developerguide/on-demand-capacity-mode.html"
                "#on-demand-capacity-mode-initial"
            ),
        ),
        (
            {
                "BillingMode": "PROVISIONED",
                "ProvisionedThroughput": UNITS,
                "WarmThroughput": {"ReadUnitsPerSecond": 4},
            },
            (
                f"{INVALID}Requested ReadUnitsPerSecond for WarmThroughput for table is lower "
                "than ReadCapacityUnits of ProvisionedThroughput"
            ),
        ),
        (
            {"SSESpecification": {"Enabled": True, "KMSMasterKeyId": "alias/mine"}},
            f"{INVALID}SSEType KMS is required if KMSMasterKeyId is specified",
        ),
        (
            {"SSESpecification": {"Enabled": True, "SSEType": "AES256"}},
            f"{INVALID}SSEType AES256 is not supported",
        ),
    ],
)
def test_table_is_refused(dynamodb: DynamoDBClient, changes: dict[str, Any], message: str) -> None:
    assert invalid(dynamodb.create_table, **a_table(**changes)) == message


def test_name_is_required(dynamodb: DynamoDBClient) -> None:
    parameters = a_table()
    del parameters["TableName"]

    message = invalid(dynamodb.create_table, **parameters)

    assert message == "The parameter 'TableName' is required but was not present in the request"


def test_index_is_described(dynamodb: DynamoDBClient, tables: TableFactory) -> None:
    index = Gsi("by-group", "group:S n:N", "INCLUDE", ("colour",))
    name = tables.create("pk:S", index)

    table = dynamodb.describe_table(TableName=name)["Table"]

    described = table["GlobalSecondaryIndexes"][0]
    assert described["IndexName"] == "by-group"
    assert described["KeySchema"] == key_schema("group:S n:N")
    assert described["Projection"] == {
        "ProjectionType": "INCLUDE",
        "NonKeyAttributes": ["colour"],
    }
    assert described["IndexArn"] == f"{table['TableArn']}/index/by-group"


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        (
            {"KeySchema": key_schema("x:S")},
            (
                f"{INVALID}Some index key attributes are not defined in AttributeDefinitions. "
                "Keys: [x], AttributeDefinitions: [pk, g]"
            ),
        ),
        (
            {"Projection": {"ProjectionType": "INCLUDE"}},
            f"{INVALID}ProjectionType is INCLUDE, but NonKeyAttributes is not specified",
        ),
        (
            {"Projection": {"ProjectionType": "KEYS_ONLY", "NonKeyAttributes": ["x"]}},
            f"{INVALID}ProjectionType is KEYS_ONLY, but NonKeyAttributes is specified",
        ),
        (
            {"ProvisionedThroughput": UNITS},
            (
                f"{INVALID}ProvisionedThroughput should not be specified for index: gsi "
                "when BillingMode is PAY_PER_REQUEST"
            ),
        ),
    ],
)
def test_index_is_refused(dynamodb: DynamoDBClient, changes: dict[str, Any], message: str) -> None:
    parameters = a_table("pk:S", Gsi("gsi", "g:S"))
    parameters["GlobalSecondaryIndexes"][0] |= changes

    assert invalid(dynamodb.create_table, **parameters) == message


def test_index_of_a_provisioned_table_has_units(dynamodb: DynamoDBClient) -> None:
    parameters = a_table(
        "pk:S", Gsi("gsi", "g:S"), BillingMode="PROVISIONED", ProvisionedThroughput=UNITS
    )

    message = invalid(dynamodb.create_table, **parameters)

    assert message == f"{INVALID}ProvisionedThroughput is not specified for index: gsi"


def test_index_names_are_unique(dynamodb: DynamoDBClient) -> None:
    parameters = a_table("pk:S", Gsi("same", "g:S"), Gsi("same", "h:S"))

    message = invalid(dynamodb.create_table, **parameters)

    assert message == f"{INVALID}Duplicate index name: same"


def test_twenty_indexes_are_the_most(dynamodb: DynamoDBClient) -> None:
    indexes = [Gsi(f"gsi-{number}", "g:S") for number in range(21)]

    message = invalid(dynamodb.create_table, **a_table("pk:S", *indexes))

    assert message == f"{INVALID}GlobalSecondaryIndex count exceeds the per-table limit of 20"


def test_local_index_needs_a_range_key(dynamodb: DynamoDBClient) -> None:
    index = Gsi("lsi", "pk:S other:S").definition()
    parameters = a_table(
        AttributeDefinitions=definitions("pk:S other:S"), LocalSecondaryIndexes=[index]
    )

    message = invalid(dynamodb.create_table, **parameters)

    assert message == (
        f"{INVALID}Table KeySchema does not have a range key, "
        "which is required when specifying a LocalSecondaryIndex"
    )


def test_definitions_are_required(dynamodb: DynamoDBClient) -> None:
    table = a_table()
    del table["AttributeDefinitions"]

    assert invalid(dynamodb.create_table, **table) == (
        "1 validation error detected: Value null at 'attributeDefinitions' "
        "failed to satisfy constraint: Member must not be null"
    )
