"""An engine whose disk may fail: what is written shows at once, and is lost in a crash unless a flush had covered it.

Like RocksDB it has one journal for all families. A crash keeps what was flushed and any prefix of the writes after that,
each of them wholly or not at all. Time and chance come from outside, so a run can be repeated.

Nothing is ever copied as a whole but by a crash: a flush applies the writes it covers to the durable rows a second time.
"""

from __future__ import annotations

import asyncio
from bisect import bisect_left, insort
from collections import deque
from collections.abc import Awaitable, Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from random import Random

from gramme.node.engine.api import Family, Operation, Row, WriteStall
from gramme.node.engine.memory import TOTAL_BYTES

Image = dict[Family, dict[bytes, bytes]]
# The rows of one write, range deletes resolved: all of them happen, or none.
Batch = list[tuple[Family, bytes, bytes | None]]
Wait = Callable[[float], Awaitable[None]]


class DiskFailed(Exception):
    """A flush failed, and nobody knows what of it is durable."""


@dataclass(frozen=True, slots=True)
class Habits:
    """How long flushes take, and how probable it is for a write that the engine has no room for it."""

    flush_s: tuple[float, float] = (0.0003, 0.003)
    stall: float = 0.0


class SimulatedDisk:
    """`wait` lets virtual time pass; `on_write` is told of each write after it shows."""

    def __init__(
        self,
        random: Random,
        habits: Habits | None = None,
        image: Image | None = None,
        wait: Wait = asyncio.sleep,
    ) -> None:
        self.habits = habits or Habits()
        self.wait = wait
        self.on_write: Callable[[Batch], None] = lambda batch: None
        self.fails = False
        self.free_bytes = TOTAL_BYTES
        self.flushes = 0
        self.stalls = 0
        self._random = random
        self._durable: Image = image or {family: {} for family in Family}
        self._rows: Image = {family: dict(rows) for family, rows in self._durable.items()}
        self._keys = {family: sorted(rows) for family, rows in self._rows.items()}
        self._journal: deque[Batch] = deque()
        # How many writes have left the journal for the durable rows.
        self._made_durable = 0

    # The engine

    def get(self, family: Family, key: bytes) -> bytes | None:
        return self._rows[family].get(key)

    def scan(
        self, family: Family, lower: bytes, upper: bytes, *, forward: bool = True
    ) -> Iterator[tuple[bytes, bytes]]:
        found = self._between(family, lower, upper)
        rows = self._rows[family]
        return iter([(key, rows[key]) for key in (found if forward else reversed(found))])

    def write(self, operations: Iterable[Operation]) -> None:
        habits = self.habits
        if habits.stall and self._random.random() < habits.stall:
            self.stalls += 1
            raise WriteStall
        batch: Batch = []
        for operation in operations:
            if isinstance(operation, Row):
                self._set(operation.family, operation.key, operation.value)
                batch.append((operation.family, operation.key, operation.value))
            else:
                family = operation.family
                for key in self._between(family, operation.lower, operation.upper):
                    self._set(family, key, None)
                    batch.append((family, key, None))
        self._journal.append(batch)
        self.on_write(batch)

    async def flush(self) -> None:
        covered = self._made_durable + len(self._journal)
        self.flushes += 1
        await self.wait(self._random.uniform(*self.habits.flush_s))
        if self.fails:
            raise DiskFailed
        self._make_durable(covered - self._made_durable)

    async def tidy(self) -> None:
        """There is nothing to drop."""

    async def relieve(self) -> None:
        """There is nothing to give back."""

    def fit(self, spare_bytes: int) -> None:
        """There is no cache."""

    def space(self) -> tuple[int, int]:
        return self.free_bytes, TOTAL_BYTES

    def stalled(self) -> bool:
        return bool(self.habits.stall) and self._random.random() < self.habits.stall

    def close(self) -> None:
        """Nothing is open."""

    # What a test may know and do

    @property
    def unflushed(self) -> int:
        """How many writes a crash may lose."""
        return len(self._journal)

    def durable(self, family: Family, key: bytes) -> bytes | None:
        """What a crash that loses as much as it can would leave of this row."""
        return self._durable[family].get(key)

    def install(self, operations: Iterable[Operation]) -> None:
        """Write, and make all that is written durable, in no time."""
        habits, self.habits = self.habits, replace(self.habits, stall=0.0)
        self.write(operations)
        self.habits = habits
        self._make_durable(len(self._journal))

    def crash(self, kept: int = 0) -> SimulatedDisk:
        """The disk that a restart finds, when the first `kept` writes that no flush covered happen to be there.

        This one must not be used any more.
        """
        self._make_durable(min(kept, len(self._journal)))
        habits = replace(self.habits, stall=0.0)
        return SimulatedDisk(self._random, habits, self._durable, self.wait)

    def _make_durable(self, writes: int) -> None:
        durable, journal = self._durable, self._journal
        for _ in range(writes):
            for family, key, value in journal.popleft():
                if value is None:
                    durable[family].pop(key, None)
                else:
                    durable[family][key] = value
        self._made_durable += max(writes, 0)

    def _between(self, family: Family, lower: bytes, upper: bytes) -> list[bytes]:
        keys = self._keys[family]
        return keys[bisect_left(keys, lower) : bisect_left(keys, upper)]

    def _set(self, family: Family, key: bytes, value: bytes | None) -> None:
        rows = self._rows[family]
        if value is not None:
            if key not in rows:
                insort(self._keys[family], key)
            rows[key] = value
        elif rows.pop(key, None) is not None:
            keys = self._keys[family]
            del keys[bisect_left(keys, key)]
