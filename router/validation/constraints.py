"""The constraints that a shape puts on one value, and the sentences DynamoDB has for them."""

from __future__ import annotations

from functools import cache
from typing import Any

from gramme.router.validation.measured import (
    ARN_LENGTH_MAX,
    ARN_PREFIX,
    TABLE_SHAPE,
    enum_text,
    shape_of,
)
from gramme.router.validation.patterns import compile_pattern


def broken(name: str, value: Any) -> list[str]:
    """The constraints of a shape that `value`, of the right JSON type, breaks. Its insides are not looked at."""
    shape = shape_of(name)
    kind = shape["type"]
    if kind in ("structure", "boolean", "blob"):
        return []
    if "enum" in shape:
        return [] if value in shape["enum"] else [_enum(name)]
    if kind in ("integer", "long", "double", "timestamp"):
        return _outside(value, "value", shape.get("min"), shape.get("max"))
    if name == TABLE_SHAPE and value.startswith(ARN_PREFIX):
        return _outside(len(value), "length", None, ARN_LENGTH_MAX)
    length = _outside(len(value), "length", shape.get("min"), shape.get("max"))
    # A text that is too long is not matched: it could cost anything.
    fits = len(value) <= shape.get("max", len(value))
    if "pattern" in shape and fits and not compile_pattern(shape["pattern"]).fullmatch(value):
        return [_pattern(shape["pattern"]), *length]
    return length


@cache
def declared(name: str) -> str:
    """All constraints of a shape, in the order in which DynamoDB lists them."""
    shape = shape_of(name)
    noun = "value" if shape["type"] in ("integer", "long") else "length"
    texts = []
    if "max" in shape:
        texts.append(_most(noun, shape["max"]))
    if "min" in shape:
        texts.append(_least(noun, shape["min"]))
    if "pattern" in shape:
        texts.append(_pattern(shape["pattern"]))
    if "enum" in shape:
        texts.append(_enum(name))
    return f"[{', '.join(texts)}]"


def _outside(number: float, noun: str, least: int | None, most: int | None) -> list[str]:
    if least is not None and number < least:
        return [_least(noun, least)]
    if most is not None and number > most:
        return [_most(noun, most)]
    return []


def _least(noun: str, bound: int) -> str:
    return f"Member must have {noun} greater than or equal to {bound}"


def _most(noun: str, bound: int) -> str:
    return f"Member must have {noun} less than or equal to {bound}"


def _pattern(pattern: str) -> str:
    return f"Member must satisfy regular expression pattern: {pattern}"


def _enum(name: str) -> str:
    return f"Member must satisfy enum value set: [{enum_text(name)}]"
