"""Item sizes, and the read and write units they cost. Pure arithmetic over items in normal form."""

from __future__ import annotations

from typing import Final

from gramme.model.binary import binary_size
from gramme.model.item import AttributeValue, Item
from gramme.model.numbers import number_size

ITEM_SIZE_MAX: Final = 409600
READ_UNIT_SIZE: Final = 4096
WRITE_UNIT_SIZE: Final = 1024
# What a list or map costs beside its members, and what each member costs beside itself.
CONTAINER_SIZE: Final = 3
MEMBER_SIZE: Final = 1


def read_units(size: int, consistent: bool) -> float:
    """Units for reading `size` bytes. Reading nothing costs as much as reading one byte."""
    units = -(-size // READ_UNIT_SIZE) or 1
    return float(units) if consistent else units / 2


def write_units(size: int) -> float:
    """Units for a write whose larger image, before or after, has `size` bytes."""
    return float(-(-size // WRITE_UNIT_SIZE) or 1)


def item_size(item: Item) -> int:
    """The size of an item already in normal form: what `normalise_item` said when it came in."""
    size = 0
    for name, value in item.items():
        size += len(name) if name.isascii() else len(name.encode())
        size += attribute_size(value)
    return size


def attribute_size(value: AttributeValue) -> int:
    """The size of one value, without its name."""
    for tag, payload in value.items():
        if tag == "S":
            return len(payload) if payload.isascii() else len(payload.encode())
        if tag == "N":
            return number_size(payload)
        if tag == "M":
            return CONTAINER_SIZE + MEMBER_SIZE * len(payload) + item_size(payload)
        if tag == "L":
            return CONTAINER_SIZE + sum(MEMBER_SIZE + attribute_size(member) for member in payload)
        if tag == "B":
            return binary_size(payload)
        if tag == "SS":
            return sum(len(member.encode()) for member in payload)
        if tag == "NS":
            return sum(map(number_size, payload))
        if tag == "BS":
            return sum(map(binary_size, payload))
    # BOOL and NULL.
    return 1
