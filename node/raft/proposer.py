"""What a replica does while it leads: takes what its shell proposes and asks, and counts what the followers answer.

What it knows of them is in `leader.py`; here is what follows from it: that entries are committed and reads confirmed.
"""

from __future__ import annotations

from gramme.node.raft.configuration import Change, Configurations, changed
from gramme.node.raft.election import Draw
from gramme.node.raft.follower import Follower
from gramme.node.raft.leader import Leader
from gramme.node.raft.log import RaftLog, size_of
from gramme.node.raft.messages import (
    NOBODY,
    AppendResponse,
    Entry,
    EntryKind,
    HardState,
    HeartbeatResponse,
    ReplicaId,
    encode_membership,
)
from gramme.node.raft.ready import ReadState
from gramme.node.raft.refusals import (
    ChangeRefused,
    NotLeader,
    TooManyReads,
    TooMuchUncommitted,
    TransferUnderWay,
)
from gramme.node.raft.settings import ENTRY_OVERHEAD_BYTES, Settings

# Looked up once: proposing is the hot path.
NORMAL = EntryKind.NORMAL


class Proposer(Follower):
    """The part of a replica that leads. All of it does nothing, or refuses, in any other role."""

    def __init__(
        self,
        settings: Settings,
        replica: ReplicaId,
        hard_state: HardState,
        log: RaftLog,
        configurations: Configurations,
        draw: Draw,
    ) -> None:
        super().__init__(settings, replica, hard_state, log, configurations, draw)
        self.applied_index = log.applying
        self._read_states: list[ReadState] = []

    # What followers answer

    def _begin_leadership(self, leadership: Leader) -> None:
        self.log.append_own(self.term, NORMAL, b"")

    def _on_append_response(self, message: AppendResponse) -> None:
        leader = self._leadership
        if leader is not None:
            progress = leader.progress.get(message.sender)
            if progress is None or message.index > self.log.last_index:
                self.ill_formed += progress is not None
            elif leader.answered(message, progress):
                self._advance_commit(leader)

    def _on_heartbeat_response(self, message: HeartbeatResponse) -> None:
        leader = self._leadership
        if leader is not None:
            progress = leader.progress.get(message.sender)
            if progress is not None and leader.heard_heartbeat(progress, message.round):
                self._confirm_reads(leader)

    def _advance_commit(self, leader: Leader) -> None:
        index = leader.held_by_majority()
        if index > self.log.committed and index >= leader.own_term_index:
            self.log.committed = index
            leader.stirred = True
            if self.configurations.index <= index and not self.is_voter:
                # The entry that removes this leader is committed. Until then it led, without counting itself.
                leader.replicate(self.applied_index)
                leader.farewell()
                self._become_follower(self.term, NOBODY)

    def _confirm_reads(self, leader: Leader) -> None:
        self._read_states += leader.reads.confirm(leader.confirmed_round())

    def _begin_reads(self, leader: Leader) -> None:
        reads = leader.reads
        if len(reads.rounds) < self.settings.read_rounds_max and self.serving:
            reads.begin(self.log.committed)
            leader.heartbeat()
            self._confirm_reads(leader)

    # What the shell asks for

    @property
    def serving(self) -> bool:
        """Whether this replica leads and has applied all its predecessors may have committed."""
        leader = self._leadership
        return leader is not None and self.applied_index >= leader.own_term_index

    def propose(self, data: bytes) -> Entry:
        """Append an entry. It is this proposal that commits, if the entry that commits at its index has its term.

        Raises NotLeader, TransferUnderWay or TooMuchUncommitted.
        """
        leader = self._leader_that_grows()
        waiting, size = leader.uncommitted_bytes, len(data) + ENTRY_OVERHEAD_BYTES
        # An entry larger than the bound may go alone.
        if waiting and waiting + size > self.settings.uncommitted_bytes_max:
            raise TooMuchUncommitted
        leader.uncommitted_bytes = waiting + size
        leader.stirred = True
        return self.log.append_own(self.term, NORMAL, data)

    def propose_configuration(self, change: Change, context: bytes = b"") -> Entry:
        """Append the configuration that `change` leads to, and work by it at once. `context` goes with the entry.

        Raises NotLeader, TransferUnderWay or ChangeRefused.
        """
        leader = self._leader_that_grows()
        if not self.serving:
            raise ChangeRefused("nothing of this leader's term is applied yet")
        if self.configurations.index > self.applied_index:
            raise ChangeRefused("the change before is not applied yet")
        configuration = changed(self.configurations.newest, change)
        data = encode_membership(configuration, context)
        entry = self.log.append_own(self.term, EntryKind.CONFIGURATION, data)
        leader.uncommitted_bytes += size_of(entry)
        self.configurations.append(entry.index, configuration)
        leader.adopt_configuration()
        self._advance_commit(leader)
        return entry

    def read(self, context: int) -> None:
        """Ask for a ReadState with this context, or for its refusal. Raises NotLeader or TooManyReads."""
        leader = self._leadership
        if leader is None:
            raise NotLeader(self.leader)
        if leader.reads.count >= self.settings.waiting_reads_max:
            raise TooManyReads
        leader.reads.add(context)

    @property
    def transferring(self) -> bool:
        """Whether this replica leads and hands that over, so that its log must not grow."""
        leader = self._leadership
        return leader is not None and leader.transfer_to != NOBODY

    def transfer(self, to: ReplicaId) -> None:
        """Hand leadership to a voter. If it does not take over within an election timeout, this replica goes on.

        Raises NotLeader, TransferUnderWay or ChangeRefused.
        """
        leader = self._leader_that_grows()
        if to == self.replica or to not in self.configurations.voters:
            raise ChangeRefused(f"replica {to} is no other voter")
        self._elapsed = 0
        leader.begin_transfer(to)

    def _leader_that_grows(self) -> Leader:
        leader = self._leadership
        if leader is None:
            raise NotLeader(self.leader)
        if leader.transfer_to != NOBODY:
            raise TransferUnderWay
        return leader

    def matches(self) -> dict[ReplicaId, int]:
        """How far each follower is known to have flushed what we have; nothing, if this replica does not lead.

        By this the shell decides when a learner may be promoted, and how much of the log it can drop without making
        a follower need a snapshot.
        """
        leader = self._leadership
        if leader is None:
            return {}
        return {member: progress.match for member, progress in leader.progress.items()}
