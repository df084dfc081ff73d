"""Arithmetic and order of numbers."""

from __future__ import annotations

from decimal import Context, Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gramme.expressions import numbers
from tests.unit.gramme.expressions.using import complaint


def plain(number: Decimal) -> str:
    text = format(number, "f")
    text = text.rstrip("0").rstrip(".") if "." in text else text
    return "0" if text in ("-0", "") else text


NUMBERS = st.decimals(
    allow_nan=False, allow_infinity=False, places=5, min_value=-(10**20), max_value=10**20
)


@given(NUMBERS, NUMBERS)
def test_numbers_compare_and_add_exactly(one: Decimal, other: Decimal) -> None:
    exact = Context(prec=100)
    left, right = plain(one), plain(other)

    assert numbers.less(left, right) == (one < other)
    assert numbers.add(left, right) == plain(exact.add(one, other))
    assert numbers.subtract(left, right) == plain(exact.subtract(one, other))


@pytest.mark.parametrize(
    ("left", "right", "total"),
    [
        ("0.1", "0.2", "0.3"),
        ("-5", "5", "0"),
        ("0.5", "-0.5", "0"),
        ("99", "1", "100"),
        ("1" + "0" * 125, "1" + "0" * 124, "11" + "0" * 124),
        ("9" * 37, "1", "1" + "0" * 37),
        ("9" * 38, "1", "1" + "0" * 38),
        ("0." + "0" * 129 + "1", "0." + "0" * 129 + "1", "0." + "0" * 129 + "2"),
    ],
)
def test_sums_stay_plain_and_normalised(left: str, right: str, total: str) -> None:
    assert numbers.add(left, right) == total


@pytest.mark.parametrize(
    ("left", "right"),
    [
        ("9" * 38, "0.1"),
        ("1" + "0" * 40, "1"),
        ("1" + "0" * 125, "0." + "0" * 129 + "1"),
        ("9" + "0" * 125, "9" + "0" * 125),
    ],
    ids=["39 digits", "41 digits", "256 digits", "magnitude"],
)
def test_what_does_not_fit_is_never_rounded(left: str, right: str) -> None:
    message = complaint(lambda: numbers.add(left, right))

    assert message == (
        "Number overflow. Attempting to store a number with magnitude larger than supported range"
    )


def test_a_difference_too_small_to_store_is_refused() -> None:
    tiny = "0." + "0" * 129 + "1"

    message = complaint(lambda: numbers.subtract(tiny + "5", tiny + "4"))

    assert message is not None and message.startswith("Number underflow")
