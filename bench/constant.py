"""The floor under every answer: parse a whole HTTP request, answer constant bytes.

What this handler costs is what Python, uvloop and httptools cost before any database has happened.
GetItem is measured against it. It answers as a GetItem of 1 KB does, with the same headers.
"""

import argparse
import asyncio
from typing import cast

import httptools
import uvloop

from bench.workloads import item_text

BODY = b'{"Item":' + item_text(0, 1000).encode("ascii") + b"}"
ANSWER = (
    b"HTTP/1.1 200 OK\r\n"
    b"Content-Type: application/x-amz-json-1.0\r\n"
    b"x-amzn-RequestId: VFQ0A5S7Q8X3JYB8BC2Q1B2G2NVV4KQNSO5AEMVJF66Q9ASUAAJG\r\n"
    b"x-amz-crc32: 2745614147\r\n"
    b"Date: Thu, 01 Jan 2026 00:00:00 GMT\r\n"
    b"Content-Length: " + str(len(BODY)).encode("ascii") + b"\r\n\r\n" + BODY
)


class ConstantHandler(asyncio.Protocol):
    """Keeps every header and the body, as a server must, and looks at none of them."""

    def __init__(self) -> None:
        self._transport: asyncio.WriteTransport | None = None
        self._parser = httptools.HttpRequestParser(self)
        self._url = b""
        self._headers: dict[bytes, bytes] = {}
        self._body = b""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        # uvloop's transports do not inherit from asyncio's.
        self._transport = cast(asyncio.WriteTransport, transport)

    def data_received(self, data: bytes) -> None:
        self._parser.feed_data(data)

    def on_message_begin(self) -> None:
        self._headers = {}
        self._body = b""

    def on_url(self, url: bytes) -> None:
        self._url = url

    def on_header(self, name: bytes, value: bytes) -> None:
        self._headers[name.lower()] = value

    def on_body(self, body: bytes) -> None:
        self._body += body

    def on_message_complete(self) -> None:
        assert self._transport is not None
        self._transport.write(ANSWER)


async def serve(port: int) -> None:
    loop = asyncio.get_running_loop()
    server = await loop.create_server(ConstantHandler, "127.0.0.1", port)
    async with server:
        await server.serve_forever()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--port", type=int, required=True)
    uvloop.run(serve(parser.parse_args().port))


if __name__ == "__main__":
    main()
