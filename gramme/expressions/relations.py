"""What conditions ask of attribute values beside equality.

A value that comes here has been checked: it has one type, and its numbers are normalised.
"""

from __future__ import annotations

from binascii import a2b_base64

from gramme.expressions import numbers
from gramme.expressions.equality import equal
from gramme.model.item import AttributeValue

ORDERED = frozenset({"S", "N", "B"})
SETS = frozenset({"SS", "NS", "BS"})
SIZED = frozenset({"S", "B", "SS", "NS", "BS", "L", "M"})

_ELEMENT = {"SS": "S", "NS": "N", "BS": "B"}


def less(left: AttributeValue, right: AttributeValue) -> bool:
    """Whether `left` comes before `right`. Never, if they differ in type or have no order."""
    (kind,) = left
    if kind not in right:
        return False
    if kind == "N":
        return numbers.less(left["N"], right["N"])
    if kind == "S":
        # Code points sort as their UTF-8 bytes do.
        return bool(left["S"] < right["S"])
    return kind == "B" and a2b_base64(left["B"]) < a2b_base64(right["B"])


def not_greater(left: AttributeValue, right: AttributeValue) -> bool:
    (kind,) = left
    return kind in ORDERED and (left == right or less(left, right))


def begins_with(value: AttributeValue, prefix: AttributeValue) -> bool:
    if "S" in value and "S" in prefix:
        return bool(value["S"].startswith(prefix["S"]))
    if "B" in value and "B" in prefix:
        return a2b_base64(value["B"]).startswith(a2b_base64(prefix["B"]))
    return False


def contains(value: AttributeValue, wanted: AttributeValue) -> bool:
    """Whether text or bytes have `wanted` within them, or a set or list has it as a member."""
    (kind,) = value
    if kind == "S":
        return "S" in wanted and wanted["S"] in value["S"]
    if kind == "L":
        return any(equal(member, wanted) for member in value["L"])
    if kind in SETS:
        element = _ELEMENT[kind]
        return element in wanted and wanted[element] in value[kind]
    return kind == "B" and "B" in wanted and a2b_base64(wanted["B"]) in a2b_base64(value["B"])


def size(value: AttributeValue) -> AttributeValue | None:
    """How much is in a value, as a number; None for what has no size."""
    (kind,) = value
    if kind not in SIZED:
        return None
    content = value[kind]
    if kind == "S" and not content.isascii():
        # DynamoDB counts as Java does: UTF-16 code units, two for what is outside the basic plane.
        return {"N": str(len(content.encode("utf-16-le")) // 2)}
    return {"N": str(len(a2b_base64(content) if kind == "B" else content))}
