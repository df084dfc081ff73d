"""What everybody waits for whose answer is in one round: a future of many waiters.

It differs from a plain future in two ways. A waiter that is cancelled does not cancel it, because others wait too. And
waiters that are not tasks are called one after the other in a few turns of the loop, instead of each having a turn of
its own: at thousands of writes a second the turns would cost as much as the writes.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextvars import Context
from typing import Any

# About a millisecond of answers.
CALLS_PER_TURN = 64


class Flushed(asyncio.Future[None]):
    """Done when a round is durable."""

    def __init__(self) -> None:
        super().__init__()
        self._waiting: list[Callable[[Any], object]] = []

    def cancel(self, msg: object = None) -> bool:
        return False

    def add_done_callback(
        self, fn: Callable[[Any], object], /, *, context: Context | None = None
    ) -> None:
        # A task's own callback comes with the task's context, and must run in a turn of its own.
        if context is None and not self.done():
            self._waiting.append(fn)
        else:
            super().add_done_callback(fn, context=context)

    def release(self) -> None:
        """The round is durable: let all answers go."""
        self.set_result(None)
        self._call_later()

    def fail(self, error: Exception) -> None:
        """Nothing was made durable, or nobody knows: let everybody who waits know of the error."""
        self.set_exception(error)
        # There may be nobody who waits.
        self.exception()
        self._call_later()

    def abandon(self) -> None:
        """Let go of everybody who waits: there will be no flush, and nothing can be said of the outcome."""
        super().cancel()
        self._call_later()

    def _call_later(self) -> None:
        if self._waiting:
            self.get_loop().call_soon(self._call)

    def _call(self) -> None:
        calls = self._waiting[:CALLS_PER_TURN]
        del self._waiting[:CALLS_PER_TURN]
        self._call_later()
        for call in calls:
            call(self)
