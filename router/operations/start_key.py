"""ExclusiveStartKey of a Query or Scan: checked against the schema, then against what the request asks for.

It must have exactly the key attributes, of the table and of the index if one is read, and lie where the query or
the scan's segment looks; the item need not exist.
"""

from __future__ import annotations

from typing import Any

from gramme.codec.key import encode_attributes
from gramme.errors import ValidationError
from gramme.expressions.key_condition import KeyRange
from gramme.model.item import Item
from gramme.model.keys import check_key
from gramme.model.values import normalise_item
from gramme.partitions import TOKEN_BYTES, segment_range
from gramme.router.operations.bounds import Bounds, names_one_row
from gramme.router.operations.target import Target, partition_prefix

_INVALID = "The provided starting key is invalid"
_NO_MATCH = "The provided key element does not match the schema"
_OUTSIDE = "The provided starting key is outside query boundaries based on provided conditions"
_PREDICATE = "The provided starting key does not match the range key predicate"
_ONE_ROW = "The query can return at most one row and cannot be restarted"
# DynamoDB gives these messages of a bad value as they are, and prefixes all others.
_BARE = ("duplicates", "number set", "numeric value", "significant digits", "with magnitude")


def normalise_start_key(body: dict[str, Any]) -> Item | None:
    key: Item | None = body.get("ExclusiveStartKey")
    if key is None:
        return None
    try:
        normalise_item(key)
    except ValidationError as error:
        message = error.message or ""
        if any(words in message for words in _BARE):
            raise
        raise ValidationError(f"{_INVALID}: {message}") from None
    return key


def check_start_key(target: Target, key: Item) -> None:
    """Check names and types. A wrong type is worded by whether the queried key or only the table's has it."""
    check_queried_part(target, key)
    check_table_part(target, key)


def check_queried_part(target: Target, key: Item) -> None:
    """Check that there are as many attributes as there should be, and those of the key that is read."""
    if len(key) != len(target.key_names):
        raise ValidationError(_INVALID)
    for attribute in target.hashes + target.ranges:
        value = key.get(attribute.name)
        if value is None:
            raise ValidationError(_INVALID)
        if attribute.type not in value:
            raise ValidationError(_NO_MATCH)


def check_table_part(target: Target, key: Item) -> None:
    """Check the table's key, which is all of the start key unless an index is read."""
    if target.index is not None:
        key = {attribute.name: key.get(attribute.name, {}) for attribute in target.table.keys}
    try:
        check_key(target.table, key)
    except ValidationError as error:
        raise ValidationError(f"{_INVALID}: {error.message}") from None


def start_row(seed: bytes, target: Target, key: Item, wanted: KeyRange, bounds: Bounds) -> bytes:
    """The row key that a checked start key stands for. Raises if the query does not pass it."""
    partition, tail = _row(seed, target, key)
    has_predicate = wanted.operator is not None or bool(wanted.equal)
    if has_predicate and not bounds.lower <= bounds.partition + tail < bounds.upper:
        raise ValidationError(_PREDICATE)
    if partition != bounds.partition:
        raise ValidationError(_ONE_ROW if has_predicate else _OUTSIDE)
    if names_one_row(target, wanted):
        raise ValidationError(_ONE_ROW if target.ranges else _no_sort_key(target, key))
    return partition + tail


def _no_sort_key(target: Target, key: Item) -> str:
    name = target.table.hash.name
    ((kind, content),) = key[name].items()
    return (
        "The provided exclusive start key is invalid: "
        f"ExclusiveStartKey: {{{name}=AttributeValue: {{{kind}:{content}}}}}"
    )


def start_row_of_scan(seed: bytes, target: Target, key: Item) -> bytes:
    """Likewise for a scan, which passes every key of its segment."""
    return b"".join(_row(seed, target, key))


def check_segment(row: bytes, segment: int, total: int) -> None:
    """Check that a scan of this segment passes a row."""
    first, last = segment_range(segment, total)
    if not first <= int.from_bytes(row[:TOKEN_BYTES]) <= last:
        raise ValidationError(
            f"{_INVALID}: Invalid ExclusiveStartKey. Please use ExclusiveStartKey with correct "
            f"Segment. TotalSegments: {total} Segment: {segment}"
        )


def _row(seed: bytes, target: Target, key: Item) -> tuple[bytes, bytes]:
    """A row's key in two parts: what it shares with its partition key's other rows, and the rest."""
    partition = partition_prefix(seed, encode_attributes(target.hashes, key))
    return partition, encode_attributes(target.ranges + target.tail, key)
