"""Plain values and typed ones."""

from __future__ import annotations

from collections import OrderedDict
from decimal import Decimal
from enum import IntEnum, StrEnum
from typing import Any

import pytest
from boto3.dynamodb.types import TypeSerializer
from hypothesis import given, settings
from hypothesis import strategies as st

from gramme.client.values import attributes_of, item_of, typed, untyped
from tests.support.examples import examples


class Colour(StrEnum):
    RED = "red"


class Size(IntEnum):
    LARGE = 3


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("", {"S": ""}),
        (True, {"BOOL": True}),
        (1, {"N": "1"}),
        (Decimal("1.50"), {"N": "1.50"}),
        (None, {"NULL": True}),
        (b"\x00\xff", {"B": "AP8="}),
        (bytearray(b"a"), {"B": "YQ=="}),
        (memoryview(b"a"), {"B": "YQ=="}),
        ([1, "a"], {"L": [{"N": "1"}, {"S": "a"}]}),
        ((1,), {"L": [{"N": "1"}]}),
        ({"a": {"b": None}}, {"M": {"a": {"M": {"b": {"NULL": True}}}}}),
        (OrderedDict(a=1), {"M": {"a": {"N": "1"}}}),
        ({"a"}, {"SS": ["a"]}),
        (frozenset({1}), {"NS": ["1"]}),
        ({b"a"}, {"BS": ["YQ=="]}),
        (Colour.RED, {"S": "red"}),
        (Size.LARGE, {"N": "3"}),
    ],
    ids=lambda value: type(value).__name__,
)
def test_every_type_has_its_place(value: object, expected: dict[str, Any]) -> None:
    assert typed(value) == expected


@pytest.mark.parametrize(
    ("value", "kind", "words"),
    [
        (0.1, TypeError, "Decimal"),
        ([{"a": 0.1}], TypeError, "Decimal"),
        (Decimal("NaN"), ValueError, "NaN"),
        (Decimal("Infinity"), ValueError, "Infinity"),
        (set(), ValueError, "empty set"),
        ({1, "a"}, TypeError, "members of a set"),
        ({True}, TypeError, "members of a set"),
        ({None}, TypeError, "members of a set"),
        (object(), TypeError, "object"),
        (1j, TypeError, "complex"),
    ],
    ids=[
        "a float",
        "a float inside",
        "no number",
        "infinity",
        "an empty set",
        "a mixed set",
        "a set of booleans",
        "a set of nothing",
        "an object",
        "a complex number",
    ],
)
def test_what_has_no_place_is_refused_in_words(
    value: object, kind: type[Exception], words: str
) -> None:
    with pytest.raises(kind, match=words):
        typed(value)


def sets(members: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    return st.sets(members, min_size=1, max_size=4)


numbers = st.integers(-(10**37), 10**37) | st.decimals(
    allow_nan=False, allow_infinity=False, places=4, min_value=-(10**9), max_value=10**9
)
leaves = (
    st.none()
    | st.booleans()
    | st.text()
    | numbers
    | st.binary()
    | sets(st.text())
    | sets(numbers)
    | sets(st.binary(min_size=1))
)
values = st.recursive(
    leaves, lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner), max_leaves=8
)


@given(st.dictionaries(st.text(), values, max_size=5))
@settings(max_examples=examples(50), deadline=None)
def test_a_value_comes_back_as_it_was(item: dict[str, Any]) -> None:
    assert item_of(attributes_of(item)) == item


@given(values)
@settings(max_examples=examples(50), deadline=None)
def test_boto3_writes_the_same(value: Any) -> None:
    assert _in_order(typed(value)) == _in_order(_wire(TypeSerializer().serialize(value)))


def _in_order(value: Any) -> Any:
    """The members of a set come in any order."""
    match value:
        case {"SS": members} | {"NS": members} | {"BS": members}:
            return {kind: sorted(members) for kind in value}
        case {"L": members}:
            return {"L": [_in_order(member) for member in members]}
        case {"M": members}:
            return {"M": {name: _in_order(member) for name, member in members.items()}}
    return value


def _wire(value: Any) -> Any:
    """boto3 has bytes where JSON has base64, and its client encodes them afterwards."""
    match value:
        case {"B": bytes()}:
            return typed(value["B"])
        case {"BS": members}:
            return typed({bytes(member) for member in members})
        case {"L": members}:
            return {"L": [_wire(member) for member in members]}
        case {"M": members}:
            return {"M": {name: _wire(member) for name, member in members.items()}}
    return value


def test_numbers_come_back_with_all_their_digits() -> None:
    digits = "1234567890.1234567890123456789012345678"

    assert untyped({"N": digits}) == Decimal(digits)
