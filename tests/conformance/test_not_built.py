"""What DynamoDB has and Gramme has not yet: better refused in plain words than ignored.

These tests are of Gramme alone: DynamoDB would fail them, and they are skipped where an endpoint is given.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from botocore import xform_name
from botocore.exceptions import ClientError

from gramme.router.operations.all import OPERATIONS
from gramme.router.validation import generated
from tests.conformance.tables import TableFactory, a_table, invalid

if TYPE_CHECKING:
    from types_boto3_dynamodb import DynamoDBClient

STREAMS = {"DescribeStream", "GetRecords", "GetShardIterator", "ListStreams"}
UNSERVED = sorted(generated.OPERATIONS.keys() - OPERATIONS.keys() - STREAMS)
STREAM = {"StreamEnabled": True, "StreamViewType": "KEYS_ONLY"}
VECTOR_INDEX = {
    "IndexName": "vectors",
    "VectorAttribute": {"AttributeName": "v"},
    "Projection": {"ProjectionType": "ALL"},
    "Dimensions": 3,
    "DistanceFunction": "COSINE",
}


@pytest.fixture(autouse=True)
def only_here(request: pytest.FixtureRequest) -> None:
    if request.config.getoption("--endpoint") is not None:
        pytest.skip("DynamoDB has these")


@pytest.mark.parametrize("operation", UNSERVED)
def test_operation_is_unknown(dynamodb: DynamoDBClient, operation: str) -> None:
    with pytest.raises(ClientError) as failure:
        getattr(dynamodb, xform_name(operation))()

    assert failure.value.response["Error"]["Code"] == "UnknownOperationException"


@pytest.mark.parametrize(
    ("parameter", "value"),
    [
        ("StreamSpecification", STREAM),
        ("ResourcePolicy", "{}"),
        ("GlobalTableSourceArn", "arn:aws:dynamodb:us-east-1:000000000000:table/other"),
        ("GlobalTableSettingsReplicationMode", "ENABLED"),
        ("VectorIndexes", [VECTOR_INDEX]),
    ],
)
def test_table_is_not_created(dynamodb: DynamoDBClient, parameter: str, value: Any) -> None:
    message = invalid(dynamodb.create_table, **a_table("pk:S", **{parameter: value}))

    assert message == f"{parameter} is not supported yet"


@pytest.mark.parametrize(
    ("parameter", "value"),
    [
        ("StreamSpecification", STREAM),
        ("ReplicaUpdates", [{"Create": {"RegionName": "eu-north-1"}}]),
        ("GlobalTableWitnessUpdates", [{"Create": {"RegionName": "eu-north-1"}}]),
        ("GlobalTableSettingsReplicationMode", "ENABLED"),
        ("DisassociationProtectionEnabled", True),
        ("VectorIndexUpdates", [{"Create": VECTOR_INDEX}]),
    ],
)
def test_table_is_not_changed(
    dynamodb: DynamoDBClient, tables: TableFactory, parameter: str, value: Any
) -> None:
    name = tables.create()

    message = invalid(dynamodb.update_table, TableName=name, **{parameter: value})

    assert message == f"{parameter} is not supported yet"


def test_units_throttle_nobody(dynamodb: DynamoDBClient, tables: TableFactory) -> None:
    units = {"ReadCapacityUnits": 1, "WriteCapacityUnits": 1}
    parameters = a_table("pk:S", BillingMode="PROVISIONED", ProvisionedThroughput=units)
    name = tables.create_from(parameters)

    # A thousand units at once are more than DynamoDB saves up for a burst.
    for _ in range(10):
        item: dict[str, Any] = {"pk": {"S": "a"}, "text": {"S": "x" * 100_000}}
        dynamodb.put_item(TableName=name, Item=item)

    described = dynamodb.describe_table(TableName=name)["Table"]["ProvisionedThroughput"]
    assert described["WriteCapacityUnits"] == 1
