"""Time, passed in. No module but this one reads the system's clock."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from threading import Lock
from typing import Protocol

# The end of the year 9999, the last one that is written with four digits.
LATEST_MS = 253_402_300_799_999
# A virtual clock is moved from any thread, so it is looked at by those who wait for it: none of them could be woken.
POLL_S = 0.01
# The system's clock may be set, and while a machine is suspended its timers stand still.
LOOK_AGAIN_S = 10.0

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


class Clock(Protocol):
    def now_ms(self) -> int:
        """Milliseconds since the epoch."""
        ...

    async def wait_until(self, at_ms: int) -> None:
        """Return when it is `at_ms` by this clock, or later."""
        ...


class SystemClock:
    def now_ms(self) -> int:
        return time.time_ns() // 1_000_000

    async def wait_until(self, at_ms: int) -> None:
        while (left_ms := at_ms - self.now_ms()) > 0:
            await asyncio.sleep(min(left_ms / 1000, LOOK_AGAIN_S))


class CannotMove(ValueError):
    """A clock was told to go where it does not go."""


class VirtualClock:
    """A clock that stands still until it is moved, by any thread, and moves forward only.

    `keep` is given every new time before anybody sees it.
    """

    def __init__(self, now_ms: int, keep: Callable[[int], None] = lambda now_ms: None) -> None:
        self._now_ms = now_ms
        self._keep = keep
        self._moving = Lock()

    def now_ms(self) -> int:
        return self._now_ms

    async def wait_until(self, at_ms: int) -> None:
        while self._now_ms < at_ms:
            await asyncio.sleep(POLL_S)

    def advance(self, by_ms: int) -> None:
        """Raises CannotMove."""
        with self._moving:
            self._move(self._now_ms + by_ms)

    def move_to(self, at_ms: int) -> None:
        """Raises CannotMove."""
        with self._moving:
            self._move(at_ms)

    def _move(self, at_ms: int) -> None:
        if at_ms < self._now_ms:
            raise CannotMove(f"time moves forward only, and it is {iso_of(self._now_ms)}")
        if at_ms > LATEST_MS:
            raise CannotMove(f"time ends at {iso_of(LATEST_MS)}")
        self._keep(at_ms)
        self._now_ms = at_ms


def iso_of(at_ms: int) -> str:
    """A time as people read it, in UTC."""
    at = _EPOCH + timedelta(milliseconds=at_ms)
    return at.isoformat(timespec="milliseconds").replace("+00:00", "Z")
