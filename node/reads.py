"""Strong reads of a group, in rounds: each asks once whether this replica still leads, for all reads that ride in it."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable

# Rounds that may be under way: with more than one, none waits for a whole round trip before its own begins.
READ_ROUNDS_MAX = 2


class Reads:
    """The reads of one group that wait until their leader knows that it still led when they came.

    Those that come while a round of reads is on its way share the next one, so that rounds grow with the load.
    """

    def __init__(self, begin: Callable[[int], None]) -> None:
        self._begin = begin
        self._context = 0
        self._gathering: asyncio.Future[None] | None = None
        self._asked: dict[int, asyncio.Future[None]] = {}
        # Confirmed, and to be answered when so much is applied.
        self._confirmed: deque[tuple[int, asyncio.Future[None]]] = deque()
        # How many rounds there were.
        self.rounds = 0

    async def join(self) -> None:
        if self._gathering is None:
            loop = asyncio.get_running_loop()
            self._gathering = loop.create_future()
            if len(self._asked) < READ_ROUNDS_MAX:
                # Not at once: others of this turn ride along.
                loop.call_soon(self._start)
        # Whoever is cancelled must not cancel the others.
        await asyncio.shield(self._gathering)

    def _start(self) -> None:
        gathered, self._gathering = self._gathering, None
        if gathered is None:
            return
        self._context += 1
        self.rounds += 1
        self._asked[self._context] = gathered
        self._begin(self._context)

    def confirmed(self, context: int, index: int) -> None:
        asked = self._asked.pop(context, None)
        if asked is not None:
            self._confirmed.append((index, asked))
        self._start()

    @property
    def has_confirmed(self) -> bool:
        return bool(self._confirmed)

    def applied(self, index: int) -> None:
        while self._confirmed and self._confirmed[0][0] <= index:
            self._confirmed.popleft()[1].set_result(None)

    def refused(self, context: int, error: Exception) -> None:
        asked = self._asked.pop(context, None)
        if asked is not None:
            _refuse(asked, error)
        self._start()

    def refuse_all(self, error: Exception) -> None:
        waiting = [*self._asked.values(), *(future for _, future in self._confirmed)]
        if self._gathering is not None:
            waiting.append(self._gathering)
        self._gathering = None
        self._asked.clear()
        self._confirmed.clear()
        for future in waiting:
            _refuse(future, error)


def _refuse(future: asyncio.Future[None], error: Exception) -> None:
    future.set_exception(error)
    # There may be nobody left who waits.
    future.exception()
