"""Ends of links that do not behave: what a stranger, a broken process or another release might do."""

from __future__ import annotations

import asyncio
import base64
import contextlib
from collections.abc import AsyncIterator

from grpc import aio

from gramme.links.metadata import Pairs, introduction
from gramme.links.services import PEER
from tests.support.link_ends import SECRET, A

PATH = f"/{PEER.name}/{PEER.method}"
OURS = introduction(A, SECRET.secret)
# Larger than any frame of ours.
MESSAGE_BYTES_MAX = 1 << 26

Call = aio.StreamStreamCall[bytes, bytes]


@contextlib.asynccontextmanager
async def calling(address: str, metadata: Pairs = OURS) -> AsyncIterator[Call]:
    """A call that is made by hand: it reads and writes what and when the test wants."""
    options = [
        ("grpc.use_local_subchannel_pool", 1),
        ("grpc.max_send_message_length", MESSAGE_BYTES_MAX),
    ]
    async with aio.insecure_channel(address, options) as channel:
        call: Call = channel.stream_stream(PATH)(metadata=metadata)
        yield call
        call.cancel()


class Socket:
    """Bytes on a connection, without gRPC."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.reader = reader
        self.writer = writer

    async def is_closed_by_the_other_end(self) -> None:
        with contextlib.suppress(OSError):
            while await self.reader.read(65536):
                pass


@contextlib.asynccontextmanager
async def connecting(address: str) -> AsyncIterator[Socket]:
    host, _, port = address.rpartition(":")
    reader, writer = await asyncio.open_connection(host, int(port))
    try:
        yield Socket(reader, writer)
    finally:
        writer.close()
        with contextlib.suppress(OSError):
            await writer.wait_closed()


def http2_call(metadata: Pairs) -> bytes:
    """What begins a call in HTTP/2: the preface, settings, and headers on stream 1, nothing compressed."""
    headers: Pairs = (
        (":method", "POST"),
        (":scheme", "http"),
        (":path", PATH),
        (":authority", "localhost"),
        ("te", "trailers"),
        ("content-type", "application/grpc"),
        *metadata,
    )
    block = b"".join(b"\x00" + _text(name) + _text(_shown(value)) for name, value in headers)
    end_of_headers = 0x4
    return (
        b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
        + http2_frame(4, 0, 0, b"")
        + http2_frame(1, end_of_headers, 1, block)
    )


def http2_frame(kind: int, flags: int, stream: int, content: bytes) -> bytes:
    return len(content).to_bytes(3) + bytes([kind, flags]) + stream.to_bytes(4) + content


def _shown(value: str | bytes) -> str:
    return value if isinstance(value, str) else base64.b64encode(value).decode().rstrip("=")


def _text(text: str) -> bytes:
    assert len(text) < 127
    return bytes([len(text)]) + text.encode()
