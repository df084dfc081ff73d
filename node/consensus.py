"""One replica of a group that has others: what stands between its rows and the core of Raft.

To the replica of a partition it is what the commit loop is to one without others: it takes entries in rounds. A round of
entries is proposed, goes into the logs of a quorum, comes back committed, is applied, and only then are those answered
who wait for it. One round of a group is under way at a time, and the next one fills meanwhile, as in the commit loop.

To the commit loop it is a group that has something to write: entries of the log, votes, effects. To the core of Raft it
is the shell that does what a Ready asks for, in the order `raft/ready.py` demands.

What a leader proposed and has not seen applied when it ceases to lead may take effect or not, and is said to be unknown.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Iterable
from typing import Protocol

import msgspec

from gramme.errors import NotLeader, OutcomeUnknown, Throttling
from gramme.node.commit import CommitLoop, Piece
from gramme.node.engine.api import Engine, Operation
from gramme.node.group_log import (
    GroupLog,
    Position,
    decode_operations,
    encode_operations,
    position_row,
)
from gramme.node.proposals import Member, Round
from gramme.node.raft.core import Raft
from gramme.node.raft.election import Draw
from gramme.node.raft.messages import (
    Entry,
    EntryKind,
    InstallSnapshot,
    Message,
    ReplicaId,
    decode_membership,
)
from gramme.node.raft.ready import Ready, Role, SoftState
from gramme.node.raft.refusals import Refused
from gramme.node.raft.settings import Settings

# What may wait to be proposed before writers are told to come back later. The core takes as much again.
FILLING_BYTES_MAX = 8 << 20
# Effects written as one piece: less than the commit loop writes at once.
PIECE_BYTES = 256 << 10
# Rounds of reads that may be under way: with more than one, none waits for a whole round trip before its own begins.
READ_ROUNDS_MAX = 2

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


class UnderWay(msgspec.Struct, gc=False):
    """A round that is proposed: the index of its last entry so far, and entries that the core had no room for yet."""

    round: Round
    waiting: deque[bytes]
    last_index: int = 0


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
            settings or Settings(),
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
        self._filling = Round()
        self._under_way: UnderWay | None = None
        self._leading_term = 0
        self._todo: list[Ready] = []
        self._collected: list[Ready] = []
        self._compacted: list[Operation] = []
        self._reads = Reads(self._begin_read)
        self._closed = False

    # To the replica it is a commit loop

    @property
    def serving(self) -> bool:
        """Whether this replica leads, and may evaluate."""
        return not self._closed and self._leading_term == self.raft.term and self.raft.serving

    @property
    def leader_node(self) -> int:
        """The node that leads as far as this one knows, or 0."""
        return self.position.nodes.get(self.raft.leader, 0)

    def admit(self) -> None:
        if not self.serving:
            raise NotLeader(self.leader_node)
        if self._filling.size_bytes > FILLING_BYTES_MAX:
            raise Throttling(_TOO_MUCH)
        self._commits.admit()

    def join(self, member: Member) -> Round:
        if not self.serving:
            # Whoever proposes without being admitted is told all the same.
            refused = Round()
            refused.flushed.fail(NotLeader(self.leader_node))
            return refused
        self._filling.members.append(member)
        self._commits.enlist(self)
        return self._filling

    async def confirm(self) -> None:
        """Return once all is applied that was answered anywhere before this call. Raises NotLeader."""
        if not self.serving:
            raise NotLeader(self.leader_node)
        await self._reads.join()

    def close(self, error: Exception) -> None:
        """Do nothing any more, and tell everybody who waits: the group is removed from here, or the node ends.

        The commit loop may be in the middle of a round with this group. What the group was to write then is void.
        """
        self._closed = True
        self._todo, self._collected, self._compacted = [], [], []
        self._leading_term = 0
        self._lose(error)

    # To the network and the clock it is a core of Raft

    def tick(self) -> None:
        if self._closed:
            return
        self.raft.tick()
        self.pump()
        waiting = self._filling.members if self._under_way is None else self._under_way.waiting
        if waiting:
            # Perhaps for a transfer that came to nothing.
            self._commits.enlist(self)

    def step(self, message: Message) -> None:
        """Take a message. Call `pump` after the last one of a frame."""
        self.raft.step(message)

    def pump(self) -> None:
        """Do what has come up: messages leave at once, what must be written waits for the commit loop."""
        while not self._closed and (ready := self.raft.ready()) is not None:
            if ready.soft_state is not None:
                self._heed(ready.soft_state)
            self._send_all(ready.messages)
            for read in ready.read_states:
                self._reads.confirmed(read.context, read.index)
            for context in ready.reads_refused:
                self._reads.refused(context, NotLeader(self.leader_node))
            if ready.must_flush or ready.committed or ready.hard_state is not None:
                self._todo.append(ready)
                self._commits.enlist(self)
        self._reads.applied(self.raft.applied_index)

    # To the commit loop it is a group with something to write

    def collect(self) -> Iterable[Piece]:
        if self._closed:
            return
        if self._under_way is not None:
            self._propose_waiting(self._under_way)
        elif self._filling.members and self.serving:
            self._propose()
        self.pump()
        self._collected, self._todo = self._todo, []
        for ready in self._collected:
            yield from self._pieces(ready)
        if self._compacted:
            yield self._compacted, 0
            self._compacted = []

    def written(self) -> bool:
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
            if ready.must_flush:
                self.raft.persisted(ready.number)
                self._send_all(ready.messages_after_persist)
        self.pump()

    # Proposing and applying

    def _propose(self) -> None:
        if self.raft.transferring:
            return
        round, self._filling = self._filling, Round()
        waiting = deque(
            encode_operations(entry.operations)
            for member in round.members
            for entry in member.take(round, shown=False)
        )
        self._under_way = UnderWay(round, waiting)
        self._propose_waiting(self._under_way)

    def _propose_waiting(self, under_way: UnderWay) -> None:
        """Propose what there is room for. The rest waits until some of it is applied."""
        while under_way.waiting:
            try:
                under_way.last_index = self.raft.propose(under_way.waiting[0]).index
            except Refused:
                return
            under_way.waiting.popleft()

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

    def _reconfigure(self, entry: Entry) -> None:
        membership = decode_membership(entry.data)
        nodes = dict(self.position.nodes)
        if membership.context:
            nodes |= msgspec.msgpack.decode(membership.context, type=dict[int, int])
        self.position = msgspec.structs.replace(
            self.position, configuration=membership.configuration, nodes=nodes
        )

    def _applied(self, index: int) -> None:
        self.machine.caught_up()
        under_way = self._under_way
        if under_way is not None and under_way.waiting:
            self._commits.enlist(self)
        elif under_way is not None and under_way.last_index <= index:
            self._under_way = None
            for member in under_way.round.members:
                member.settled()
            under_way.round.flushed.release()
            if self._filling.members:
                self._commits.enlist(self)
        if self.raft.serving and self._leading_term != self.raft.term:
            self._leading_term = self.raft.term
            self.machine.lead(self.raft.term)
            self.on_leader()
        compacted = self._log.compact(index)
        if compacted is not None:
            self.raft.compact(compacted[0])
            self._compacted = compacted[1]
            self._commits.enlist(self)

    # Leading and ceasing to lead

    def _heed(self, state: SoftState) -> None:
        if self._leading_term and (
            state.role is not Role.LEADER or state.term != self._leading_term
        ):
            self._leading_term = 0
            self.machine.follow()
            self._lose(NotLeader(self.leader_node))
        self.on_leader()

    def _lose(self, error: Exception) -> None:
        """Tell everybody who waits: of what is proposed nobody knows what will come, and the rest was not done."""
        under_way, self._under_way = self._under_way, None
        if under_way is not None:
            under_way.round.flushed.fail(OutcomeUnknown())
        filling, self._filling = self._filling, Round()
        filling.flushed.fail(error)
        self._reads.refuse_all(error)

    def _begin_read(self, context: int) -> None:
        try:
            self.raft.read(context)
        except Refused:
            self._reads.refused(context, NotLeader(self.leader_node))
        self.pump()

    def _send_all(self, messages: Iterable[Message]) -> None:
        for message in messages:
            if isinstance(message, InstallSnapshot):
                self.on_snapshot_due(message)
            else:
                node = self.position.nodes.get(message.to)
                if node is not None:
                    self._send(node, self.group, message)

    def _refuse_snapshot(self, message: InstallSnapshot) -> None:
        self.raft.snapshot_failed(ReplicaId(message.to))


class Reads:
    """The reads of one group that wait until their leader knows that it still led when they came.

    Those that come while a round of reads is on its way share the next one, so that rounds grow with the load.
    """

    def __init__(self, begin: Callable[[int], None]) -> None:
        self._begin = begin
        self._context = 0
        self._gathering: asyncio.Future[None] | None = None
        self._asked: dict[int, asyncio.Future[None]] = {}
        # Confirmed, and to be answered when so much is applied.
        self._confirmed: deque[tuple[int, asyncio.Future[None]]] = deque()
        # How many rounds there were.
        self.rounds = 0

    async def join(self) -> None:
        if self._gathering is None:
            loop = asyncio.get_running_loop()
            self._gathering = loop.create_future()
            if len(self._asked) < READ_ROUNDS_MAX:
                # Not at once: others of this turn ride along.
                loop.call_soon(self._start)
        # Whoever is cancelled must not cancel the others.
        await asyncio.shield(self._gathering)

    def _start(self) -> None:
        gathered, self._gathering = self._gathering, None
        if gathered is None:
            return
        self._context += 1
        self.rounds += 1
        self._asked[self._context] = gathered
        self._begin(self._context)

    def confirmed(self, context: int, index: int) -> None:
        asked = self._asked.pop(context, None)
        if asked is not None:
            self._confirmed.append((index, asked))
        self._start()

    def applied(self, index: int) -> None:
        while self._confirmed and self._confirmed[0][0] <= index:
            self._confirmed.popleft()[1].set_result(None)

    def refused(self, context: int, error: Exception) -> None:
        asked = self._asked.pop(context, None)
        if asked is not None:
            _refuse(asked, error)
        self._start()

    def refuse_all(self, error: Exception) -> None:
        waiting = [*self._asked.values(), *(future for _, future in self._confirmed)]
        if self._gathering is not None:
            waiting.append(self._gathering)
        self._gathering = None
        self._asked.clear()
        self._confirmed.clear()
        for future in waiting:
            _refuse(future, error)


def _refuse(future: asyncio.Future[None], error: Exception) -> None:
    future.set_exception(error)
    # There may be nobody left who waits.
    future.exception()
