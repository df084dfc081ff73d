"""The bytes of keys read back, written from docs/disk-format.md and sharing nothing with the encoder."""

from __future__ import annotations

from decimal import Decimal


def decode_component(kind: str, encoded: bytes) -> tuple[bytes | Decimal, bytes]:
    """The value at the front of `encoded`, and what follows it. Text comes back as its bytes."""
    return _number(encoded) if kind == "N" else _bytes(encoded)


def _bytes(encoded: bytes) -> tuple[bytes, bytes]:
    found = bytearray()
    position = 0
    while True:
        byte, following = encoded[position], encoded[position + 1 : position + 2]
        if byte:
            found.append(byte)
            position += 1
        elif following == b"\xff":
            found.append(0)
            position += 2
        else:
            assert following == b"\0", encoded
            return bytes(found), encoded[position + 2 :]


def _number(encoded: bytes) -> tuple[Decimal, bytes]:
    first = encoded[0]
    if first == 0x80:
        return Decimal(0), encoded[1:]
    negative = first == 0
    end = encoded.index(0xFF if negative else 0, 2)
    body = encoded[1:end]
    if negative:
        body = bytes(255 - byte for byte in body)
    else:
        assert first == 0xFF, encoded
    exponent = body[0] - 129
    digits = tuple(digit for pair in body[1:] for digit in ((pair - 1) >> 4, (pair - 1) & 15))
    number = Decimal((int(negative), digits, exponent - len(digits)))
    return number, encoded[end + 1 :]
