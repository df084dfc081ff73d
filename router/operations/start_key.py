"""ExclusiveStartKey of a Query: checked against the schema, then against what the query asks for.

It must have exactly the key attributes, of the table and of the index if one is read, and lie where the query
looks; the item need not exist.
"""

from __future__ import annotations

from typing import Any

from gramme.errors import ValidationError
from gramme.expressions.key_condition import KeyRange
from gramme.model.item import Item
from gramme.model.keys import check_key
from gramme.model.values import normalise_item
from gramme.router.operations.bounds import Bounds, names_one_row
from gramme.router.operations.target import Target, encode_attributes, partition_prefix

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
    if len(key) != len(target.key_names):
        raise ValidationError(_INVALID)
    for attribute in target.hashes + target.ranges:
        value = key.get(attribute.name)
        if value is None:
            raise ValidationError(_INVALID)
        if attribute.type not in value:
            raise ValidationError(_NO_MATCH)
    names = (attribute.name for attribute in target.table.keys)
    try:
        check_key(target.table, {name: key.get(name, {}) for name in names})
    except ValidationError as error:
        raise ValidationError(f"{_INVALID}: {error.message}") from None


def start_row(seed: bytes, target: Target, key: Item, wanted: KeyRange, bounds: Bounds) -> bytes:
    """The row key that a checked start key stands for. Raises if the query does not pass it."""
    partition = partition_prefix(seed, encode_attributes(target.hashes, key))
    tail = encode_attributes(target.ranges + target.tail, key)
    has_predicate = wanted.operator is not None or bool(wanted.equal)
    if has_predicate and not bounds.lower <= bounds.partition + tail < bounds.upper:
        raise ValidationError(_PREDICATE)
    if partition != bounds.partition:
        raise ValidationError(_ONE_ROW if has_predicate else _OUTSIDE)
    if names_one_row(target, wanted):
        raise ValidationError(_ONE_ROW)
    return partition + tail
