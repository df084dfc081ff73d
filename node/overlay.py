"""What is proposed and not settled yet, by key, newest first: what no round has taken, and what the rounds under way have.

Without a log one round is under way at a time, and then this is two dictionaries that change places.
"""

from __future__ import annotations

from collections import deque
from itertools import islice
from typing import Generic, TypeVar

Value = TypeVar("Value")


class Overlay(Generic[Value]):
    """Rounds settle in the order in which they were taken."""

    __slots__ = ("_rounds", "proposed", "taken")

    def __init__(self) -> None:
        self.proposed: dict[bytes, Value] = {}
        # Of all rounds under way, the newest of each key. Never changed while it is a round's own.
        self.taken: dict[bytes, Value] = {}
        self._rounds: deque[dict[bytes, Value]] = deque()

    def get(self, key: bytes) -> Value | None:
        found = self.proposed.get(key)
        return self.taken.get(key) if found is None else found

    def take(self) -> None:
        """A round has taken what is proposed."""
        self._rounds.append(self.proposed)
        self.taken = self.taken | self.proposed if self.taken else self.proposed
        self.proposed = {}

    def settled(self) -> None:
        """The first round under way is settled."""
        rounds = self._rounds
        rounds.popleft()
        self.taken = rounds[0] if rounds else {}
        for later in islice(rounds, 1, None):
            self.taken = self.taken | later

    def clear(self) -> None:
        self.proposed, self.taken = {}, {}
        self._rounds.clear()
