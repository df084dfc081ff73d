"""One partition's replica: it admits a write, evaluates it, and proposes its effect.

The loop is the lock: between reading the current item and proposing its effect nothing else runs. The current item is
the newest *proposed* one, which the overlay holds until its round is flushed. From that follow the two rules that keep
unflushed state from leaving the node:

- an answer drawn from a proposed item, a failed condition included, waits for that item's round;
- a page, which reads the engine, waits for the round whose rows are written but not yet flushed, if that round
  touches the page's partition key; a page of a scan, which has many, waits if the round touches the partition. What is
  proposed and not yet written a page cannot see. The rows of local indexes have their items' tokens, so the same holds
  for their pages.

With one member the group needs no log: the effect batch is the log, with the term, index and epoch an entry would have.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol

import msgspec

from gramme.clock import Clock
from gramme.codec.item import body_of, size_of
from gramme.codec.json import decode_item, encode_item
from gramme.commands import Delete, Found, Get, Page, Put, Query, Scan, Write, Written
from gramme.errors import GrammeError
from gramme.model.version import Stamp, Version
from gramme.node.apply import change_row, item_row, local_rows, next_state
from gramme.node.engine.api import Engine, Family, Operation, Row
from gramme.node.engine.keyspace import (
    ReplicaSettings,
    ReplicaState,
    encode_settings,
    settings_key,
    state_key,
    table_prefix,
)
from gramme.node.evaluate import evaluate
from gramme.node.flushed import Flushed
from gramme.node.local_pages import LocalPages
from gramme.node.pages import query_range, read_page, scan_range
from gramme.partitions import TOKEN_BYTES

# The region of stamps made here. Regions get numbers when there is more than one.
LOCAL_REGION = 0
# A hybrid logical clock: milliseconds above, a counter below.
CLOCK_COUNTER_BITS = 16


class Round:
    """One group commit: entries of all replicas, written together and flushed together."""

    __slots__ = ("entries", "flushed", "size_bytes")

    def __init__(self) -> None:
        self.entries: dict[Member, list[Entry]] = {}
        self.size_bytes = 0
        self.flushed = Flushed()


class Entry(msgspec.Struct, frozen=True):
    """Operations that happen together, and the state of the group after them."""

    operations: list[Operation]
    state: ReplicaState
    size_bytes: int
    keys: tuple[bytes, ...]


class Member(Protocol):
    """The group an entry came from, as the commit loop sees it."""

    state_key: bytes

    def writing(self, round: Round) -> None:
        """The round's rows are about to become visible in the engine."""
        ...

    def settled(self, round: Round, entries: list[Entry]) -> None:
        """The round's rows are durable."""
        ...


class Commits(Protocol):
    """The commit loop, as a replica sees it."""

    def admit(self) -> None:
        """Raises Throttling when there is no room for another write."""
        ...

    def propose(self, member: Member, entry: Entry) -> Round: ...


class Pending(msgspec.Struct, frozen=True):
    """A row that is proposed and not yet flushed. `version` is its source's, for a row of an index."""

    stored: bytes | None
    version: Version
    round: Round


class Begun(msgspec.Struct):
    """Writes that are proposed: their answers, to be given once all the rounds are flushed."""

    answers: list[Written]
    rounds: set[Round]
    size_bytes: int


# A key, the stored item it had, and the new one's body and size. The body is None for a delete.
Effect = tuple[bytes, bytes | None, bytes | None, int]


class Replica:
    """See the module's head. Everything public is called on the event loop."""

    def __init__(
        self,
        engine: Engine,
        commits: Commits,
        clock: Clock,
        settings: ReplicaSettings,
        state: ReplicaState,
    ) -> None:
        self.settings = settings
        self.state = state
        self.flushed_index = state.index
        # The totals of this one may be shown: those of `state` count what is not on disk yet.
        self.flushed_state = state
        # Called whenever more of the change log may be read.
        self.on_flushed: list[Callable[[], None]] = []
        # Raises when a reader of the changes is too far behind for more to be written.
        self.on_admit: list[Callable[[], None]] = []
        self.watched = False
        self._engine = engine
        self._commits = commits
        self._clock = clock
        self._table = table = settings.table
        index = None if settings.index is None else table.index(settings.index)
        self.table_id = table.id if index is None else index.id
        self._prefix = table_prefix(self.table_id)
        self._has_local = index is None and bool(table.local_indexes)
        self._local_pages = LocalPages(engine, table, self._unflushed)
        self.state_key = state_key(settings.group)
        self._overlay: dict[bytes, Pending] = {}
        self._proposed_tokens: set[bytes] = set()
        self._written_tokens: set[bytes] = set()
        self._written_round: Round | None = None

    # Reads

    async def get(self, get: Get) -> Found:
        pending = self._overlay.get(get.key)
        if pending is None:
            stored = self._engine.get(Family.ITEM, self._prefix + get.key)
        else:
            await pending.round.flushed
            stored = pending.stored
        if stored is None:
            return Found(None, 0)
        body = body_of(stored)
        if get.projection is not None:
            body = encode_item(get.projection.project(decode_item(body)))
        return Found(body, size_of(stored))

    async def query(self, query: Query) -> Page:
        if query.local is not None:
            return await self._local_pages.query(query)
        lower, upper = query_range(self._prefix, query)
        if lower >= upper:
            return Page([], 0, 0, 0, None)
        visible = self._written_round
        unflushed = visible is not None and query.lower[:TOKEN_BYTES] in self._written_tokens
        rows = self._engine.scan(Family.ITEM, lower, upper, forward=query.forward)
        page = await read_page(rows, query)
        if unflushed and visible is not None:
            await visible.flushed
        return page

    async def scan(self, scan: Scan) -> Page:
        if scan.local is not None:
            return await self._local_pages.scan(scan)
        lower, upper = scan_range(self.table_id, scan)
        if lower >= upper:
            return Page([], 0, 0, 0, None)
        visible = self._written_round
        rows = self._engine.scan(Family.ITEM, lower, upper)
        page = await read_page(rows, scan, scan.size_max, scan.stored_bytes_max)
        if visible is not None:
            await visible.flushed
        return page

    def _unflushed(self, token: bytes) -> Flushed | None:
        """What a page waits for that shows rows of this token as they are in the engine now; of any, if it is empty."""
        visible = self._written_round
        if visible is None or (token and token not in self._written_tokens):
            return None
        return visible.flushed

    # Writes

    async def write(self, write: Write) -> Written:
        self._commits.admit()
        for check in self.on_admit:
            check()
        key = write.key
        pending = self._overlay.get(key)
        current = (
            self._engine.get(Family.ITEM, self._prefix + key) if pending is None else pending.stored
        )
        try:
            outcome = evaluate(self._table, current, write, watched=self.watched)
        except GrammeError:
            if pending is not None:
                await pending.round.flushed
            raise
        if outcome.effective:
            round = self._propose_item(key, current, outcome.new, outcome.size)
            await round.flushed
        elif pending is not None:
            await pending.round.flushed
        return outcome.written

    def begin(self, writes: Sequence[Put | Delete], bytes_max: int) -> Begun:
        """Do all but wait for writes of different items that have no conditions, as one entry.

        Ends with the write that makes it `bytes_max`, read and written, and leaves the others. Raises Throttling.
        """
        self._commits.admit()
        for check in self.on_admit:
            check()
        begun = Begun([], set(), 0)
        effects: list[Effect] = []
        overlay, prefix, get = self._overlay, self._prefix, self._engine.get
        # An item may be as large again in each local index.
        copies = 1 + len(self._table.local_indexes)
        for write in writes:
            key = write.key
            pending = overlay.get(key)
            current = get(Family.ITEM, prefix + key) if pending is None else pending.stored
            outcome = evaluate(self._table, current, write, watched=self.watched)
            begun.answers.append(outcome.written)
            if outcome.effective:
                effects.append((key, current, outcome.new, outcome.size))
                begun.size_bytes += copies * (len(current or b"") + len(outcome.new or b""))
                if begun.size_bytes >= bytes_max:
                    break
            elif pending is not None:
                begun.rounds.add(pending.round)
        if effects:
            begun.rounds.add(self._propose_items(effects))
        return begun

    def _propose_item(self, key: bytes, old: bytes | None, body: bytes | None, size: int) -> Round:
        version = Version(self.state.index + 1, 0)
        stamp = self.next_stamp()
        row = item_row(self._prefix + key, body, size, version, stamp)
        operations: list[Operation] = [row]
        if self.watched:
            operations.append(change_row(self.settings.log_id, key, version, stamp, old, row))
        local = self.state.local
        if self._has_local:
            rows, local = local_rows(self._table, local, key, old, row, version, stamp)
            operations += rows
        state = next_state(self.state, version.apply_index, stamp.clock, ((old, row),), local)
        round = self.propose(operations, state, (key,))
        self._overlay[key] = Pending(row.value, version, round)
        return round

    def _propose_items(self, effects: list[Effect]) -> Round:
        index = self.state.index + 1
        first = self.next_stamp().clock
        operations: list[Operation] = []
        replaced: list[tuple[bytes | None, Row]] = []
        versions: list[Version] = []
        local = self.state.local
        for ordinal, (key, old, body, size) in enumerate(effects):
            version, stamp = Version(index, ordinal), Stamp(first + ordinal, LOCAL_REGION)
            row = item_row(self._prefix + key, body, size, version, stamp)
            operations.append(row)
            replaced.append((old, row))
            versions.append(version)
            if self.watched:
                operations.append(change_row(self.settings.log_id, key, version, stamp, old, row))
            if self._has_local:
                rows, local = local_rows(self._table, local, key, old, row, version, stamp)
                operations += rows
        state = next_state(self.state, index, first + len(effects) - 1, replaced, local)
        keys = tuple(effect[0] for effect in effects)
        round = self.propose(operations, state, keys)
        for key, (_, row), version in zip(keys, replaced, versions, strict=True):
            self._overlay[key] = Pending(row.value, version, round)
        return round

    # What the tailers' half of the replica builds on, in `node/tail/`

    def current(self, key: bytes) -> Pending | bytes | None:
        """The newest proposed row, or the stored one."""
        return self._overlay.get(key) or self._engine.get(Family.ITEM, self._prefix + key)

    def row_key(self, key: bytes) -> bytes:
        return self._prefix + key

    def next_stamp(self) -> Stamp:
        """A stamp greater than every stamp of this partition."""
        clock = max(self._clock.now_ms() << CLOCK_COUNTER_BITS, self.state.clock + 1)
        return Stamp(clock, LOCAL_REGION)

    def propose(
        self, operations: list[Operation], state: ReplicaState, keys: tuple[bytes, ...]
    ) -> Round:
        """Hand operations to the commit loop as this group's next entry."""
        self.state = state
        size = 0
        for operation in operations:
            if isinstance(operation, Row) and operation.value is not None:
                size += len(operation.value)
        for key in keys:
            self._proposed_tokens.add(key[:TOKEN_BYTES])
        return self._commits.propose(self, Entry(operations, state, size, keys))

    def propose_rows(self, operations: list[Operation]) -> Round:
        """Propose an entry that changes no items."""
        state = msgspec.structs.replace(self.state, index=self.state.index + 1)
        return self.propose(operations, state, ())

    def change_settings(self, settings: ReplicaSettings, rows: list[Operation]) -> Round:
        """Propose other settings, by which this replica works from that entry on, together with `rows`."""
        self.settings = settings
        self._table = settings.table
        self.watched = bool(settings.table.indexes)
        row = Row(Family.RAFT, settings_key(settings.group), encode_settings(settings))
        return self.propose_rows([row, *rows])

    async def shown_is_flushed(self) -> None:
        """Wait until everything is durable that the engine shows of this group now."""
        if self._written_round is not None:
            await self._written_round.flushed

    def remember(self, key: bytes, pending: Pending) -> None:
        self._overlay[key] = pending

    # What the commit loop tells

    def writing(self, round: Round) -> None:
        self._written_round = round
        self._written_tokens, self._proposed_tokens = self._proposed_tokens, set()

    def settled(self, round: Round, entries: list[Entry]) -> None:
        overlay = self._overlay
        for entry in entries:
            for key in entry.keys:
                pending = overlay.get(key)
                if pending is not None and pending.round is round:
                    del overlay[key]
        self._written_round = None
        self._written_tokens = set()
        self.flushed_state = entries[-1].state
        self.flushed_index = self.flushed_state.index
        for notify in self.on_flushed:
            notify()
