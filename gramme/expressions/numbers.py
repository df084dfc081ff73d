"""Order and arithmetic of numbers, as DynamoDB does them: exact, to 38 digits, or an error.

Numbers come in and go out as normalised plain decimal text ("-12.5", never "1e3", "+1" or "1.0"),
so two numbers are equal when their texts are. Digits alone are the common case and are handled
without a Decimal.
"""

from __future__ import annotations

from decimal import Context, Decimal, Inexact, Overflow

from gramme.errors import ValidationError

DIGITS_MAX = 38
EXPONENT_MAX = 125
EXPONENT_MIN = -130

# Room for an exact result before its digits are counted: 1E125 and 1E-167 are 292 digits apart.
_EXACT = Context(prec=330, Emax=999, Emin=-999, traps=[Inexact, Overflow])

OVERFLOW = (
    "Number overflow. Attempting to store a number with magnitude larger than supported range"
)
UNDERFLOW = (
    "Number underflow. Attempting to store a number with magnitude smaller than supported range"
)


def less(left: str, right: str) -> bool:
    if left.isdigit() and right.isdigit():
        # Without leading zeros the longer is the larger.
        return left < right if len(left) == len(right) else len(left) < len(right)
    return Decimal(left) < Decimal(right)


def add(left: str, right: str) -> str:
    if len(left) < DIGITS_MAX > len(right) and left.isdigit() and right.isdigit():
        return str(int(left) + int(right))
    return _checked(_EXACT.add(Decimal(left), Decimal(right)))


def subtract(left: str, right: str) -> str:
    if len(left) < DIGITS_MAX > len(right) and left.isdigit() and right.isdigit():
        return str(int(left) - int(right))
    return _checked(_EXACT.subtract(Decimal(left), Decimal(right)))


def _checked(result: Decimal) -> str:
    if not result:
        return "0"
    magnitude = result.adjusted()
    result = _EXACT.normalize(result)
    if len(result.as_tuple().digits) > DIGITS_MAX or magnitude > EXPONENT_MAX:
        raise ValidationError(OVERFLOW)
    if magnitude < EXPONENT_MIN:
        raise ValidationError(UNDERFLOW)
    return format(result, "f")
