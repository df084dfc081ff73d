"""What a Query reads: a table, or one of its global indexes, which is a hidden table."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from gramme.codec.key import encode_component
from gramme.errors import ValidationError
from gramme.model.item import AttributeValue, Item
from gramme.model.table import Index, KeyAttribute, Table
from gramme.partitions import PartitionMap, token_bytes
from gramme.router.operations.context import Caller, Context
from gramme.router.operations.tables import find_table


@dataclass(frozen=True, slots=True)
class Target:
    """`hashes` and `ranges` are the key that is queried; `tail` is what else makes a row's key unique."""

    table: Table
    index: Index | None
    partitions: PartitionMap
    hashes: tuple[KeyAttribute, ...]
    ranges: tuple[KeyAttribute, ...]
    tail: tuple[KeyAttribute, ...]

    @property
    def key_names(self) -> tuple[str, ...]:
        """The attributes of LastEvaluatedKey. An index may share some with its table."""
        attributes = self.table.keys + self.hashes + self.ranges
        return tuple(dict.fromkeys(attribute.name for attribute in attributes))


def find_target(context: Context, caller: Caller, body: dict[str, Any]) -> Target:
    entry = find_table(context, caller, body["TableName"])
    table = entry.table
    name = body.get("IndexName")
    if name is None:
        ranges = () if table.range is None else (table.range,)
        return Target(table, None, entry.partitions, (table.hash,), ranges, ())
    index = table.index(name)
    if index is None:
        raise ValidationError(f"The table does not have the specified index: {name}")
    if body.get("ConsistentRead") is True:
        raise ValidationError("Consistent reads are not supported on global secondary indexes")
    partitions = entry.index_partitions[name]
    return Target(table, index, partitions, index.hash, index.range, table.keys)


def partition_prefix(seed: bytes, hashes: bytes) -> bytes:
    """What the keys of all rows of one partition key begin with."""
    return token_bytes(seed, hashes) + hashes


def encode_values(attributes: Sequence[KeyAttribute], values: Sequence[AttributeValue]) -> bytes:
    """The components of the leading `attributes` that there are values for."""
    return b"".join(
        encode_component(attribute.type, value)
        for attribute, value in zip(attributes, values, strict=False)
    )


def encode_attributes(attributes: Sequence[KeyAttribute], item: Item) -> bytes:
    return encode_values(attributes, [item[attribute.name] for attribute in attributes])
