"""What the node needs of a storage engine, and nothing of any particular one.

Writes are not durable when they return. A flush makes durable every write that returned before it began, and is
the only thing here that suspends. `rocks.py` and `memory.py` pass the same suite.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from enum import IntEnum
from typing import Protocol

import msgspec


class Family(IntEnum):
    """The column families, in the order of the engine's handles. Names are part of the disk format."""

    RAFT = 0
    ITEM = 1
    LSI = 2
    TXN = 3
    DEDUPE = 4
    CHANGE = 5
    TTL = 6
    SYS = 7


# Both are also what a log entry is made of: their fields, in this order, and their tags are part of the disk format.
class Row(msgspec.Struct, frozen=True, gc=False, array_like=True, tag=0):
    """One key to write, or to delete where `value` is None."""

    family: Family
    key: bytes
    value: bytes | None


class RangeDelete(msgspec.Struct, frozen=True, gc=False, array_like=True, tag=1):
    """Delete every key with `lower <= key < upper`."""

    family: Family
    lower: bytes
    upper: bytes


Operation = Row | RangeDelete


class WriteStall(Exception):
    """The engine has no room for this write just now. Nothing of it was applied."""


class Engine(Protocol):
    def get(self, family: Family, key: bytes) -> bytes | None: ...

    def scan(
        self, family: Family, lower: bytes, upper: bytes, *, forward: bool = True
    ) -> Iterator[tuple[bytes, bytes]]:
        """Rows with `lower <= key < upper`, as they were when the scan was made."""
        ...

    def write(self, operations: Iterable[Operation]) -> None:
        """Apply all operations or none, not yet durably. Raises WriteStall."""
        ...

    async def flush(self) -> None:
        """Make durable what was written before this call. Never retried: any error is the end of the process."""
        ...

    async def tidy(self) -> None:
        """Drop what was overwritten, if there is enough of it and little enough to go through. Nothing depends on it."""
        ...

    async def relieve(self) -> None:
        """Give back to a disk that is low what this engine can do without, if there is any."""
        ...

    def fit(self, spare_bytes: int) -> None:
        """Fit what is held in memory for reading to what there is to read, and what is done unasked to what the disk can spare.

        Cheap, and meant to be called often.
        """
        ...

    def space(self) -> tuple[int, int]:
        """The bytes that are free on the disk, and will be when memory is written out, and those it has."""
        ...

    def stalled(self) -> bool:
        """Whether writes are being slowed or stopped."""
        ...

    def close(self) -> None: ...
