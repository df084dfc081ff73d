"""The cursor loop: reads a group's changes in order, delivers them, and remembers how far it has come.

Delivery is at least once. The cursor is saved about once a second, as an entry of the group it belongs to, together with
the removal of changes that every reader has passed; after a crash a reader repeats at most what came since. The loop reads
on from where it stands, never from the head of the log: RocksDB is slow at finding its way over deleted rows.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import suppress
from itertools import islice
from typing import Protocol

from gramme.clock import Clock
from gramme.model.change import Change
from gramme.model.version import Version
from gramme.node.engine.api import Engine, Family, Operation, RangeDelete, Row
from gramme.node.engine.keyspace import (
    change_key,
    cursor_key,
    decode_change,
    decode_position,
    encode_position,
    log_range,
)
from gramme.node.proposals import Round
from gramme.node.replica import CLOCK_COUNTER_BITS, Replica

# A batch is decoded, delivered and flushed as one; small enough not to hold the loop for long.
BATCH_CHANGES_MAX = 128
BATCH_BYTES_MAX = 256 << 10
CURSOR_INTERVAL_S = 1.0
# RocksDB looks at every range ever deleted that is still in memory, each time it makes an iterator after a new one.
# So a few changes are removed one by one, and only a busy log, whose memory is soon written out, by range.
RANGE_TRIM_CHANGES_MIN = 1000
# Under a millisecond of stepping over changes.
COUNT_SLICE = 500

BEGINNING = Version(0, 0)


class Reader(Protocol):
    """Somebody who wants the changes of one group, and whose cursor has a number."""

    id: int

    async def deliver(self, changes: list[Change]) -> None:
        """Take changes, in order. When this returns they need never be delivered again."""
        ...

    async def passed(self, position: Version) -> None:
        """Told that changes up to `position` will not be delivered again, even after a crash."""
        ...


class Cursors:
    """How far each reader of one group's change log has durably come."""

    def __init__(self, engine: Engine, replica: Replica, readers: list[int]) -> None:
        self._engine = engine
        self._replica = replica
        self._saved = {reader: self._load(engine, reader) for reader in readers}
        self._trimmed = min(self._saved.values(), default=BEGINNING)

    def saved(self, reader: int) -> Version:
        return self._saved[reader]

    def save(self, reader: int, position: Version) -> Round:
        """Propose the new cursor, and drop the changes that nobody needs any more."""
        assert reader in self._saved, f"reader {reader} was dropped"
        self._saved[reader] = position
        return self._replica.propose_rows([self._row(reader, position), *self._trim()])

    def add(self, reader: int, position: Version) -> Row:
        """The cursor of a new reader, who wants what comes after `position`."""
        if not self._saved:
            self._trimmed = position
        self._saved[reader] = position
        return self._row(reader, position)

    def drop(self, reader: int) -> list[Operation]:
        """What forgets a reader, and with it the changes that only it needed."""
        del self._saved[reader]
        if self._saved:
            return [self._row(reader, None), *self._trim()]
        # By range, because the newest changes may not be written yet and could not be found one by one.
        log = log_range(self._replica.settings.log_id)
        return [self._row(reader, None), RangeDelete(Family.CHANGE, *log)]

    def _row(self, reader: int, position: Version | None) -> Row:
        key = cursor_key(self._replica.settings.group, reader)
        return Row(Family.RAFT, key, None if position is None else encode_position(position))

    def _trim(self) -> Iterator[Operation]:
        """The removal of all changes that every reader has passed."""
        needed = min(self._saved.values())
        if needed <= self._trimmed:
            return
        log_id = self._replica.settings.log_id
        lower, upper = change_key(log_id, self._trimmed), change_key(log_id, after(needed))
        rows = self._engine.scan(Family.CHANGE, lower, upper)
        keys = [key for key, _ in islice(rows, RANGE_TRIM_CHANGES_MIN)]
        if len(keys) == RANGE_TRIM_CHANGES_MIN:
            yield RangeDelete(Family.CHANGE, lower, upper)
        else:
            for key in keys:
                yield Row(Family.CHANGE, key, None)
        self._trimmed = needed

    def _load(self, engine: Engine, reader: int) -> Version:
        raw = engine.get(Family.RAFT, cursor_key(self._replica.settings.group, reader))
        return BEGINNING if raw is None else decode_position(raw)


def after(position: Version) -> Version:
    return Version(position.apply_index, position.ordinal + 1)


class Tailer:
    """Runs one reader over one group's changes."""

    def __init__(
        self,
        engine: Engine,
        replica: Replica,
        cursors: Cursors,
        reader: Reader,
        clock: Clock,
        delay_ms: int = 0,
    ) -> None:
        self._engine = engine
        self._replica = replica
        self._cursors = cursors
        self._reader = reader
        self._clock = clock
        self._delay_ms = delay_ms
        self.position = cursors.saved(reader.id)
        # The newest entry of which nothing is left to deliver.
        self.complete = self.position.apply_index - 1
        # What the replica counts as changes, less this, is what this reader is behind.
        self._passed_changes = replica.changes
        self._flushed_before = replica.flushed_index
        self._unsaved = False
        self._wake = asyncio.Event()
        self._wake.set()
        self.wake = self._wake.set
        replica.on_flushed.append(self.wake)

    def backlog(self) -> int:
        """How many changes this reader is behind."""
        return self._replica.changes - self._passed_changes

    async def run(self) -> None:
        await self._count_left_over()
        # A crash may have come between the last saved cursor and the word of it.
        await self._reader.passed(self.position)
        save_at_s = asyncio.get_running_loop().time() + CURSOR_INTERVAL_S
        while True:
            self._wake.clear()
            changes = self._read()
            if changes:
                await self._wait_until_due(changes[-1])
                await self._reader.deliver(changes)
                self._passed_changes += len(changes)
                self.position = changes[-1].version
                self.complete = self.position.apply_index - 1
                self._unsaved = True
            now_s = asyncio.get_running_loop().time()
            if self._unsaved and now_s >= save_at_s:
                await self._save()
                save_at_s = now_s + CURSOR_INTERVAL_S
            elif not changes:
                await self._rest(save_at_s - now_s)

    async def _count_left_over(self) -> None:
        """Count the changes that were there before this process, and are still to be delivered."""
        rows = self._changes_until(self._flushed_before)
        while found := sum(1 for _ in islice(rows, COUNT_SLICE)):
            self._passed_changes -= found
            await asyncio.sleep(0)

    def _changes_until(self, index: int) -> Iterator[tuple[bytes, bytes]]:
        log_id = self._replica.settings.log_id
        lower = change_key(log_id, after(self.position))
        upper = change_key(log_id, Version(index + 1, 0))
        return self._engine.scan(Family.CHANGE, lower, upper) if lower < upper else iter(())

    def _read(self) -> list[Change]:
        """The next changes that are flushed. What is written but not flushed must not be seen by anybody."""
        changes = []
        size = 0
        rows = self._changes_until(self._replica.flushed_index)
        for _, raw in islice(rows, BATCH_CHANGES_MAX):
            changes.append(decode_change(raw))
            size += len(raw)
            if size > BATCH_BYTES_MAX:
                break
        if not changes:
            # Entries without changes, such as a saved cursor, are passed in silence.
            self.complete = self._replica.flushed_index
            self.position = max(self.position, Version(self.complete, 0))
        return changes

    async def _wait_until_due(self, change: Change) -> None:
        if self._delay_ms:
            written_ms = change.stamp.clock >> CLOCK_COUNTER_BITS
            await self._clock.wait_until(written_ms + self._delay_ms)

    async def _save(self) -> None:
        position = self.position
        self._unsaved = False
        await self._cursors.save(self._reader.id, position).flushed
        await self._reader.passed(position)

    async def _rest(self, seconds: float) -> None:
        """Sleep until more is flushed or, with a cursor still to be saved, until it is time for that."""
        if not self._unsaved:
            await self._wake.wait()
            return
        with suppress(TimeoutError):
            async with asyncio.timeout(max(seconds, 0)):
                await self._wake.wait()
