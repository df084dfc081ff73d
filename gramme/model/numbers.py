"""Numbers as DynamoDB keeps them: plain decimal text, 38 digits, magnitudes from 1E-130 to 9.99...E125.

A number is text from the wire to the disk and back. Two texts of one value become the same text here, so that
everything after the edge may compare them as strings. No step is longer than the text itself: an exponent is
looked at before anything is written out by it.
"""

from __future__ import annotations

import re

from gramme.errors import ValidationError

DIGITS_MAX = 38
EXPONENT_MAX = 125
EXPONENT_MIN = -130

OVERFLOW = (
    "Number overflow. Attempting to store a number with magnitude larger than supported range"
)
UNDERFLOW = (
    "Number underflow. Attempting to store a number with magnitude smaller than supported range"
)
TOO_PRECISE = "Attempting to store more than 38 significant digits in a Number"
NOT_A_NUMBER = "The parameter cannot be converted to a numeric value"

# An exponent beyond this many digits is no number to DynamoDB, which reads it into 32 bits.
_EXPONENT_DIGITS_MAX = 10
_EXPONENT_LIMIT = 2**31 - 1
# How much of a wrong text an error shows.
_SHOWN_MAX = 32768

# Short numbers in their final form. There is no way to write a minus before a zero here.
_NORMAL = re.compile(r"0|-?(?:[1-9][0-9]*(?:\.[0-9]*[1-9])?|0\.[0-9]*[1-9])").fullmatch
# Possessive, so that a long text that is no number is given up on in one pass.
_NUMBER = re.compile(
    r"(?P<sign>[+-]?)(?:(?P<whole>[0-9]++)(?:\.(?P<fraction>[0-9]*+))?|\.(?P<bare>[0-9]++))"
    r"(?:[eE](?P<exponent>[+-]?[0-9]++))?"
)


def normalise_number(text: str) -> str:
    """Return the one plain decimal text of a number: no exponent, no plus, no useless zeros.

    Raises ValidationError for what is not a number, or not one that DynamoDB can hold.
    """
    # Most numbers are integers in their final form already.
    if text.isdigit() and text.isascii() and len(text) <= DIGITS_MAX and text[0] != "0":
        return text
    if len(text) <= DIGITS_MAX and _NORMAL(text):
        return text
    match = _NUMBER.fullmatch(text)
    if match is None:
        raise ValidationError(_not_a_number(text))
    sign, whole, fraction, bare, written = match.groups()
    whole, fraction = whole or "", fraction or bare or ""
    exponent = 0 if written is None else _exponent(text, written)

    digits = (whole + fraction).lstrip("0")
    # The power of ten of the leading digit. A zero counts the last digit it was written with, so 0e126
    # overflows and 0.0e126 does not.
    magnitude = exponent - len(fraction) + max(len(digits), 1) - 1
    if magnitude > EXPONENT_MAX:
        raise ValidationError(OVERFLOW)
    if magnitude < EXPONENT_MIN:
        raise ValidationError(UNDERFLOW)
    digits = digits.rstrip("0")
    if not digits:
        return "0"
    if len(digits) > DIGITS_MAX:
        raise ValidationError(TOO_PRECISE)
    return plain("-" if sign == "-" else "", digits, magnitude + 1)


def plain(sign: str, digits: str, point: int) -> str:
    """Write out `0.digits * 10^point`, where `digits` has no zero at either end."""
    if point <= 0:
        return f"{sign}0.{'0' * -point}{digits}"
    if point >= len(digits):
        return f"{sign}{digits}{'0' * (point - len(digits))}"
    return f"{sign}{digits[:point]}.{digits[point:]}"


def number_size(text: str) -> int:
    """The bytes DynamoDB counts for a number, given in its normal form.

    One, and one for every two significant digits on each side of the point, and one for a minus. Measured on
    the service: its documentation leaves out the minus.
    """
    if text.isdigit():
        return 1 + (len(text.rstrip("0")) + 1) // 2
    size = 1
    if text[0] == "-":
        size = 2
        text = text[1:]
    whole, _, fraction = text.partition(".")
    if not fraction:
        return size + (len(whole.rstrip("0")) + 1) // 2
    if whole == "0":
        return size + (len(fraction.lstrip("0")) + 1) // 2
    return size + (len(whole) + 1) // 2 + (len(fraction) + 1) // 2


def _exponent(text: str, written: str) -> int:
    digits = written.lstrip("+-0")
    if len(digits) > _EXPONENT_DIGITS_MAX:
        raise ValidationError(_not_a_number(text))
    exponent = int(digits or "0")
    if exponent > _EXPONENT_LIMIT:
        raise ValidationError(_not_a_number(text))
    return -exponent if written[0] == "-" else exponent


def _not_a_number(text: str) -> str:
    return f"{NOT_A_NUMBER}: {text[:_SHOWN_MAX]}" if text else NOT_A_NUMBER


# The sizes of the numbers met most often, by their text in normal form.
SMALL_SIZES = {str(number): number_size(str(number)) for number in range(1000)}
