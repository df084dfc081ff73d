"""Requests that add and remove global indexes, and waiting for what becomes of them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tests.conformance.tables import Gsi, definitions
from tests.support.waiting import until

if TYPE_CHECKING:
    from types_boto3_dynamodb import DynamoDBClient

# DynamoDB takes ten to twenty minutes for an empty table.
SETTLED_TIMEOUT_S = 1800.0
BY_GROUP = Gsi("by-group", "group:S")
ONE_AT_A_TIME = (
    "Subscriber limit exceeded: Only 1 online index can be created or deleted "
    "simultaneously per table"
)


def creation(index: Gsi, **changes: Any) -> dict[str, Any]:
    """What UpdateTable takes to add an index."""
    return {
        "AttributeDefinitions": definitions(index.key),
        "GlobalSecondaryIndexUpdates": [{"Create": index.definition()}],
    } | changes


def deletion(name: str) -> dict[str, Any]:
    return {"GlobalSecondaryIndexUpdates": [{"Delete": {"IndexName": name}}]}


def settle(dynamodb: DynamoDBClient, name: str) -> dict[str, Any]:
    """The table when it and all of its indexes are active."""

    def settled() -> bool:
        table = dynamodb.describe_table(TableName=name)["Table"]
        indexes = table.get("GlobalSecondaryIndexes", [])
        return all(
            status == "ACTIVE"
            for status in (table["TableStatus"], *(index["IndexStatus"] for index in indexes))
        )

    until(settled, SETTLED_TIMEOUT_S, f"{name} and its indexes are active")
    return dict(dynamodb.describe_table(TableName=name)["Table"])


def update(dynamodb: DynamoDBClient, name: str, **changes: Any) -> dict[str, Any]:
    dynamodb.update_table(TableName=name, **changes)
    return settle(dynamodb, name)
