"""One question to a server over HTTP, as a command asks it: without an SDK, without a proxy, and once."""

from __future__ import annotations

import asyncio
from typing import NamedTuple
from urllib.parse import urlsplit

# Of an answer that is a line long.
ANSWER_BYTES_MAX = 4096
HTTP_PORT = 80


class Answer(NamedTuple):
    """The status is 0 if it is not HTTP."""

    status: int
    body: bytes


class Unanswered(Exception):
    """The message says why, without a subject."""


def host_and_port(url: str) -> tuple[str, int] | None:
    """None if this is not the URL of a server."""
    try:
        parts = urlsplit(url)
        host, port = parts.hostname, parts.port
    except ValueError:
        return None
    if not host or parts.scheme != "http" or parts.path not in ("", "/"):
        return None
    return host, port or HTTP_PORT


async def ask(
    server: tuple[str, int], timeout_s: float, path: str = "/", body: bytes | None = None
) -> Answer:
    """What is answered to GET, or to POST where there is a body. Raises Unanswered."""
    try:
        async with asyncio.timeout(timeout_s):
            answer = await _exchange(server, path, body)
    except TimeoutError:
        raise Unanswered(f"no answer within {timeout_s:g} s") from None
    except (OSError, UnicodeError):
        # What cannot be the name of a host is not even looked for.
        raise Unanswered("cannot be reached") from None
    head, _, body = answer.partition(b"\r\n\r\n")
    line = head.split(maxsplit=2)
    is_http = len(line) > 1 and line[0] == b"HTTP/1.1" and line[1].isdigit()
    return Answer(int(line[1]), body) if is_http else Answer(0, b"")


async def _exchange(server: tuple[str, int], path: str, body: bytes | None) -> bytes:
    method = "GET" if body is None else "POST"
    body = body or b""
    head = (
        f"{method} {path} HTTP/1.1\r\nHost: gramme\r\nConnection: close\r\n"
        f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n"
    )
    reader, writer = await asyncio.open_connection(*server)
    try:
        writer.write(head.encode() + body)
        answer = bytearray()
        while len(answer) < ANSWER_BYTES_MAX and (piece := await reader.read(ANSWER_BYTES_MAX)):
            answer += piece
        return bytes(answer)
    finally:
        writer.close()
