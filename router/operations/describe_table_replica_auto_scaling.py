"""DescribeTableReplicaAutoScaling: a table has one replica, here, and nobody scales it."""

from __future__ import annotations

from typing import Any

import orjson

from gramme.errors import ResourceNotFound
from gramme.model.table import Table
from gramme.router.operations.context import Caller, Context
from gramme.router.operations.tables import bare_name
from gramme.router.validation.interpreter import validate

_DISABLED: dict[str, Any] = {"AutoScalingDisabled": True, "ScalingPolicies": []}


async def describe_table_replica_auto_scaling(
    context: Context, caller: Caller, body: dict[str, Any]
) -> bytes:
    validate("DescribeTableReplicaAutoScaling", body)
    name = bare_name(caller, body["TableName"])
    try:
        table = context.catalog.find_described(*caller, name).table
    except ResourceNotFound:
        raise ResourceNotFound(f"Global table with name: '{name}' does not exist.") from None
    description = {
        "TableName": table.name,
        "TableStatus": table.status,
        "Replicas": [_describe_replica(table)],
    }
    return orjson.dumps({"TableAutoScalingDescription": description})


def _describe_replica(table: Table) -> dict[str, Any]:
    indexes = [
        {
            "IndexName": index.name,
            "IndexStatus": "ACTIVE",
            "ProvisionedReadCapacityAutoScalingSettings": _DISABLED,
            "ProvisionedWriteCapacityAutoScalingSettings": _DISABLED,
        }
        for index in table.indexes
    ]
    return {
        "RegionName": table.region,
        "GlobalSecondaryIndexes": indexes,
        "ReplicaProvisionedReadCapacityAutoScalingSettings": _DISABLED,
        "ReplicaProvisionedWriteCapacityAutoScalingSettings": _DISABLED,
        "ReplicaStatus": "ACTIVE",
    }
