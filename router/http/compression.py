"""Compressed bodies, both ways: gzip and deflate, as DynamoDB takes and gives them."""

from __future__ import annotations

import zlib
from functools import lru_cache

# DynamoDB compresses answers above this size when asked to, smaller ones never.
COMPRESS_ABOVE_BYTES = 4096

# The fastest level: the event loop waits for it, at some ten milliseconds per megabyte.
_LEVEL = 1

_GZIP = 16 + zlib.MAX_WBITS
_WBITS = {"gzip": _GZIP, "deflate": zlib.MAX_WBITS}
_PREFERENCE = ("gzip", "deflate")

# More members than any client would make of one request. Going on from one to the next copies what is left.
_MEMBERS_MAX = 64


class Corrupt(Exception):
    """The body is not what its Content-Encoding says."""


class TooLarge(Exception):
    """The body grows beyond what a request may have."""


def decompress(encoding: bytes, body: bytes | bytearray, size_bytes_max: int) -> bytes | bytearray:
    """Undo a Content-Encoding, never making more than `size_bytes_max` bytes.

    Raises Corrupt and TooLarge. DynamoDB refuses an unknown encoding just as it does a corrupt body.
    """
    name = encoding.strip().lower()
    if name in (b"identity", b""):
        return body
    if name == b"gzip":
        return _inflate(body, _GZIP, size_bytes_max)
    if name == b"deflate":
        # The name means zlib's format, but some clients send the bare stream; the first byte tells.
        bare = not body or body[0] & 0x0F != zlib.DEFLATED
        return _inflate(body, -zlib.MAX_WBITS if bare else zlib.MAX_WBITS, size_bytes_max)
    raise Corrupt


def _inflate(body: bytes | bytearray, wbits: int, size_bytes_max: int) -> bytes:
    """Inflate one stream, or in gzip's case any number of them, one after another."""
    parts: list[bytes] = []
    size_bytes = 0
    rest = bytes(body)
    while True:
        stream = zlib.decompressobj(wbits)
        try:
            part = stream.decompress(rest, size_bytes_max - size_bytes + 1)
        except zlib.error as error:
            raise Corrupt from error
        size_bytes += len(part)
        if size_bytes > size_bytes_max:
            raise TooLarge
        if not stream.eof:
            raise Corrupt
        parts.append(part)
        if not stream.unused_data:
            return b"".join(parts)
        if wbits != _GZIP or len(parts) >= _MEMBERS_MAX:
            raise Corrupt
        rest = stream.unused_data


# Clients have a handful of fixed wishes among them.
@lru_cache(64)
def choose_encoding(accept: bytes) -> str | None:
    """Pick the coding that an Accept-Encoding header likes best; None if no compression is wanted."""
    wishes: dict[str, float] = {}
    for element in accept.decode("latin-1").lower().split(","):
        name, _, parameters = element.partition(";")
        name = name.strip()
        wishes[name] = max(wishes.get(name, 0.0), _quality(parameters))
    anything = wishes.pop("*", 0.0)
    named = [(quality, name) for name, quality in wishes.items() if name in _PREFERENCE]
    unnamed = [(anything, name) for name in _PREFERENCE if name not in wishes]
    # `max` takes the first of equals: a coding named by the client goes before one that `*` stands for.
    quality, best = max(named + unnamed, key=lambda wish: wish[0])
    return best if quality > 0 else None


def _quality(parameters: str) -> float:
    """What follows the first `q=`, wherever that is, and no more than 1, which is also for what is no number."""
    _, _, rest = parameters.partition("q=")
    try:
        return min(float(rest.partition(";")[0]), 1.0)
    except ValueError:
        return 1.0


def compress(encoding: str, body: bytes) -> bytes:
    return zlib.compress(body, _LEVEL, _WBITS[encoding])
