"""UpdateTable: what it changes, and what it refuses."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from tests.conformance.tables import (
    Gsi,
    TableFactory,
    a_table,
    invalid,
    refusal,
    unique_name,
)
from tests.support.waiting import until

if TYPE_CHECKING:
    from types_boto3_dynamodb import DynamoDBClient
    from types_boto3_dynamodb.type_defs import ProvisionedThroughputTypeDef

INVALID = "One or more parameter values were invalid: "
SETTLED_TIMEOUT_S = 300.0


def units(read: int, write: int) -> ProvisionedThroughputTypeDef:
    return {"ReadCapacityUnits": read, "WriteCapacityUnits": write}


def provisioned(tables: TableFactory, *indexes: Gsi) -> str:
    parameters = a_table(
        "pk:S", *indexes, BillingMode="PROVISIONED", ProvisionedThroughput=units(5, 5)
    )
    for index in parameters.get("GlobalSecondaryIndexes", []):
        index["ProvisionedThroughput"] = units(2, 2)
    return tables.create_from(parameters)


def update(dynamodb: DynamoDBClient, name: str, **changes: Any) -> dict[str, Any]:
    """The table after an update has settled."""
    dynamodb.update_table(TableName=name, **changes)

    def settled() -> bool:
        return dynamodb.describe_table(TableName=name)["Table"]["TableStatus"] == "ACTIVE"

    until(settled, SETTLED_TIMEOUT_S, f"{name} is active again")
    return dict(dynamodb.describe_table(TableName=name)["Table"])


def test_units_change(dynamodb: DynamoDBClient, tables: TableFactory) -> None:
    name = provisioned(tables)

    answer = dynamodb.update_table(TableName=name, ProvisionedThroughput=units(10, 5))
    table = dynamodb.describe_table(TableName=name)["Table"]

    assert answer["TableDescription"]["TableStatus"] == "UPDATING"
    assert answer["TableDescription"]["ProvisionedThroughput"]["ReadCapacityUnits"] == 5
    assert table["ProvisionedThroughput"]["ReadCapacityUnits"] == 10
    assert table["ProvisionedThroughput"]["NumberOfDecreasesToday"] == 0
    assert "LastIncreaseDateTime" in table["ProvisionedThroughput"]
    assert "BillingModeSummary" not in table


def test_decrease_is_counted(dynamodb: DynamoDBClient, tables: TableFactory) -> None:
    name = provisioned(tables)

    table = update(dynamodb, name, ProvisionedThroughput=units(4, 6))

    assert table["ProvisionedThroughput"]["NumberOfDecreasesToday"] == 1
    assert "LastDecreaseDateTime" in table["ProvisionedThroughput"]
    # What it was warm for it stays warm for.
    assert table["WarmThroughput"]["ReadUnitsPerSecond"] == 5
    assert table["WarmThroughput"]["WriteUnitsPerSecond"] == 6


def test_billing_mode_goes_there_and_back(dynamodb: DynamoDBClient, tables: TableFactory) -> None:
    name = provisioned(tables, Gsi("gsi", "g:S"))

    on_demand = update(dynamodb, name, BillingMode="PAY_PER_REQUEST")
    back = update(
        dynamodb,
        name,
        BillingMode="PROVISIONED",
        ProvisionedThroughput=units(7, 7),
        GlobalSecondaryIndexUpdates=[
            {"Update": {"IndexName": "gsi", "ProvisionedThroughput": units(3, 3)}}
        ],
    )

    assert on_demand["BillingModeSummary"]["BillingMode"] == "PAY_PER_REQUEST"
    assert on_demand["ProvisionedThroughput"]["ReadCapacityUnits"] == 0
    index = on_demand["GlobalSecondaryIndexes"][0]
    assert index["ProvisionedThroughput"]["ReadCapacityUnits"] == 0
    assert back["BillingModeSummary"]["BillingMode"] == "PROVISIONED"
    assert "LastUpdateToPayPerRequestDateTime" in back["BillingModeSummary"]
    assert back["ProvisionedThroughput"]["WriteCapacityUnits"] == 7
    index = back["GlobalSecondaryIndexes"][0]
    assert index["ProvisionedThroughput"]["ReadCapacityUnits"] == 3
    # An on-demand table is warm for this much, and stays so.
    assert back["WarmThroughput"]["ReadUnitsPerSecond"] == 12_000


def test_units_of_an_index_change(dynamodb: DynamoDBClient, tables: TableFactory) -> None:
    name = provisioned(tables, Gsi("gsi", "g:S"))
    action = {"Update": {"IndexName": "gsi", "ProvisionedThroughput": units(9, 2)}}

    table = update(dynamodb, name, GlobalSecondaryIndexUpdates=[action])

    index = table["GlobalSecondaryIndexes"][0]
    assert index["ProvisionedThroughput"]["ReadCapacityUnits"] == 9
    assert table["ProvisionedThroughput"]["ReadCapacityUnits"] == 5


def test_on_demand_again_is_accepted(dynamodb: DynamoDBClient, tables: TableFactory) -> None:
    name = tables.create()

    table = update(dynamodb, name, BillingMode="PAY_PER_REQUEST")

    assert table["BillingModeSummary"]["BillingMode"] == "PAY_PER_REQUEST"


def test_limits_are_set_and_taken_away_one_by_one(
    dynamodb: DynamoDBClient, tables: TableFactory
) -> None:
    name = tables.create()

    both = update(
        dynamodb, name, OnDemandThroughput={"MaxReadRequestUnits": 9, "MaxWriteRequestUnits": 8}
    )
    one = update(dynamodb, name, OnDemandThroughput={"MaxReadRequestUnits": -1})
    none = update(dynamodb, name, OnDemandThroughput={"MaxWriteRequestUnits": -1})

    assert both["OnDemandThroughput"] == {"MaxReadRequestUnits": 9, "MaxWriteRequestUnits": 8}
    assert one["OnDemandThroughput"] == {"MaxWriteRequestUnits": 8}
    assert "OnDemandThroughput" not in none


def test_warm_throughput_only_rises(dynamodb: DynamoDBClient, tables: TableFactory) -> None:
    name = tables.create()

    dynamodb.update_table(TableName=name, WarmThroughput={"ReadUnitsPerSecond": 13_000})
    message = invalid(
        dynamodb.update_table, TableName=name, WarmThroughput={"ReadUnitsPerSecond": 11_999}
    )

    assert message == (
        f"{INVALID}Requested ReadUnitsPerSecond for WarmThroughput for table is lower than "
        "current WarmThroughput, decreasing WarmThroughput is not supported"
    )


def test_table_class_changes(dynamodb: DynamoDBClient, tables: TableFactory) -> None:
    name = tables.create()

    table = update(dynamodb, name, TableClass="STANDARD_INFREQUENT_ACCESS")

    assert table["TableClassSummary"]["TableClass"] == "STANDARD_INFREQUENT_ACCESS"
    assert "LastUpdateDateTime" in table["TableClassSummary"]


def test_own_class_again_changes_nothing(dynamodb: DynamoDBClient, tables: TableFactory) -> None:
    name = tables.create()

    assert "TableClassSummary" not in update(dynamodb, name, TableClass="STANDARD")


def test_encryption_goes_on_and_off(dynamodb: DynamoDBClient, tables: TableFactory) -> None:
    name = tables.create()

    dynamodb.update_table(TableName=name, SSESpecification={"Enabled": True})
    on = dynamodb.describe_table(TableName=name)["Table"]
    dynamodb.update_table(TableName=name, SSESpecification={"Enabled": False})
    off = dynamodb.describe_table(TableName=name)["Table"]
    again = invalid(dynamodb.update_table, TableName=name, SSESpecification={"Enabled": False})

    assert on["SSEDescription"]["SSEType"] == "KMS"
    assert on["SSEDescription"]["KMSMasterKeyArn"].startswith("arn:aws:kms:")
    assert "SSEDescription" not in off
    assert again == f"{INVALID}Table is already encrypted by default"


def test_protected_table_is_not_deleted(dynamodb: DynamoDBClient, tables: TableFactory) -> None:
    name = tables.create()

    answer = dynamodb.update_table(TableName=name, DeletionProtectionEnabled=True)
    message = invalid(dynamodb.delete_table, TableName=name)
    dynamodb.update_table(TableName=name, DeletionProtectionEnabled=False)

    assert answer["TableDescription"]["TableStatus"] == "ACTIVE"
    assert answer["TableDescription"]["DeletionProtectionEnabled"] is True
    assert message == (
        "Resource cannot be deleted as it is currently protected against deletion. "
        "Disable deletion protection first."
    )
    assert dynamodb.delete_table(TableName=name)["TableDescription"]["TableStatus"] == "DELETING"


def test_table_is_updated_by_its_arn(dynamodb: DynamoDBClient, tables: TableFactory) -> None:
    name = tables.create()
    arn = dynamodb.describe_table(TableName=name)["Table"]["TableArn"]

    table = dynamodb.update_table(TableName=arn, BillingMode="PAY_PER_REQUEST")

    assert table["TableDescription"]["TableName"] == name


def test_items_are_untouched(dynamodb: DynamoDBClient, tables: TableFactory) -> None:
    name = provisioned(tables)
    dynamodb.put_item(TableName=name, Item={"pk": {"S": "a"}})

    update(dynamodb, name, BillingMode="PAY_PER_REQUEST")

    found = dynamodb.get_item(TableName=name, Key={"pk": {"S": "a"}}, ConsistentRead=True)
    assert found["Item"] == {"pk": {"S": "a"}}


NOTHING = (
    "At least one of ProvisionedThroughput, BillingMode, UpdateStreamEnabled, "
    "GlobalSecondaryIndexUpdates, SSESpecification, ReplicaUpdates, MultiAccountReplicaReady, "
    "ReplicaTransitRoleArn, MultiRegionConsistency, DeletionProtectionEnabled, "
    "OnDemandThroughput, WarmThroughput or TableClass is required"
)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({}, NOTHING),
        ({"GlobalSecondaryIndexUpdates": []}, NOTHING),
        ({"AttributeDefinitions": [{"AttributeName": "a", "AttributeType": "S"}]}, NOTHING),
        (
            {"MultiRegionConsistency": "EVENTUAL"},
            NOTHING.replace("MultiRegionConsistency, ", ""),
        ),
        (
            {"GlobalSecondaryIndexUpdates": [], "DeletionProtectionEnabled": True},
            f"{INVALID}List of GlobalSecondaryIndexUpdates is empty",
        ),
        (
            {"DeletionProtectionEnabled": True, "SSESpecification": {"Enabled": True}},
            f"{INVALID}Server-Side Encryption modification must be the only operation in the request",
        ),
        (
            {"DeletionProtectionEnabled": True, "TableClass": "STANDARD"},
            f"{INVALID}TableClass modification must be the only operation in the request",
        ),
        (
            {"DeletionProtectionEnabled": True, "BillingMode": "PAY_PER_REQUEST"},
            f"{INVALID}DeletionProtection modification must be the only operation in the request",
        ),
        (
            {
                "WarmThroughput": {"ReadUnitsPerSecond": 20_000},
                "BillingMode": "PAY_PER_REQUEST",
            },
            f"{INVALID}WarmThroughput must be the only operation in the request",
        ),
        (
            {"BillingMode": "PAY_PER_REQUEST", "ProvisionedThroughput": units(1, 1)},
            (
                f"{INVALID}Neither ReadCapacityUnits nor WriteCapacityUnits can be specified "
                "when BillingMode is PAY_PER_REQUEST"
            ),
        ),
        (
            {"BillingMode": "PROVISIONED"},
            (f"{INVALID}ProvisionedThroughput must be specified when BillingMode is PROVISIONED"),
        ),
        (
            {"GlobalSecondaryIndexUpdates": [{}]},
            (
                f"{INVALID}One of GlobalSecondaryIndexUpdate.Update, "
                "GlobalSecondaryIndexUpdate.Create, "
                "GlobalSecondaryIndexUpdate.Delete must not be null"
            ),
        ),
        (
            {
                "GlobalSecondaryIndexUpdates": [
                    {"Update": {"IndexName": "gsi"}},
                    {"Delete": {"IndexName": "gsi"}},
                ]
            },
            (
                f"{INVALID}Only one global secondary index update per index "
                "is allowed simultaneously. Index: gsi"
            ),
        ),
        (
            {"GlobalSecondaryIndexUpdates": [{"Update": {}}]},
            (
                "1 validation error detected: Value null at "
                "'globalSecondaryIndexUpdates.1.member.update.indexName' "
                "failed to satisfy constraint: Member must not be null"
            ),
        ),
        (
            {"ProvisionedThroughput": units(0, 5)},
            (
                "1 validation error detected: Value '0' at "
                "'provisionedThroughput.readCapacityUnits' failed to satisfy constraint: "
                "Member must have value greater than or equal to 1"
            ),
        ),
    ],
)
def test_request_is_refused_before_the_table_is_looked_for(
    dynamodb: DynamoDBClient, changes: dict[str, Any], message: str
) -> None:
    assert invalid(dynamodb.update_table, TableName=unique_name("none"), **changes) == message


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        (
            {"ProvisionedThroughput": units(1, 1)},
            (
                f"{INVALID}Neither ReadCapacityUnits nor WriteCapacityUnits can be specified "
                "when BillingMode is PAY_PER_REQUEST"
            ),
        ),
        (
            {"BillingMode": "PROVISIONED", "ProvisionedThroughput": units(1, 1)},
            f"{INVALID}ProvisionedThroughput must be specified for index: gsi",
        ),
        (
            {
                "GlobalSecondaryIndexUpdates": [
                    {"Update": {"IndexName": "gsi", "ProvisionedThroughput": units(1, 1)}}
                ]
            },
            (
                f"{INVALID}The only Updates for index: gsi when TableThroughputMode is "
                "PAY_PER_REQUEST can be to OnDemandThroughput, WarmThroughput"
            ),
        ),
        (
            {"OnDemandThroughput": {"MaxReadRequestUnits": 0}},
            (
                f"{INVALID}Requested MaxReadRequestUnits for OnDemandThroughput for table "
                "is outside of valid range"
            ),
        ),
        (
            {"SSESpecification": {"Enabled": False, "SSEType": "KMS"}},
            f"{INVALID}SSEType can not be specified if Enabled is false",
        ),
        (
            {"SSESpecification": {"Enabled": True, "KMSMasterKeyId": "alias/mine"}},
            f"{INVALID}SSEType KMS is required if KMSMasterKeyId is specified",
        ),
    ],
)
def test_change_of_an_on_demand_table_is_refused(
    dynamodb: DynamoDBClient, tables: TableFactory, changes: dict[str, Any], message: str
) -> None:
    name = tables.create("pk:S", Gsi("gsi", "g:S"))

    assert invalid(dynamodb.update_table, TableName=name, **changes) == message


def test_units_must_change(dynamodb: DynamoDBClient, tables: TableFactory) -> None:
    name = provisioned(tables, Gsi("gsi", "g:S"))
    action = {"Update": {"IndexName": "gsi", "ProvisionedThroughput": units(2, 2)}}

    of_table = invalid(dynamodb.update_table, TableName=name, ProvisionedThroughput=units(5, 5))
    of_index = invalid(dynamodb.update_table, TableName=name, GlobalSecondaryIndexUpdates=[action])

    assert of_table == (
        "The provisioned throughput for the table will not change. "
        "The requested value equals the current value. "
        "Current ReadCapacityUnits provisioned for the table: 5. Requested ReadCapacityUnits: 5. "
        "Current WriteCapacityUnits provisioned for the table: 5. "
        "Requested WriteCapacityUnits: 5. Refer to the Amazon DynamoDB Developer Guide "
        "for current limits and how to request higher limits."
    )
    assert of_index.startswith(
        "The provisioned throughput for the index gsi will not change. "
        "The requested value equals the current value. "
        "Current ReadCapacityUnits provisioned for index gsi: 2. Requested ReadCapacityUnits: 2."
    )


def test_limits_are_for_on_demand_tables(dynamodb: DynamoDBClient, tables: TableFactory) -> None:
    name = provisioned(tables)

    message = invalid(
        dynamodb.update_table, TableName=name, OnDemandThroughput={"MaxReadRequestUnits": 1}
    )

    assert message == (
        f"{INVALID}MaxReadRequestUnits for OnDemandThroughput cannot be specified "
        "when the table BillingMode is PROVISIONED"
    )


def test_missing_table_is_named(dynamodb: DynamoDBClient) -> None:
    name = unique_name("missing")

    code, message = refusal(dynamodb.update_table, TableName=name, BillingMode="PAY_PER_REQUEST")

    assert code == "ResourceNotFoundException"
    assert message == f"Requested resource not found: Table: {name} not found"


def test_missing_index_is_named(dynamodb: DynamoDBClient, tables: TableFactory) -> None:
    name = provisioned(tables)
    action = {"Update": {"IndexName": "none", "ProvisionedThroughput": units(1, 1)}}

    code, message = refusal(
        dynamodb.update_table, TableName=name, GlobalSecondaryIndexUpdates=[action]
    )

    assert code == "ResourceNotFoundException"
    assert message == f"Requested resource not found: Index none for table {name}"


def test_two_indexes_are_not_deleted_at_once(
    dynamodb: DynamoDBClient, tables: TableFactory
) -> None:
    name = tables.create("pk:S", Gsi("one", "g:S"), Gsi("two", "g:S"))
    actions = [{"Delete": {"IndexName": "one"}}, {"Delete": {"IndexName": "two"}}]

    code, message = refusal(
        dynamodb.update_table, TableName=name, GlobalSecondaryIndexUpdates=actions
    )

    assert code == "LimitExceededException"
    assert message == (
        "Subscriber limit exceeded: Only 1 online index can be created or deleted "
        "simultaneously per table"
    )


def test_class_is_one_of_two(dynamodb: DynamoDBClient, tables: TableFactory) -> None:
    message = (
        "Invalid table-class parameter provided. Please try again with a valid table-class value: "
        "[STANDARD, STANDARD_INFREQUENT_ACCESS]."
    )

    updated = invalid(dynamodb.update_table, TableName=tables.create(), TableClass="GLACIER")
    created = invalid(dynamodb.create_table, **a_table(TableClass="GLACIER"))

    assert (updated, created) == (message, message)
