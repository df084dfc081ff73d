"""Key bytes sort as DynamoDB sorts the values, and no key is the beginning of another."""

from __future__ import annotations

from base64 import b64encode
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gramme.codec.key import encode_component, encode_number, encode_prefix, successor
from gramme.model.numbers import normalise_number

NUMBERS = st.decimals(
    allow_nan=False, allow_infinity=False, min_value=Decimal("-1E125"), max_value=Decimal("1E125")
).filter(
    lambda number: (
        number == 0 or (abs(number) >= Decimal("1E-130") and len(number.as_tuple().digits) <= 38)
    )
)


@pytest.mark.parametrize(
    ("smaller", "larger"),
    [
        ("-1", "0"),
        ("0", "1"),
        ("9", "10"),
        ("-10", "-9"),
        ("1E-130", "1"),
        ("9.9E124", "9.9E125"),
        ("-9.9E125", "-9.9E124"),
        ("1.2", "1.23"),
        ("-1.23", "-1.2"),
        ("99", "100"),
        ("0.05", "0.5"),
    ],
    ids=str,
)
def test_number_keys_sort_as_numbers(smaller: str, larger: str) -> None:
    assert encode_number(normalise_number(smaller)) < encode_number(normalise_number(larger))


@given(NUMBERS, NUMBERS)
def test_any_two_numbers_sort_by_value(one: Decimal, other: Decimal) -> None:
    first, second = (encode_number(normalise_number(str(number))) for number in (one, other))

    assert (first < second) == (one < other)
    assert (first == second) == (one == other)


@given(st.text(), st.text())
def test_strings_sort_by_their_utf8_bytes(one: str, other: str) -> None:
    first, second = (encode_component("S", {"S": text}) for text in (one, other))

    assert (first < second) == (one.encode() < other.encode())


@given(st.binary(), st.binary())
def test_binary_sorts_by_unsigned_bytes(one: bytes, other: bytes) -> None:
    first, second = (encode_component("B", {"B": b64encode(raw).decode()}) for raw in (one, other))

    assert (first < second) == (one < other)


@given(st.binary(), st.binary())
def test_no_component_begins_with_another(one: bytes, other: bytes) -> None:
    first, second = (encode_component("B", {"B": b64encode(raw).decode()}) for raw in (one, other))

    assert one == other or not first.startswith(second)


@given(st.binary(), st.binary())
def test_a_prefix_selects_exactly_the_values_that_begin_with_it(
    prefix: bytes, value: bytes
) -> None:
    lower = b"\1" + encode_prefix("B", {"B": b64encode(prefix).decode()})
    key = b"\1" + encode_component("B", {"B": b64encode(value).decode()})

    assert (lower <= key < successor(lower)) == value.startswith(prefix)


def test_numbers_at_the_ends_of_the_range_have_an_encoding() -> None:
    ends = ["-9." + "9" * 37 + "E125", "-1E-130", "0", "1E-130", "9." + "9" * 37 + "E125"]

    encoded = [encode_number(normalise_number(end)) for end in ends]

    assert encoded == sorted(encoded)
