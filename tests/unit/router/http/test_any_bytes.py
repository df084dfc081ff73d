"""Whatever the bytes, what reads them either takes them or says No with its own error."""

from __future__ import annotations

import gzip
import zlib
from contextlib import suppress

from hypothesis import given, settings
from hypothesis import strategies as st

from gramme.clock import VirtualClock
from gramme.errors import (
    IncompleteSignature,
    InvalidSignature,
    MissingAuthenticationToken,
    UnrecognizedClient,
)
from gramme.router.http.auth import Authenticator
from gramme.router.http.compression import Corrupt, TooLarge, choose_encoding, decompress
from gramme.router.http.credentials import Credential, CredentialsRefused, parse_credentials
from gramme.router.http.reader import ENDED, Refused
from gramme.router.http.reply import allow_preflight
from gramme.router.http.verifier import Verifier
from tests.unit.router.http.exchanges import an_exchange
from tests.unit.router.http.test_reader import Reading

REFUSALS = (
    IncompleteSignature,
    InvalidSignature,
    MissingAuthenticationToken,
    UnrecognizedClient,
)
NOW_MS = 1_767_225_600_000
VERIFIER = Verifier({"AKID": Credential("111122223333", "secret")}, VirtualClock(NOW_MS))

ALMOST_A_HEADER = st.lists(
    st.sampled_from(
        [
            *(
                b"AWS4-HMAC-SHA256",
                b"AWS4-",
                b" ",
                b", ",
                b",",
                b"=",
                b"Credential=",
                b"Signature=",
            ),
            *(b"SignedHeaders=", b"host;x-amz-target", b"host", b";", b"0" * 64, b"\xff", b"/"),
            *(b"AKID/20260101/us-east-1/dynamodb/aws4_request", b"AKID/2026/\xe9/d/a"),
        ]
    ),
    max_size=14,
).map(b"".join)
ALMOST_A_QUERY = st.lists(
    st.sampled_from(
        [
            *(b"X-Amz-Algorithm", b"=AWS4-HMAC-SHA256", b"&", b"=", b"%", b"%F", b"%ff", b"+"),
            *(b"&X-Amz-Credential=AKID%2F20260101%2Fr%2Fdynamodb%2Faws4_request", b"\xff", b";"),
            *(b"&X-Amz-Signature=0", b"&X-Amz-SignedHeaders=host;x-amz-target", b"&X-Amz-Date="),
            *(b"20260101T000000Z", b"&X-Amz-Security-Token=", b"a"),
        ]
    ),
    max_size=14,
).map(b"".join)
DATES = st.sampled_from([b"20260101T000000Z", b"20260101T000000Z ", b"99999999T999999Z", b"0", b""])
VALUES = st.binary(max_size=40)


@given(
    st.none() | ALMOST_A_HEADER | VALUES,
    st.none() | DATES | VALUES,
    ALMOST_A_QUERY | VALUES,
    st.none() | VALUES,
)
@settings(max_examples=500, deadline=None)
def test_any_signature_is_taken_or_refused(
    authorization: bytes | None, date: bytes | None, query: bytes, token: bytes | None
) -> None:
    headers = {
        name: value
        for name, value in (
            (b"Host", b"a"),
            (b"X-Amz-Target", b"b"),
            (b"Authorization", authorization),
            (b"X-Amz-Date", date),
            (b"X-Amz-Security-Token", token),
        )
        if value is not None
    }

    for authenticate in (Authenticator().caller, VERIFIER.caller):
        with suppress(*REFUSALS):
            authenticate(an_exchange(headers), query)


ALMOST_A_FILE = st.lists(
    st.sampled_from(
        [
            *("[a]", "[b]", "[", "]", "\n", "\n ", "=", ":", "#", "%(x)s", "\x00", "é", "\r"),
            *("aws_access_key_id", "aws_secret_access_key", "aws_session_token", "aws_account_id"),
            *("AKID", "secret", "111122223333"),
        ]
    ),
    max_size=30,
).map("".join)


@given(ALMOST_A_FILE | st.text(max_size=60))
@settings(max_examples=500, deadline=None)
def test_any_file_of_credentials_is_taken_or_refused(text: str) -> None:
    with suppress(CredentialsRefused):
        assert parse_credentials(text)


PIECES = st.sampled_from(
    [gzip.compress(b"{}"), gzip.compress(b"x" * 500)[:-3], zlib.compress(b"{}"), b"\x1f\x8b\x08"]
)


@given(
    st.sampled_from([b"gzip", b"deflate", b"identity", b"br", b""]) | VALUES,
    st.lists(PIECES | VALUES, max_size=4).map(b"".join),
)
@settings(max_examples=500, deadline=None)
def test_any_body_is_inflated_or_refused(encoding: bytes, body: bytes) -> None:
    with suppress(Corrupt, TooLarge):
        assert len(decompress(encoding, body, 400)) <= 400 or encoding in (b"identity", b"")


@given(
    st.lists(
        st.sampled_from([b"gzip", b"deflate", b"*", b";q=", b"0", b"nan", b"inf", b",", b" "]),
        max_size=10,
    ).map(b"".join)
    | VALUES
)
@settings(deadline=None)
def test_any_wish_for_an_encoding_is_heard(accept: bytes) -> None:
    assert choose_encoding(accept) in (None, "gzip", "deflate")


@given(st.none() | VALUES, st.none() | VALUES)
def test_a_preflight_request_cannot_write_lines_of_its_own(
    method: bytes | None, headers: bytes | None
) -> None:
    lines = allow_preflight(method, headers).split(b"\r\n")

    assert len(lines) <= 4
    assert all(line.startswith(b"Access-Control-") for line in lines[:-1])
    assert lines[-1] == b""


ALMOST_HTTP = st.lists(
    st.sampled_from(
        [
            *(b"POST / HTTP/1.1\r\n", b"GET /", b"HEAD", b" HTTP/1.0", b"\r\n", b"\n", b"\r", b":"),
            *(
                b"Content-Length: 2\r\n",
                b"Content-Length: -1\r\n",
                b"Transfer-Encoding: chunked\r\n",
            ),
            *(b"Content-Length: 99999999999999999999\r\n", b"Expect: 100-continue\r\n", b"{}"),
            *(b"Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\n", b"Connection: close\r\n"),
            *(b"2\r\n{}\r\n0\r\n\r\n", b"\x00", b"\xff", b"Host: a\r\n", b" ", b"CONNECT a:1"),
        ]
    ),
    max_size=20,
)


@given(ALMOST_HTTP | st.lists(VALUES, max_size=6))
@settings(max_examples=500, deadline=None)
def test_any_bytes_are_read_or_refused(parts: list[bytes]) -> None:
    reading = Reading()

    with suppress(Refused):
        for part in parts:
            if reading.reader.phase != ENDED:
                reading.reader.feed(part)
