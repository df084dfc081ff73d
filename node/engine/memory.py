"""An engine in plain Python, for tests: sorted keys, a copy of what was flushed, and a crash."""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Iterable, Iterator

from gramme.node.engine.api import Family, Operation, Row

TOTAL_BYTES = 1 << 40


class MemoryEngine:
    """`crash()` gives the engine a restart would find: what was flushed, and nothing else."""

    def __init__(self, rows: dict[Family, dict[bytes, bytes]] | None = None) -> None:
        self._rows = rows or {family: {} for family in Family}
        self._keys = {family: sorted(self._rows[family]) for family in Family}
        self._flushed = {family: dict(self._rows[family]) for family in Family}
        # A test may take them away.
        self.free_bytes = TOTAL_BYTES

    def get(self, family: Family, key: bytes) -> bytes | None:
        return self._rows[family].get(key)

    def scan(
        self, family: Family, lower: bytes, upper: bytes, *, forward: bool = True
    ) -> Iterator[tuple[bytes, bytes]]:
        keys = self._keys[family]
        found = keys[bisect_left(keys, lower) : bisect_left(keys, upper)]
        rows = self._rows[family]
        return iter([(key, rows[key]) for key in (found if forward else reversed(found))])

    def write(self, operations: Iterable[Operation]) -> None:
        for operation in operations:
            if isinstance(operation, Row):
                self._set(operation.family, operation.key, operation.value)
            else:
                for key, _ in self.scan(operation.family, operation.lower, operation.upper):
                    self._set(operation.family, key, None)

    async def flush(self) -> None:
        self._flushed = {family: dict(self._rows[family]) for family in Family}

    async def tidy(self) -> None:
        pass

    async def relieve(self) -> None:
        pass

    def fit(self, spare_bytes: int) -> None:
        pass

    def space(self) -> tuple[int, int]:
        return self.free_bytes, TOTAL_BYTES

    def stalled(self) -> bool:
        return False

    def close(self) -> None:
        pass

    def crash(self) -> MemoryEngine:
        return MemoryEngine(self._flushed)

    def _set(self, family: Family, key: bytes, value: bytes | None) -> None:
        rows, keys = self._rows[family], self._keys[family]
        if value is not None:
            if key not in rows:
                insort(keys, key)
            rows[key] = value
        elif rows.pop(key, None) is not None:
            del keys[bisect_left(keys, key)]
