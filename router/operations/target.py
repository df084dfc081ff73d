"""What a Query or Scan reads: a table, one of its local indexes, or a global one, which is a hidden table."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from gramme.codec.key import encode_component
from gramme.errors import ValidationError
from gramme.model.item import AttributeValue
from gramme.model.table import Index, KeyAttribute, LocalIndex, Table
from gramme.partitions import PartitionMap, token_bytes
from gramme.router.catalog import CatalogEntry
from gramme.router.operations.context import Caller, Context
from gramme.router.operations.tables import find_table


@dataclass(frozen=True, slots=True)
class Target:
    """`hashes` and `ranges` are the key that is queried; `tail` is what else makes a row's key unique.

    `key_names` are the attributes of LastEvaluatedKey.
    """

    table: Table
    index: Index | LocalIndex | None
    partitions: PartitionMap
    hashes: tuple[KeyAttribute, ...]
    ranges: tuple[KeyAttribute, ...]
    tail: tuple[KeyAttribute, ...]
    key_names: tuple[str, ...]


def find_target(context: Context, caller: Caller, body: dict[str, Any]) -> Target:
    entry = find_table(context, caller, body["TableName"])
    name = body.get("IndexName")
    if name is None:
        return _table_target(entry)
    if entry.table.local_index(name) is not None:
        return _local_index_target(entry, name)
    index = entry.table.index(name)
    if index is None or index.phase == "DELETING":
        raise ValidationError(f"The table does not have the specified index: {name}")
    if body.get("ConsistentRead") is True:
        raise ValidationError("Consistent reads are not supported on global secondary indexes")
    if index.phase != "ACTIVE":
        raise ValidationError(f"Cannot read from backfilling global secondary index: {name}")
    return _index_target(entry, name)


# Targets are made once for each table as the catalog knows it; a table that changes is another entry.
_TARGETS_MAX = 1024


@lru_cache(_TARGETS_MAX)
def _table_target(entry: CatalogEntry) -> Target:
    table = entry.table
    ranges = () if table.range is None else (table.range,)
    names = tuple(attribute.name for attribute in table.keys)
    return Target(table, None, entry.partitions, (table.hash,), ranges, (), names)


@lru_cache(_TARGETS_MAX)
def _index_target(entry: CatalogEntry, name: str) -> Target:
    table = entry.table
    index = table.index(name)
    assert index is not None
    # An index may share some of its key with its table.
    names = tuple(dict.fromkeys(attribute.name for attribute in table.keys + index.keys))
    partitions = entry.index_partitions[name]
    return Target(table, index, partitions, index.hash, index.range, table.keys, names)


@lru_cache(_TARGETS_MAX)
def _local_index_target(entry: CatalogEntry, name: str) -> Target:
    table = entry.table
    index = table.local_index(name)
    assert index is not None and table.range is not None
    names = tuple(dict.fromkeys(attribute.name for attribute in table.keys + index.keys))
    hashes, tail = (table.hash,), (table.range,)
    return Target(table, index, entry.partitions, hashes, index.keys, tail, names)


def partition_prefix(seed: bytes, hashes: bytes) -> bytes:
    """What the keys of all rows of one partition key begin with."""
    return token_bytes(seed, hashes) + hashes


def encode_values(attributes: Sequence[KeyAttribute], values: Sequence[AttributeValue]) -> bytes:
    """The components of the leading `attributes` that there are values for."""
    if len(values) == 1:
        return encode_component(attributes[0].type, values[0])
    return b"".join(
        encode_component(attribute.type, value)
        for attribute, value in zip(attributes, values, strict=False)
    )
