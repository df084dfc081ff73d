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

from collections import deque
from collections.abc import Callable, Sequence
from hashlib import blake2b

import msgspec

from gramme.clock import Clock
from gramme.codec.item import body_of, size_of
from gramme.codec.json import decode_item, encode_item
from gramme.commands import Delete, Found, Get, Page, Put, Query, Scan, Write, Written
from gramme.errors import GrammeError, Throttling, ValidationError
from gramme.model.values import TOO_LARGE
from gramme.model.version import Stamp, Version
from gramme.node.apply import change_row, item_row, local_rows
from gramme.node.engine.api import Engine, Family, Operation, Row
from gramme.node.engine.keyspace import (
    ReplicaSettings,
    ReplicaState,
    decode_settings,
    decode_state,
    encode_settings,
    settings_key,
    state_key,
    table_prefix,
)
from gramme.node.evaluate import Outcome, evaluate
from gramme.node.flushed import Flushed
from gramme.node.local_pages import LocalPages
from gramme.node.overlay import Overlay
from gramme.node.pages import query_range, read_page, scan_range
from gramme.node.proposals import Commits, Entry, Proposals, Round, next_version
from gramme.node.request_ids import RequestIds
from gramme.partitions import TOKEN_BYTES

# The region of stamps made here. Regions get numbers when there is more than one.
LOCAL_REGION = 0
# A hybrid logical clock: milliseconds above, a counter below.
CLOCK_COUNTER_BITS = 16
# What an item may put into an entry that is sent to other nodes. The item before it may be there twice, in a change and in
# an answer, and the three together must fit into a frame.
WRITE_BYTES_MAX = 5 << 20


class Pending(msgspec.Struct, frozen=True):
    """A row that is proposed and not yet flushed. `version` is its source's, for a row of an index."""

    stored: bytes | None
    version: Version
    round: Round


class Begun(msgspec.Struct):
    """Writes that are proposed: their answers, to be given once all the rounds are flushed.

    `unchanged` tells that one of the answers is about an item as it was found, which a replica that leads no more may not
    know to be old.
    """

    answers: list[Written | Throttling]
    rounds: set[Round]
    size_bytes: int
    unchanged: bool = False


class Replica:
    """See the module's head. Everything public is called on the event loop."""

    def __init__(
        self,
        engine: Engine,
        commits: Commits,
        clock: Clock,
        settings: ReplicaSettings,
        state: ReplicaState,
        *,
        replicated: bool = False,
    ) -> None:
        """`replicated` says that there are other replicas, so that `commits` is a log and not the commit loop."""
        self.settings = settings
        self.flushed_index = state.index
        # The totals of this one may be shown: those of `state` count what is not on disk yet.
        self.flushed_state = state
        self._replicated = replicated
        # Called whenever more of the change log may be read.
        self.on_flushed: list[Callable[[], None]] = []
        # Raises when a reader of the changes is too far behind for more to be written.
        self.on_admit: list[Callable[[], None]] = []
        self.watched = False
        self._engine = engine
        self._commits = commits
        self._proposals = Proposals(commits, self, state)
        self._clock = clock
        self._table = table = settings.table
        index = None if settings.index is None else table.index(settings.index)
        self.table_id = table.id if index is None else index.id
        self._prefix = table_prefix(self.table_id)
        self._request_ids = RequestIds(engine, clock, self._prefix)
        self._has_local = index is None and bool(table.local_indexes)
        self._local_pages = LocalPages(engine, table, self._unflushed)
        self.state_key = state_key(settings.group)
        # The rows that are proposed, and the state after each round under way.
        self._overlay: Overlay[Pending] = Overlay()
        self._under_way: deque[ReplicaState] = deque()
        # The round whose rows the engine may show though they are not flushed, and their tokens once somebody asks.
        self._written_round: Round | None = None
        self._written_tokens: set[bytes] | None = None

    # Reads

    async def get(self, get: Get) -> Found:
        if self._replicated:
            # What is proposed has not happened yet, and what is applied is held by a quorum.
            if get.consistent:
                await self._commits.confirm()
            stored = self._engine.get(Family.ITEM, self._prefix + get.key)
        elif (pending := self._pending(get.key)) is None:
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
        if query.consistent and self._replicated:
            await self._commits.confirm()
        if query.local is not None:
            return await self._local_pages.query(query)
        lower, upper = query_range(self._prefix, query)
        if lower >= upper:
            return Page([], 0, 0, 0, None)
        unflushed = self._unflushed(query.lower[:TOKEN_BYTES])
        rows = self._engine.scan(Family.ITEM, lower, upper, forward=query.forward)
        page = await read_page(rows, query)
        if unflushed is not None:
            await unflushed
        return page

    async def scan(self, scan: Scan) -> Page:
        if scan.consistent and self._replicated:
            await self._commits.confirm()
        if scan.local is not None:
            return await self._local_pages.scan(scan)
        lower, upper = scan_range(self.table_id, scan)
        if lower >= upper:
            return Page([], 0, 0, 0, None)
        unflushed = self._unflushed(b"")
        rows = self._engine.scan(Family.ITEM, lower, upper)
        page = await read_page(rows, scan, scan.size_max, scan.stored_bytes_max)
        if unflushed is not None:
            await unflushed
        return page

    def _unflushed(self, token: bytes) -> Flushed | None:
        """What a page waits for that shows rows of this token as they are in the engine now; of any, if it is empty."""
        visible = self._written_round
        if visible is None:
            return None
        if token:
            if self._written_tokens is None:
                self._written_tokens = {key[:TOKEN_BYTES] for key in self._overlay.taken}
            if token not in self._written_tokens:
                return None
        return visible.flushed

    # Writes

    async def write(self, write: Write, id: bytes = b"", *, first: bool = False) -> Written:
        """With an `id`, which other replicas may be asked under too, do it once at most.

        Asked for the `first` time it was not done, so it is not looked for.
        """
        key = write.key
        may_be_done = id and not first
        try:
            self._commits.admit()
            for check in self.on_admit:
                check()
        except Throttling:
            # What was done already needs no room.
            if not may_be_done or self._request_ids.find(id, key) is None:
                raise
        if may_be_done and (done := self._request_ids.find(id, key)) is not None:
            answered, round_of_id = done
            if round_of_id is None:
                await self._seen_for_sure(None)
            else:
                await round_of_id.flushed
            return answered
        pending = self._pending(key)
        current = (
            self._engine.get(Family.ITEM, self._prefix + key) if pending is None else pending.stored
        )
        try:
            outcome = evaluate(self._table, current, write, watched=self.watched)
            if self._replicated:
                self._check_entry(outcome.new)
        except GrammeError:
            await self._seen_for_sure(pending)
            raise
        written = outcome.written
        if not outcome.effective:
            await self._seen_for_sure(pending)
            return written
        round = self._propose_item(key, current, outcome, id)
        # A flush takes long enough for thousands of writes to come in. What they no longer need must go, or it pushes
        # what the next ones need out of the processor's caches.
        del write, current, outcome, pending
        await round.flushed
        return written

    async def _seen_for_sure(self, pending: Pending | None) -> None:
        """Wait until an answer may leave that only tells of what there is: of `pending`, or of what is applied."""
        if self._replicated:
            # A leader that was replaced and does not know it yet has an old item. One that it has proposed may be old too:
            # it may see it committed by what others said before they voted for another leader.
            await self._commits.confirm()
        if pending is not None:
            await pending.round.flushed

    def begin(
        self,
        writes: Sequence[Put | Delete],
        bytes_max: int,
        id: bytes = b"",
        *,
        first: bool = False,
    ) -> Begun:
        """Do all but wait for writes of different items that have no conditions, side by side.

        Ends with the write that makes it `bytes_max`, read and written, and leaves the others. What there is no room for is
        answered with why. Raises ValidationError, having done nothing.
        """
        full: Throttling | None = None
        try:
            self._commits.admit()
            for check in self.on_admit:
                check()
        except Throttling as refusal:
            full = refusal
        if self._replicated:
            for write in writes:
                if isinstance(write, Put):
                    self._check_entry(write.item)
        begun = Begun([], set(), 0)
        prefix, get = self._prefix, self._engine.get
        # An item may be as large again in each local index.
        copies = 1 + len(self._table.local_indexes)
        for write in writes:
            key = write.key
            # The items of a batch are different ones, so the token and the item's key tell its writes apart.
            own_id = id and _id_of(id, key)
            if own_id and not first and (done := self._request_ids.find(own_id, key)) is not None:
                begun.answers.append(done[0])
                if done[1] is not None:
                    begun.rounds.add(done[1])
                continue
            if full is not None:
                begun.answers.append(full)
                continue
            pending = self._pending(key)
            current = get(Family.ITEM, prefix + key) if pending is None else pending.stored
            outcome = evaluate(self._table, current, write, watched=self.watched)
            begun.answers.append(outcome.written)
            if outcome.effective:
                begun.rounds.add(self._propose_item(key, current, outcome, own_id))
                begun.size_bytes += copies * (len(current or b"") + len(outcome.new or b""))
                if begun.size_bytes >= bytes_max:
                    break
            else:
                begun.unchanged = True
                if pending is not None:
                    begun.rounds.add(pending.round)
        return begun

    def _propose_item(self, key: bytes, old: bytes | None, outcome: Outcome, id: bytes) -> Round:
        proposals = self._proposals
        entry = proposals.entry()
        version = next_version(entry)
        stamp = self.next_stamp()
        row = item_row(self._prefix + key, outcome.new, outcome.size, version, stamp)
        sums, operations = proposals.sums, entry.operations
        sums.clock = stamp.clock
        sums.replace(old, row)
        operations.append(row)
        stored = row.value
        size_bytes = 0 if stored is None else len(stored)
        if self.watched:
            change = change_row(self.settings.log_id, key, version, stamp, old, row)
            operations.append(change)
            proposals.changes += 1
            size_bytes += len(change.value or b"")
        if self._has_local:
            rows, sums.local = local_rows(self._table, sums.local, key, old, row, version, stamp)
            operations += rows
            size_bytes += sum(len(local.value or b"") for local in rows)
        if id:
            operations.append(self._request_ids.row(id, key, outcome.written))
        round = proposals.add(entry, size_bytes)
        if id:
            self._request_ids.propose(id, outcome.written, round)
        self._overlay.proposed[key] = Pending(stored, version, round)
        return round

    def _check_entry(self, new: bytes | None) -> None:
        """Raises ValidationError for an item that no entry can hold: followers would not get it, nor what comes after.

        An item of numbers such as 1E125 counts as little and is written with all their digits, once for itself, once
        for each local index and once in a change. What it replaces is in the entry too, but passed this itself.
        """
        copies = 1 + len(self._table.local_indexes) + self.watched
        if new is not None and copies * len(new) > WRITE_BYTES_MAX:
            raise ValidationError(TOO_LARGE)

    def _pending(self, key: bytes) -> Pending | None:
        """The newest proposed row, if it is not flushed yet."""
        return self._overlay.get(key)

    # What the tailers' half of the replica builds on, in `node/tail/`

    @property
    def state(self) -> ReplicaState:
        """The group's state with everything proposed."""
        return self._proposals.state

    @property
    def changes(self) -> int:
        """How many changes were proposed since the replica was opened."""
        return self._proposals.changes

    def current(self, key: bytes) -> Pending | bytes | None:
        """The newest proposed row, or the stored one."""
        return self._pending(key) or self._engine.get(Family.ITEM, self._prefix + key)

    def row_key(self, key: bytes) -> bytes:
        return self._prefix + key

    def next_stamp(self) -> Stamp:
        """A stamp greater than every stamp of this partition."""
        clock = max(self._clock.now_ms() << CLOCK_COUNTER_BITS, self._proposals.sums.clock + 1)
        return Stamp(clock, LOCAL_REGION)

    def propose(
        self,
        operations: list[Operation],
        replaced: Sequence[tuple[bytes | None, Row]],
        stamp: Stamp,
    ) -> Round:
        """Propose operations, with rows of an index among them and what stood in their place."""
        return self._proposals.propose(operations, replaced, stamp.clock)

    def propose_rows(self, operations: list[Operation]) -> Round:
        """Propose what changes no items."""
        return self._proposals.propose(operations)

    def change_settings(self, settings: ReplicaSettings, rows: list[Operation]) -> Round:
        """Propose other settings, by which this replica works from that entry on, together with `rows`."""
        self._work_by(settings)
        row = Row(Family.RAFT, settings_key(settings.group), encode_settings(settings))
        # In an entry of its own: what comes before it was done by the old settings, what comes after it by these.
        self._proposals.open()
        round = self._proposals.propose([row, *rows])
        self._proposals.close()
        return round

    def _work_by(self, settings: ReplicaSettings) -> None:
        self.settings = settings
        self._table = settings.table
        self.watched = settings.index is None and bool(settings.table.indexes)

    def applied_settings(self) -> ReplicaSettings:
        """The settings as of the last entry that is applied."""
        raw = self._engine.get(Family.RAFT, settings_key(self.settings.group))
        return self.settings if raw is None else decode_settings(raw)

    async def shown_is_flushed(self) -> None:
        """Wait until everything is durable that the engine shows of this group now."""
        if self._written_round is not None:
            await self._written_round.flushed

    def remember(self, key: bytes, pending: Pending) -> None:
        self._overlay.proposed[key] = pending

    # What the commit loop tells, or the log

    def take(self, round: Round, *, shown: bool) -> list[Entry]:
        self._written_round = round if shown else None
        self._overlay.take()
        self._request_ids.take()
        self._written_tokens = None
        entries = self._proposals.take()
        last = entries[-1].state
        assert last is not None
        self._under_way.append(last)
        return entries

    def settled(self) -> None:
        last = self._under_way.popleft()
        self._overlay.settled()
        self._request_ids.settled()
        self._written_round = None
        self.flushed_state = last
        self.flushed_index = last.index
        for notify in self.on_flushed:
            notify()

    def lead(self, term: int) -> None:
        self._load()
        self._work_by(self.applied_settings())
        self._proposals.restart(msgspec.structs.replace(self.flushed_state, term=term))

    def follow(self) -> None:
        self._overlay.clear()
        self._under_way.clear()
        self._request_ids.clear()
        self._work_by(self.applied_settings())
        self._proposals.restart(self.flushed_state)

    def caught_up(self) -> None:
        """Entries of the log have been applied, perhaps of another leader's."""
        if not self._under_way:
            self._load()
            for notify in self.on_flushed:
                notify()

    def _load(self) -> None:
        raw = self._engine.get(Family.RAFT, self.state_key)
        assert raw is not None, f"group {self.settings.group} has lost its state"
        self.flushed_state = decode_state(raw)
        self.flushed_index = self.flushed_state.index


def _id_of(batch: bytes, key: bytes) -> bytes:
    """The request id of one write of a batch: the same whenever the batch is asked for again."""
    return blake2b(key, digest_size=len(batch), key=batch).digest()
