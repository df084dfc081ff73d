"""TableDescription: a table as CreateTable, DescribeTable and DeleteTable show it."""

from __future__ import annotations

from typing import Any, Literal

import orjson

from gramme.model.table import Index, KeyAttribute, Table

Status = Literal["CREATING", "ACTIVE", "DELETING"]

# What DynamoDB says a new on-demand table can take at once.
WARM_READ_UNITS = 12_000
WARM_WRITE_UNITS = 4_000


def describe(table: Table, status: Status, member: str) -> bytes:
    """A whole response, whose one member is the description."""
    shown = _describe_deleted(table) if status == "DELETING" else _describe(table, status)
    return orjson.dumps({member: shown})


def _describe(table: Table, status: Status) -> dict[str, Any]:
    created_at_s = table.created_at_ms / 1000
    description: dict[str, Any] = {
        "AttributeDefinitions": _definitions(table),
        "TableName": table.name,
        "KeySchema": _schema(table.keys[:1], table.keys[1:]),
        "TableStatus": status,
        "CreationDateTime": created_at_s,
        "ProvisionedThroughput": _throughput(table.provisioned),
        "TableSizeBytes": 0,
        "ItemCount": 0,
        "TableArn": table.arn,
        "TableId": table.uuid,
        "DeletionProtectionEnabled": False,
    }
    if table.provisioned is None:
        description["BillingModeSummary"] = {"BillingMode": "PAY_PER_REQUEST"}
        if status == "ACTIVE":
            description["BillingModeSummary"]["LastUpdateToPayPerRequestDateTime"] = created_at_s
    if status == "ACTIVE":
        asked = table.echo.get("WarmThroughput", {})
        description["WarmThroughput"] = _warm_throughput(table.provisioned) | asked
    if table.indexes:
        description["GlobalSecondaryIndexes"] = [
            _describe_index(table, index, status) for index in table.indexes
        ]
    return description | _echoed(table)


def _describe_deleted(table: Table) -> dict[str, Any]:
    """DynamoDB shows less of a table that it is taking away."""
    return {
        "TableName": table.name,
        "TableStatus": "DELETING",
        "ProvisionedThroughput": _throughput(table.provisioned),
        "TableSizeBytes": 0,
        "ItemCount": 0,
        "TableArn": table.arn,
        "TableId": table.uuid,
        "DeletionProtectionEnabled": False,
    }


def _describe_index(table: Table, index: Index, status: Status) -> dict[str, Any]:
    projection: dict[str, Any] = {"ProjectionType": index.projection}
    if index.non_key_attributes:
        projection["NonKeyAttributes"] = index.non_key_attributes
    description = {
        "IndexName": index.name,
        "KeySchema": _schema(index.hash, index.range),
        "Projection": projection,
        "IndexStatus": status,
        "ProvisionedThroughput": _throughput(index.provisioned),
        "IndexSizeBytes": 0,
        "ItemCount": 0,
        "IndexArn": f"{table.arn}/index/{index.name}",
    }
    if status == "ACTIVE":
        description["WarmThroughput"] = _warm_throughput(index.provisioned)
    return description


def _definitions(table: Table) -> list[dict[str, str]]:
    """DynamoDB shows them by name, whatever order they were given in."""
    types = {attribute.name: attribute.type for attribute in table.keys}
    for index in table.indexes:
        types.update((attribute.name, attribute.type) for attribute in index.keys)
    return [{"AttributeName": name, "AttributeType": types[name]} for name in sorted(types)]


def _schema(
    hashes: tuple[KeyAttribute, ...], ranges: tuple[KeyAttribute, ...]
) -> list[dict[str, str]]:
    return [
        *({"AttributeName": attribute.name, "KeyType": "HASH"} for attribute in hashes),
        *({"AttributeName": attribute.name, "KeyType": "RANGE"} for attribute in ranges),
    ]


def _throughput(provisioned: tuple[int, int] | None) -> dict[str, int]:
    read, write = provisioned or (0, 0)
    return {"NumberOfDecreasesToday": 0, "ReadCapacityUnits": read, "WriteCapacityUnits": write}


def _warm_throughput(provisioned: tuple[int, int] | None) -> dict[str, Any]:
    read, write = provisioned or (WARM_READ_UNITS, WARM_WRITE_UNITS)
    return {"ReadUnitsPerSecond": read, "WriteUnitsPerSecond": write, "Status": "ACTIVE"}


def _echoed(table: Table) -> dict[str, Any]:
    shown: dict[str, Any] = {}
    echo = table.echo
    if "TableClass" in echo:
        shown["TableClassSummary"] = {"TableClass": echo["TableClass"]}
    if "OnDemandThroughput" in echo:
        shown["OnDemandThroughput"] = echo["OnDemandThroughput"]
    encryption = echo.get("SSESpecification", {})
    if encryption.get("Enabled"):
        shown["SSEDescription"] = {"Status": "ENABLED", "SSEType": "KMS"}
        if encryption.get("KMSMasterKeyId") is not None:
            shown["SSEDescription"]["KMSMasterKeyArn"] = encryption["KMSMasterKeyId"]
    return shown
