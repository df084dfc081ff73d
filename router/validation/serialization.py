"""JSON types: the walk that finds the first value of a wrong one. Only a request already refused is walked.

DynamoDB parses the whole request before it checks any of it, so a wrong type anywhere comes before every other
mistake, and the insides of attribute values count too.
"""

from __future__ import annotations

from itertools import islice
from typing import Any, Final

from gramme.errors import Serialization
from gramme.model.binary import check_binary
from gramme.model.mistyped import (
    MODEL,
    wrong_blob,
    wrong_list,
    wrong_map,
    wrong_scalar,
    wrong_structure,
)
from gramme.router.validation.measured import members_of, shape_of

_SCALARS: Final = {
    "string": ("String", (str,)),
    "boolean": ("Boolean", (bool,)),
    "integer": ("Integer", (int,)),
    "long": ("Long", (int,)),
    "double": ("Double", (int, float)),
    "timestamp": ("Date", (int, float)),
}
_ATTRIBUTE_SCALARS: Final = {"S": "String", "N": "String", "BOOL": "Boolean", "NULL": "Boolean"}
_ATTRIBUTE_LISTS: Final = frozenset({"SS", "NS", "BS", "L"})
_UNCASTABLE: Final = (
    "class sun.reflect.generics.reflectiveObjects.ParameterizedTypeImpl cannot be cast to class "
    "java.lang.Class (sun.reflect.generics.reflectiveObjects.ParameterizedTypeImpl and "
    "java.lang.Class are in module java.base of loader 'bootstrap')"
)


def check_types(name: str, value: Any, *, is_member: bool = False) -> None:
    """Raise Serialization if `value`, or anything in it, is of another JSON type than its shape's."""
    shape = shape_of(name)
    kind = shape["type"]
    if value is None:
        return
    if kind == "structure":
        _check_structure(name, value, is_member)
    elif kind == "list":
        if type(value) is not list:
            raise Serialization(
                _UNCASTABLE
                if type(value) is not dict and _is_collection(shape["member"])
                else wrong_list(value)
            )
        # What is beyond the longest list allowed is refused for that, unread.
        for member in islice(value, shape.get("max")):
            check_types(shape["member"], member, is_member=True)
    elif kind == "map":
        if type(value) is not dict:
            raise Serialization(
                _UNCASTABLE
                if type(value) is not list and (is_member or _is_collection(shape["value"]))
                else wrong_map(value, _java(shape["value"]))
            )
        for member in islice(value.values(), shape.get("max")):
            check_types(shape["value"], member, is_member=True)
    elif kind == "blob":
        if type(value) is not str:
            raise Serialization(wrong_blob(value))
    else:
        java, allowed = _SCALARS[kind]
        if type(value) not in allowed:
            raise Serialization(wrong_scalar(value, java))


def _check_structure(name: str, value: Any, is_member: bool) -> None:
    if type(value) is not dict:
        raise Serialization(wrong_structure(value, name, is_member=is_member))
    if name == "AttributeValue":
        _check_attribute_value(value)
        return
    members = members_of(name)
    for member, inside in value.items():
        if member in members:
            check_types(members[member], inside)


def _check_attribute_value(value: dict[str, Any]) -> None:
    """Without recursion: nobody has looked at how deep this goes."""
    waiting: list[Any] = [value]
    while waiting:
        value = waiting.pop()
        if value is None:
            continue
        if type(value) is not dict:
            raise Serialization(wrong_structure(value, "AttributeValue", is_member=True))
        inner: list[Any] = []
        for tag, payload in value.items():
            if payload is not None:
                inner += _check_payload(tag, payload)
        # What comes first in the request is looked at first.
        waiting += reversed(inner)


def _check_payload(tag: str, payload: Any) -> list[Any]:
    """Check one member of an attribute value, and return the attribute values in it."""
    if tag in _ATTRIBUTE_SCALARS:
        java = _ATTRIBUTE_SCALARS[tag]
        if type(payload) is not (str if java == "String" else bool):
            raise Serialization(wrong_scalar(payload, java))
    elif tag == "B":
        check_binary(payload)
    elif tag in _ATTRIBUTE_LISTS:
        if type(payload) is not list:
            raise Serialization(wrong_list(payload))
        if tag == "L":
            return payload
        for member in payload:
            if member is None:
                continue
            if tag == "BS":
                check_binary(member)
            elif type(member) is not str:
                raise Serialization(wrong_scalar(member, "String"))
    elif tag == "M":
        if type(payload) is not dict:
            raise Serialization(wrong_map(payload, f"{MODEL}.AttributeValue"))
        return list(payload.values())
    return []


def _is_collection(name: str) -> bool:
    return shape_of(name)["type"] in ("list", "map")


def _java(name: str) -> str:
    """How Java calls a shape, where it is a type parameter."""
    shape = shape_of(name)
    if shape["type"] == "list":
        return f"java.util.List<{_java(shape['member'])}>"
    if shape["type"] == "map":
        return f"java.util.Map<java.lang.String, {_java(shape['value'])}>"
    return f"{MODEL}.{name}" if shape["type"] == "structure" else "java.lang.String"
