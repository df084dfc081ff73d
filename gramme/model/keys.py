"""Whether an item or a Key fits its table's keys, in DynamoDB's words where it does not.

Values here are in normal form already: what is checked is which attributes there are, their types and their sizes.
A Put is told what is wrong with which attribute; a Key that does not fit is told only that it does not.
"""

from __future__ import annotations

from typing import Final

from gramme.errors import ValidationError
from gramme.model.binary import binary_size
from gramme.model.item import AttributeValue, Item
from gramme.model.table import Index, KeyAttribute, Table

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
    for index in table.indexes:
        for attribute in index.hash:
            value = item.get(attribute.name)
            if value is not None:
                _check_index_key(index, attribute, value, HASH_SIZE_MAX)
        for attribute in index.range:
            value = item.get(attribute.name)
            if value is not None:
                _check_index_key(index, attribute, value, RANGE_SIZE_MAX)


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
    index: Index, attribute: KeyAttribute, value: AttributeValue, size_max: int
) -> None:
    payload = value.get(attribute.type)
    if payload is None:
        raise ValidationError(
            f"{_INVALID}Type mismatch for Index Key {attribute.name} "
            f"Expected: {attribute.type} Actual: {next(iter(value))} IndexName: {index.name}"
        )
    if 0 < len(payload) <= SHORT:
        return
    size = _size(attribute, payload)
    if size == 0:
        raise ValidationError(
            f"{_NOT_VALID}A value specified for a secondary index key is not supported. "
            "The AttributeValue for a key attribute cannot contain an empty "
            f"{_kind(attribute)} value. IndexName: {index.name}, IndexKey: {attribute.name}"
        )
    if size > size_max:
        raise ValidationError(
            _INVALID + (_HASH_TOO_LONG if size_max == HASH_SIZE_MAX else _RANGE_TOO_LONG)
        )


def _size(attribute: KeyAttribute, payload: str) -> int:
    return binary_size(payload) if attribute.type == "B" else len(payload.encode())


def _kind(attribute: KeyAttribute) -> str:
    return "binary" if attribute.type == "B" else "string"
