"""The node's one commit loop: it writes what all groups have ready, flushes once for all, and lets answers go.

While a flush runs, and for a few turns of the loop after it, the next round fills; so the size of a batch follows the
load and no timer is needed. There is never more than one flush under way, and it covers exactly the writes that
returned before it began.

A group with one member gives entries: their effects are its log, and once they are flushed they are settled. A group with
more, a `Logged` one, gives whatever its log asks for, entries of the log and effects of committed ones, and is told
when that is written and when it is flushed. What was applied counts as soon as it is written.

A write the engine refuses for a stall is tried again until it is taken; any other error on this path ends the process,
because after a failed write or sync nobody knows what the disk holds.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Iterator
from typing import Protocol

from gramme.errors import Throttling
from gramme.node.engine.api import Engine, Operation, WriteStall
from gramme.node.proposals import Member, Round
from gramme.node.space import Room

# One engine write keeps the whole process waiting, about 3 ms per MB.
WRITE_BYTES_MAX = 512 << 10
# What may wait for a flush before writers are told to come back later; less while the engine cannot keep up.
PROPOSED_BYTES_MAX = 64 << 20
PROPOSED_BYTES_MAX_STALLED = 1 << 20
STALL_RETRY_S = 0.01
# After a flush its answers leave and many of those answered write again at once. A few turns of the loop let them
# into the next round: half as many flushes, each of which takes Python's lock away from the loop for a moment.
GATHER_TURNS = 5

_OVERLOADED = "The server has too many writes waiting for its disk. Try again later."


_DISK_IS_LOW = "The disk of the server is nearly full: no writes are taken until there is room."


# Operations that must be in one write, and about how large they are.
Piece = tuple[list[Operation], int]


class Logged(Protocol):
    """A group whose entries go through a log that it shares with other nodes."""

    def collect(self) -> Iterable[Piece]:
        """What is to be written now, in this order."""
        ...

    def written(self) -> bool:
        """All that was collected is written. Returns whether anything waits for its flush."""
        ...

    def flushed(self) -> None:
        """All that was collected is flushed."""
        ...


class CommitLoop:
    """`on_failure` is told what broke, and does not come back in a real process."""

    def __init__(self, engine: Engine, on_failure: Callable[[str], None]) -> None:
        self._engine = engine
        self._on_failure = on_failure
        self._filling = Round()
        # In the order they came: a dictionary, because a set has no order.
        self._enlisted: dict[Logged, None] = {}
        # Who may remove other groups with all their rows.
        self.remover: Logged | None = None
        self._wake = asyncio.Event()
        # Set between two passes.
        self._resting = asyncio.Event()
        self._resting.set()
        self._stalled = False
        self._writing_bytes = 0
        self._stopping = False
        # By the loop's time; None while no flush is under way.
        self.flushing_since: float | None = None
        # Somebody has to look.
        self.room = Room()
        # How many rounds there were. It stands still while nobody writes.
        self.rounds = 0

    def admit(self) -> None:
        waiting = self._filling.size_bytes + self._writing_bytes
        if not self.room.holds(waiting):
            raise Throttling(_DISK_IS_LOW)
        if waiting > (PROPOSED_BYTES_MAX_STALLED if self._stalled else PROPOSED_BYTES_MAX):
            raise Throttling(_OVERLOADED)

    def join(self, member: Member) -> Round:
        round = self._filling
        if not round.members:
            self._wake.set()
        round.members.append(member)
        return round

    def enlist(self, group: Logged) -> None:
        """A group has something to write."""
        self._enlisted[group] = None
        self._wake.set()

    def forget(self, group: Logged) -> None:
        """A group is closed: it has nothing to write any more."""
        self._enlisted.pop(group, None)

    async def pass_is_over(self) -> None:
        """Wait until nothing that was collected before this call is still to be written."""
        await self._resting.wait()

    async def confirm(self) -> None:
        """Whoever has no other replicas knows of everything."""

    async def run(self) -> None:
        """Commit rounds until stopped; a stop lets everything proposed before it finish."""
        while not (self._stopping and not self._filling.members):
            await self._wake.wait()
            self._wake.clear()
            if not self._filling.members and not self._enlisted:
                continue
            round, self._filling = self._filling, Round()
            self.rounds += 1
            self._resting.clear()
            try:
                await self._commit(round)
                self._resting.set()
                await _gather()
            except Exception as error:
                self.disk_failed(error)
                raise
            finally:
                if not round.flushed.done():
                    round.flushed.abandon()
                    self._filling.flushed.abandon()

    def disk_failed(self, error: Exception) -> None:
        """A write or a flush has failed, here or beside this loop: nobody knows what the disk holds."""
        self._on_failure(f"writing to disk failed: {error}")

    def stop(self) -> None:
        self._stopping = True
        self._wake.set()

    async def _commit(self, round: Round) -> None:
        groups, self._enlisted = self._enlisted, {}
        if self.remover in groups:
            # Last: rows that others still write go with all the rest.
            groups[self.remover] = groups.pop(self.remover)
        self._writing_bytes = round.size_bytes
        pieces = [
            (entry.operations, entry.size_bytes)
            for member in round.members
            for entry in member.take(round, shown=True)
        ]
        for group in groups:
            pieces += group.collect()
        self.room.take(sum([size for _, size in pieces]))
        await self._write_all(pieces)
        # It is told first, so that they are closed before they look for what is gone.
        flushing = [group for group in reversed(groups) if group.written()]
        if round.members or flushing:
            self.flushing_since = asyncio.get_running_loop().time()
            await self._engine.flush()
            self.flushing_since = None
        self._writing_bytes = 0
        for member in round.members:
            member.settled()
        round.flushed.release()
        for group in flushing:
            group.flushed()

    async def _write_all(self, pieces: Iterable[Piece]) -> None:
        first = True
        for operations in _writes(pieces):
            if not first:
                await asyncio.sleep(0)
            first = False
            await self._write(operations)

    async def _write(self, operations: list[Operation]) -> None:
        while True:
            try:
                self._engine.write(operations)
            except WriteStall:
                self._stalled = True
                await asyncio.sleep(STALL_RETRY_S)
            else:
                # Slowed writes are a warning: the engine is near its bounds though it still takes them.
                self._stalled = self._engine.stalled()
                return


async def _gather() -> None:
    for _ in range(GATHER_TURNS):
        await asyncio.sleep(0)


def _writes(pieces: Iterable[Piece]) -> Iterator[list[Operation]]:
    """Put pieces together into writes of bounded size. A piece is never cut."""
    operations: list[Operation] = []
    size = 0
    for more, more_bytes in pieces:
        if operations and size + more_bytes > WRITE_BYTES_MAX:
            yield operations
            operations, size = [], 0
        operations.extend(more)
        size += more_bytes
    if operations:
        yield operations
