"""The rounds of one group that has other replicas: one that fills, and a few that are on their way through the log.

While followers flush one round the leader evaluates the next. Rounds are applied, and answered, in their order.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable

import msgspec

from gramme.errors import OutcomeUnknown
from gramme.node.group_log import encode_operations
from gramme.node.proposals import Member, Round
from gramme.node.raft.messages import Entry
from gramme.node.raft.refusals import Refused

# Rounds under way at a time. With one, leader, followers and routers would each wait for all the others; with many, rounds
# would be small, and each of them costs everybody a frame and a flush.
ROUNDS_MAX = 2


class UnderWay(msgspec.Struct):
    """A round that is being proposed: its entries that the core had no room for yet, and the index of the last other."""

    round: Round
    waiting: deque[bytes]
    last_index: int = 0


class Rounds:
    """See the module's head. `propose` gives an entry to the core of Raft; it raises Refused."""

    def __init__(self, propose: Callable[[bytes], Entry]) -> None:
        self._propose = propose
        self.filling = Round()
        # In their order. Only the last one may have entries that wait.
        self._under_way: deque[UnderWay] = deque()

    def __bool__(self) -> bool:
        """Whether any is under way."""
        return bool(self._under_way)

    @property
    def have_something(self) -> bool:
        """Whether there is anything to propose now."""
        under_way = self._under_way
        if under_way and under_way[-1].waiting:
            return True
        return len(under_way) < ROUNDS_MAX and bool(self.filling.members)

    def join(self, member: Member) -> Round:
        self.filling.members.append(member)
        return self.filling

    def propose(self) -> None:
        """Propose what there is, as far as the core has room."""
        if not self.have_something:
            return
        under_way = self._under_way
        if not under_way or not under_way[-1].waiting:
            under_way.append(self._take())
        last = under_way[-1]
        while last.waiting:
            try:
                last.last_index = self._propose(last.waiting[0]).index
            except Refused:
                # When some of it is applied there is room for more.
                return
            last.waiting.popleft()

    def applied(self, index: int) -> None:
        """Let those be answered whose rounds are applied, now that everything up to `index` is."""
        under_way = self._under_way
        while under_way and not under_way[0].waiting and under_way[0].last_index <= index:
            round = under_way.popleft().round
            for member in round.members:
                member.settled()
            round.flushed.release()

    def lose(self, error: Exception) -> None:
        """Tell everybody who waits: of what is proposed nobody knows what will come, and the rest was not done."""
        under_way, self._under_way = self._under_way, deque()
        for each in under_way:
            each.round.flushed.fail(OutcomeUnknown())
        filling, self.filling = self.filling, Round()
        filling.flushed.fail(error)

    def abandon(self) -> None:
        """Let go of everybody who waits, as when the process dies."""
        for round in [self.filling, *(each.round for each in self._under_way)]:
            if not round.flushed.done():
                round.flushed.abandon()

    def _take(self) -> UnderWay:
        round, self.filling = self.filling, Round()
        waiting = deque(
            encode_operations(entry.operations)
            for member in round.members
            for entry in member.take(round, shown=False)
        )
        return UnderWay(round, waiting)
