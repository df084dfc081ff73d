"""Compressed bodies."""

from __future__ import annotations

import gzip
import zlib

import pytest

from gramme.router.http.compression import (
    Corrupt,
    TooLarge,
    choose_encoding,
    compress,
    decompress,
)

BODY = b'{"TableName":"t"}' * 10


def bare(body: bytes) -> bytes:
    stream = zlib.compressobj(wbits=-zlib.MAX_WBITS)
    return stream.compress(body) + stream.flush()


@pytest.mark.parametrize(
    ("encoding", "compressed"),
    [
        (b"gzip", gzip.compress(BODY)),
        (b" GZIP ", gzip.compress(BODY)),
        (b"gzip", gzip.compress(BODY[:10]) + gzip.compress(BODY[10:])),
        (b"gzip", gzip.compress(b"") + gzip.compress(BODY)),
        (b"deflate", zlib.compress(BODY)),
        (b"deflate", bare(BODY)),
        (b"identity", BODY),
    ],
    ids=["gzip", "case", "two members", "empty member", "zlib", "bare", "identity"],
)
def test_what_was_compressed_comes_back(encoding: bytes, compressed: bytes) -> None:
    assert decompress(encoding, compressed, 1000) == BODY


@pytest.mark.parametrize(
    ("encoding", "compressed"),
    [
        (b"gzip", BODY),
        (b"gzip", b""),
        (b"gzip", gzip.compress(BODY)[:-1]),
        (b"gzip", gzip.compress(BODY)[:-5] + b"00000"),
        (b"gzip", gzip.compress(BODY) + b"junk"),
        (b"gzip", gzip.compress(b"") * 1000),
        (b"deflate", b""),
        (b"deflate", zlib.compress(BODY)[:-1]),
        (b"deflate", zlib.compress(BODY) * 2),
        (b"br", BODY),
    ],
    ids=[
        "not gzip",
        "empty",
        "truncated",
        "checksum",
        "junk",
        "members",
        "empty deflate",
        "truncated deflate",
        "two deflates",
        "unknown",
    ],
)
def test_a_corrupt_body_is_recognised(encoding: bytes, compressed: bytes) -> None:
    with pytest.raises(Corrupt):
        decompress(encoding, compressed, 1000)


@pytest.mark.parametrize(
    "compressed",
    [gzip.compress(b"x" * 1001), gzip.compress(b"x" * 600) * 2, gzip.compress(bytes(50_000_000))],
    ids=["just above", "in two members", "bomb"],
)
def test_a_body_must_not_grow_beyond_the_limit(compressed: bytes) -> None:
    with pytest.raises(TooLarge):
        decompress(b"gzip", compressed, 1000)


def test_a_body_may_grow_up_to_the_limit() -> None:
    assert decompress(b"gzip", gzip.compress(b"x" * 1000), 1000) == b"x" * 1000


@pytest.mark.parametrize(
    ("accept", "chosen"),
    [
        (b"", None),
        (b"identity", None),
        (b"br, zstd, x-gzip", None),
        (b"gzip", "gzip"),
        (b"GZIP, identity", "gzip"),
        (b"dog, gzip ,, cat", "gzip"),
        (b"br, identity, deflate, gzip", "deflate"),
        (b"gzip;q=0.8, deflate;q=0.9", "deflate"),
        (b"br, gzip;q=0, deflate; q = 0.5 , identity;q=0", "deflate"),
        (b"gzip ;q=0", None),
        (b"gzip;q=nonsense", "gzip"),
        (b"*", "gzip"),
        (b"*;q=0", None),
        (b"*, deflate;q=0.5", "gzip"),
        (b"*, deflate", "deflate"),
        (b"*, gzip;q=0.5", "deflate"),
    ],
)
def test_the_coding_the_client_likes_best_is_chosen(accept: bytes, chosen: str | None) -> None:
    assert choose_encoding(accept) == chosen


def test_both_codings_are_what_their_names_say() -> None:
    assert gzip.decompress(compress("gzip", BODY)) == BODY
    assert zlib.decompress(compress("deflate", BODY)) == BODY
