"""A stream to a router that is opened again whenever it breaks, and the requests that wait for it or for their answers.

Requests of one turn of the loop leave in one message, and what is asked while that is being written in the next one. What
was not sent when a stream broke is sent over the next; of what was sent nobody knows, and whoever asked is told.
"""

from __future__ import annotations

import asyncio
from collections import deque
from contextlib import suppress
from random import Random

from google.protobuf.message import DecodeError

from gramme.client.errors import DeadlineExceeded, Disconnected, RequestTooLarge, error_of
from gramme.client.hello import Credentials, Signer, hello_for
from gramme.clock import Clock
from gramme.links.backoff import Backoff
from gramme.links.gateway import Broken, Messages, dialled
from gramme.links.limits import Limits
from gramme.v1.gateway_pb2 import (
    Answers,
    ClientFrame,
    Request,
    Requests,
    RouterFrame,
    Welcome,
)

# Deadlines are no more exact than this.
SWEEP_S = 0.05
# A message holds as much as this, or one larger request.
FRAME_BYTES = 1 << 20
# What a request adds to a message beside its name and body, and a little more.
REQUEST_BYTES = 64
# A router that owes an answer for so long after its deadline is given up on, and another stream is opened.
STUCK_S = 10.0

Reply = tuple[int, bytes]


class Lost(Exception):
    """A request was sent, and no answer will come."""


class Asked:
    """A request, until it is answered or given up."""

    __slots__ = ("answered", "body", "deadline", "number", "operation")

    def __init__(
        self,
        number: int,
        operation: str,
        body: bytes,
        deadline: float,
        answered: asyncio.Future[Reply],
    ) -> None:
        self.number = number
        self.operation = operation
        self.body = body
        # By the event loop's time.
        self.deadline = deadline
        self.answered = answered


class Connection:
    """`run` keeps the stream while there is something to send; `ask` may be called at any time."""

    def __init__(
        self,
        address: str,
        credentials: Credentials,
        authority: bytes | None,
        clock: Clock,
        random: Random,
        limits: Limits | None = None,
    ) -> None:
        self._address = address
        self._credentials = credentials
        self._authority = authority
        self._clock = clock
        self._limits = limits or Limits()
        self._backoff = Backoff(self._limits, random)
        self._number = 0
        self._unsent: deque[Asked] = deque()
        # Sent, by their numbers; those that were given up too, as the router still counts them.
        self._waiting: dict[int, Asked] = {}
        self._news = asyncio.Event()
        self._sweeping = False
        # Why there is no stream; empty while there is one.
        self._down = "not connected yet"
        self._stuck: asyncio.Future[None] | None = None
        self._closed = False

    def ask(self, operation: str, body: bytes, deadline: float) -> asyncio.Future[Reply]:
        """Ends with the answer, or with Lost, Disconnected, DeadlineExceeded, or what the router refuses this client with."""
        loop = asyncio.get_running_loop()
        answered: asyncio.Future[Reply] = loop.create_future()
        if self._closed:
            answered.set_exception(Disconnected("the client is closed"))
            return answered
        self._number += 1
        self._unsent.append(Asked(self._number, operation, body, deadline, answered))
        self._news.set()
        if not self._sweeping:
            self._sweeping = True
            loop.call_later(SWEEP_S, self._sweep)
        return answered

    async def run(self, up: asyncio.Future[None]) -> None:
        """Until cancelled. `up` is told how the first attempt went."""
        loop = asyncio.get_running_loop()
        try:
            while True:
                began = loop.time()
                error = await self._attempt(up)
                if not up.done():
                    up.set_exception(error)
                    return
                self._end_waiting(Lost(str(error)))
                if not isinstance(error, Disconnected):
                    # The router does not want this client, and asking for more would not change its mind.
                    self._end_unsent(error)
                await asyncio.sleep(self._backoff.after(loop.time() - began))
                while not self._unsent:
                    self._news.clear()
                    await self._news.wait()
        finally:
            self._closed = True
            self._end_waiting(Lost("the client was closed"))
            self._end_unsent(Disconnected("the client was closed"))

    # One stream

    async def _attempt(self, up: asyncio.Future[None]) -> Exception:
        """Open a stream, carry requests while it lasts, and say why it did not."""
        error: Exception
        try:
            async with dialled(self._address, self._authority, self._limits) as messages:
                async with asyncio.timeout(self._limits.connect_seconds):
                    welcome, signer = await self._greet(messages)
                self._down = ""
                if not up.done():
                    up.set_result(None)
                await self._carry(messages, welcome, signer)
            error = Disconnected("the stream is over")
        except TimeoutError:
            error = Disconnected(
                f"{self._address} did not answer within {self._limits.connect_seconds:g} s"
            )
        except Broken as broken:
            error = Disconnected(f"{self._address}: {broken}")
        except _Refused as refused:
            error = refused.error
        self._down = str(error)
        return error

    async def _greet(self, messages: Messages) -> tuple[Welcome, Signer]:
        challenge = (await _read(messages)).challenge
        if not challenge:
            raise Broken("who listens there is no gateway")
        hello, signer = hello_for(self._credentials, self._address, challenge, self._clock.now_ms())
        await messages.write(ClientFrame(hello=hello).SerializeToString())
        answer = await _read(messages)
        if not answer.HasField("welcome"):
            raise Broken("who listens there is no gateway")
        return answer.welcome, signer

    async def _carry(self, messages: Messages, welcome: Welcome, signer: Signer) -> None:
        loop = asyncio.get_running_loop()
        stuck = self._stuck = loop.create_future()
        tasks = [
            loop.create_task(self._receive(messages)),
            loop.create_task(self._send(messages, welcome, signer)),
        ]
        try:
            done, _ = await asyncio.wait([*tasks, stuck], return_when=asyncio.FIRST_COMPLETED)
            for task in done:
                task.result()
            raise Broken("the router does not answer")
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.wait(tasks)
            for task in tasks:
                if not task.cancelled():
                    task.exception()

    async def _receive(self, messages: Messages) -> None:
        while True:
            frame = await _read(messages)
            if not frame.HasField("answers"):
                raise Broken("what came was no frame of answers")
            self._settle(frame.answers)

    def _settle(self, answers: Answers) -> None:
        for answer in answers.answers:
            asked = self._waiting.pop(answer.number, None)
            if asked is not None and not asked.answered.done():
                asked.answered.set_result((answer.status, answer.body))
        if self._unsent:
            self._news.set()

    async def _send(self, messages: Messages, welcome: Welcome, signer: Signer) -> None:
        while True:
            requests = self._take(welcome)
            if not requests:
                self._news.clear()
                await self._news.wait()
                continue
            content = Requests(requests=requests).SerializeToString()
            frame = ClientFrame(requests=content, signature=signer.sign(content))
            await messages.write(frame.SerializeToString())

    def _take(self, welcome: Welcome) -> list[Request]:
        """What may be sent now, as much of it as a message should hold."""
        now = asyncio.get_running_loop().time()
        requests: list[Request] = []
        size = 0
        while self._unsent and len(self._waiting) < welcome.requests_max:
            asked = self._unsent[0]
            asked_bytes = len(asked.body) + REQUEST_BYTES
            if requests and size + asked_bytes > FRAME_BYTES:
                break
            self._unsent.popleft()
            if asked.answered.done():
                # Whoever asked has given up.
                continue
            if asked_bytes > welcome.frame_bytes_max:
                asked.answered.set_exception(RequestTooLarge("this router takes no such request"))
                continue
            size += asked_bytes
            self._waiting[asked.number] = asked
            requests.append(
                Request(
                    number=asked.number,
                    operation=asked.operation,
                    body=asked.body,
                    timeout_ms=max(1, round((asked.deadline - now) * 1000)),
                )
            )
            # A request is never sent twice, so its bytes need not wait for the answer.
            asked.body = b""
        return requests

    # Ends

    def _sweep(self) -> None:
        self._sweeping = False
        loop = asyncio.get_running_loop()
        now = loop.time()
        for asked in self._unsent:
            if asked.deadline <= now and not asked.answered.done():
                asked.answered.set_exception(self._too_late())
        while self._unsent and self._unsent[0].answered.done():
            self._unsent.popleft()
        for asked in self._waiting.values():
            if asked.deadline <= now and not asked.answered.done():
                asked.answered.set_exception(Lost("no answer came in time"))
            if asked.deadline + STUCK_S <= now and self._stuck is not None:
                with suppress(asyncio.InvalidStateError):
                    self._stuck.set_result(None)
        if self._unsent or self._waiting:
            self._sweeping = True
            loop.call_later(SWEEP_S, self._sweep)

    def _too_late(self) -> Exception:
        if self._down:
            return Disconnected(self._down)
        return DeadlineExceeded("the router took no more requests in time")

    def _end_waiting(self, error: Exception) -> None:
        for asked in self._waiting.values():
            if not asked.answered.done():
                asked.answered.set_exception(error)
        self._waiting.clear()

    def _end_unsent(self, error: Exception) -> None:
        for asked in self._unsent:
            if not asked.answered.done():
                asked.answered.set_exception(error)
        self._unsent.clear()


class _Refused(Exception):
    """The router does not want this client."""

    def __init__(self, error: Exception) -> None:
        super().__init__(str(error))
        self.error = error


async def _read(messages: Messages) -> RouterFrame:
    """Raises Broken and _Refused."""
    message = await messages.read()
    if message is None:
        raise Broken("the router has closed the stream")
    try:
        frame = RouterFrame.FromString(message)
    except DecodeError:
        raise Broken("what came was no frame") from None
    if frame.HasField("refusal"):
        raise _Refused(error_of(frame.refusal.status, frame.refusal.body))
    return frame
