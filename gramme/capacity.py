"""Item sizes, and the read and write units they cost. Pure arithmetic over items in normal form."""

from __future__ import annotations

from collections.abc import Sized
from typing import Final

from gramme.errors import ValidationError
from gramme.model.binary import binary_size
from gramme.model.item import AttributeValue, Item
from gramme.model.numbers import number_size
from gramme.model.values import DEPTH_MAX, TOO_DEEP

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


def item_size(item: Item, depth: int = 1) -> int:
    """The size of an item already in normal form: what `normalise_item` said when it came in.

    An update can make an item of good parts nest too deep. Raises ValidationError then, as for one that comes in so.
    """
    size = 0
    for name, value in item.items():
        size += len(name) if name.isascii() else len(name.encode())
        size += attribute_size(value, depth)
    return size


def attribute_size(value: AttributeValue, depth: int = 1) -> int:
    """The size of one value, `depth` levels down, without its name."""
    for tag, payload in value.items():
        if tag == "S":
            return len(payload) if payload.isascii() else len(payload.encode())
        if tag == "N":
            return number_size(payload)
        if tag == "M":
            _check_depth(payload, depth)
            return CONTAINER_SIZE + MEMBER_SIZE * len(payload) + item_size(payload, depth + 1)
        if tag == "L":
            _check_depth(payload, depth)
            return CONTAINER_SIZE + sum(
                MEMBER_SIZE + attribute_size(member, depth + 1) for member in payload
            )
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


def _check_depth(members: Sized, depth: int) -> None:
    if members and depth >= DEPTH_MAX:
        raise ValidationError(TOO_DEEP)
