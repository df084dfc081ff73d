from __future__ import annotations

from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gramme.errors import ValidationError
from gramme.model.numbers import (
    NOT_A_NUMBER,
    OVERFLOW,
    SMALL_SIZES,
    TOO_PRECISE,
    UNDERFLOW,
    normalise_number,
    number_size,
)


@pytest.mark.parametrize(
    ("written", "normal"),
    [
        ("0", "0"),
        ("-0", "0"),
        ("0.00", "0"),
        ("+5", "5"),
        ("5.", "5"),
        (".5", "0.5"),
        ("-.50", "-0.5"),
        ("007", "7"),
        ("1e3", "1000"),
        ("1.5E2", "150"),
        ("1.50", "1.5"),
        ("-12.340", "-12.34"),
        ("100e-2", "1"),
        ("12345e-3", "12.345"),
        ("1e-3", "0.001"),
        ("0.1e126", "1" + "0" * 125),
        ("1E-130", "0." + "0" * 129 + "1"),
        ("9" * 38 + "0" * 88, "9" * 38 + "0" * 88),
        ("1." + "0" * 60, "1"),
        ("0" * 60 + "1", "1"),
        ("0.0e126", "0"),
        ("1e0000000000000000001", "10"),
    ],
)
def test_numbers_have_one_plain_text(written: str, normal: str) -> None:
    assert normalise_number(written) == normal


@pytest.mark.parametrize(
    "text",
    [
        "abc",
        "1 ",
        " 1",
        "1_0",
        "NaN",
        "Infinity",
        "-",
        ".",
        "1e",
        "e5",
        "0x1",
        "1,5",
        "١",
        "--1",
        "1\n",
        "1e99999999999",
        "1e-99999999999",
        "1e2147483648",
    ],
)
def test_what_is_not_a_number_is_named(text: str) -> None:
    with pytest.raises(ValidationError) as failure:
        normalise_number(text)

    assert failure.value.message == f"{NOT_A_NUMBER}: {text}"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", NOT_A_NUMBER),
        ("1e126", OVERFLOW),
        ("-1e126", OVERFLOW),
        ("0e126", OVERFLOW),
        ("1e999999999", OVERFLOW),
        ("1e-131", UNDERFLOW),
        ("0e-131", UNDERFLOW),
        ("1e-999999999", UNDERFLOW),
        ("1" * 39, TOO_PRECISE),
        ("-1." + "1" * 38, TOO_PRECISE),
    ],
)
def test_what_cannot_be_held_is_refused(text: str, message: str) -> None:
    with pytest.raises(ValidationError) as failure:
        normalise_number(text)

    assert failure.value.message == message


@pytest.mark.parametrize(
    "text",
    ["9" * 10**7, "1e" + "9" * 10**7, "9" * 10**7 + ".x", "." + "0" * 10**7],
    ids=["digits", "exponent", "not a number", "fraction"],
)
def test_a_huge_text_is_refused_shortly(text: str) -> None:
    with pytest.raises(ValidationError) as failure:
        normalise_number(text)

    assert failure.value.message is not None and len(failure.value.message) < 40_000


@given(
    digits=st.integers(min_value=-(10**38) + 1, max_value=10**38 - 1),
    exponent=st.integers(min_value=-130, max_value=87),
)
def test_the_normal_form_keeps_the_value_and_is_final(digits: int, exponent: int) -> None:
    text = f"{digits}e{exponent}"

    normal = normalise_number(text)

    assert Decimal(normal) == Decimal(text)
    assert normalise_number(normal) == normal


@pytest.mark.parametrize(
    ("number", "size"),
    [
        ("0", 1),
        ("1", 2),
        ("11", 2),
        ("100", 2),
        ("11111", 4),
        ("-1", 3),
        ("1" * 38, 20),
        ("1" + "0" * 125, 2),
        ("0.001", 2),
        ("100.5", 4),
        ("-0.25", 3),
    ],
)
def test_a_number_costs_a_byte_for_two_digits(number: str, size: int) -> None:
    assert number_size(number) == size


def test_the_sizes_known_of_small_numbers_are_those_of_their_normal_form() -> None:
    for text, size in SMALL_SIZES.items():
        assert (normalise_number(text), number_size(text)) == (text, size)
