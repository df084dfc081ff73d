"""The gRPC front for gramme.client: lets in who signs, as over HTTP, and gives each stream to a `Session`.

What is said on a stream is in proto/gramme/v1/gateway.proto.
"""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

from google.protobuf.message import DecodeError

from gramme.errors import GrammeError
from gramme.links.api import NotYet, Refused
from gramme.links.gateway import Broken, ClientListener, Messages
from gramme.links.limits import Limits
from gramme.links.listener import ListenRefused
from gramme.links.security import Certificate, SecurityRefused
from gramme.open_files import allowed
from gramme.router.gateway_session import Session, Terms, Usage
from gramme.router.http.auth import Authenticator
from gramme.router.http.exchange import Exchange
from gramme.router.http.names import HeaderNames
from gramme.router.http.verifier import Chain, Verifier
from gramme.router.operations.context import Caller, Context, Operation
from gramme.router.refusals import json_of
from gramme.signature import STREAM_TARGET
from gramme.start import StartRefused
from gramme.v1.gateway_pb2 import Answer, ClientFrame, Hello, RouterFrame, Welcome

CHALLENGE_BYTES = 32
# Session tokens are the longest thing in it, and are of some hundreds of bytes.
HELLO_BYTES_MAX = 16 * 1024
# From a stream's beginning to its hello: two lost packets and a busy process.
HELLO_SECONDS = 10.0
STOP_GRACE_S = 4.0


@dataclass(frozen=True, slots=True)
class _NoLine:
    """A hello is judged as a request, and not answered as one."""

    def answered(self) -> None: ...

    def is_local(self) -> bool:
        return False


class Gateway:
    """Serves `operations` on streams. Started once, stopped once."""

    def __init__(
        self,
        context: Context,
        operations: Mapping[str, Operation],
        verifier: Verifier | None,
        certificate: Certificate | None = None,
        terms: Terms | None = None,
    ) -> None:
        """Without `verifier` everybody may ask."""
        self._context = context
        self._operations = operations
        self._verifier = verifier
        self._everybody = Authenticator()
        self._terms = terms or Terms()
        self._usage = Usage()
        self._sessions: set[Session] = set()
        self._stopping = False
        streams_max = min(self._terms.streams_max, allowed().streams)
        limits = Limits(frame_bytes_max=self._terms.frame_bytes_max, streams_max=streams_max)
        self._listener = ClientListener(self._serve, limits, certificate)
        self.port = 0

    @property
    def streams(self) -> int:
        """How many clients are let in."""
        return len(self._sessions)

    async def start(self, host: str, port: int) -> None:
        """Listen. Port 0 is any free one, see `port`. Raises ListenRefused."""
        self.port = await self._listener.start(host, port)

    async def stop(self, grace_s: float) -> None:
        """Take no more requests, answer what has been asked, close; what takes longer than the grace is cut off."""
        self._stopping = True
        for session in self._sessions:
            session.retire()
        await self._listener.stop(grace_s)

    async def _serve(self, messages: Messages) -> None:
        challenge = secrets.token_bytes(CHALLENGE_BYTES)
        await messages.write(RouterFrame(challenge=challenge).SerializeToString())
        hello = await _hello_from(messages)
        try:
            caller, chain = self._let_in(hello, challenge)
        except GrammeError as error:
            refusal = Answer(status=error.status, body=json_of(error))
            await messages.write(RouterFrame(refusal=refusal).SerializeToString())
            return
        if self._stopping:
            raise NotYet("the router is stopping")
        terms = self._terms
        welcome = Welcome(requests_max=terms.requests_max, frame_bytes_max=terms.frame_bytes_max)
        await messages.write(RouterFrame(welcome=welcome).SerializeToString())
        session = Session(
            messages, self._context, self._operations, caller, chain, terms, self._usage
        )
        self._sessions.add(session)
        try:
            await session.run()
        finally:
            self._sessions.discard(session)

    def _let_in(self, hello: Hello, challenge: bytes) -> tuple[Caller, Chain | None]:
        """Raises what a request over HTTP is refused with, if its signature is not good."""
        headers = {b"x-amz-target": STREAM_TARGET}
        for name, value in (
            (b"host", hello.host),
            (b"x-amz-date", hello.date),
            (b"authorization", hello.authorization),
            (b"x-amz-security-token", hello.security_token),
        ):
            if value:
                headers[name] = value.encode()
        names = HeaderNames(tuple(headers))
        exchange = Exchange(_NoLine(), b"POST", b"/", names, headers, challenge)
        if self._verifier is None:
            return self._everybody.caller(exchange, b""), None
        return self._verifier.begin(exchange)


@asynccontextmanager
async def listening(gateway: Gateway, host: str, port: int) -> AsyncIterator[Gateway]:
    """Raises StartRefused."""
    try:
        await gateway.start(host, port)
    except ListenRefused as error:
        raise StartRefused(str(error)) from error
    try:
        yield gateway
    finally:
        await gateway.stop(STOP_GRACE_S)


def certificate_of(certificate: str, key: str) -> Certificate | None:
    """None if neither file is named. Raises StartRefused."""
    if not certificate and not key:
        return None
    if not certificate or not key:
        raise StartRefused("TLS for clients needs a certificate and its key")
    try:
        return Certificate.read(Path(certificate), Path(key))
    except SecurityRefused as error:
        raise StartRefused(str(error)) from error


async def _hello_from(messages: Messages) -> Hello:
    try:
        async with asyncio.timeout(HELLO_SECONDS):
            message = await messages.read()
    except TimeoutError:
        raise Refused(f"no hello came within {HELLO_SECONDS:g} s") from None
    if message is None:
        raise Broken("no hello came")
    try:
        frame = ClientFrame.FromString(message) if len(message) <= HELLO_BYTES_MAX else None
    except DecodeError:
        frame = None
    if frame is None or not frame.HasField("hello"):
        raise Refused("what came was no hello")
    return frame.hello
