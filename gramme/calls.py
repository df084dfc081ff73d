"""Requests over a link that wait for their answers: what a router has with each node, and a node with each other one.

Requests of one turn of the loop leave in one frame, and what comes while a frame is being written in the next. A request
whose answer does not come in time, or whose link breaks, has an unknown outcome; one that could not be sent was not done.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable
from itertools import islice, takewhile
from typing import Any

from gramme.codec.frame import (
    FRAME_BYTES,
    OPERATION_BYTES_MAX,
    OPERATIONS_MAX,
    Answer,
    Request,
    encode_operation,
    frame_of,
)
from gramme.commands import Command, Found, Page
from gramme.errors import InternalServerError, OutcomeUnknown, Throttling, Unavailable

# How often those that wait are looked at; their deadlines are no more exact than this.
SWEEP_S = 0.25
# Requests of a turn of the loop that do not wait for its end: a turn that takes in a hundred requests takes long, and
# the other end could be working meanwhile. So many make the cost of their frame small.
SLICE_REQUESTS = 16
# Requests that may wait for one node's answers.
WAITING_MAX = 50_000
# Answers that may wait for one process to read them. Beyond it reads are refused, and beyond twice as much the link ends.
ANSWERS_BYTES_MAX = 64 << 20

_TOO_MUCH = "Too many answers wait to be read. Try again later."


class Calls:
    """`changed` is called when there is something to take; whoever owns the link then calls `take`, soon.

    `urge` is called when there is so much that it had better be sent now, if it can.
    """

    def __init__(
        self, changed: Callable[[], None], urge: Callable[[], None], timeout_s: float
    ) -> None:
        self._changed = changed
        self._urge = urge
        self._timeout_s = timeout_s
        self._number = 0
        self._unsent: list[Request] = []
        # In the order they were asked, and so of their deadlines.
        self._waiting: dict[int, tuple[asyncio.Future[Any], float]] = {}
        self._sweeping = False

    def ask(
        self,
        group: int,
        epoch: int,
        strong: bool,
        command: Command,
        id: bytes = b"",
        term: int = 0,
        *,
        first: bool = False,
    ) -> asyncio.Future[Any]:
        """Raises Unavailable if too many wait already."""
        if len(self._waiting) >= WAITING_MAX:
            raise Unavailable("too many requests wait for this node")
        number = self.next_number()
        self._unsent.append(Request(number, group, epoch, strong, command, id, term, first))
        if not len(self._unsent) % SLICE_REQUESTS:
            self._urge()
        elif len(self._unsent) == 1:
            self._changed()
        return self.wait_for(number)

    def next_number(self) -> int:
        self._number += 1
        return self._number

    def wait_for(self, number: int) -> asyncio.Future[Any]:
        """What the request of this number comes to."""
        loop = asyncio.get_running_loop()
        answered: asyncio.Future[Any] = loop.create_future()
        self._waiting[number] = answered, loop.time() + self._timeout_s
        if not self._sweeping:
            self._sweeping = True
            loop.call_later(SWEEP_S, self._sweep)
        return answered

    @property
    def has_unsent(self) -> bool:
        return bool(self._unsent)

    @property
    def waited_for(self) -> bool:
        """Whether any answer is still to come."""
        return bool(self._waiting)

    def take(self) -> tuple[list[Request], bytes]:
        """The requests to be sent now, as many as a frame should hold, and that frame. Empty if there are none."""
        elements: list[bytes] = []
        refused: list[Request] = []
        size = 0
        for request in islice(self._unsent, OPERATIONS_MAX):
            element = encode_operation(request)
            size += len(element)
            if size > FRAME_BYTES and (elements or refused):
                break
            if len(element) > OPERATION_BYTES_MAX:
                refused.append(request)
                break
            elements.append(element)
        count = len(elements)
        taken, self._unsent = self._unsent[:count], self._unsent[count + len(refused) :]
        self.unsent(refused, InternalServerError())
        return taken, frame_of(elements) if elements else b""

    def unsent(self, requests: list[Request], error: Exception) -> None:
        """These were taken and could not be sent."""
        for request in requests:
            self.settle(request.number, error)

    def answered(self, answers: list[Answer]) -> None:
        for answer in answers:
            self.settle(answer.number, answer.result if answer.error is None else answer.error)

    def settle(self, number: int, outcome: object) -> None:
        waiting = self._waiting.pop(number, None)
        # Nobody waits for what came too late.
        if waiting is not None and not waiting[0].done():
            if isinstance(outcome, Exception):
                waiting[0].set_exception(outcome)
            else:
                waiting[0].set_result(outcome)

    def broken(self, reason: str) -> None:
        """The link broke: what was sent may have been done."""
        unsent, self._unsent = self._unsent, []
        self.unsent(unsent, Unavailable(reason))
        for number in list(self._waiting):
            self.settle(number, OutcomeUnknown(reason))

    def _sweep(self) -> None:
        self._sweeping = False
        loop = asyncio.get_running_loop()
        now = loop.time()
        late = takewhile(lambda waiting: waiting[1][1] <= now, self._waiting.items())
        numbers = [number for number, _ in late]
        if numbers:
            # A link that takes nothing must not be left with all that was ever asked.
            unsent = [request for request in self._unsent if request.number <= numbers[-1]]
            self._unsent = self._unsent[len(unsent) :]
            self.unsent(unsent, Unavailable("the node takes nothing"))
        for number in numbers:
            self.settle(number, OutcomeUnknown("no answer came in time"))
        if self._waiting:
            self._sweeping = True
            loop.call_later(SWEEP_S, self._sweep)


class Answers:
    """The other side of `Calls`: answers that wait to be sent over one link, in the order in which they came."""

    def __init__(self) -> None:
        self._elements: deque[bytes] = deque()
        self.size_bytes = 0

    def __bool__(self) -> bool:
        return bool(self._elements)

    @property
    def overfull(self) -> bool:
        """Whether the other end reads so little that there is no point in going on."""
        return self.size_bytes > 2 * ANSWERS_BYTES_MAX

    def add(self, answer: Answer) -> None:
        element = encode_operation(answer)
        full = self.size_bytes + len(element) > ANSWERS_BYTES_MAX
        if full and isinstance(answer.result, (Found, Page)):
            # What was only read can be read again. What was done must be said.
            element = encode_operation(Answer(answer.number, None, Throttling(_TOO_MUCH)))
        elif len(element) > OPERATION_BYTES_MAX:
            element = encode_operation(Answer(answer.number, None, InternalServerError()))
        self._elements.append(element)
        self.size_bytes += len(element)

    def take(self) -> bytes:
        """A frame of as many as it should hold; nothing if there are none."""
        elements: list[bytes] = []
        size = 0
        while self._elements and len(elements) < OPERATIONS_MAX:
            size += len(self._elements[0])
            if elements and size > FRAME_BYTES:
                break
            elements.append(self._elements.popleft())
        self.size_bytes -= sum(map(len, elements))
        return frame_of(elements) if elements else b""
