"""Pure: what was written, when it was answered, and what may therefore be found after a crash.

Every key has one writer, and every write carries a counter from which the whole item follows. So what is found
tells which write it came from, and whether that write may be the last one. Time is a position: the size of the
recorder's log, or always 0 where a test only asks what was answered before a kill.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from decimal import Decimal
from typing import NamedTuple

from tests.support.client import Json

GROUPS = 4
COLOURS = 3
LARGE_BYTES = 20_000
# Under a partition key that begins like this every item is huge, so that memory is soon full of them.
HUGE = "huge"
HUGE_BYTES = 200_000


class Key(NamedTuple):
    partition: str
    sort: int | Decimal


def item_of(key: Key, counter: int) -> Json:
    """The item that write number `counter` leaves under `key`."""
    size = LARGE_BYTES if counter % 97 == 0 else counter * 37 % 400
    if key.partition.startswith(HUGE):
        size += HUGE_BYTES
    item: Json = {
        "pk": {"S": key.partition},
        "sk": {"N": str(key.sort)},
        "n": {"N": str(counter)},
        "pad": {"S": "x" * size},
    }
    # Not every item is in every index.
    if counter % 7:
        item["group"] = {"S": f"g{counter % GROUPS}"}
    if counter % 5:
        item["colour"] = {"N": str(counter % COLOURS)}
    return item


@dataclass(slots=True)
class Write:
    """`counter` is None for a delete. `answered` stays None while nobody knows what became of it."""

    counter: int | None
    sent: int
    answered: int | None = None


@dataclass
class History:
    writes: dict[Key, list[Write]] = field(default_factory=dict)

    def sent(self, key: Key, counter: int | None, position: int) -> Write:
        write = Write(counter, position)
        self.writes.setdefault(key, []).append(write)
        return write

    def refused(self, key: Key) -> None:
        """The last write to `key` was answered with an error that says nothing was done."""
        self.writes[key].pop()

    def allowed(self, key: Key, position: int) -> set[int | None]:
        """The counters that may be found under `key` after a crash at `position`; None for no item."""
        allowed: set[int | None] = {None}
        for write in self.writes.get(key, ()):
            if write.sent > position:
                break
            if write.answered is not None and write.answered <= position:
                allowed.clear()
            allowed.add(write.counter)
        return allowed

    def problems(self, found: dict[Key, Json], position: int) -> Iterator[str]:
        """What is missing, stale, altered or from nowhere among the items found after a crash."""
        for key in found.keys() - self.writes.keys():
            yield f"{key} was never written"
        for key in self.writes:
            item = found.get(key)
            counter = None if item is None else int(item["n"]["N"])
            allowed = self.allowed(key, position)
            if counter not in allowed:
                yield f"{key} is at {counter}, but may only be at one of {allowed}"
            elif counter is not None and item != item_of(key, counter):
                yield f"{key} is not the item that write {counter} left: {item}"

    def answers(self) -> list[int]:
        """When each answered write was answered."""
        return [
            write.answered
            for writes in self.writes.values()
            for write in writes
            if write.answered is not None
        ]
