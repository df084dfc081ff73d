"""Signature Version 4, by AWS's own examples."""

from __future__ import annotations

import pytest

from gramme.router.http.authorization import canonical_query
from gramme.signature import canonical_headers, sign, sign_next, signing_key

SECRET = "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY"
HEADERS = b"host:example.amazonaws.com\nx-amz-date:20150830T123600Z\n"


def test_the_signing_key_is_that_of_the_documentation() -> None:
    key = signing_key(SECRET, "20150830", "us-east-1", "iam")

    assert key.hex() == "c4afb1cc5771d871763a393e44b703571b55cc28424d1a5e86da6ed3c154a4b9"


@pytest.mark.parametrize(
    ("query", "signature"),
    [
        (b"", b"5da7c1a2acd57cee7505fc6676e4e544621c30862966e37dddb68e92efbe5d6b"),
        (b"Param1=value1", b"28038455d6de14eafc1f9222cf5aa6f1a96197d7deb8263271d420d138af7f11"),
    ],
    ids=["post-vanilla", "post-vanilla-query"],
)
def test_the_signature_is_that_of_the_test_suite(query: bytes, signature: bytes) -> None:
    key = signing_key(SECRET, "20150830", "us-east-1", "service")
    scope = b"20150830/us-east-1/service/aws4_request"

    ours = sign(
        key, b"20150830T123600Z", scope, canonical_query(query), HEADERS, b"host;x-amz-date", b""
    )

    assert ours == signature


def test_spaces_in_headers_are_trimmed_and_collapsed() -> None:
    spelling = {b"host": b"Host", b"my-header": b"MY-Header"}
    headers = {b"Host": b"example.com", b"MY-Header": b'  a   "b  c" \t d  '}

    lines = canonical_headers((b"host", b"my-header"), spelling, headers)

    assert lines == b'host:example.com\nmy-header:a "b c" d\n'


def test_pieces_are_signed_as_in_the_documentation() -> None:
    """The example of "Signature calculations: transferring payload in multiple chunks"."""
    # Not the secret of the other examples: they differ in a character.
    key = signing_key(SECRET.replace("+", "/"), "20130524", "us-east-1", "s3")
    stamp, scope = b"20130524T000000Z", b"20130524/us-east-1/s3/aws4_request"
    seed = b"4f232c4386841ef735655705268965c44a0e4690baa4adea153f7db9fa80a0a9"

    first = sign_next(key, stamp, scope, seed, b"a" * 65536)
    second = sign_next(key, stamp, scope, first, b"a" * 1024)
    last = sign_next(key, stamp, scope, second, b"")

    assert first == b"ad80c730a21e5b8d04586a2213dd63b9a0e99e0e2307b0ade35a65485a288648"
    assert second == b"0055627c9e194cb4542bae2aa5492e3c1575bbb81b612b7d234b86a503ef5497"
    assert last == b"b6c6ea8a5354eaf15b3cb7646744f4275b71ea724fed81ceb9323e279d449df9"
