"""ItemCollectionMetrics: how large the items of one partition key are, with their rows in local indexes.

Only tables with local indexes have item collections. What a node knows is how large a whole partition is, which is an upper
bound for each of its collections; the lower one is 0.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final

import orjson

from gramme.codec.json import encode_item
from gramme.commands import Totals
from gramme.model.item import Item
from gramme.model.table import Table
from gramme.partitions import GroupId, Partition
from gramme.router.catalog import CatalogEntry
from gramme.router.operations.context import Context

GIGABYTE: Final = 1 << 30


def are_asked_for(body: dict[str, Any]) -> bool:
    return body.get("ReturnItemCollectionMetrics") == "SIZE"


async def metrics_of_write(
    context: Context, body: dict[str, Any], entry: CatalogEntry, partition: Partition, key: Item
) -> bytes | None:
    """The member for one write of an item with this key, or None if it was not asked for or has nothing to tell."""
    if not are_asked_for(body) or not entry.table.local_indexes:
        return None
    totals = await context.nodes.totals([partition])
    return b'"ItemCollectionMetrics":' + orjson.dumps(_metrics(entry.table, key, totals))


async def metrics_of_batch(
    context: Context, writes: Iterable[tuple[str, Table, Partition, Item]]
) -> bytes:
    """The member for a batch: each collection that was written to once, by the name its table was given."""
    told: dict[str, dict[bytes, dict[str, Any]]] = {}
    known: dict[GroupId, Totals] = {}
    for name, table, partition, key in writes:
        if not table.local_indexes:
            continue
        totals = known.get(partition.group)
        if totals is None:
            totals = known[partition.group] = await context.nodes.totals([partition])
        collection = encode_item(key[table.hash.name])
        told.setdefault(name, {})[collection] = _metrics(table, key, totals)
    metrics = {name: list(of_table.values()) for name, of_table in told.items()}
    return b'"ItemCollectionMetrics":' + orjson.dumps(metrics)


def _metrics(table: Table, key: Item, totals: Totals) -> dict[str, Any]:
    size = totals.item_bytes + sum(local.item_bytes for local in totals.local)
    return {
        "ItemCollectionKey": {table.hash.name: key[table.hash.name]},
        "SizeEstimateRangeGB": [0.0, float(size // GIGABYTE + 1)],
    }
