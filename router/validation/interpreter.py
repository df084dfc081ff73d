"""The one interpreter of the validation table.

An operation's shape becomes a tree of closures when the operation is first called. A closure answers whether a value
fits its shape and does nothing else, so that a request without mistakes costs no allocation and no exception. Only
when one says no is the request walked again, by `explain`, to say what is wrong in DynamoDB's words.

Attribute values are the model's one shape that contains itself. The interpreter stops there: their insides belong to
`gramme.model.values`, which walks them once, with a bound on their depth.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from gramme.router.validation.explain import explain
from gramme.router.validation.generated import OPERATIONS
from gramme.router.validation.measured import (
    ARN_LENGTH_MAX,
    ARN_PREFIX,
    TABLE_SHAPE,
    members_of,
    shape_of,
)
from gramme.router.validation.patterns import compile_pattern
from gramme.router.validation.shapes import Shape

Check = Callable[[Any], bool]

_checks: dict[str, Check] = {}

# Table names seen to be good, for each operation: a look-up costs less than the pattern. Past this many, forgotten.
_NAMES_MAX = 1_000


def validate(operation: str, body: dict[str, Any]) -> None:
    """Check the body of a request against the model of its operation.

    Raises Serialization for a wrong JSON type, ValidationError for anything else. Members that the model does not
    know are ignored, and so is an operation that it does not know.
    """
    check = _checks.get(operation)
    if check is None:
        if operation not in OPERATIONS:
            return
        check = _checks[operation] = compile_shape(OPERATIONS[operation])
    if not check(body):
        explain(operation, body)


def compile_shape(name: str) -> Check:
    """The closure that tells whether a value fits a shape. Null never does."""
    shape = shape_of(name)
    match shape["type"]:
        case "structure":
            return _is_dict if name == "AttributeValue" else _structure(name, shape)
        case "list":
            return _list(shape)
        case "map":
            return _map(shape)
        case "string":
            return _table(shape) if name == TABLE_SHAPE else _string(shape)
        case "integer" | "long":
            return _integer(shape)
        case "double" | "timestamp":
            return _is_number
        case "boolean":
            return _is_bool
        case "blob":
            return _is_str


def _structure(name: str, shape: Shape) -> Check:
    members = {member: compile_shape(of) for member, of in members_of(name).items()}
    required = tuple(shape.get("required", ()))
    check_of = members.get
    # Where the type says it all, comparing types saves a call.
    type_of = {member: _TYPES[fits] for member, fits in members.items() if fits in _TYPES}.get

    def check(value: Any) -> bool:
        if type(value) is not dict:
            return False
        for member in required:
            if member not in value:
                return False
        for member, inside in value.items():
            if type(inside) is type_of(member):
                continue
            fits = check_of(member)
            if fits is not None and not fits(inside) and (inside is not None or member in required):
                return False
        return True

    return check


def _list(shape: Shape) -> Check:
    fits = compile_shape(shape["member"])
    least, most = shape.get("min", 0), shape.get("max")

    def check(value: Any) -> bool:
        if type(value) is not list or len(value) < least:
            return False
        if most is not None and len(value) > most:
            return False
        for member in value:  # noqa: SIM110 (a generator would cost more than the check)
            if not fits(member):
                return False
        return True

    return check


def _map(shape: Shape) -> Check:
    least, most = shape.get("min", 0), shape.get("max")
    # Left to `normalise_item` and its like, which look at each value and its name anyway.
    if shape["value"] == "AttributeValue":
        return _is_dict
    fits_key, fits = compile_shape(shape["key"]), compile_shape(shape["value"])

    def check(value: Any) -> bool:
        if type(value) is not dict or len(value) < least:
            return False
        if most is not None and len(value) > most:
            return False
        for key, member in value.items():  # noqa: SIM110 (a generator would cost more)
            if not fits(member) or not fits_key(key):
                return False
        return True

    return check


def _string(shape: Shape) -> Check:
    if "enum" in shape:
        # A list or an object cannot be looked up in a set, so the type comes first.
        allowed = frozenset(shape["enum"])
        return lambda value: type(value) is str and value in allowed
    least, most, pattern = shape.get("min", 0), shape.get("max"), shape.get("pattern")
    if pattern is not None:
        return _patterned(compile_pattern(pattern), least, most)
    if most is None and not least:
        return _is_str
    if most is None:
        return lambda value: type(value) is str and len(value) >= least
    return lambda value: type(value) is str and least <= len(value) <= most


def _patterned(pattern: re.Pattern[str], least: int, most: int | None) -> Check:
    """The length comes first: it bounds what a pattern may cost."""
    matches = pattern.fullmatch
    if most is None:
        return lambda value: type(value) is str and len(value) >= least and bool(matches(value))
    return lambda value: type(value) is str and least <= len(value) <= most and bool(matches(value))


def _table(shape: Shape) -> Check:
    is_name = _string(shape)
    known: set[str] = set()

    def check(value: Any) -> bool:
        if type(value) is not str:
            return False
        if value in known:
            return True
        if not is_name(value):
            return value.startswith(ARN_PREFIX) and len(value) <= ARN_LENGTH_MAX
        if len(known) >= _NAMES_MAX:
            known.clear()
        known.add(value)
        return True

    return check


def _integer(shape: Shape) -> Check:
    least, most = shape.get("min"), shape.get("max")
    if least is None:
        return _is_int if most is None else lambda value: type(value) is int and value <= most
    if most is None:
        return lambda value: type(value) is int and value >= least
    return lambda value: type(value) is int and least <= value <= most


def _is_dict(value: Any) -> bool:
    return type(value) is dict


def _is_str(value: Any) -> bool:
    return type(value) is str


def _is_bool(value: Any) -> bool:
    return value is True or value is False


def _is_int(value: Any) -> bool:
    return type(value) is int


def _is_number(value: Any) -> bool:
    return type(value) is int or type(value) is float


_TYPES: dict[Check, type] = {_is_dict: dict, _is_str: str, _is_bool: bool, _is_int: int}
