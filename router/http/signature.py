"""Signature Version 4: what is signed, and with which key. Pure: no clock, no list of credentials, no error texts.

A signature is a keyed hash of four lines: the algorithm, the time, the credential's scope, and a hash of the canonical
request. That is the method, the path, the sorted query string, the signed headers and a hash of the body. The body's hash is
always our own, so whoever signed UNSIGNED-PAYLOAD or a hash of something else has signed another request.
"""

from __future__ import annotations

import hmac
from collections.abc import Mapping
from hashlib import sha256
from urllib.parse import quote

from gramme.router.http.authorization import query_pairs

ALGORITHM = b"AWS4-HMAC-SHA256"
TERMINATOR = "aws4_request"

# Beside letters and digits, what a canonical query string does not escape.
_UNESCAPED = "-_.~"


def signing_key(secret: str, date: str, region: str, service: str) -> bytes:
    """The key for all signatures of one day, region and service."""
    key = b"AWS4" + secret.encode()
    for element in (date, region, service, TERMINATOR):
        key = hmac.digest(key, element.encode("latin-1"), "sha256")
    return key


def canonical_query(query: bytes) -> bytes:
    """The query string in the one way in which it is signed. Raises ValueError if it is too long."""
    escaped = (
        (_escape(name), _escape(value))
        for name, value in query_pairs(query)
        if name != "X-Amz-Signature"
    )
    return "&".join(f"{name}={value}" for name, value in sorted(escaped)).encode()


def canonical_headers(
    signed: tuple[bytes, ...], spelling: Mapping[bytes, bytes], headers: Mapping[bytes, bytes]
) -> bytes:
    """The lines of the signed headers. Raises KeyError if one of them is not there.

    Of a repeated header the last one counts here as everywhere else, so what is signed is what is obeyed.
    """
    return b"".join(
        b"%b:%b\n" % (name, b" ".join(headers[spelling[name]].split())) for name in signed
    )


def sign(
    key: bytes,
    stamp: bytes,
    scope: bytes,
    query: bytes,
    headers: bytes,
    signed_headers: bytes,
    body: bytes | bytearray,
) -> bytes:
    """The signature of a POST to the path `/`, which is where all operations are."""
    request = b"POST\n/\n%b\n%b\n%b\n%b" % (
        query,
        headers,
        signed_headers,
        sha256(body).hexdigest().encode(),
    )
    text = b"%b\n%b\n%b\n%b" % (ALGORITHM, stamp, scope, sha256(request).hexdigest().encode())
    return hmac.digest(key, text, "sha256").hex().encode()


def _escape(text: str) -> str:
    return quote(text, safe=_UNESCAPED, encoding="latin-1")
