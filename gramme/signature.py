"""Signature Version 4: what is signed, and with which key. Pure: no clock, no list of credentials, no error texts.

Whoever asks signs by it, and whoever answers makes the signature again and compares.

A signature is a keyed hash of four lines: the algorithm, the time, the credential's scope, and a hash of the canonical
request. That is the method, the path, the sorted query string, the signed headers and a hash of the body. The body's hash is
always our own, so whoever signed UNSIGNED-PAYLOAD or a hash of something else has signed another request.
"""

from __future__ import annotations

import hmac
from collections.abc import Mapping
from hashlib import sha256

ALGORITHM = b"AWS4-HMAC-SHA256"
TERMINATOR = "aws4_request"
SERVICE = "dynamodb"
# The X-Amz-Target in the hello of a stream of clients, which no operation has.
STREAM_TARGET = b"Gramme_1.Exchange"
EMPTY = sha256(b"").hexdigest().encode()

# ISO-8601's basic format, in which times sort as texts do.
STAMP_FORMAT = "%Y%m%dT%H%M%SZ"


def signing_key(secret: str, date: str, region: str, service: str) -> bytes:
    """The key for all signatures of one day, region and service."""
    key = b"AWS4" + secret.encode()
    for element in (date, region, service, TERMINATOR):
        key = hmac.digest(key, element.encode("latin-1"), "sha256")
    return key


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


def sign_next(key: bytes, stamp: bytes, scope: bytes, previous: bytes, content: bytes) -> bytes:
    """The signature of a piece of a stream whose last one, or whose beginning, was signed by `previous`.

    Each holds all that came before, so no piece can be changed, left out, repeated or put in from elsewhere. It is how AWS
    signs the pieces of an upload.
    """
    text = b"AWS4-HMAC-SHA256-PAYLOAD\n%b\n%b\n%b\n%b\n%b" % (
        stamp,
        scope,
        previous,
        EMPTY,
        sha256(content).hexdigest().encode(),
    )
    return hmac.digest(key, text, "sha256").hex().encode()
