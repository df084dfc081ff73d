"""TableDescription: a table as CreateTable, DescribeTable, UpdateTable and DeleteTable show it."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from types import MappingProxyType
from typing import Any, Final, NamedTuple

import orjson

from gramme.commands import Totals
from gramme.errors import ResourceNotFound
from gramme.model.table import (
    Index,
    KeyAttribute,
    LocalIndex,
    Table,
    TableStatus,
    UnitsHistory,
)
from gramme.router.catalog import CatalogEntry
from gramme.router.operations.context import Context
from gramme.router.operations.elastic_throughput import describe_warm, warm_units
from gramme.router.operations.encryption import describe_encryption

_NOTHING = Totals(0, 0)
# While an index is filled its table is ACTIVE.
_UPDATING_TABLE: Final = frozenset({"ALLOCATING", "DELETING"})
_CREATING_INDEX: Final = frozenset({"ALLOCATING", "BACKFILLING"})


class Measured(NamedTuple):
    """What a table holds, and each of its indexes by name; and when that is told. An empty index may be missing."""

    now_ms: int
    table: Totals = _NOTHING
    indexes: Mapping[str, Totals] = MappingProxyType({})


async def measure(context: Context, entry: CatalogEntry) -> Measured:
    """Raises ResourceNotFound, in the words of DescribeTable, if the table goes meanwhile."""
    nodes, now_ms = context.nodes, context.clock.now_ms()
    try:
        table = await nodes.totals(entry.partitions.partitions)
    except ResourceNotFound:
        raise ResourceNotFound(
            f"Requested resource not found: Table: {entry.table.name} not found"
        ) from None
    indexes = {}
    for name, kept in entry.index_partitions.items():
        # An index that goes meanwhile holds nothing any more.
        with suppress(ResourceNotFound):
            indexes[name] = await nodes.totals(kept.partitions)
    for local, totals in zip(entry.table.local_indexes, table.local, strict=False):
        indexes[local.name] = totals
    return Measured(now_ms, table, indexes)


def describe(table: Table, status: TableStatus, member: str, measured: Measured) -> bytes:
    """A whole response, whose one member is the description."""
    if status == "DELETING" and member != "Table":
        return orjson.dumps({member: _describe_deleted(table, measured)})
    return orjson.dumps({member: _describe(table, status, measured)})


def _describe(table: Table, status: TableStatus, measured: Measured) -> dict[str, Any]:
    if status == "ACTIVE" and any(index.phase in _UPDATING_TABLE for index in table.indexes):
        status = "UPDATING"
    description: dict[str, Any] = {
        "AttributeDefinitions": _definitions(table),
        "TableName": table.name,
        "KeySchema": _schema(table.keys[:1], table.keys[1:]),
        "TableStatus": status,
        "CreationDateTime": table.created_at_ms / 1000,
        "ProvisionedThroughput": _throughput(table.provisioned, table.history, measured.now_ms),
        "TableSizeBytes": measured.table.item_bytes,
        "ItemCount": measured.table.item_count,
        "TableArn": table.arn,
        "TableId": table.uuid,
        "DeletionProtectionEnabled": table.deletion_protection,
    }
    billing = _describe_billing(table, status)
    if billing is not None:
        description["BillingModeSummary"] = billing
    warm = _describe_warm(table, status)
    if warm is not None:
        description["WarmThroughput"] = warm
    if table.local_indexes:
        description["LocalSecondaryIndexes"] = [
            _describe_local_index(table, local, measured) for local in table.local_indexes
        ]
    if table.indexes:
        description["GlobalSecondaryIndexes"] = [
            _describe_index(table, index, status, measured) for index in table.indexes
        ]
    return description | _echoed(table)


def _describe_deleted(table: Table, measured: Measured) -> dict[str, Any]:
    """DynamoDB shows less of a table that it is taking away."""
    description: dict[str, Any] = {
        "TableName": table.name,
        "TableStatus": "DELETING",
        "ProvisionedThroughput": _throughput(table.provisioned, table.history, measured.now_ms),
        "TableSizeBytes": 0,
        "ItemCount": 0,
        "TableArn": table.arn,
        "TableId": table.uuid,
        "DeletionProtectionEnabled": False,
    }
    billing = _describe_billing(table, "DELETING")
    if billing is not None:
        description["BillingModeSummary"] = billing
    return description


def _describe_billing(table: Table, status: TableStatus) -> dict[str, Any] | None:
    """Of a table that was never PAY_PER_REQUEST DynamoDB says nothing."""
    if table.provisioned is not None and not table.on_demand_at_ms:
        return None
    mode = "PAY_PER_REQUEST" if table.provisioned is None else "PROVISIONED"
    summary: dict[str, Any] = {"BillingMode": mode}
    if status != "CREATING":
        since_ms = table.on_demand_at_ms or table.created_at_ms
        summary["LastUpdateToPayPerRequestDateTime"] = since_ms / 1000
    return summary


def _describe_warm(of: Table | Index, status: TableStatus) -> dict[str, Any] | None:
    """A new table shows it only if it was asked for."""
    if status == "CREATING":
        if "WarmThroughput" not in of.echo:
            return None
        return describe_warm(warm_units(of.echo, of.provisioned), "UPDATING")
    return describe_warm(warm_units(of.echo, of.provisioned), "ACTIVE")


def _describe_index(
    table: Table, index: Index, status: TableStatus, measured: Measured
) -> dict[str, Any]:
    # Counts lag in DynamoDB: of an index that is being filled it has none.
    filling = index.phase in _CREATING_INDEX
    totals = _NOTHING if filling else measured.indexes.get(index.name, _NOTHING)
    status = _index_status(index, status)
    description: dict[str, Any] = {
        "IndexName": index.name,
        "KeySchema": _schema(index.hash, index.range),
        "Projection": _projection(index),
        "IndexStatus": status,
        "ProvisionedThroughput": _throughput(index.provisioned, index.history, measured.now_ms),
        "IndexSizeBytes": totals.item_bytes,
        "ItemCount": totals.item_count,
        "IndexArn": f"{table.arn}/index/{index.name}",
    }
    if filling:
        description["Backfilling"] = index.phase == "BACKFILLING"
    warm = _describe_warm(index, status)
    if warm is not None:
        description["WarmThroughput"] = warm
    if "OnDemandThroughput" in index.echo:
        description["OnDemandThroughput"] = index.echo["OnDemandThroughput"]
    return description


def _index_status(index: Index, table_status: TableStatus) -> TableStatus:
    if index.phase in _CREATING_INDEX:
        return "CREATING"
    if index.phase == "DELETING":
        return "DELETING"
    # While a table is updated its indexes go on as they are.
    return "ACTIVE" if table_status == "UPDATING" else table_status


def _describe_local_index(table: Table, index: LocalIndex, measured: Measured) -> dict[str, Any]:
    """It has neither a status nor throughput: those are the table's."""
    totals = measured.indexes.get(index.name, _NOTHING)
    return {
        "IndexName": index.name,
        "KeySchema": _schema((table.hash,), (index.range,)),
        "Projection": _projection(index),
        "IndexSizeBytes": totals.item_bytes,
        "ItemCount": totals.item_count,
        "IndexArn": f"{table.arn}/index/{index.name}",
    }


def _projection(index: Index | LocalIndex) -> dict[str, Any]:
    projection: dict[str, Any] = {"ProjectionType": index.projection}
    if index.non_key_attributes:
        projection["NonKeyAttributes"] = sorted(index.non_key_attributes)
    return projection


def _definitions(table: Table) -> list[dict[str, str]]:
    """DynamoDB shows them by name, whatever order they were given in."""
    types = {attribute.name: attribute.type for attribute in table.keys}
    for index in table.all_indexes:
        types.update((attribute.name, attribute.type) for attribute in index.keys)
    return [{"AttributeName": name, "AttributeType": types[name]} for name in sorted(types)]


def _schema(
    hashes: tuple[KeyAttribute, ...], ranges: tuple[KeyAttribute, ...]
) -> list[dict[str, str]]:
    return [
        *({"AttributeName": attribute.name, "KeyType": "HASH"} for attribute in hashes),
        *({"AttributeName": attribute.name, "KeyType": "RANGE"} for attribute in ranges),
    ]


def _throughput(
    provisioned: tuple[int, int] | None, history: UnitsHistory, now_ms: int
) -> dict[str, float]:
    read, write = provisioned or (0, 0)
    shown: dict[str, float] = {
        "NumberOfDecreasesToday": history.decreases_on(now_ms),
        "ReadCapacityUnits": read,
        "WriteCapacityUnits": write,
    }
    if history.increased_at_ms:
        shown["LastIncreaseDateTime"] = history.increased_at_ms / 1000
    if history.decreased_at_ms:
        shown["LastDecreaseDateTime"] = history.decreased_at_ms / 1000
    return shown


def _echoed(table: Table) -> dict[str, Any]:
    shown: dict[str, Any] = {}
    echo = table.echo
    if "TableClassSummary" in echo:
        shown["TableClassSummary"] = echo["TableClassSummary"]
    elif "TableClass" in echo:
        shown["TableClassSummary"] = {"TableClass": echo["TableClass"]}
    if "OnDemandThroughput" in echo:
        shown["OnDemandThroughput"] = echo["OnDemandThroughput"]
    encryption = describe_encryption(table)
    if encryption is not None:
        shown["SSEDescription"] = encryption
    return shown
