"""When two attribute values are the same. Numbers come normalised: they are equal as text."""

from __future__ import annotations

from gramme.model.item import AttributeValue, Item

# What may look unequal and still be equal: sets have no order, also inside documents.
_DEEP = frozenset({"SS", "NS", "BS", "L", "M"})


def equal(left: AttributeValue, right: AttributeValue) -> bool:
    if left == right:
        return True
    (kind,) = left
    if kind not in _DEEP or kind not in right:
        return False
    one, other = left[kind], right[kind]
    if len(one) != len(other):
        return False
    if kind == "L":
        return all(map(equal, one, other))
    if kind == "M":
        return all(name in other and equal(value, other[name]) for name, value in one.items())
    return set(one) == set(other)


def same_item(one: Item, other: Item) -> bool:
    return one == other or equal({"M": one}, {"M": other})
