"""What a group has ready for the commit loop's next round: its entries, from being opened until a round takes them.

An entry gathers the writes of a round that are for one group: their rows, and one state that sums up what the group has
after them. A write is known by the index of its entry and its own ordinal there, its *version*, before the entry is
closed. An entry is closed when its round is taken, when it has grown large, or when something must stand by itself.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Protocol

import msgspec

from gramme.model.version import Version
from gramme.node.apply import Sums
from gramme.node.engine.api import Family, Operation, Row
from gramme.node.engine.keyspace import ReplicaState, encode_state
from gramme.node.flushed import Flushed

# An entry is written, sent and applied as one, so it must not hold up others. A large item may make it longer.
ENTRY_BYTES_MAX = 256 << 10


class Entry(msgspec.Struct):
    """Operations that happen together. Closed, it ends with the row of the group's state after them."""

    index: int
    operations: list[Operation]
    ordinal: int = 0
    size_bytes: int = 0
    state: ReplicaState | None = None


class Round:
    """One group commit: the entries of all members, written together and flushed together."""

    __slots__ = ("flushed", "members", "size_bytes")

    def __init__(self) -> None:
        self.members: list[Member] = []
        self.size_bytes = 0
        self.flushed = Flushed()


class Member(Protocol):
    """What becomes of a group's log: rows of a partition, or of meta."""

    state_key: bytes

    def take(self, round: Round, *, shown: bool) -> list[Entry]:
        """Give what is in the round, closed. `shown` says that the engine will show it before it is settled."""
        ...

    def settled(self) -> None:
        """What was taken last is durable, or held by a quorum and applied."""
        ...


class Commits(Protocol):
    """Where a group's entries go: the commit loop itself or, with other replicas, the group's log."""

    def admit(self) -> None:
        """Raises Throttling when there is no room for another write, and NotLeader."""
        ...

    def join(self, member: Member) -> Round:
        """Make `member` part of the round that fills now. Once for each time it is taken."""
        ...

    async def confirm(self) -> None:
        """Return once all is applied that was answered anywhere before this call. Raises NotLeader."""
        ...


class Proposals:
    """The entries of `member` that no round has taken yet, and the group's state after them."""

    __slots__ = (
        "_closed",
        "_commits",
        "_epoch",
        "_index",
        "_member",
        "_open",
        "_round",
        "_term",
        "changes",
        "sums",
    )

    def __init__(self, commits: Commits, member: Member, state: ReplicaState) -> None:
        self._commits = commits
        self._member = member
        self._term, self._index, self._epoch = state.term, state.index, state.epoch
        self.sums = Sums(state)
        # Changes proposed for the group's change log since this process opened it.
        self.changes = 0
        self._round: Round | None = None
        self._open: Entry | None = None
        self._closed: list[Entry] = []

    def restart(self, state: ReplicaState) -> None:
        """Forget all that was proposed, and go on from `state`."""
        self._term, self._index, self._epoch = state.term, state.index, state.epoch
        self.sums = Sums(state)
        self._round = None
        self._open = None
        self._closed = []

    @property
    def state(self) -> ReplicaState:
        """The group's state when everything proposed has been applied."""
        sums = self.sums
        return ReplicaState(
            self._term,
            self._index,
            self._epoch,
            sums.checksum,
            sums.item_count,
            sums.item_bytes,
            sums.clock,
            sums.local,
        )

    def entry(self) -> Entry:
        """The entry that the next write belongs to."""
        entry = self._open
        if entry is None or entry.size_bytes >= ENTRY_BYTES_MAX:
            return self.open()
        return entry

    def open(self) -> Entry:
        """Begin another entry."""
        self.close()
        self._index += 1
        entry = self._open = Entry(self._index, [])
        return entry

    def close(self) -> None:
        entry, self._open = self._open, None
        if entry is not None:
            state = entry.state = self.state
            row = Row(Family.RAFT, self._member.state_key, encode_state(state))
            entry.operations.append(row)
            self._closed.append(entry)

    def add(self, entry: Entry, size_bytes: int) -> Round:
        """Count what has been put into `entry`. Returns the round it will be in."""
        entry.size_bytes += size_bytes
        round = self._round
        if round is None:
            round = self._round = self._commits.join(self._member)
        round.size_bytes += size_bytes
        return round

    def propose(
        self,
        operations: Iterable[Operation],
        replaced: Iterable[tuple[bytes | None, Row]] = (),
        clock: int = 0,
    ) -> Round:
        """Propose operations, with the item rows among them and what stood in their place."""
        entry = self.entry()
        for old, row in replaced:
            self.sums.replace(old, row)
        self.sums.clock = max(self.sums.clock, clock)
        size = 0
        for operation in operations:
            entry.operations.append(operation)
            if isinstance(operation, Row) and operation.value is not None:
                size += len(operation.value)
        return self.add(entry, size)

    def take(self) -> list[Entry]:
        self.close()
        self._round = None
        taken, self._closed = self._closed, []
        return taken


def next_version(entry: Entry) -> Version:
    """The version of the next write of `entry`."""
    ordinal = entry.ordinal
    entry.ordinal = ordinal + 1
    return Version(entry.index, ordinal)
