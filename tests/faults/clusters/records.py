"""What the clients of the mixed load write down: one line for each operation, in a file that others read as it grows."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

import msgspec

Doing = Literal["put", "update", "swap", "delete", "get", "query", "glance", "add", "count"]
"""`get` and `query` are strong reads of a register, `glance` an eventual one, `count` a strong read of a counter."""

WRITES = frozenset(("put", "update", "swap", "delete", "add"))
STRONG_READS = frozenset(("get", "query", "count"))

Outcome = Literal["ok", "failed", "refused", "unknown"]
"""`failed` is a condition that did not hold; what is `refused` was surely not done."""

# Of clients that are not part of the load: who reads at the moment a paused node wakes, and who reads everything at last.
PEEKER = "peeker"
AUDITOR = "auditor"


class Record(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """Times are those of the machine's monotonic clock. A register's value is a number nobody else writes; None is no item.

    `expected` is what a swap expects. `value` is what a write puts; of a read, a failed swap and an addition, what was
    there, or is there now.
    """

    client: str
    router: int
    partition: int
    key: str
    doing: Doing
    expected: int | None
    value: int | None
    began: float
    ended: float
    outcome: Outcome
    error: str = ""


encode = msgspec.json.Encoder().encode
_decode = msgspec.json.Decoder(Record).decode


class Records:
    """A file of records, read as far as it has been written."""

    def __init__(self, path: Path) -> None:
        self.all: list[Record] = []
        self._file = path.open("rb")
        self._rest = b""

    def catch_up(self) -> None:
        *lines, self._rest = (self._rest + self._file.read()).split(b"\n")
        self.all += map(_decode, lines)

    def close(self) -> None:
        self._file.close()
