"""One replica of a group that has others: what stands between its rows and the core of Raft.

To the replica of a partition it is what the commit loop is to one without others: it takes entries in rounds. A round of
entries is proposed, goes into the logs of a quorum, comes back committed, is applied, and only then are those answered
who wait for it. A few rounds of a group are under way at a time, so that while followers flush one the leader evaluates the
next; they are applied, and answered, in their order.

To the commit loop it is a group that has something to write: entries of the log, votes, effects. To the core of Raft it
is the shell that does what a Ready asks for, in the order `raft/ready.py` demands.

What a leader proposed and has not seen applied when it ceases to lead may take effect or not, and is said to be unknown.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from contextlib import suppress
from typing import Protocol

import msgspec

from gramme.errors import NotLeader, Throttling
from gramme.node.commit import CommitLoop, Piece
from gramme.node.engine.api import Engine, Operation
from gramme.node.group_log import (
    GroupLog,
    Position,
    decode_operations,
    position_row,
)
from gramme.node.proposals import Member, Round
from gramme.node.raft.configuration import Change
from gramme.node.raft.core import Raft
from gramme.node.raft.election import Draw
from gramme.node.raft.messages import (
    MEMBERS_MAX,
    AppendEntries,
    Entry,
    EntryKind,
    InstallSnapshot,
    Membership,
    Message,
    ReplicaId,
    decode_membership,
)
from gramme.node.raft.ready import Ready, Role, SoftState
from gramme.node.raft.refusals import Refused
from gramme.node.raft.settings import Settings
from gramme.node.reads import Reads
from gramme.node.rounds import Rounds

SETTINGS = Settings(eager_commits=False)
# What may wait to be proposed before writers are told to come back later. The core takes as much again.
FILLING_BYTES_MAX = 8 << 20
# Effects written as one piece: less than the commit loop writes at once.
PIECE_BYTES = 256 << 10

_TOO_MUCH = "The partition has too many writes waiting for its replicas. Try again later."

# To another node, of a group, a message.
Send = Callable[[int, int, Message], None]


class Machine(Member, Protocol):
    """The rows that the log is for, as this module sees them."""

    def lead(self, term: int) -> None:
        """All that predecessors committed is applied: writes may be evaluated."""
        ...

    def follow(self) -> None:
        """Nothing that is proposed and not settled is of this replica any more."""
        ...

    def caught_up(self) -> None:
        """Entries have been applied."""
        ...


class Consensus:
    """See the module's head. Everything public is called on the event loop."""

    def __init__(
        self,
        engine: Engine,
        commits: CommitLoop,
        group: int,
        position: Position,
        send: Send,
        draw: Draw,
        settings: Settings | None = None,
    ) -> None:
        self.group = group
        self.position = position
        self._commits = commits
        self._send = send
        self._log = GroupLog(engine, group)
        self.raft = Raft(
            settings or SETTINGS,
            position.replica,
            position.configuration,
            self._log.hard_state(),
            self._log,
            position.index,
            draw,
        )
        # There before anything else is called.
        self.machine: Machine
        # Told whenever somebody else may lead.
        self.on_leader: Callable[[], None] = lambda: None
        # Ships a snapshot of what is applied, and reports to the core how that went.
        self.on_snapshot_due: Callable[[InstallSnapshot], None] = self._refuse_snapshot
        self.rounds = Rounds(self.raft.propose)
        # Where replicas are that have joined, as far as that is not applied here yet.
        self._met: dict[int, int] = {}
        # The term in which this replica leads and may evaluate, or 0.
        self.leading_term = 0
        self._closed = False
        self._pumping = False
        self._todo: list[Ready] = []
        self._collected: list[Ready] = []
        self._compacted: list[Operation] = []
        self._reads = Reads(self._begin_read)

    # To the replica it is a commit loop

    @property
    def serving(self) -> bool:
        """Whether this replica leads, and may evaluate."""
        return not self._closed and self.leading_term == self.raft.term and self.raft.serving

    @property
    def read_rounds(self) -> int:
        """How many rounds of strong reads there were."""
        return self._reads.rounds

    @property
    def leader_node(self) -> int:
        """The node that leads as far as this one knows, or 0."""
        return self.node_of(self.raft.leader)

    def not_leader(self) -> NotLeader:
        """What to say to who takes this replica for the leader."""
        leader = self.leader_node
        return NotLeader(leader, self.raft.term if leader else 0)

    def admit(self) -> None:
        if not self.serving:
            raise self.not_leader()
        if self.rounds.filling.size_bytes > FILLING_BYTES_MAX:
            raise Throttling(_TOO_MUCH)
        self._commits.admit()

    def join(self, member: Member) -> Round:
        if not self.serving:
            # Whoever proposes without being admitted is told all the same.
            refused = Round()
            refused.flushed.fail(self.not_leader())
            return refused
        self._commits.enlist(self)
        return self.rounds.join(member)

    async def confirm(self) -> None:
        """Return once all is applied that was answered anywhere before this call. Raises NotLeader."""
        if not self.serving:
            raise self.not_leader()
        await self._reads.join()

    def reconfigure(self, change: Change, nodes: dict[int, int]) -> bool:
        """Propose a change of the group's members; `nodes` says where new ones are. False if it is not the time for it."""
        try:
            self.raft.propose_configuration(change, msgspec.msgpack.encode(nodes))
        except Refused:
            return False
        self.pump()
        return True

    def hand_over(self, to: ReplicaId) -> None:
        """Let another voter lead, soon. What comes meanwhile waits, and is refused here when it leads."""
        with suppress(Refused):
            self.raft.transfer(to)
            self.pump()

    def close(self, error: Exception) -> None:
        """Do nothing any more, and tell everybody who waits: the group is removed from here, or the node ends.

        The commit loop may be in the middle of a round with this group. What the group was to write then is void.
        """
        self._closed = True
        self._todo, self._collected, self._compacted = [], [], []
        self._commits.forget(self)
        self.leading_term = 0
        self._lose(error)

    # To the network and the clock it is a core of Raft

    def tick(self) -> None:
        if self._closed:
            return
        if self.raft.tick():
            self.pump()
            if self.rounds.have_something:
                # Perhaps it waited for a transfer that came to nothing.
                self._commits.enlist(self)

    def beat(self) -> None:
        """Send heartbeats now if this replica leads, with those of the node's other groups."""
        if self.raft.role is Role.LEADER and not self._closed:
            self.raft.heartbeat()
            self.pump()

    def hear(self, node: int, message: Message) -> None:
        """Take a message that came from a node. Call `pump` after the last one of a frame.

        A replica speaks from its own node only. One that this one does not know may have joined while this one was away,
        and lead: it is from its messages that this one learns who has joined.
        """
        known = self.node_of(message.sender)
        if not known and len(self._met) < MEMBERS_MAX:
            known = self._met[message.sender] = node
        if known != node:
            return
        if self._commits.room.is_out and _fills_disk(message):
            # As if it were lost: it comes again, or a snapshot does, and meanwhile this replica still votes.
            return
        self.raft.step(message)

    def pump(self) -> None:
        """Do what has come up: messages leave at once, what must be written waits for the commit loop."""
        if self._pumping:
            # What comes up meanwhile is taken up below. Taken up here it would be written before what came first.
            return
        self._pumping = True
        try:
            while not self._closed and (ready := self.raft.ready()) is not None:
                self._do(ready)
        finally:
            self._pumping = False
        if self._reads.has_confirmed:
            self._reads.applied(self.raft.applied_index)

    def _do(self, ready: Ready) -> None:
        if ready.soft_state is not None:
            self._heed(ready.soft_state)
        self._meet(ready.entries)
        self._send_all(ready.messages)
        for read in ready.read_states:
            self._reads.confirmed(read.context, read.index)
        for context in ready.reads_refused:
            self._reads.refused(context, self.not_leader())
        if ready.must_flush or ready.committed or ready.hard_state is not None:
            self._todo.append(ready)
            self._commits.enlist(self)

    # To the commit loop it is a group with something to write

    def collect(self) -> Iterable[Piece]:
        if self._closed:
            return
        if self.serving and not self.raft.transferring:
            self.rounds.propose()
        self.pump()
        self._collected, self._todo = self._todo, []
        for ready in self._collected:
            yield from self._pieces(ready)
        if self._compacted:
            yield self._compacted, 0
            self._compacted = []

    def written(self) -> bool:
        if self._closed:
            return False
        applied = 0
        for ready in self._collected:
            if ready.committed:
                applied = ready.committed[-1].index
        if applied:
            self.raft.applied(applied)
            self._applied(applied)
        self.pump()
        return any(ready.must_flush for ready in self._collected)

    def flushed(self) -> None:
        collected, self._collected = self._collected, []
        for ready in collected:
            if ready.must_flush and not self._closed:
                self.raft.persisted(ready.number)
                self._send_all(ready.messages_after_persist)
        self.pump()

    # Proposing and applying

    def _pieces(self, ready: Ready) -> Iterable[Piece]:
        operations: list[Operation] = []
        size = 0
        if ready.hard_state is not None:
            operations.append(self._log.remember(ready.hard_state))
        if ready.entries:
            operations += self._log.append(ready.entries)
            size = sum(len(entry.data) for entry in ready.entries)
        if operations:
            yield operations, size
        yield from self._effects(ready.committed)

    def _effects(self, entries: list[Entry]) -> Iterable[Piece]:
        operations: list[Operation] = []
        size = 0
        for entry in entries:
            if entry.kind is EntryKind.CONFIGURATION:
                self._reconfigure(entry)
            else:
                operations += decode_operations(entry.data)
            size += len(entry.data)
            if size >= PIECE_BYTES or entry is entries[-1]:
                self.position = msgspec.structs.replace(
                    self.position, index=entry.index, term=entry.term
                )
                operations.append(position_row(self.group, self.position))
                yield operations, size
                operations, size = [], 0

    def _meet(self, entries: list[Entry]) -> None:
        """Learn where new members are: they count from now on, and the entry may need them to be applied."""
        for entry in entries:
            if entry.kind is EntryKind.CONFIGURATION:
                self._met |= _nodes_in(decode_membership(entry.data))

    def _reconfigure(self, entry: Entry) -> None:
        membership = decode_membership(entry.data)
        nodes = self.position.nodes | _nodes_in(membership)
        self._met.clear()
        self.position = msgspec.structs.replace(
            self.position, configuration=membership.configuration, nodes=nodes
        )

    def _applied(self, index: int) -> None:
        self.machine.caught_up()
        self.rounds.applied(index)
        if self.rounds.have_something:
            self._commits.enlist(self)
        elif not self.rounds and self.raft.owes_commit:
            # No round follows that would tell. Whoever reads from a follower next should see what was answered.
            self.raft.tell_commit()
        if self.raft.serving and self.leading_term != self.raft.term:
            self.leading_term = self.raft.term
            self.machine.lead(self.raft.term)
            self.on_leader()
        if self._log.is_long:
            self._compact(index)

    def _compact(self, applied: int) -> None:
        needed = min(self.raft.matches().values(), default=applied)
        compacted = self._log.compact(applied, needed)
        if compacted is not None:
            self.raft.compact(compacted[0])
            self._compacted += compacted[1]
            self._commits.enlist(self)

    # Leading and ceasing to lead

    def _heed(self, state: SoftState) -> None:
        if self.leading_term and (state.role is not Role.LEADER or state.term != self.leading_term):
            self.leading_term = 0
            self.machine.follow()
            self._lose(self.not_leader())
        self.on_leader()

    def _lose(self, error: Exception) -> None:
        self.rounds.lose(error)
        self._reads.refuse_all(error)

    def _begin_read(self, context: int) -> None:
        try:
            self.raft.read(context)
        except Refused:
            self._reads.refused(context, self.not_leader())
        self.pump()

    def _send_all(self, messages: Iterable[Message]) -> None:
        for message in messages:
            if isinstance(message, InstallSnapshot):
                self.on_snapshot_due(message)
            else:
                node = self.node_of(message.to)
                if node:
                    self._send(node, self.group, message)

    def node_of(self, replica: int) -> int:
        """The node that a replica is on as far as this one knows, or 0."""
        return self.position.nodes.get(replica) or self._met.get(replica, 0)

    def _refuse_snapshot(self, message: InstallSnapshot) -> None:
        self.raft.snapshot_failed(ReplicaId(message.to))


def _fills_disk(message: Message) -> bool:
    """Whether there is more in it than the entry that a new leader needs to read."""
    return isinstance(message, AppendEntries) and any(entry.data for entry in message.entries)


def _nodes_in(membership: Membership) -> dict[int, int]:
    """The nodes of members that are new, by replica."""
    context = membership.context
    return msgspec.msgpack.decode(context, type=dict[int, int]) if context else {}
