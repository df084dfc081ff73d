"""Reading bytes that may be anything."""

from __future__ import annotations

from typing import Final, TypeVar

import msgspec

T = TypeVar("T")

# All that `decode_untrusted` raises.
UNREADABLE: Final = (msgspec.DecodeError, UnicodeDecodeError, RecursionError)

_skim = msgspec.msgpack.Decoder(msgspec.Raw)


def decode_untrusted(decoder: msgspec.msgpack.Decoder[T], encoded: bytes) -> T:
    """Decode msgpack in time and memory of a multiple of its bytes.

    A decoder makes room for as many elements as an array says it has, at each level anew. Skipping over the bytes first is
    cheap, and refuses counts that they do not bear out. How deep they nest is bound by Python's recursion limit.
    """
    _skim.decode(encoded)
    return decoder.decode(encoded)
