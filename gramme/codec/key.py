"""Key values as bytes that sort as DynamoDB sorts them.

A component is one key attribute's value. It delimits itself, so components are simply joined, and no component
is a prefix of another of the same type:

    S, B   the bytes, each 00 written 00 FF, then 00 00
    N      zero is 80; a positive number is FF, exponent + 129, digits two to a byte, 00;
           a negative one is the complement of all that

The exponent e is the one for which the number is 0.d1d2d3... * 10^e. Two digits make a byte as binary-coded decimal,
plus 1, so that the closing 00 sorts before any digit. Types are not stored: the table's schema knows them.
"""

from __future__ import annotations

from base64 import b64decode
from collections.abc import Iterable

from gramme.model.item import AttributeValue, Item
from gramme.model.table import KeyAttribute, KeyType

_EXPONENT_BIAS = 129
_COMPLEMENT = bytes(255 - i for i in range(256))
# No pair of decimal digits comes near FF.
_PLUS_ONE = bytes((i + 1) % 256 for i in range(256))


def encode_component(type: KeyType, value: AttributeValue) -> bytes:
    """Encode a key attribute's value, already checked and with its number normalised."""
    if type == "S":
        raw: bytes = value["S"].encode()
        return raw.replace(b"\0", b"\0\xff") + b"\0\0"
    if type == "N":
        return encode_number(value["N"])
    return encode_bytes(b64decode(value["B"])) + b"\0\0"


def encode_attributes(attributes: Iterable[KeyAttribute], item: Item) -> bytes:
    """The components of those attributes of an item, all of which it has."""
    return b"".join(
        [encode_component(attribute.type, item[attribute.name]) for attribute in attributes]
    )


def encode_bytes(raw: bytes) -> bytes:
    """The escaped bytes without their end: what every value that begins with `raw` begins with."""
    return raw.replace(b"\0", b"\0\xff")


def encode_prefix(type: KeyType, value: AttributeValue) -> bytes:
    """What the components of all values beginning with `value` begin with. For S and B only."""
    return encode_bytes(value["S"].encode() if type == "S" else b64decode(value["B"]))


def encode_number(text: str) -> bytes:
    """Encode a normalised number: plain decimal, no exponent, no useless zeros."""
    if text == "0":
        return b"\x80"
    negative = text[0] == "-"
    whole, _, fraction = (text[1:] if negative else text).partition(".")
    if whole != "0":
        exponent = len(whole)
        digits = (whole + fraction).rstrip("0")
    else:
        digits = fraction.lstrip("0")
        exponent = len(digits) - len(fraction)
        digits = digits.rstrip("0")
    if len(digits) % 2:
        digits += "0"
    pairs = bytes.fromhex(digits).translate(_PLUS_ONE)
    encoded = b"\xff%c%b\0" % (exponent + _EXPONENT_BIAS, pairs)
    return encoded.translate(_COMPLEMENT) if negative else encoded


def successor(prefix: bytes) -> bytes:
    """The smallest bytes greater than everything that begins with `prefix`."""
    stripped = prefix.rstrip(b"\xff")
    if not stripped:
        raise ValueError("nothing sorts after a prefix of FF bytes")
    return stripped[:-1] + bytes((stripped[-1] + 1,))
