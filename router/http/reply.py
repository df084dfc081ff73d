"""Answers as bytes: the status line, the headers and the checksum that every answer carries.

Nothing a client sends gets into a head except what a preflight request asks to have echoed, and that only if
every byte of it is printable.
"""

from __future__ import annotations

import secrets
from datetime import UTC, datetime
from itertools import count
from zlib import crc32

JSON = b"application/x-amz-json-1.0"
PLAIN_JSON = b"application/json"
TEXT = b"text/plain"

CLOSE = b"Connection: close\r\n"
KEEP_ALIVE = b"Connection: keep-alive\r\n"
CONTINUE = b"HTTP/1.1 100 Continue\r\n\r\n"

_REASONS = {
    200: b"OK",
    400: b"Bad Request",
    403: b"Forbidden",
    404: b"Not Found",
    405: b"Method Not Allowed",
    408: b"Request Timeout",
    413: b"Request Entity Too Large",
    500: b"Internal Server Error",
    501: b"Not Implemented",
    503: b"Service Unavailable",
}

# DynamoDB's request ids are 52 characters of 0-9 and A-Z. Ours are 40 drawn once for the process and 12 that count.
_ALPHABET = "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
_PREFIX = "".join(secrets.choice(_ALPHABET) for _ in range(40)).encode()
_serials = count()


class Letterhead:
    """The heads of answers, with the lines that all answers of one second share."""

    __slots__ = ("any", "ok")

    def __init__(self) -> None:
        self.turn_to(0)

    def turn_to(self, now_ms: int) -> None:
        """Tell this time from now on. Clients compare it with theirs when a signature is refused for its age."""
        now = datetime.fromtimestamp(now_ms / 1000, UTC)
        date = f"{now:%a, %d %b %Y %H:%M:%S} GMT".encode()
        shared = b"Server: Server\r\nDate: " + date + b"\r\n"
        numbered = b"x-amzn-RequestId: " + _PREFIX + b"%012X\r\nx-amz-crc32: %d\r\n"
        # Request id, checksum, length: the head of an operation's good answer, for a client with no wishes.
        kind = b"Content-Type: " + JSON + b"\r\n"
        self.ok = b"HTTP/1.1 200 OK\r\n" + shared + kind + numbered + b"Content-Length: %d\r\n\r\n"
        self.any = (
            b"HTTP/1.1 %d %b\r\n" + shared + b"%b" + numbered + b"Content-Length: %d\r\n%b\r\n%b"
        )


# One for the process, as time is; whoever serves turns it every second.
LETTERHEAD = Letterhead()

# What lets a script of another origin read an answer.
ALLOW_ORIGIN = (
    b"Access-Control-Allow-Origin: *\r\n"
    b"Access-Control-Expose-Headers: x-amzn-RequestId,x-amz-crc32\r\n"
)
# Two days, as DynamoDB says.
_PREFLIGHT_SECONDS = b"172800"


def encode_ok(body: bytes) -> bytes:
    return LETTERHEAD.ok % (next(_serials), crc32(body), len(body)) + body


def encode(status: int, content_type: bytes, body: bytes, headers: bytes) -> bytes:
    """An answer with any status; `headers` are whole lines, each with its line end."""
    kind = b"Content-Type: %b\r\n" % content_type if content_type else b""
    reason = _REASONS.get(status, b"Unknown")
    told = (status, reason, kind, next(_serials), crc32(body), len(body), headers, body)
    return LETTERHEAD.any % told


def without_body(answer: bytes) -> bytes:
    """What HEAD is answered: the head of `answer`, its Content-Length included."""
    return answer[: answer.index(b"\r\n\r\n") + 4]


def allow_preflight(method: bytes | None, headers: bytes | None) -> bytes:
    """The lines that answer a preflight request, beside ALLOW_ORIGIN: whatever it asks for is allowed."""
    lines = b"Access-Control-Max-Age: " + _PREFLIGHT_SECONDS + b"\r\n"
    for name, value in (
        (b"Access-Control-Allow-Methods", method),
        (b"Access-Control-Allow-Headers", headers),
    ):
        if value and all(0x20 <= byte <= 0x7E for byte in value):
            lines += b"%b: %b\r\n" % (name, value)
    return lines
