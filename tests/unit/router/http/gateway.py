"""A running gateway with made-up operations, and a client that speaks to it in raw bytes."""

from __future__ import annotations

import asyncio
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from types import TracebackType
from typing import Any, Self, cast

import orjson
import uvloop

from gramme.clock import Clock, SystemClock
from gramme.errors import ConditionalCheckFailed, Throttling
from gramme.router.catalog import Catalog
from gramme.router.http.dispatch import Dispatcher
from gramme.router.http.extensions.all import EXTENSIONS
from gramme.router.http.extensions.extension import Extension
from gramme.router.http.limits import Limits
from gramme.router.http.server import HttpServer
from gramme.router.nodes import Nodes
from gramme.router.operations.context import Caller, Context, Operation

# Longer than anything takes: a test that waits so long has failed.
PATIENCE_SECONDS = 5.0

AUTHORIZATION = (
    b"AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/20260101/eu-north-1/dynamodb/aws4_request, "
    b"SignedHeaders=host;x-amz-date, Signature=" + b"0" * 64
)


async def echo(context: Context, caller: Caller, request: dict[str, Any]) -> bytes:
    return orjson.dumps({"caller": list(caller), "request": request})


async def fail(context: Context, caller: Caller, request: dict[str, Any]) -> bytes:
    raise Throttling('too much of "everything"\n')


async def miss(context: Context, caller: Caller, request: dict[str, Any]) -> bytes:
    raise ConditionalCheckFailed(b'{"id":{"S":"a"}}')


async def break_down(context: Context, caller: Caller, request: dict[str, Any]) -> bytes:
    raise KeyError("secret detail")


async def answer_nonsense(context: Context, caller: Caller, request: dict[str, Any]) -> bytes:
    """Answer what no operation may answer, and not even at once."""
    await asyncio.sleep(0)
    return cast(bytes, {"not": "bytes"})


async def grow(context: Context, caller: Caller, request: dict[str, Any]) -> bytes:
    """Answer with as many bytes as asked for."""
    size_bytes: int = request["Bytes"]
    return b'"' + b"x" * (size_bytes - 2) + b'"'


async def say_nothing(context: Context, caller: Caller, request: dict[str, Any]) -> bytes:
    return b""


async def repeat(context: Context, request: Any) -> dict[str, object]:
    return {"request": request}


async def break_extension(context: Context, request: Any) -> dict[str, object]:
    raise KeyError("secret detail")


class Holding:
    """Operations that wait: Hold until Release lets everything go, Turn for one turn of the loop."""

    def __init__(self) -> None:
        self.held: list[asyncio.Future[None]] = []

    async def hold(self, context: Context, caller: Caller, request: dict[str, Any]) -> bytes:
        future = asyncio.get_running_loop().create_future()
        self.held.append(future)
        await future
        return orjson.dumps(request)

    async def release(self, context: Context, caller: Caller, request: dict[str, Any]) -> bytes:
        held, self.held = self.held, []
        for future in held:
            future.set_result(None)
        return b"%d" % len(held)

    async def turn(self, context: Context, caller: Caller, request: dict[str, Any]) -> bytes:
        await asyncio.sleep(0)
        return orjson.dumps(request)


class Gateway:
    """A server on a thread of its own."""

    def __init__(self, limits: Limits, clock: Clock | None = None) -> None:
        self.holding = Holding()
        self.operations: dict[str, Operation] = {
            "Echo": echo,
            "Fail": fail,
            "Miss": miss,
            "Break": break_down,
            "AnswerNonsense": answer_nonsense,
            "Grow": grow,
            "SayNothing": say_nothing,
            "ListStreams": echo,
            "Hold": self.holding.hold,
            "Release": self.holding.release,
            "Turn": self.holding.turn,
        }
        extensions: dict[str, Extension] = {
            **EXTENSIONS,
            "broken": {"GET": break_extension},
            "repeat": {"GET": repeat, "PUT": repeat},
        }
        no_catalog, no_nodes = cast(Catalog, None), cast(Nodes, None)
        context = Context(no_catalog, no_nodes, clock or SystemClock(), 1)
        dispatcher = Dispatcher(context, self.operations, extensions, limits.body_bytes_max)
        self.server = HttpServer(dispatcher, limits)
        self.port = 0
        self._loop = uvloop.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever)

    def start(self) -> None:
        self._thread.start()
        self.call(self.server.start("127.0.0.1", 0))
        self.port = self.server.port

    def call(self, coroutine: Any) -> Any:
        """Run a coroutine on the server's loop and wait for it."""
        future = asyncio.run_coroutine_threadsafe(coroutine, self._loop)
        return future.result(PATIENCE_SECONDS)

    def stop(self) -> None:
        self.call(self.server.stop(0.0))
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(PATIENCE_SECONDS)
        self._loop.close()

    def connect(self) -> Client:
        return Client(self.port)


@contextmanager
def running(limits: Limits | None = None, clock: Clock | None = None) -> Iterator[Gateway]:
    gateway = Gateway(limits or Limits(), clock)
    gateway.start()
    try:
        yield gateway
    finally:
        gateway.stop()


@dataclass(frozen=True, slots=True)
class Answer:
    status: int
    headers: dict[str, str]
    body: bytes

    def json(self) -> Any:
        return orjson.loads(self.body)


class Client:
    def __init__(self, port: int) -> None:
        self.socket = socket.create_connection(("127.0.0.1", port), PATIENCE_SECONDS)
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._file = self.socket.makefile("rb")

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        self._file.close()
        self.socket.close()

    def send(self, data: bytes) -> None:
        self.socket.sendall(data)

    def answer(self, with_body: bool = True) -> Answer:
        """Read one answer."""
        line = self._file.readline()
        assert line.startswith(b"HTTP/1.1 "), line
        headers: dict[str, str] = {}
        while (header := self._file.readline()) != b"\r\n":
            name, _, value = header.decode("latin-1").partition(":")
            assert name.lower() not in headers, header
            headers[name.lower()] = value.strip()
        length = int(headers.get("content-length", "0")) if with_body else 0
        return Answer(int(line.split()[1]), headers, self._file.read(length))

    def ask(self, data: bytes) -> Answer:
        self.send(data)
        return self.answer()

    def is_closed_by_server(self) -> bool:
        """Wait for the end of the connection; False if something else comes first."""
        try:
            return self._file.read(1) == b""
        except ConnectionResetError:
            return True

    def rest(self) -> bytes:
        """Everything up to the end of the connection."""
        return self._file.read()


def a_request(
    operation: str = "Echo",
    body: bytes = b"{}",
    *,
    head: bytes = b"POST / HTTP/1.1",
    **headers: Any,
) -> bytes:
    """A good request, whose headers may be changed, added, or taken away by None."""
    lines: dict[str, bytes | None] = {
        "Host": b"localhost:8000",
        "X-Amz-Target": b"DynamoDB_20120810." + operation.encode(),
        "X-Amz-Date": b"20260101T000000Z",
        "Content-Type": b"application/x-amz-json-1.0",
        "Authorization": AUTHORIZATION,
        "Content-Length": b"%d" % len(body),
    }
    lines.update({name.replace("_", "-"): value for name, value in headers.items()})
    return b"%b\r\n%b\r\n%b" % (
        head,
        b"".join(
            b"%b: %b\r\n" % (name.encode(), value)
            for name, value in lines.items()
            if value is not None
        ),
        body,
    )


def chunked(*chunks: bytes) -> bytes:
    return b"".join(b"%x\r\n%b\r\n" % (len(chunk), chunk) for chunk in (*chunks, b""))
