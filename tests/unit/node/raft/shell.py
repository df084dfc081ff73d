"""A replica with the smallest shell that obeys the rules of `ready.py`, and a disk that forgets what was not flushed.

A flush is an event of its own: tests decide when it finishes, and a crash before that keeps any prefix of what was written
since the last one.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable

import msgspec

from gramme.node.raft.core import Raft
from gramme.node.raft.messages import (
    Configuration,
    Entry,
    EntryKind,
    HardState,
    InstallSnapshot,
    Message,
    ReplicaId,
    Snapshot,
    decode_membership,
)
from gramme.node.raft.ready import ReadState, Ready
from gramme.node.raft.settings import Settings

# What was applied: every entry's index, term and data, empty ones too.
Effects = tuple[tuple[int, int, bytes], ...]


class Stored(msgspec.Struct, frozen=True):
    """Everything on one replica's disk. The log begins after `compacted`, an index and its term."""

    hard_state: HardState
    configuration: Configuration
    compacted: tuple[int, int] = (0, 0)
    entries: tuple[Entry, ...] = ()
    applied: int = 0
    effects: Effects = ()


class Disk:
    """The LogStorage over what is written."""

    def __init__(self, stored: Stored) -> None:
        self.stored = stored

    def first_index(self) -> int:
        return self.stored.compacted[0] + 1

    def last_index(self) -> int:
        return self.stored.compacted[0] + len(self.stored.entries)

    def term(self, index: int) -> int:
        at, term = self.stored.compacted
        assert at <= index <= self.last_index()
        return term if index == at else self.stored.entries[index - at - 1].term

    def entries(self, low: int, high: int, bytes_max: int) -> list[Entry]:
        at = self.stored.compacted[0]
        assert at < low <= high <= self.last_index()
        found: list[Entry] = []
        size = 0
        for entry in self.stored.entries[low - at - 1 : high - at]:
            size += len(entry.data)
            if found and size > bytes_max:
                break
            found.append(entry)
        return found


class Flush(msgspec.Struct, frozen=True):
    """What a Ready left to flush, and what may be sent then."""

    number: int
    stored: Stored
    messages: list[Message]


class Shell:
    """One replica. `send` takes what leaves it, `images` gives the effects a snapshot holds."""

    def __init__(
        self,
        replica: ReplicaId,
        stored: Stored,
        settings: Settings,
        draw: Callable[[int, int], int],
    ) -> None:
        self.replica = replica
        self.settings = settings
        self.draw = draw
        self.durable = stored
        self.disk = Disk(stored)
        self.flushes: deque[Flush] = deque()
        self.read_states: list[ReadState] = []
        self.reads_refused: list[int] = []
        self.images: dict[int, Effects] = {}
        self.raft = self._start()

    def _start(self) -> Raft:
        stored = self.disk.stored
        return Raft(
            self.settings,
            self.replica,
            stored.configuration,
            stored.hard_state,
            self.disk,
            stored.applied,
            self.draw,
        )

    def crash(self, kept: int = 0) -> None:
        """Die and start again. The first `kept` unfinished flushes happen to have reached the disk."""
        if kept:
            self.durable = self.flushes[kept - 1].stored
        self.flushes.clear()
        self.disk = Disk(self.durable)
        self.raft = self._start()

    def work(self) -> list[Message]:
        """Do all that is ready. Returns what may be sent at once; what waits for a flush is in `flushes`."""
        messages: list[Message] = []
        while (ready := self.raft.ready()) is not None:
            self._do(ready)
            messages += map(self._as_shipped, ready.messages)
            if ready.must_flush:
                self.flushes.append(
                    Flush(ready.number, self.disk.stored, ready.messages_after_persist)
                )
            else:
                assert not ready.messages_after_persist
        return messages

    def flush(self) -> list[Message]:
        """Let the oldest flush finish. Returns what may be sent now."""
        flush = self.flushes.popleft()
        self.durable = flush.stored
        self.raft.persisted(flush.number)
        return flush.messages + self.work()

    def compact(self, index: int) -> None:
        stored = self.disk.stored
        term = self.disk.term(index)
        self.disk.stored = msgspec.structs.replace(
            stored,
            compacted=(index, term),
            entries=stored.entries[index - stored.compacted[0] :],
        )
        self.raft.compact(index)

    def _do(self, ready: Ready) -> None:
        stored = self.disk.stored
        if ready.snapshot is not None:
            stored = self._installed(stored, ready.snapshot)
        if ready.hard_state is not None:
            stored = msgspec.structs.replace(stored, hard_state=ready.hard_state)
        if ready.entries:
            kept = ready.entries[0].index - stored.compacted[0] - 1
            assert 0 <= kept <= len(stored.entries)
            stored = msgspec.structs.replace(
                stored, entries=stored.entries[:kept] + tuple(ready.entries)
            )
        if ready.committed:
            stored = self._applied(stored, ready.committed)
        self.disk.stored = stored
        if ready.snapshot is not None:
            self.raft.installed(ready.snapshot)
        if ready.committed:
            self.raft.applied(stored.applied)
        self.read_states += ready.read_states
        self.reads_refused += ready.reads_refused

    def _installed(self, stored: Stored, snapshot: Snapshot) -> Stored:
        return msgspec.structs.replace(
            stored,
            configuration=snapshot.configuration,
            compacted=(snapshot.index, snapshot.term),
            entries=(),
            applied=snapshot.index,
            effects=self.images[snapshot.index],
        )

    def _applied(self, stored: Stored, entries: list[Entry]) -> Stored:
        configuration = stored.configuration
        for number, entry in enumerate(entries, start=stored.applied + 1):
            assert entry.index == number
            if entry.kind is EntryKind.CONFIGURATION:
                configuration = decode_membership(entry.data).configuration
        return msgspec.structs.replace(
            stored,
            configuration=configuration,
            applied=entries[-1].index,
            effects=stored.effects
            + tuple((entry.index, entry.term, entry.data) for entry in entries),
        )

    def _as_shipped(self, message: Message) -> Message:
        """A snapshot is made when it is shipped, so it may be newer than the one asked for."""
        if isinstance(message, InstallSnapshot):
            return msgspec.structs.replace(message, snapshot=self.raft.snapshot())
        return message
