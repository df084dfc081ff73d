"""The end that listens: lets in who knows the cluster's secret, asks whether to accept, and carries frames.

Nothing of a stream is read before that. What ends one stream, be it garbage, too large a frame or a peer that stopped
reading, ends no other. A call about the process itself is let in by the same secret.
"""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator, Mapping

import grpc
from grpc import aio

from gramme.links import channels
from gramme.links.api import Accept, Answerer, Down, Events, Identity, NotYet, Refused
from gramme.links.failures import report
from gramme.links.limits import Limits
from gramme.links.memory import keep_memory
from gramme.links.metadata import Pairs, introduction, presented_identity, presented_secret
from gramme.links.security import Security
from gramme.links.services import ADMINISTRATION, Call, NotAFrame, Service
from gramme.links.stream import GONE, Over, Stream
from gramme.loopback import is_loopback

log = logging.getLogger(__name__)

Context = aio.ServicerContext[bytes, bytes]


class ListenRefused(Exception):
    """The listener cannot start; the message is one line for a person."""


class _TurnedAway(Exception):
    """A stream that is not let in."""

    def __init__(self, code: grpc.StatusCode, reason: str) -> None:
        super().__init__(reason)
        self.code = code
        self.reason = reason

    def note(self, what: str, peer: str) -> None:
        if self.code is not grpc.StatusCode.UNAVAILABLE:
            log.warning("refused %s from %s: %s", what, peer, self.reason)


class Listener:
    """Serves each of the services that `accept` has an answer for. Started once, closed once."""

    def __init__(
        self,
        identity: Identity,
        security: Security,
        accept: Mapping[Service, Accept],
        limits: Limits | None = None,
        answerers: Mapping[Call, Answerer] | None = None,
    ) -> None:
        keep_memory()
        # May become another one until somebody is let in.
        self.identity = identity
        self._security = security
        self._limits = limits or Limits()
        self._server: aio.Server | None = None
        self._accept = accept
        self._answerers = answerers or {}
        self._streams = 0

    async def start(self, host: str, port: int) -> int:
        """Listen; the port, which matters if 0 was asked for. Raises ListenRefused."""
        try:
            local = is_loopback(host)
        except OSError as error:
            raise ListenRefused(f"cannot listen on {host}:{port}: {error.strerror}") from error
        if self._security.secret is None and not local:
            raise ListenRefused(
                f"without the cluster's secret everybody who can reach {host or 'any address'} could do everything: "
                "give one, or listen on 127.0.0.1"
            )
        server = channels.server(self._limits)
        server.add_generic_rpc_handlers([self._handler(service) for service in self._accept])
        server.add_generic_rpc_handlers([self._administration()])
        try:
            bound = channels.bind(server, address_of(host, port), self._security.tls)
        except RuntimeError as error:
            raise ListenRefused(
                f"cannot listen on {host}:{port}: it is taken or not ours"
            ) from error
        await server.start()
        self._server = server
        return bound

    async def close(self) -> None:
        """End all streams and stop listening. Nothing is left running."""
        if self._server is not None:
            await self._server.stop(None)

    def _handler(self, service: Service) -> grpc.GenericRpcHandler:
        async def exchange(_requests: AsyncIterator[bytes], context: Context) -> None:
            await self._exchange(service, context)

        method: grpc.RpcMethodHandler[bytes, bytes] = grpc.stream_stream_rpc_method_handler(
            exchange
        )
        return grpc.method_handlers_generic_handler(service.name, {service.method: method})

    async def _exchange(self, service: Service, context: Context) -> None:
        link = Accepted()
        self._streams += 1
        try:
            try:
                peer = self._let_in(context)
                events = self._ask(service, link, peer)
            except _TurnedAway as turned_away:
                turned_away.note("a stream", context.peer())
                await context.abort(turned_away.code, turned_away.reason)
            stream = Stream(service, events, self._limits)
            await link.carry(context, introduction(self.identity), stream, events, peer)
        finally:
            self._streams -= 1

    def _administration(self) -> grpc.GenericRpcHandler:
        methods = {call.method: self._method(call, say) for call, say in self._answerers.items()}
        return grpc.method_handlers_generic_handler(ADMINISTRATION, methods)

    def _method(self, call: Call, say: Answerer) -> grpc.RpcMethodHandler[bytes, bytes]:
        async def answer(request: bytes, context: Context) -> bytes:
            try:
                peer = self._let_in(context)
                return await _answer(call, say, peer, request)
            except _TurnedAway as turned_away:
                turned_away.note("a call", context.peer())
                await context.abort(turned_away.code, turned_away.reason)

        method: grpc.RpcMethodHandler[bytes, bytes] = grpc.unary_unary_rpc_method_handler(answer)
        return method

    def _let_in(self, context: Context) -> Identity:
        metadata = context.invocation_metadata()
        pairs = None if metadata is None else list(metadata)
        secret = self._security.secret
        if secret is not None and not secret.equals(presented_secret(pairs)):
            raise _TurnedAway(
                grpc.StatusCode.UNAUTHENTICATED, "the cluster's secret is wrong or missing"
            )
        peer = presented_identity(pairs)
        if peer is None:
            raise _TurnedAway(grpc.StatusCode.FAILED_PRECONDITION, "it is not said who speaks")
        if self._streams > self._limits.streams_max:
            raise _TurnedAway(grpc.StatusCode.RESOURCE_EXHAUSTED, "too many streams are open here")
        return peer

    def _ask(self, service: Service, link: Accepted, peer: Identity) -> Events:
        try:
            return self._accept[service](link, peer)
        except Refused as refused:
            raise _TurnedAway(_code(refused), str(refused)) from refused


async def _answer(call: Call, say: Answerer, peer: Identity, request: bytes) -> bytes:
    try:
        answer = await say(peer, call.decode_request(request))
        return call.response(content=answer).SerializeToString()
    except NotAFrame as error:
        raise _TurnedAway(grpc.StatusCode.INVALID_ARGUMENT, "that is no request") from error
    except Refused as refused:
        raise _TurnedAway(_code(refused), str(refused)) from refused
    except Exception as error:
        report("a call", error)
        raise _TurnedAway(grpc.StatusCode.INTERNAL, "a mistake of this end") from error


def _code(refused: Refused) -> grpc.StatusCode:
    if isinstance(refused, NotYet):
        return grpc.StatusCode.UNAVAILABLE
    return grpc.StatusCode.FAILED_PRECONDITION


class Accepted:
    """A link that another process dialled. It is not up before its owner is told so, and over when it is down.

    gRPC ends a call from here only after what was written before. So the call to a peer that lives and does not read
    counts as a stream, and holds one frame, until that peer or the listener goes; its owner is rid of it at once.
    """

    def __init__(self) -> None:
        self._stream: Stream | None = None
        self._closed: str | None = None

    @property
    def up(self) -> bool:
        return self._stream is not None

    @property
    def idle(self) -> bool:
        return self._stream is not None and not self._stream.queued_frames

    @property
    def queued_bytes(self) -> int:
        return 0 if self._stream is None else self._stream.queued_bytes

    def send(self, frame: bytes) -> bool:
        return self._stream is not None and self._stream.send(frame)

    def reset(self, reason: str) -> None:
        if self._stream is not None:
            self._stream.close(reason)

    def close(self, reason: str = "") -> None:
        self._closed = reason
        if self._stream is not None:
            self._stream.close(reason)
            self._stream = None

    async def carry(
        self, context: Context, welcome: Pairs, stream: Stream, events: Events, peer: Identity
    ) -> None:
        """Say welcome, and carry frames until the link is over. Its owner hears of that even if it never was up."""
        code = grpc.StatusCode.ABORTED
        if self._closed is not None:
            await context.abort(code, self._closed)
        down = Down(GONE)
        try:
            await context.send_initial_metadata(welcome)
            self._stream = stream
            events.on_up(peer)
            await stream.carry(context)
        except Over as over:
            down = Down(over.reason)
            if not over.ours:
                code = grpc.StatusCode.OK
        except aio.BaseError:
            # The call ended before it was welcome.
            code = grpc.StatusCode.OK
        except Exception as error:  # noqa: BLE001 (handed to the loop)
            report("a link that was accepted", error)
            down = Down("a mistake of this end")
        finally:
            self._stream = None
            if self._closed is None:
                self._tell(events, Down(down.reason, dropped=stream.queued_frames))
        if code is not grpc.StatusCode.OK:
            await context.abort(code, down.reason)

    def _tell(self, events: Events, down: Down) -> None:
        try:
            events.on_down(down)
        except Exception as error:  # noqa: BLE001 (handed to the loop; gRPC would only write it down)
            report("a link that was accepted", error)


def address_of(host: str, port: int) -> str:
    """Where gRPC is to listen."""
    if not host:
        return f"[::]:{port}"
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
