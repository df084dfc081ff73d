"""One client's stream, once it is let in: requests to operations, and their answers back, many in a message each way.

One task reads and begins requests, one writes. A request counts from its beginning until its answer is written, and with too
many of them, or too many bytes of answers, nothing more is read: gRPC's window then fills and the client has to wait. So a
client that does not read its answers holds up itself and nobody else.
"""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

import orjson
from google.protobuf.message import DecodeError

from gramme.drive import drive
from gramme.errors import (
    GrammeError,
    InternalServerError,
    Serialization,
    Throttling,
    UnknownOperation,
    ValidationError,
)
from gramme.links.api import Refused
from gramme.links.gateway import Messages
from gramme.router.http.verifier import Chain
from gramme.router.operations.context import Caller, Context, Operation
from gramme.router.refusals import first_fault, json_of
from gramme.v1.gateway_pb2 import Answer, Answers, ClientFrame, Request, Requests, RouterFrame

log = logging.getLogger(__name__)

KIB = 1024
MIB = 1024 * 1024

# As over HTTP, whose answer to this has no words either.
TOO_LARGE_STATUS = 413
# What is begun in one go before others have their turn: a millisecond or two of work. Not by the clock, because answers leave
# together if they are there together, and on a busy machine short slices would make small messages of large ones for good.
SLICE_REQUESTS = 32
SLICE_BYTES = 64 * KIB
# What one answer adds to a message beside its body, and a little more.
ANSWER_BYTES = 32

_TOO_LATE = "The request waited for its turn for longer than its deadline. Try again later."
_STOPPING = "The router is stopping. Try another one, or again later."
_TOO_LARGE = "The answer is larger than a message may be. Ask for less at once, or over HTTP."
_TOO_BUSY = "Too many bytes of requests wait in this router. Try again later."


@dataclass(frozen=True, slots=True)
class Terms:
    """What clients may take of a gateway, and each of a stream: each number beside its reason."""

    # A process of an application needs one.
    streams_max: int = 1024
    # At 2 ms for each this is 128,000 a second, more than a router can do.
    requests_max: int = 256
    # A request of DynamoDB's largest size, and what stands beside it.
    frame_bytes_max: int = 17 * MIB
    body_bytes_max: int = 16 * MIB
    # Answers are cut into messages of this size, as long as they are not larger themselves.
    answer_frame_bytes: int = MIB
    # Answers that wait to be written. Those of requests that are running come on top.
    answers_bytes_max: int = 8 * MIB
    # Messages that wait for room in all streams together. Beyond it large ones are refused.
    held_bytes_max: int = 512 * MIB
    held_bytes_exempt: int = 64 * KIB
    # A client that reads none of its answers.
    write_seconds: float = 60.0


class Usage:
    """What all streams of one gateway hold together."""

    __slots__ = ("held_bytes",)

    def __init__(self) -> None:
        self.held_bytes = 0


class _Begun(NamedTuple):
    number: int
    operation: str
    body: bytes


class Session:
    def __init__(
        self,
        messages: Messages,
        context: Context,
        operations: Mapping[str, Operation],
        caller: Caller,
        chain: Chain | None,
        terms: Terms,
        usage: Usage,
    ) -> None:
        self._messages = messages
        self._context = context
        self._operations = operations
        self._caller = caller
        self._chain = chain
        self._terms = terms
        self._usage = usage
        self._answers: deque[Answer] = deque()
        self._answers_bytes = 0
        self._unanswered = 0
        # Either task waits for the other one by these.
        self._room = asyncio.Event()
        self._news = asyncio.Event()
        self._over = False
        self._retired = False
        self._refusal: Answer | None = None
        self._fault: Refused | None = None

    async def run(self) -> None:
        """Return when the client has no more to ask and has its answers. Raises Broken, and Refused for garbage."""
        reading = asyncio.get_running_loop().create_task(self._read())
        reading.add_done_callback(lambda _: self._news.set())
        try:
            await self._write(reading)
        finally:
            self._over = True
            reading.cancel()
            await asyncio.wait([reading])

    def retire(self) -> None:
        """Begin nothing more, and end when all that was begun is answered."""
        self._retired = True
        self._news.set()

    # Requests

    async def _read(self) -> None:
        while (message := await self._messages.read()) is not None:
            usage, size = self._usage, len(message)
            is_held = (
                size <= self._terms.held_bytes_exempt
                or usage.held_bytes + size <= self._terms.held_bytes_max
            )
            usage.held_bytes += size
            try:
                await self._begin_all(self._open(message), is_held)
            except Refused as fault:
                self._fault = fault
                return
            except GrammeError as error:
                self._refusal = Answer(status=error.status, body=json_of(error))
                return
            finally:
                usage.held_bytes -= size

    def _open(self, message: bytes) -> Requests:
        """Raises Refused, InvalidSignature and UnrecognizedClient."""
        try:
            frame = ClientFrame.FromString(message)
            if not frame.HasField("requests"):
                raise Refused("what came was no frame of requests")
            if self._chain is not None:
                self._chain.check(frame.requests, frame.signature)
            return Requests.FromString(frame.requests)
        except DecodeError:
            raise Refused("what came was no frame of requests") from None

    async def _begin_all(self, frame: Requests, is_held: bool) -> None:
        loop = asyncio.get_running_loop()
        came = loop.time()
        requests = size = 0
        for request in frame.requests:
            if requests >= SLICE_REQUESTS or size >= SLICE_BYTES:
                requests = size = 0
                await asyncio.sleep(0)
            requests += 1
            size += len(request.body)
            if not self._has_room():
                await self._until_room()
            self._unanswered += 1
            begun = _Begun(request.number, request.operation, request.body)
            refusal = self._refusal_of(request, came, loop.time()) if is_held else _TOO_BUSY
            if refusal:
                self._finish(begun, None, Throttling(refusal))
            else:
                self._begin(begun)

    def _refusal_of(self, request: Request, came: float, now: float) -> str:
        """Why a request is not begun; empty if it is."""
        if self._retired:
            return _STOPPING
        if request.timeout_ms and (now - came) * 1000 > request.timeout_ms:
            return _TOO_LATE
        return ""

    def _has_room(self) -> bool:
        terms = self._terms
        return (
            self._unanswered < terms.requests_max and self._answers_bytes < terms.answers_bytes_max
        )

    async def _until_room(self) -> None:
        while not self._has_room():
            self._room.clear()
            await self._room.wait()

    def _begin(self, begun: _Begun) -> None:
        """The checks come in the order in which they come over HTTP."""
        if len(begun.body) > self._terms.body_bytes_max:
            self._answer(begun.number, TOO_LARGE_STATUS, b"")
            return
        try:
            request = orjson.loads(begun.body) if begun.body else None
        except orjson.JSONDecodeError:
            self._finish(begun, None, Serialization())
            return
        operation = self._operations.get(begun.operation)
        if operation is None:
            self._finish(begun, None, UnknownOperation())
        elif type(request) is not dict:
            self._finish(begun, None, Serialization())
        else:
            drive(_run(operation, self._context, self._caller, request), self._finish, begun)

    # Answers

    def _finish(self, begun: _Begun, body: bytes | None, error: BaseException | None) -> None:
        if type(body) is bytes:
            self._answer(begun.number, 200, body)
            return
        if isinstance(error, GrammeError):
            fault = first_fault(begun.operation, begun.body, error)
        else:
            # The client is told nothing of it, the log everything.
            log.error("%r failed", begun.operation, exc_info=error)
            fault = InternalServerError()
        self._answer(begun.number, fault.status, json_of(fault))

    def _answer(self, number: int, status: int, body: bytes) -> None:
        if self._over:
            # Nobody is there to be told.
            return
        if len(body) + 2 * ANSWER_BYTES > self._terms.frame_bytes_max:
            # No error that asks to be tried again, and only reads can come to this.
            error = ValidationError(_TOO_LARGE)
            status, body = error.status, json_of(error)
        self._answers.append(Answer(number=number, status=status, body=body))
        self._answers_bytes += len(body) + ANSWER_BYTES
        self._news.set()

    async def _write(self, reading: asyncio.Task[None]) -> None:
        while True:
            if self._answers:
                await self._write_some()
                continue
            if self._fault is not None:
                raise self._fault
            if reading.done() and (error := _failure(reading)) is not None:
                raise error
            if (reading.done() or self._retired) and not self._unanswered:
                break
            self._news.clear()
            await self._news.wait()
        if self._refusal is not None:
            await self._send(RouterFrame(refusal=self._refusal))

    async def _write_some(self) -> None:
        answers, size = [self._answers.popleft()], 0
        size = len(answers[0].body) + ANSWER_BYTES
        while self._answers:
            more = len(self._answers[0].body) + ANSWER_BYTES
            if size + more > self._terms.answer_frame_bytes:
                break
            answers.append(self._answers.popleft())
            size += more
        await self._send(RouterFrame(answers=Answers(answers=answers)))
        self._unanswered -= len(answers)
        self._answers_bytes -= size
        self._room.set()

    async def _send(self, frame: RouterFrame) -> None:
        try:
            async with asyncio.timeout(self._terms.write_seconds):
                await self._messages.write(frame.SerializeToString())
        except TimeoutError:
            raise Refused("the client does not read its answers") from None


def _failure(task: asyncio.Task[None]) -> BaseException | None:
    return None if task.cancelled() else task.exception()


async def _run(
    operation: Operation, context: Context, caller: Caller, request: dict[str, object]
) -> bytes:
    return await operation(context, caller, request)
