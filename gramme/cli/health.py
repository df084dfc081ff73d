"""Whether one process serves: what watches over processes wants to know, and nothing more.

A router and a server by itself listen only once they can answer, so it is enough that they do. A node answers as soon as it
runs, and serves when it has its copy of the tables and knows who leads: that is as much as one node can tell.
"""

from __future__ import annotations

import asyncio
from urllib.parse import urlsplit

from gramme.cli.status import META_GROUP
from gramme.codec.status import NodeStatus
from gramme.start import StartRefused

# Of an answer that is a line long.
ANSWER_BYTES_MAX = 4096
HTTP_PORT = 80


def fault_of(status: NodeStatus | str) -> str:
    """Pure: why a node that says this of itself, or says nothing for this reason, does not serve; empty if it does."""
    if isinstance(status, str):
        return status
    meta = next((one for one in status.replicas if one.group == META_GROUP), None)
    if meta is None:
        return "it is being given its copy of the tables"
    return "" if meta.leader else "it knows of no leader"


async def ask_over_http(url: str, timeout_s: float) -> str:
    """Why nothing of Gramme serves there; empty if something does. Raises StartRefused."""
    host, port = _host_and_port(url)
    try:
        async with asyncio.timeout(timeout_s):
            answer = await _get(host, port)
    except TimeoutError:
        return f"no answer within {timeout_s:g} s"
    except OSError:
        return "cannot be reached"
    head, _, body = answer.partition(b"\r\n\r\n")
    if head.startswith(b"HTTP/1.1 200 ") and body.startswith(b"healthy"):
        return ""
    return "what answers there is something else"


def _host_and_port(url: str) -> tuple[str, int]:
    try:
        parts = urlsplit(url)
        host, port = parts.hostname, parts.port
    except ValueError:
        host, port = None, None
    if not host or parts.scheme != "http" or parts.path not in ("", "/"):
        raise StartRefused(f"an address is HOST:PORT or http://HOST:PORT, not {url!r}")
    return host, port or HTTP_PORT


async def _get(host: str, port: int) -> bytes:
    reader, writer = await asyncio.open_connection(host, port)
    try:
        writer.write(b"GET / HTTP/1.1\r\nHost: gramme\r\nConnection: close\r\n\r\n")
        answer = bytearray()
        while len(answer) < ANSWER_BYTES_MAX and (piece := await reader.read(ANSWER_BYTES_MAX)):
            answer += piece
        return bytes(answer)
    finally:
        writer.close()
