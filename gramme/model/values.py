"""Attribute values at the edge: checked, put in their normal form and measured, in one pass.

What comes in is whatever JSON the caller sent. What is left afterwards is an `Item` that nothing below needs to
doubt: each value has one type tag, numbers are plain decimal, base64 is strict, sets have no repeats, and no value
nests deeper than DynamoDB allows. The pass changes the caller's dictionaries in place and makes none.

A wrong JSON type is a SerializationException, in the words of DynamoDB's parser; everything else is a
ValidationException.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from gramme.errors import Serialization, ValidationError
from gramme.model.binary import check_binary
from gramme.model.item import AttributeValue, Item, Values
from gramme.model.mistyped import (
    MODEL,
    wrong_list,
    wrong_map,
    wrong_scalar,
    wrong_structure,
)
from gramme.model.numbers import normalise_number, number_size

# A scalar attribute is one level; 31 lists or maps around it are the most there can be.
DEPTH_MAX: Final = 32
# The longest attribute name, in bytes of UTF-8.
NAME_SIZE_MAX: Final = 65535
# How much of a wrong set an error shows.
_SHOWN_MAX: Final = 32768

EMPTY = "Supplied AttributeValue is empty, must contain exactly one of the supported datatypes"
SEVERAL = (
    "Supplied AttributeValue has more than one datatypes set, "
    "must contain exactly one of the supported datatypes"
)
TOO_DEEP = (
    "Nesting Levels have exceeded supported limits: "
    "Attributes in the item have nested levels beyond supported limit"
)
INVALID = "One or more parameter values were invalid: "
TOO_LARGE = "Item size has exceeded the maximum allowed size"
# No item may be larger, so of a list or map that is, the rest need not be looked at: there may be millions.
ITEM_SIZE_MAX: Final = 409_600
NO_NAME = "Empty attribute name"
LONG_NAME = f"Attribute name is too large, must be less than {NAME_SIZE_MAX + 1} bytes"


def normalise_item(item: Item) -> int:
    """Check every value of `item`, put it in normal form in place, and return the item's size in bytes."""
    size = 0
    for name, value in item.items():
        # Most attributes are strings, and need no call: see `normalise_value`.
        if type(value) is dict and type(text := value.get("S")) is str and len(value) == 1:
            size += len(text) if text.isascii() else len(text.encode())
        else:
            size += normalise_value(value)
        length = len(name) if name.isascii() else len(name.encode())
        if length > NAME_SIZE_MAX:
            raise ValidationError(LONG_NAME)
        size += length
    if "" in item:
        raise ValidationError(NO_NAME)
    return size


def normalise_values(values: Values) -> int:
    """Likewise for ExpressionAttributeValues, whose errors name the key they were found at."""
    size = 0
    for name, value in values.items():
        try:
            size += len(name) + normalise_value(value)
        except ValidationError as error:
            raise ValidationError(
                f"ExpressionAttributeValues contains invalid value: {error.message} for key {name}"
            ) from None
    return size


def normalise_value(value: AttributeValue, depth: int = 1) -> int:
    """Likewise for one value, `depth` levels down. Its size does not include the name it may have."""
    if type(value) is dict and len(value) == 1:
        for tag, payload in value.items():
            if tag == "S" and type(payload) is str:
                return len(payload) if payload.isascii() else len(payload.encode())
            check = _CHECKS.get(tag)
            if check is not None and payload is not None:
                return check(value, payload, depth)
    return _normalise_odd(value, depth)


def _normalise_odd(value: Any, depth: int) -> int:
    """A value that does not have just one member. Members that DynamoDB does not know are dropped."""
    if value is None:
        raise ValidationError(EMPTY)
    if type(value) is not dict:
        raise Serialization(wrong_structure(value, "AttributeValue", is_member=True))
    for tag in [tag for tag, payload in value.items() if tag not in _CHECKS or payload is None]:
        del value[tag]
    if not value:
        raise ValidationError(EMPTY)
    # DynamoDB tells of a bad member before it tells that there are too many.
    size = 0
    for tag, payload in value.items():
        size += _CHECKS[tag](value, payload, depth)
    if len(value) > 1:
        raise ValidationError(SEVERAL)
    return size


def _string(_value: AttributeValue, payload: Any, _depth: int) -> int:
    if type(payload) is not str:
        raise Serialization(wrong_scalar(payload, "String"))
    return len(payload) if payload.isascii() else len(payload.encode())


def _number(value: AttributeValue, payload: Any, _depth: int) -> int:
    if type(payload) is not str:
        raise Serialization(wrong_scalar(payload, "String"))
    text = normalise_number(payload)
    if text != payload:
        value["N"] = text
    return number_size(text)


def _binary(_value: AttributeValue, payload: Any, _depth: int) -> int:
    return check_binary(payload)


def _bool(_value: AttributeValue, payload: Any, _depth: int) -> int:
    if type(payload) is not bool:
        raise Serialization(wrong_scalar(payload, "Boolean"))
    return 1


def _null(_value: AttributeValue, payload: Any, _depth: int) -> int:
    if payload is True:
        return 1
    if payload is not False:
        raise Serialization(wrong_scalar(payload, "Boolean"))
    raise ValidationError(INVALID + "Null attribute value types must have the value of true")


def _string_set(_value: AttributeValue, payload: Any, _depth: int) -> int:
    _members(payload, "An string set  may not be empty")
    size = 0
    for member in payload:
        if type(member) is not str:
            _refuse_member(member, "string")
        size += len(member) if member.isascii() else len(member.encode())
    if len(set(payload)) != len(payload):
        raise ValidationError(f"{INVALID}Input collection {_shown(payload)} contains duplicates.")
    return size


def _number_set(_value: AttributeValue, payload: Any, _depth: int) -> int:
    _members(payload, "An number set  may not be empty")
    size = 0
    for position, member in enumerate(payload):
        if type(member) is not str:
            _refuse_member(member, "number")
        payload[position] = text = normalise_number(member)
        size += number_size(text)
    if len(set(payload)) != len(payload):
        raise ValidationError("Input collection contains duplicates")
    return size


def _binary_set(_value: AttributeValue, payload: Any, _depth: int) -> int:
    _members(payload, "Binary sets should not be empty")
    size = 0
    for member in payload:
        if member is None:
            _refuse_member(member, "binary")
        size += check_binary(member)
    if len(set(payload)) != len(payload):
        raise ValidationError(
            f"{INVALID}Input collection {_shown(payload)}of type BS contains duplicates."
        )
    return size


def _list(_value: AttributeValue, payload: Any, depth: int) -> int:
    if type(payload) is not list:
        raise Serialization(wrong_list(payload))
    if not payload:
        return 3
    if depth >= DEPTH_MAX:
        raise ValidationError(TOO_DEEP)
    size = 3 + len(payload)
    for member in payload:
        size += normalise_value(member, depth + 1)
        if size > ITEM_SIZE_MAX:
            raise ValidationError(TOO_LARGE)
    return size


def _map(_value: AttributeValue, payload: Any, depth: int) -> int:
    if type(payload) is not dict:
        raise Serialization(wrong_map(payload, f"{MODEL}.AttributeValue"))
    if not payload:
        return 3
    if depth >= DEPTH_MAX:
        raise ValidationError(TOO_DEEP)
    size = 3 + len(payload)
    for name, member in payload.items():
        size += len(name) if name.isascii() else len(name.encode())
        size += normalise_value(member, depth + 1)
        if size > ITEM_SIZE_MAX:
            raise ValidationError(TOO_LARGE)
    # A map with a name that is too long cannot be small.
    if size > NAME_SIZE_MAX and any(len(name.encode()) > NAME_SIZE_MAX for name in payload):
        raise ValidationError(LONG_NAME)
    return size


_CHECKS: dict[str, Callable[[AttributeValue, Any, int], int]] = {
    "S": _string,
    "N": _number,
    "B": _binary,
    "BOOL": _bool,
    "NULL": _null,
    "SS": _string_set,
    "NS": _number_set,
    "BS": _binary_set,
    "L": _list,
    "M": _map,
}


def _members(payload: Any, empty: str) -> None:
    if type(payload) is not list:
        raise Serialization(wrong_list(payload))
    if not payload:
        raise ValidationError(INVALID + empty)


def _shown(members: list[str]) -> str:
    return f"[{', '.join(members)[:_SHOWN_MAX]}]"


def _refuse_member(member: Any, kind: str) -> None:
    if member is None:
        raise ValidationError(f"{INVALID}An {kind} set may not have a null {kind} as a member")
    raise Serialization(wrong_scalar(member, "String"))
