"""One replica of one Raft group: a state machine without disk, network, clock or chance.

Its shell calls in what happened (`step`, `tick`, `propose`, `persisted`, ...), then asks `ready` what is to be done;
`ready.py` says in which order. What makes it safe:

1. *A term has at most one leader.* A replica votes once in a term, and the vote is flushed before it is told, its own
   included. A term, once adopted, is flushed before anything is acknowledged in it.
2. *A leader has every committed entry.* Voters refuse a candidate whose log ends before theirs, and an entry is committed
   only when a majority of voters has flushed it. Any two majorities that can decide share a replica.
3. *An entry is committed by counting only if it is of the leader's own term* (figure 8 of the paper); those before it
   are committed with it. So a leader begins with an empty entry of its own.
4. *Nothing committed is ever overwritten.* A follower overwrites only what conflicts, and only after the commit index.
5. *An acknowledgement says "flushed".* It leaves after the flush of all it covers, and an entry that was overwritten
   while its flush ran is not counted (`log.py`). A leader counts itself by the same rule, though its appends may
   leave before its own flush: if it dies then, it comes back as a follower of that term and never leads in it again.
6. *One voter changes at a time*, and only when the change before is applied and the leader has committed in its own
   term (`configuration.py`). Learners count nowhere.
7. *A read is answered by who still led after it came* (`reads.py`), and only once the leader's own first entry is applied:
   before that it does not know how far its predecessors had committed.

A heartbeat's answer leaves at once, though the term it carries may not be flushed. It says "I know of no later term", which a
crash cannot make false: a later term that a majority voted for is flushed in that majority.

What the core cannot see, its shell guarantees: a replica that lost flushed state (a wiped or restored disk) comes back
under a new replica id, as a learner, and an id is never used twice. And no message makes a replica: one that is not in
any configuration it knows of never runs for election, so it disturbs nobody; one that was removed and has not heard of
it asks for pre-votes, which are ignored while a leader is heard, and otherwise refused by a majority, which has the
entry that removed it.
"""

from __future__ import annotations

from collections import deque

from gramme.node.raft.configuration import Configurations, configuration_of
from gramme.node.raft.election import Draw
from gramme.node.raft.leader import Leader
from gramme.node.raft.log import LogStorage, RaftLog
from gramme.node.raft.messages import (
    NOBODY,
    NUMBER_MAX,
    AppendEntries,
    AppendResponse,
    Configuration,
    Entry,
    EntryKind,
    HardState,
    Heartbeat,
    HeartbeatResponse,
    InstallSnapshot,
    Message,
    ReplicaId,
    RequestVote,
    Snapshot,
    TimeoutNow,
    VoteResponse,
)
from gramme.node.raft.proposer import Proposer
from gramme.node.raft.ready import Ready, Role, SoftState
from gramme.node.raft.settings import Settings

# Looking for configurations in what is not applied yet, when a replica starts.
START_BYTES_MAX = 1 << 20


class Raft(Proposer):
    """See the module's head. `configuration` is the one as of the applied index."""

    def __init__(
        self,
        settings: Settings,
        replica: ReplicaId,
        configuration: Configuration,
        hard_state: HardState,
        storage: LogStorage,
        applied: int,
        draw: Draw,
    ) -> None:
        log = RaftLog(storage, settings.cached_bytes_max)
        log.applying = applied
        log.committed = max(hard_state.commit, applied)
        assert log.first_index - 1 <= applied, "the log does not reach back to what is applied"
        assert log.committed <= log.last_index, "the log has lost committed entries"
        configurations = Configurations(applied, configuration)
        super().__init__(settings, replica, hard_state, log, configurations, draw)
        self._number = 0
        # Number of a Ready in flight, and the term and vote it carries.
        self._promises: deque[tuple[int, int, ReplicaId]] = deque()
        self._promised = (self.term, self.vote)
        self._shown_commit = hard_state.commit
        self._shown = SoftState(self.role, self.leader, self.term)
        self._read_configurations()

    def _read_configurations(self) -> None:
        log = self.log
        index = self.applied_index + 1
        while index <= log.last_index:
            entries, _ = log.entries(index, log.last_index, START_BYTES_MAX)
            for entry in entries:
                if entry.kind is EntryKind.CONFIGURATION:
                    configuration = configuration_of(entry)
                    assert configuration is not None, f"entry {entry.index} is damaged"
                    self.configurations.append(entry.index, configuration)
            index = entries[-1].index + 1

    # Time

    def tick(self) -> bool:
        """Returns whether anything has come of it, which most often it has not."""
        self._elapsed += 1
        if self._leadership is not None:
            return self._tick_leader(self._leadership)
        if self._elapsed < self._timeout:
            return False
        self.campaign()
        return True

    def _tick_leader(self, leader: Leader) -> bool:
        over = self._elapsed >= self.settings.election_ticks
        if over:
            self._elapsed = 0
            # A successor that has not taken over by now will not.
            leader.transfer_to = NOBODY
            if leader.lost_quorum() and self.settings.check_quorum:
                self._become_follower(self.term, NOBODY)
                return True
        leader.heartbeat_elapsed += 1
        if leader.heartbeat_elapsed >= self.settings.heartbeat_ticks:
            self.heartbeat()
            return True
        return over

    def heartbeat(self) -> None:
        """Send heartbeats now, as time does for a leader."""
        if self._leadership is not None:
            self._leadership.heartbeat_elapsed = 0
            self._leadership.heartbeat()

    @property
    def owes_commit(self) -> bool:
        """Whether this replica leads and a follower does not know all that is committed."""
        return self._leadership is not None and self._leadership.owes_commit()

    def tell_commit(self) -> None:
        """Tell followers what is committed, now. Otherwise the next entries tell them, or the next heartbeat."""
        if self._leadership is not None:
            self._leadership.telling = self._leadership.stirred = True

    def campaign(self) -> None:
        """Run for election now, as time does for who hears no leader. A group's only voter need not wait for time."""
        if self.role is Role.LEADER:
            return
        if self._may_run():
            self._run(transfer=False)
        else:
            self._take_role(Role.FOLLOWER, NOBODY)

    # Messages

    def step(self, message: Message) -> None:
        term = message.term
        sender = message.sender
        if (
            message.to != self.replica
            or sender == self.replica
            or sender <= NOBODY
            or not 0 < term <= NUMBER_MAX
        ):
            self.ill_formed += 1
            return
        if term != self.term:
            if term < self.term:
                self._meet_lower_term(message)
                return
            if not self._meet_higher_term(message):
                return
        match message:
            case AppendEntries():
                self._on_append_entries(message)
            case AppendResponse():
                self._on_append_response(message)
            case Heartbeat():
                self._on_heartbeat(message)
            case HeartbeatResponse():
                self._on_heartbeat_response(message)
            case RequestVote():
                self._on_request_vote(message)
            case VoteResponse():
                self._on_vote_response(message)
            case InstallSnapshot():
                self._on_install_snapshot(message)
            case TimeoutNow():
                self._on_timeout_now(message)

    def _meet_lower_term(self, message: Message) -> None:
        """Its sender was cut off, or is a deposed leader: our term in the answer tells it so."""
        match message:
            case RequestVote():
                self._outbox.append(
                    VoteResponse(self.replica, message.sender, self.term, message.pre, False)
                )
            case AppendEntries() | Heartbeat() | InstallSnapshot():
                self._outbox.append(
                    AppendResponse(self.replica, message.sender, self.term, 0, True)
                )

    def _meet_higher_term(self, message: Message) -> bool:
        """Adopt the message's term if it is anybody's yet. Returns whether the message is to be looked at further."""
        leader = NOBODY
        match message:
            case RequestVote():
                if not message.transfer and self._hears_leader():
                    return False
                if message.pre:
                    return True
            case VoteResponse() if message.pre and message.granted:
                # The term we asked about, which has not begun.
                return True
            case AppendEntries() | Heartbeat() | InstallSnapshot():
                leader = message.sender
        self._become_follower(message.term, leader)
        return True

    # What the shell has done

    def persisted(self, number: int) -> None:
        """A flush has finished that covers the Ready of this number and all before it."""
        promises = self._promises
        term, vote = 0, NOBODY
        while promises and promises[0][0] <= number:
            _, term, vote = promises.popleft()
        self.log.flushed(number)
        if self._leadership is not None:
            self._advance_commit(self._leadership)
        elif self.role is Role.CANDIDATE and (term, vote) == (self.term, self.replica):
            self._own_vote_is_flushed()

    def applied(self, index: int) -> None:
        """The effects of all entries up to `index` are written."""
        assert self.applied_index <= index <= self.log.applying
        self.applied_index = index
        self.configurations.applied(index)

    def installed(self, snapshot: Snapshot) -> None:
        """The engine shows this snapshot's state, and its storage a log that begins after it."""
        assert snapshot.index == self._installing
        self._installing = 0
        self.log.restored()
        self.applied_index = snapshot.index

    def snapshot(self) -> Snapshot:
        """Describes what is applied now."""
        applied = self.applied_index
        return Snapshot(applied, self.log.term(applied), self.configurations.oldest)

    def snapshot_sent(self, replica: ReplicaId, index: int) -> None:
        """The snapshot that an InstallSnapshot asked for has arrived; it went up to `index`."""
        self._snapshot_over(replica, index)

    def snapshot_failed(self, replica: ReplicaId) -> None:
        """Nobody knows how much of it arrived. It may be all, and only the answer was lost: so the replica is asked first."""
        self._snapshot_over(replica, self.log.last_index)

    def _snapshot_over(self, replica: ReplicaId, index: int) -> None:
        if self._leadership is not None and replica in self._leadership.progress:
            self._leadership.progress[replica].snapshot_over(min(index, self.log.last_index))

    def unreachable(self, replica: ReplicaId) -> None:
        """Messages to this replica may have been lost."""
        if self._leadership is not None and replica in self._leadership.progress:
            self._leadership.progress[replica].unreachable()

    def gone(self, replica: ReplicaId) -> None:
        """The stream to this replica broke. If that is the leader, it has probably died, and others soon run for election.

        If it lives they do so in vain: it, and whoever else hears it, ignores them.
        """
        if self.role is Role.FOLLOWER and self.leader == replica:
            self._take_role(Role.FOLLOWER, NOBODY)
            self._timeout = self._draw(1, self.settings.hurried_ticks)

    def back(self) -> None:
        """Another replica can be reached again. Who hears no leader runs for election soon: it may have waited for that one.

        If there is a leader it does so in vain, as above.
        """
        if self.leader == NOBODY and self.role in (Role.FOLLOWER, Role.PRE_CANDIDATE):
            soon = self._elapsed + self._draw(1, self.settings.hurried_ticks)
            self._timeout = min(self._timeout, soon)

    def compact(self, index: int) -> None:
        """The storage drops, or has dropped, all entries up to `index`, which are applied."""
        assert index <= self.applied_index
        self.log.forget(index)

    # What is to be done

    def ready(self) -> Ready | None:
        """Return what has come up since the last Ready, or None. See `ready.py`."""
        leader = self._leadership
        if leader is not None:
            if leader.reads.waiting:
                self._begin_reads(leader)
            if leader.stirred:
                leader.replicate(self.applied_index)
        log = self.log
        soft_state = self._changed_soft_state()
        promise = (self.term, self.vote) != self._promised
        commits = log.committed != self._shown_commit
        entries = log.take_unhanded()
        committed = self._take_committed()
        if not (
            entries
            or committed
            or self._outbox
            or self._outbox_after_persist
            or promise
            or commits
            or soft_state
            or self._read_states
            or self._reads_refused
            or self._snapshot
        ):
            return None
        self._number += 1
        hard_state = None
        if promise or commits:
            hard_state = HardState(self.term, self.vote, log.committed)
        return self._give(hard_state, entries, committed, soft_state, promise)

    def _give(
        self,
        hard_state: HardState | None,
        entries: list[Entry],
        committed: list[Entry],
        soft_state: SoftState | None,
        promise: bool,
    ) -> Ready:
        log, snapshot = self.log, self._snapshot
        # Leaderships keep a reference to this list, so it is emptied, not replaced.
        messages = self._outbox[:]
        self._outbox.clear()
        after = self._outbox_after_persist
        writes = bool(entries) or promise or snapshot is not None
        if writes:
            log.in_flight(self._number)
            self._promises.append((self._number, self.term, self.vote))
        elif after and not log.flushing:
            # All they promise is flushed already.
            messages += after
            after = []
        ready = Ready(
            self._number,
            snapshot,
            hard_state,
            entries,
            messages,
            after,
            committed,
            self._read_states,
            self._reads_refused,
            soft_state,
            writes or bool(after),
        )
        self._outbox_after_persist = []
        self._read_states = []
        self._reads_refused = []
        self._snapshot = None
        self._promised = (self.term, self.vote)
        self._shown_commit = log.committed
        return ready

    def _changed_soft_state(self) -> SoftState | None:
        shown = self._shown
        if shown.role is self.role and shown.leader == self.leader and shown.term == self.term:
            return None
        self._shown = SoftState(self.role, self.leader, self.term)
        return self._shown

    def _take_committed(self) -> list[Entry]:
        log = self.log
        if log.applying >= log.committed or self._installing:
            return []
        entries, size = log.take_committed(self.settings.committed_bytes_max)
        if self._leadership is not None:
            waiting = self._leadership.uncommitted_bytes
            # Entries of leaders before this one were not counted.
            self._leadership.uncommitted_bytes = max(0, waiting - size)
        return entries
