"""gRPC under the streams between clients and a router: its two ends, and nothing of what is said.

Unlike links, these wait: who writes more than the other end reads is held up, and so is who reads faster than it answers.
The other end may be anybody, so every stream, message and connection is bounded before a byte of it is looked at.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

import grpc
from grpc import aio

from gramme.links import channels
from gramme.links.api import NotYet, Refused
from gramme.links.failures import report
from gramme.links.limits import Limits
from gramme.links.listener import ListenRefused, address_of
from gramme.links.memory import keep_memory
from gramme.links.security import Certificate
from gramme.links.stream import GONE, Wire
from gramme.v1 import gateway_pb2

SERVICE = gateway_pb2.DESCRIPTOR.services_by_name["Gateway"].full_name
METHOD = "Exchange"

# An end whose call is over says so in either of these ways.
_OVER = (asyncio.InvalidStateError, aio.UsageError, aio.InternalError, aio.BaseError)


class Broken(Exception):
    """The stream is over; the message says why, as far as this end can know."""


class Messages:
    """One end of a stream, in messages."""

    def __init__(self, call: Wire) -> None:
        self._call = call

    async def read(self) -> bytes | None:
        """The next message; None when there will be no more. Raises Broken."""
        try:
            message: Any = await self._call.read()
        except aio.AioRpcError as error:
            raise Broken(error.details() or error.code().name) from error
        except _OVER as error:
            raise Broken(GONE) from error
        return message if isinstance(message, bytes) else None

    async def write(self, message: bytes) -> None:
        """Return when the other end has room for more. Raises Broken."""
        try:
            await self._call.write(message)
        except aio.AioRpcError as error:
            raise Broken(error.details() or error.code().name) from error
        except _OVER as error:
            raise Broken(GONE) from error


Serve = Callable[[Messages], Awaitable[None]]


class ClientListener:
    """Runs `serve` for each stream that a client opens; the stream is over when that returns, or raises Broken or Refused.

    There may be as many connections as streams: a client needs one of each.
    """

    def __init__(self, serve: Serve, limits: Limits, certificate: Certificate | None) -> None:
        keep_memory()
        self._serve = serve
        self._limits = limits
        self._certificate = certificate
        self._server: aio.Server | None = None
        self._streams = 0

    async def start(self, host: str, port: int) -> int:
        """Listen; the port, which matters if 0 was asked for. Raises ListenRefused."""
        server = channels.server(self._limits, connections_max=self._limits.streams_max)
        method: grpc.RpcMethodHandler[bytes, bytes] = grpc.stream_stream_rpc_method_handler(
            self._exchange
        )
        server.add_generic_rpc_handlers(
            [grpc.method_handlers_generic_handler(SERVICE, {METHOD: method})]
        )
        try:
            port = channels.bind_for_clients(server, address_of(host, port), self._certificate)
        except RuntimeError as error:
            raise ListenRefused(
                f"cannot listen on {host}:{port}: it is taken or not ours"
            ) from error
        await server.start()
        self._server = server
        return port

    async def stop(self, grace_s: float) -> None:
        """Take no more streams, and end those that are not over within the grace."""
        if self._server is not None:
            await self._server.stop(grace_s)

    async def _exchange(
        self, _requests: AsyncIterator[bytes], context: aio.ServicerContext[bytes, bytes]
    ) -> None:
        self._streams += 1
        code, reason = grpc.StatusCode.OK, ""
        try:
            if self._streams > self._limits.streams_max:
                raise NotYet("too many streams are open here")
            await self._serve(Messages(context))
        except Broken:
            return
        except Refused as refused:
            code, reason = grpc.StatusCode.INVALID_ARGUMENT, str(refused)
            if isinstance(refused, NotYet):
                code = grpc.StatusCode.UNAVAILABLE
        except Exception as error:  # noqa: BLE001 (handed to the loop)
            report("a client's stream", error)
            code, reason = grpc.StatusCode.INTERNAL, "a mistake of this end"
        finally:
            self._streams -= 1
        if code is not grpc.StatusCode.OK:
            await context.abort(code, reason)


@asynccontextmanager
async def dialled(
    address: str, authority: bytes | None, limits: Limits | None = None
) -> AsyncIterator[Messages]:
    """A stream to a router, on a connection of its own; `authority` signed the router's certificate, if it has one."""
    channel = channels.client_channel(address, authority, limits or Limits())
    try:
        call: aio.StreamStreamCall[bytes, bytes] = channel.stream_stream(f"/{SERVICE}/{METHOD}")()
        yield Messages(call)
    finally:
        await channel.close()
