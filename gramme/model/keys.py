"""Whether an item or a Key fits its table's keys, in DynamoDB's words where it does not.

Values here are in normal form already: what is checked is which attributes there are, their types and their sizes.
A Put is told what is wrong with which attribute; a Key that does not fit is told only that it does not.
"""

from __future__ import annotations

from collections.abc import Iterable
from operator import attrgetter
from typing import Final

from gramme.errors import ValidationError
from gramme.model.binary import binary_size
from gramme.model.item import AttributeValue, Item
from gramme.model.table import Index, KeyAttribute, LocalIndex, Table

HASH_SIZE_MAX: Final = 2048
RANGE_SIZE_MAX: Final = 1024
# No text this short can be over a limit: four bytes of UTF-8 for each character.
SHORT: Final = RANGE_SIZE_MAX // 4

_INVALID = "One or more parameter values were invalid: "
_NOT_VALID = "One or more parameter values are not valid. "
_NO_MATCH = "The provided key element does not match the schema"
_HASH_TOO_LONG = f"Size of hashkey has exceeded the maximum size limit of{HASH_SIZE_MAX} bytes"
_RANGE_TOO_LONG = (
    f"Aggregated size of all range keys has exceeded the size limit of {RANGE_SIZE_MAX} bytes"
)


def check_item_keys(table: Table, item: Item) -> None:
    """Check that a whole item, such as a Put's, has the table's key."""
    _check_item_key(table.hash, item, HASH_SIZE_MAX)
    if table.range is not None:
        _check_item_key(table.range, item, RANGE_SIZE_MAX)


def check_key(table: Table, key: Item) -> None:
    """Check that a Key, such as a Get's, is the table's key and nothing more."""
    attribute = table.hash
    value = key.get(attribute.name)
    payload = None if value is None else value.get(attribute.type)
    if payload is None or len(key) != (1 if table.range is None else 2):
        raise ValidationError(_NO_MATCH)
    if not 0 < len(payload) <= SHORT:
        _check_size(attribute, payload, HASH_SIZE_MAX)
    if table.range is not None:
        attribute = table.range
        value = key.get(attribute.name)
        payload = None if value is None else value.get(attribute.type)
        if payload is None:
            raise ValidationError(_NO_MATCH)
        if not 0 < len(payload) <= SHORT:
            _check_size(attribute, payload, RANGE_SIZE_MAX)


def check_index_keys(table: Table, item: Item) -> None:
    """Check that what an item has of its indexes' keys could be a key there.

    An attribute that is missing is no mistake: the item is then just not in that index.
    """
    try:
        _check_indexes(table.all_indexes, item)
    except ValidationError:
        # DynamoDB tells of the first one by name.
        _check_indexes(sorted(table.all_indexes, key=attrgetter("name")), item)


def check_updated_index_keys(table: Table, before: Item, after: Item) -> None:
    """Likewise for what an update makes of an item.

    Only what the update changes is looked at: an item may be older than an index it does not fit. Of a value DynamoDB
    then says what the update did to it, and not in which index.
    """
    try:
        check_index_keys(table, after)
    except ValidationError:
        changed = {name: value for name, value in after.items() if before.get(name) != value}
        try:
            check_index_keys(table, changed)
        except BadIndexKey as error:
            raise ValidationError(error.of_update) from None


def wrong_index_key_type(index: str, attribute: KeyAttribute, actual: str) -> ValidationError:
    return BadIndexKey(
        f"{_INVALID}Type mismatch for Index Key {attribute.name} "
        f"Expected: {attribute.type} Actual: {actual} IndexName: {index}",
        "The update expression attempted to update the secondary index key to unsupported type",
    )


class BadIndexKey(ValidationError):
    """A value that cannot be an index's key. `of_update` is what an update is told that found it in the item."""

    def __init__(self, message: str, of_update: str) -> None:
        super().__init__(message)
        self.of_update = of_update


def _check_indexes(indexes: Iterable[Index | LocalIndex], item: Item) -> None:
    for index in indexes:
        # The hash key of a local index is the table's own.
        hashes = index.hash if isinstance(index, Index) else ()
        for attribute in hashes:
            _check_index_key(index.name, attribute, item.get(attribute.name), HASH_SIZE_MAX)
        for attribute in index.keys[len(hashes) :]:
            _check_index_key(index.name, attribute, item.get(attribute.name), RANGE_SIZE_MAX)


def can_be_key(attribute: KeyAttribute, value: AttributeValue, size_max: int) -> bool:
    """Whether a value of an item may stand in the key of an index."""
    payload = value.get(attribute.type)
    if payload is None:
        return False
    return 0 < len(payload) <= SHORT or 0 < _size(attribute, payload) <= size_max


def _check_item_key(attribute: KeyAttribute, item: Item, size_max: int) -> None:
    value = item.get(attribute.name)
    if value is None:
        raise ValidationError(f"{_INVALID}Missing the key {attribute.name} in the item")
    payload = value.get(attribute.type)
    if payload is None:
        raise ValidationError(
            f"{_INVALID}Type mismatch for key {attribute.name} "
            f"expected: {attribute.type} actual: {next(iter(value))}"
        )
    if not 0 < len(payload) <= SHORT:
        _check_size(attribute, payload, size_max)


def _check_size(attribute: KeyAttribute, payload: str, size_max: int) -> None:
    size = _size(attribute, payload)
    if size == 0:
        raise ValidationError(
            f"{_NOT_VALID}The AttributeValue for a key attribute cannot contain an empty "
            f"{_kind(attribute)} value. Key: {attribute.name}"
        )
    if size > size_max:
        raise ValidationError(
            _INVALID + (_HASH_TOO_LONG if size_max == HASH_SIZE_MAX else _RANGE_TOO_LONG)
        )


def _check_index_key(
    index: str, attribute: KeyAttribute, value: AttributeValue | None, size_max: int
) -> None:
    if value is None:
        return
    payload = value.get(attribute.type)
    if payload is None:
        raise wrong_index_key_type(index, attribute, next(iter(value)))
    if 0 < len(payload) <= SHORT:
        return
    size = _size(attribute, payload)
    if size == 0:
        empty = (
            "The AttributeValue for a key attribute cannot contain an empty "
            f"{_kind(attribute)} value."
        )
        raise BadIndexKey(
            f"{_NOT_VALID}A value specified for a secondary index key is not supported. "
            f"{empty} IndexName: {index}, IndexKey: {attribute.name}",
            f"{_NOT_VALID}The update expression attempted to update a secondary index key "
            f"to a value that is not supported. {empty}",
        )
    if size > size_max:
        raise BadIndexKey(
            f"{_INVALID}Size limit exceeded for Index Key {attribute.name} "
            f"Actual Size: {size} bytes Max Size: {size_max} bytes IndexName: {index}",
            "The update expression attempted to update the secondary index key "
            "beyond allowed size limits",
        )


def _size(attribute: KeyAttribute, payload: str) -> int:
    return binary_size(payload) if attribute.type == "B" else len(payload.encode())


def _kind(attribute: KeyAttribute) -> str:
    return "binary" if attribute.type == "B" else "string"
