"""The operations that tell of what a table has besides items: here, that it is off; and the limits and endpoints."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import pytest

from tests.conformance.tables import Gsi, TableFactory, invalid, refusal, unique_name

if TYPE_CHECKING:
    from types_boto3_dynamodb import DynamoDBClient

BY_TABLE = [
    "describe_continuous_backups",
    "describe_time_to_live",
    "describe_contributor_insights",
    "list_contributor_insights",
    "describe_kinesis_streaming_destination",
    "describe_table_replica_auto_scaling",
]


def call(dynamodb: DynamoDBClient, name: str) -> Callable[..., dict[str, Any]]:
    found: Callable[..., dict[str, Any]] = getattr(dynamodb, name)
    return found


def arn_of(dynamodb: DynamoDBClient, name: str) -> str:
    return dynamodb.describe_table(TableName=name)["Table"]["TableArn"]


def test_continuous_backups_are_there_without_recovery(
    dynamodb: DynamoDBClient, table: str
) -> None:
    answer = dynamodb.describe_continuous_backups(TableName=table)

    description = answer["ContinuousBackupsDescription"]
    assert description["ContinuousBackupsStatus"] == "ENABLED"
    assert description["PointInTimeRecoveryDescription"] == {
        "PointInTimeRecoveryStatus": "DISABLED"
    }


def test_time_to_live_is_off(dynamodb: DynamoDBClient, table: str) -> None:
    answer = dynamodb.describe_time_to_live(TableName=table)

    assert answer["TimeToLiveDescription"] == {"TimeToLiveStatus": "DISABLED"}


def test_contributor_insights_are_off(dynamodb: DynamoDBClient, tables: TableFactory) -> None:
    name = tables.create("pk:S", Gsi("gsi", "g:S"))

    of_table = dynamodb.describe_contributor_insights(TableName=name)
    of_index = dynamodb.describe_contributor_insights(TableName=name, IndexName="gsi")
    listed = dynamodb.list_contributor_insights(TableName=name)

    assert of_table["TableName"] == name
    assert of_table["ContributorInsightsStatus"] == "DISABLED"
    assert "IndexName" not in of_table
    assert of_index["IndexName"] == "gsi"
    assert listed["ContributorInsightsSummaries"] == []
    assert "NextToken" not in listed


def test_missing_index_is_named(dynamodb: DynamoDBClient, table: str) -> None:
    code, message = refusal(
        dynamodb.describe_contributor_insights, TableName=table, IndexName="none"
    )

    assert code == "ResourceNotFoundException"
    assert message == f"Requested resource not found: Index: none not found for table: {table}"


def test_changes_go_to_no_kinesis_stream(dynamodb: DynamoDBClient, table: str) -> None:
    answer = dynamodb.describe_kinesis_streaming_destination(TableName=table)

    assert answer["TableName"] == table
    assert answer["KinesisDataStreamDestinations"] == []


def test_nobody_scales_the_table(dynamodb: DynamoDBClient, table: str) -> None:
    answer = dynamodb.describe_table_replica_auto_scaling(TableName=table)

    replica = answer["TableAutoScalingDescription"]["Replicas"][0]
    settings = replica["ReplicaProvisionedReadCapacityAutoScalingSettings"]
    assert settings["AutoScalingDisabled"] is True


@pytest.mark.parametrize("operation", BY_TABLE)
def test_table_may_be_given_by_its_arn(
    dynamodb: DynamoDBClient, table: str, operation: str
) -> None:
    assert call(dynamodb, operation)(TableName=arn_of(dynamodb, table))


@pytest.mark.parametrize("operation", BY_TABLE)
def test_name_that_cannot_be_one_is_refused(dynamodb: DynamoDBClient, operation: str) -> None:
    message = invalid(call(dynamodb, operation), TableName="no name!")

    assert message == (
        "1 validation error detected: Value 'no name!' at 'tableName' failed to satisfy "
        "constraint: Member must satisfy regular expression pattern: [a-zA-Z0-9_.-]+"
    )


@pytest.mark.parametrize("operation", BY_TABLE)
def test_missing_table_is_named(dynamodb: DynamoDBClient, operation: str) -> None:
    name = unique_name("missing")
    expected = {
        "describe_continuous_backups": ("TableNotFoundException", f"Table not found: {name}"),
        "describe_table_replica_auto_scaling": (
            "ResourceNotFoundException",
            f"Global table with name: '{name}' does not exist.",
        ),
    }.get(
        operation,
        (
            "ResourceNotFoundException",
            f"Requested resource not found: Table: {name} not found",
        ),
    )

    assert refusal(call(dynamodb, operation), TableName=name) == expected


def test_table_has_no_policy(dynamodb: DynamoDBClient, table: str) -> None:
    arn = arn_of(dynamodb, table)

    code, message = refusal(dynamodb.get_resource_policy, ResourceArn=arn)

    assert code == "PolicyNotFoundException"
    assert message == f"Resource-based policy not found for the provided ResourceArn: {arn}"


def test_policy_is_asked_for_by_the_owner_of_a_table(dynamodb: DynamoDBClient, table: str) -> None:
    arn = arn_of(dynamodb, table)
    _, _, _, region, account, _ = arn.split(":")
    missing = unique_name("missing")
    elsewhere = arn.replace(region, "ap-south-1")

    assert invalid(dynamodb.get_resource_policy, ResourceArn=table) == (
        f"One or more parameter values were invalid: ARNs must start with 'arn:': {table}"
    )
    assert invalid(dynamodb.get_resource_policy, ResourceArn=elsewhere) == (
        f"One or more parameter values were invalid: Invalid resource Arn: {elsewhere}"
    )
    assert invalid(
        dynamodb.get_resource_policy, ResourceArn=arn.replace(account, "123456789012")
    ) == ("This action is only supported by accounts that match the resource owner’s account.")
    assert refusal(dynamodb.get_resource_policy, ResourceArn=arn.replace(table, missing)) == (
        "ResourceNotFoundException",
        f"Requested resource not found: Table: {missing} not found",
    )


def test_limits_are_those_of_an_account(dynamodb: DynamoDBClient) -> None:
    limits = dynamodb.describe_limits()

    assert limits["AccountMaxReadCapacityUnits"] >= limits["TableMaxReadCapacityUnits"] > 0
    assert limits["AccountMaxWriteCapacityUnits"] >= limits["TableMaxWriteCapacityUnits"] > 0


def test_endpoint_can_be_cached(dynamodb: DynamoDBClient) -> None:
    endpoint = dynamodb.describe_endpoints()["Endpoints"][0]

    assert ":" in endpoint["Address"] or endpoint["Address"].endswith("amazonaws.com")
    assert endpoint["CachePeriodInMinutes"] > 0
