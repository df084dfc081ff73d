"""Plain Python values and DynamoDB's typed ones, as boto3's resources map them.

| Python | DynamoDB | and back |
| --- | --- | --- |
| str | S | str |
| int, Decimal | N | Decimal |
| bytes, bytearray, memoryview | B | bytes |
| bool, None | BOOL, NULL | bool, None |
| list, tuple | L | list |
| Mapping | M | dict |
| set, frozenset of str, of numbers, of bytes | SS, NS, BS | set |
"""

from __future__ import annotations

from base64 import b64decode, b64encode
from collections.abc import Callable, Mapping
from decimal import Decimal
from typing import Any, Final

# What a caller gets. Its values are of the types above.
Item = dict[str, Any]
Typed = dict[str, Any]

_FLOAT = "a float is not taken, because it is rarely the number that was meant: use Decimal('0.1'), not 0.1"


def attributes_of(item: Mapping[str, object]) -> dict[str, Typed]:
    """An item, a key, or the values of an expression. Raises TypeError, or ValueError for what no type has room for."""
    return {name: typed(value) for name, value in item.items()}


def item_of(attributes: Mapping[str, Typed]) -> Item:
    return {name: untyped(value) for name, value in attributes.items()}


def typed(value: object) -> Typed:
    """Raises TypeError and ValueError."""
    convert = _TYPED.get(type(value))
    if convert is not None:
        return convert(value)
    # Subclasses, and the first of what they may be counts: a bool is an int.
    for kind, convert in _TYPED.items():
        if isinstance(value, kind):
            return convert(value)
    if isinstance(value, Mapping):
        return {"M": attributes_of(value)}
    raise TypeError(f"DynamoDB has no type for {type(value).__name__}")


def untyped(value: Typed) -> Any:
    ((kind, payload),) = value.items()
    return _UNTYPED[kind](payload)


def _number(value: Any) -> str:
    if isinstance(value, Decimal) and not value.is_finite():
        raise ValueError(f"DynamoDB has no number {value}")
    return str(value)


def _binary(value: Any) -> str:
    return b64encode(value).decode()


def _refuse_float(value: Any) -> Typed:
    raise TypeError(_FLOAT)


def _set(values: Any) -> Typed:
    if not values:
        raise ValueError("DynamoDB has no empty sets")
    members = [typed(value) for value in values]
    kinds = {kind for member in members for kind in member}
    if len(kinds) > 1 or not kinds <= {"S", "N", "B"}:
        raise TypeError("the members of a set are all text, all numbers or all bytes")
    (kind,) = kinds
    return {f"{kind}S": [member[kind] for member in members]}


# In the order in which subclasses are looked for.
_TYPED: Final[dict[type, Callable[[Any], Typed]]] = {
    str: lambda value: {"S": str(value)},
    bool: lambda value: {"BOOL": value},
    int: lambda value: {"N": str(int(value))},
    Decimal: lambda value: {"N": _number(value)},
    float: _refuse_float,
    type(None): lambda _: {"NULL": True},
    bytes: lambda value: {"B": _binary(value)},
    bytearray: lambda value: {"B": _binary(value)},
    memoryview: lambda value: {"B": _binary(value)},
    dict: lambda value: {"M": attributes_of(value)},
    list: lambda value: {"L": [typed(element) for element in value]},
    tuple: lambda value: {"L": [typed(element) for element in value]},
    set: _set,
    frozenset: _set,
}

_UNTYPED: Final[dict[str, Callable[[Any], Any]]] = {
    "S": lambda payload: payload,
    "N": Decimal,
    "B": b64decode,
    "BOOL": lambda payload: payload,
    "NULL": lambda _: None,
    "M": item_of,
    "L": lambda payload: [untyped(element) for element in payload],
    "SS": set,
    "NS": lambda payload: {Decimal(number) for number in payload},
    "BS": lambda payload: {b64decode(member) for member in payload},
}
