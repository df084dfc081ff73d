"""The log as one replica sees it: what is written, and in memory the tail that may not be.

The tail holds every entry that is not known to be flushed, and behind it some that are, up to a bound, because followers
a little behind and apply will ask for them. Three marks move along it:

    first_index ... tail_first ... persisted ... handed ... last_index

`handed` is the last entry given out in a Ready, `persisted` the last one a finished flush is known to cover. All that is
before `tail_first` is read from the storage, and nothing from it on ever is: after a conflict the storage still holds the
overwritten suffix until the shell has written the new one.

*An overwritten entry's flush must not count for the one that took its place*, even if a third leader put back an entry
of the first one's term there. So each Ready in flight has a mark of its own here, and overwriting lowers the marks of all
of them. No comparison of terms can do this.
"""

from __future__ import annotations

from collections import deque
from typing import Protocol

from gramme.node.raft.messages import Entry, EntryKind
from gramme.node.raft.settings import ENTRY_OVERHEAD_BYTES

# A term no entry has: asked for an index that the log does not know (any more).
UNKNOWN = -1


class LogStorage(Protocol):
    """What is *written* to the engine, flushed or not. When a Raft is made, all of it must be flushed."""

    def first_index(self) -> int:
        """The first index that was not compacted away; 1 in a new group."""
        ...

    def last_index(self) -> int:
        """`first_index() - 1` if there are no entries."""
        ...

    def term(self, index: int) -> int:
        """Asked for first_index() - 1 to last_index(): compaction keeps the term of the entry it ends with."""
        ...

    def entries(self, low: int, high: int, bytes_max: int) -> list[Entry]:
        """Entries from `low` to `high`, both included: as many as fit in `bytes_max`, but one at least."""
        ...


class RaftLog:
    """See the module's head."""

    def __init__(self, storage: LogStorage, cached_bytes_max: int) -> None:
        self._storage = storage
        self._cached_bytes_max = cached_bytes_max
        last = storage.last_index()
        self._tail: list[Entry] = []
        self._tail_first = last + 1
        self._tail_bytes = 0
        self.last_index = self.handed = self.persisted = last
        self.last_term = storage.term(last)
        self.committed = 0
        # The last entry handed out for apply.
        self.applying = 0
        # Index and term of a snapshot that the storage may not show yet.
        self._snapshot: tuple[int, int] | None = None
        # Number of a Ready, and the last entry its flush covers.
        self._in_flight: deque[list[int]] = deque()

    # What the log holds

    @property
    def first_index(self) -> int:
        return self._storage.first_index() if self._snapshot is None else self._snapshot[0] + 1

    def term(self, index: int) -> int:
        """The term of an entry, or UNKNOWN."""
        if index == self.last_index:
            return self.last_term
        if index > self.last_index:
            return UNKNOWN
        if index >= self._tail_first:
            return self._tail[index - self._tail_first].term
        if self._snapshot is not None:
            return self._snapshot[1] if index == self._snapshot[0] else UNKNOWN
        return self._storage.term(index) if index >= self._storage.first_index() - 1 else UNKNOWN

    def matches(self, index: int, term: int) -> bool:
        return self.term(index) == term

    def last_of_term_at_most(self, index: int, term: int) -> int:
        """The last index up to `index` whose term is at most `term`: terms never fall along a log, so by halving."""
        low, high = self.first_index - 1, min(index, self.last_index)
        if high < low:
            return max(index, 0)
        while low < high:
            middle = (low + high + 1) // 2
            if self.term(middle) <= term:
                low = middle
            else:
                high = middle - 1
        return low

    def entries(self, low: int, high: int, bytes_max: int) -> tuple[list[Entry], int]:
        """Entries from `low` on, at least one, as many as fit, and their size. May end early, where the tail begins."""
        first = self._tail_first
        if low < first:
            found = self._storage.entries(low, min(high, first - 1), bytes_max)
            assert found and found[0].index == low, f"the log has lost entry {low}"
            return found, sum(map(size_of, found))
        size = 0
        tail = self._tail
        end = start = low - first
        stop = high - first + 1
        while end < stop:
            more = len(tail[end].data) + ENTRY_OVERHEAD_BYTES
            if size + more > bytes_max and end > start:
                break
            size += more
            end += 1
        return tail[start:end], size

    # How it grows

    def append(self, entry: Entry) -> None:
        self._tail.append(entry)
        self._tail_bytes += len(entry.data) + ENTRY_OVERHEAD_BYTES
        self.last_index = entry.index
        self.last_term = entry.term

    def append_own(self, term: int, kind: EntryKind, data: bytes) -> Entry:
        entry = Entry(term, self.last_index + 1, kind, data)
        self.append(entry)
        return entry

    def extend(self, entries: list[Entry]) -> None:
        """Add entries that follow one another, overwriting from the first one's index on."""
        first = entries[0].index
        if first <= self.last_index:
            self._truncate(first)
        self._tail += entries
        self._tail_bytes += sum([len(entry.data) for entry in entries])
        self._tail_bytes += ENTRY_OVERHEAD_BYTES * len(entries)
        last = entries[-1]
        self.last_index, self.last_term = last.index, last.term

    def restore(self, index: int, term: int) -> None:
        """The log is now what a snapshot leaves: nothing, after `index`."""
        self._tail, self._tail_first, self._tail_bytes = [], index + 1, 0
        self.last_index = self.handed = self.committed = self.applying = index
        self.last_term = term
        self.persisted = 0
        for mark in self._in_flight:
            mark[1] = 0
        self._snapshot = (index, term)

    def restored(self) -> None:
        """The storage shows the snapshot."""
        self._snapshot = None

    def _truncate(self, index: int) -> None:
        assert index > self.committed, "a committed entry was to be overwritten"
        first = self._tail_first
        if index >= first:
            removed = self._tail[index - first :]
            del self._tail[index - first :]
            self._tail_bytes -= sum(map(size_of, removed))
        else:
            self._tail, self._tail_first, self._tail_bytes = [], index, 0
        self.handed = min(self.handed, index - 1)
        self.persisted = min(self.persisted, index - 1)
        for mark in self._in_flight:
            mark[1] = min(mark[1], index - 1)

    # What leaves it

    def take_unhanded(self) -> list[Entry]:
        """Entries to write, each given out once."""
        if self.handed == self.last_index:
            return []
        entries = self._tail[self.handed + 1 - self._tail_first :]
        self.handed = self.last_index
        return entries

    def take_committed(self, bytes_max: int) -> tuple[list[Entry], int]:
        """Committed entries to apply, each given out once, and their size.

        They need not be flushed here, because a quorum's flush is what committed them. The shell writes effects after
        the entries they come from and RocksDB's log is one sequence, so no crash keeps an effect and loses its entry.
        """
        entries, size = self.entries(self.applying + 1, self.committed, bytes_max)
        self.applying = entries[-1].index
        return entries, size

    # What becomes of it on disk

    def in_flight(self, number: int) -> None:
        """A flush of all that was handed out so far will be reported under this number."""
        self._in_flight.append([number, self.handed])

    @property
    def flushing(self) -> bool:
        return bool(self._in_flight)

    def flushed(self, number: int) -> None:
        """The flushes up to `number` are done."""
        marks = self._in_flight
        while marks and marks[0][0] <= number:
            self.persisted = marks.popleft()[1]
        if self._tail_bytes > self._cached_bytes_max:
            # By half, so that it is not done for every flush.
            self.forget(self.applying, self._cached_bytes_max // 2)

    def forget(self, index: int, bytes_left: int = 0) -> None:
        """Drop entries up to `index` from memory if they are flushed, the oldest first, until so much is left."""
        tail, count = self._tail, 0
        most = min(index, self.persisted) + 1 - self._tail_first
        while count < most and self._tail_bytes > bytes_left:
            self._tail_bytes -= size_of(tail[count])
            count += 1
        del tail[:count]
        self._tail_first += count


def size_of(entry: Entry) -> int:
    return len(entry.data) + ENTRY_OVERHEAD_BYTES
