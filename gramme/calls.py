"""Requests over a link that wait for their answers: what a router has with each node, and a node with each other one.

Requests of one turn of the loop leave in one frame, and what comes while a frame is being written in the next. A request
whose answer does not come in time, or whose link breaks, has an unknown outcome; one that could not be sent was not done.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

from gramme.codec.frame import OPERATIONS_MAX, Answer, Request
from gramme.commands import Command
from gramme.errors import OutcomeUnknown, Unavailable

# How often those that wait are looked at; their deadlines are no more exact than this.
SWEEP_S = 0.25
# Requests that may wait for one node's answers.
WAITING_MAX = 50_000


class Calls:
    """`changed` is called when there is something to take; whoever owns the link then calls `take`, soon."""

    def __init__(self, changed: Callable[[], None], timeout_s: float) -> None:
        self._changed = changed
        self._timeout_s = timeout_s
        self._number = 0
        self._unsent: list[Request] = []
        # In the order they were asked, and so of their deadlines.
        self._waiting: dict[int, tuple[asyncio.Future[Any], float]] = {}
        self._sweeping = False

    def ask(
        self, group: int, epoch: int, strong: bool, command: Command, id: bytes = b""
    ) -> asyncio.Future[Any]:
        """Raises Unavailable if too many wait already."""
        if len(self._waiting) >= WAITING_MAX:
            raise Unavailable("too many requests wait for this node")
        number = self.next_number()
        self._unsent.append(Request(number, group, epoch, strong, command, id))
        if len(self._unsent) == 1:
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

    def take(self) -> list[Request]:
        """The requests to be sent now, as many as fit into a frame."""
        taken = self._unsent[:OPERATIONS_MAX]
        self._unsent = self._unsent[OPERATIONS_MAX:]
        return taken

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
        for number, (_, deadline) in list(self._waiting.items()):
            if deadline > now:
                break
            self.settle(number, OutcomeUnknown("no answer came in time"))
        if self._waiting:
            self._sweeping = True
            loop.call_later(SWEEP_S, self._sweep)
