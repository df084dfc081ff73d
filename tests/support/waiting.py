"""Waiting for a condition, with a deadline: tests never sleep for a fixed time."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")

POLL_S = 0.005


class Overdue(AssertionError):
    """The condition did not come true in time."""


def until(condition: Callable[[], T | None], timeout_s: float, what: str) -> T:
    """Return the first true value of `condition`, or raise Overdue once `timeout_s` have passed."""
    deadline = time.monotonic() + timeout_s
    while True:
        value = condition()
        if value:
            return value
        if time.monotonic() > deadline:
            raise Overdue(f"not within {timeout_s:g} s: {what}")
        time.sleep(POLL_S)
