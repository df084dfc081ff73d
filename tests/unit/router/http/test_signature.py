"""Signature Version 4, by AWS's own examples."""

from __future__ import annotations

import pytest

from gramme.router.http.signature import canonical_headers, canonical_query, sign, signing_key

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

    ours = sign(key, b"20150830T123600Z", scope, query, HEADERS, b"host;x-amz-date", b"")

    assert ours == signature


@pytest.mark.parametrize(
    ("query", "canonical"),
    [
        (b"b=2&a=1", b"a=1&b=2"),
        (b"a=2&a=1&A=3", b"A=3&a=1&a=2"),
        (b"a", b"a="),
        (b"a=b=c", b"a=b%3Dc"),
        (b"a=%7e-_.%2f/", b"a=~-_.%2F%2F"),
        (b"a=x+y%20z%2B", b"a=x%20y%20z%2B"),
        (b"a=%c3%a9", b"a=%C3%A9"),
        (b"a=%ff\xfe", b"a=%FF%FE"),
        (b"a=1&X-Amz-Signature=0&b=2", b"a=1&b=2"),
    ],
)
def test_a_query_has_one_way_to_be_written(query: bytes, canonical: bytes) -> None:
    assert canonical_query(query) == canonical


def test_spaces_in_headers_are_trimmed_and_collapsed() -> None:
    spelling = {b"host": b"Host", b"my-header": b"MY-Header"}
    headers = {b"Host": b"example.com", b"MY-Header": b'  a   "b  c" \t d  '}

    lines = canonical_headers((b"host", b"my-header"), spelling, headers)

    assert lines == b'host:example.com\nmy-header:a "b c" d\n'
