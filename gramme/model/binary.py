"""Binary values: strict base64, as DynamoDB's parser reads it.

There is one text for each run of bytes: padding is required, and the bits that padding leaves over must be zero.
So binary values, like numbers, may be compared as text once they are past here.
"""

from __future__ import annotations

from binascii import a2b_base64, b2a_base64
from typing import Any

from gramme.errors import Serialization
from gramme.model.mistyped import wrong_blob

_ALPHABET = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/")


def check_binary(payload: Any) -> int:
    """Return how many bytes `payload` stands for. Raises Serialization if it is not strict base64."""
    if type(payload) is not str:
        raise Serialization(wrong_blob(payload))
    try:
        raw = a2b_base64(payload, strict_mode=True)
    except ValueError:
        raise Serialization(_fault(payload)) from None
    # The decoder ignores the bits that padding leaves over; only the last group can have any.
    if payload.endswith("="):
        rest = len(raw) % 3
        if b2a_base64(raw[-rest:], newline=False).decode() != payload[-4:]:
            raise Serialization(_fault(payload))
    return len(raw)


def binary_size(payload: str) -> int:
    """How many bytes a base64 text that was already checked stands for."""
    return len(payload) // 4 * 3 - payload.count("=", -2)


def _fault(payload: str) -> str:
    if len(payload) % 4:
        return f"Base64 encoded length is expected a multiple of 4 bytes but found: {len(payload)}"
    digits = payload.rstrip("=")
    stray = next((character for character in digits if character not in _ALPHABET), None)
    if stray is None or stray == "=" or len(payload) - len(digits) > 2:
        return "Invalid last non-pad Base64 character dectected"
    return f"Invalid Base64 character: '{stray}'"
