"""An engine that fails on purpose, so that what failing does can be seen.

Named in `GRAMME_FAILPOINTS`, comma-separated: `flush.delay_ms=500` makes every flush take that much longer,
`flush.error=3` makes the third flush fail, `write.error=3` the third write.
"""

from __future__ import annotations

import asyncio
import errno
from collections.abc import Iterable, Iterator

from gramme.node.engine.api import Engine, Family, Operation

NAMES = frozenset({"flush.delay_ms", "flush.error", "write.error"})


def parse_failpoints(text: str) -> dict[str, int]:
    """Raises ValueError, with a line for a person."""
    found: dict[str, int] = {}
    for part in filter(None, text.split(",")):
        name, _, value = part.partition("=")
        if name not in NAMES or not value.isdecimal():
            raise ValueError(f"unknown failpoint {part!r}; known are {', '.join(sorted(NAMES))}")
        found[name] = int(value)
    return found


class FailingEngine:
    def __init__(self, engine: Engine, failpoints: dict[str, int]) -> None:
        self._engine = engine
        self._delay_s = failpoints.get("flush.delay_ms", 0) / 1000
        self._flushes_left = failpoints.get("flush.error", 0)
        self._writes_left = failpoints.get("write.error", 0)

    def get(self, family: Family, key: bytes) -> bytes | None:
        return self._engine.get(family, key)

    def scan(
        self, family: Family, lower: bytes, upper: bytes, *, forward: bool = True
    ) -> Iterator[tuple[bytes, bytes]]:
        return self._engine.scan(family, lower, upper, forward=forward)

    def write(self, operations: Iterable[Operation]) -> None:
        self._writes_left -= 1
        if self._writes_left == 0:
            raise OSError(errno.EIO, "failpoint write.error")
        self._engine.write(operations)

    async def flush(self) -> None:
        self._flushes_left -= 1
        if self._flushes_left == 0:
            raise OSError(errno.EIO, "failpoint flush.error")
        await asyncio.sleep(self._delay_s)
        await self._engine.flush()

    def space(self) -> tuple[int, int]:
        return self._engine.space()

    async def tidy(self) -> None:
        await self._engine.tidy()

    async def relieve(self) -> None:
        await self._engine.relieve()

    def fit(self, spare_bytes: int) -> None:
        self._engine.fit(spare_bytes)

    def stalled(self) -> bool:
        return self._engine.stalled()

    def close(self) -> None:
        self._engine.close()
