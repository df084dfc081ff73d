"""Terms, votes and roles: how a replica comes to follow, to run and to lead.

A vote is a promise that outlives a crash, so two things wait for a flush: the answer that grants a vote, and everything
a candidate does. It asks for votes only when its own vote and the log it boasts of are durable; otherwise it could die,
come back with a shorter log, run again in the same term and be elected by voters who had judged the longer one.

Pre-votes promise nothing, and so nothing about them is ever flushed.
"""

from __future__ import annotations

from collections.abc import Callable

from gramme.node.raft.configuration import Configurations
from gramme.node.raft.leader import Leader
from gramme.node.raft.log import RaftLog
from gramme.node.raft.messages import (
    NOBODY,
    HardState,
    Message,
    ReplicaId,
    RequestVote,
    VoteResponse,
)
from gramme.node.raft.quorum import Tally, tally
from gramme.node.raft.ready import Role
from gramme.node.raft.settings import Settings

# Draws a number between two others, both included. The shell's, so that a run can be repeated.
Draw = Callable[[int, int], int]


class Elector:
    """The part of a replica that every role has. `core.py` adds the log's growth and the shell's side."""

    def __init__(
        self,
        settings: Settings,
        replica: ReplicaId,
        hard_state: HardState,
        log: RaftLog,
        configurations: Configurations,
        draw: Draw,
    ) -> None:
        self.settings = settings
        self.replica = replica
        self.log = log
        self.configurations = configurations
        self.term: int = hard_state.term
        self.vote = hard_state.vote
        self.role = Role.FOLLOWER
        # Who leads this term, as far as this replica knows.
        self.leader = NOBODY
        self._draw = draw
        self._leadership: Leader | None = None
        self._votes: dict[ReplicaId, bool] = {}
        # Ticks since a leader was heard or an election began; a leader's, since it last checked its quorum.
        self._elapsed = 0
        self._timeout = self._draw_timeout()
        self._outbox: list[Message] = []
        self._outbox_after_persist: list[Message] = []
        self._reads_refused: list[int] = []

    @property
    def is_voter(self) -> bool:
        return self.replica in self.configurations.voters

    def _run(self, *, transfer: bool) -> None:
        """Begin an election, after a pre-vote if nobody asked for it."""
        if self.settings.pre_vote and not transfer:
            self._become_pre_candidate()
        else:
            self._become_candidate(transfer=transfer)

    # Roles

    def _become_follower(self, term: int, leader: ReplicaId) -> None:
        if term > self.term:
            self.term = term
            self.vote = NOBODY
        self._take_role(Role.FOLLOWER, leader)

    def _become_pre_candidate(self) -> None:
        self._take_role(Role.PRE_CANDIDATE, NOBODY)
        self._votes[self.replica] = True
        self._ask_for_votes(self._outbox, self.term + 1, pre=True, transfer=False)
        self._count_votes()

    def _become_candidate(self, *, transfer: bool) -> None:
        self.term += 1
        self.vote = self.replica
        self._take_role(Role.CANDIDATE, NOBODY)
        # Its own vote counts once it is flushed, as everybody's does.
        self._ask_for_votes(self._outbox_after_persist, self.term, pre=False, transfer=transfer)

    def _become_leader(self) -> None:
        self._take_role(Role.LEADER, self.replica)
        self._leadership = Leader(
            self.settings, self.replica, self.term, self.log, self.configurations, self._outbox
        )
        self._begin_leadership(self._leadership)

    def _begin_leadership(self, leadership: Leader) -> None:
        raise NotImplementedError

    def _take_role(self, role: Role, leader: ReplicaId) -> None:
        if self._leadership is not None:
            self._reads_refused += self._leadership.reads.unanswered()
            self._leadership = None
        self.role = role
        self.leader = leader
        self._votes = {}
        self._elapsed = 0
        self._timeout = self._draw_timeout()

    def _draw_timeout(self) -> int:
        return self._draw(self.settings.election_ticks, 2 * self.settings.election_ticks)

    # Asking for votes

    def _ask_for_votes(
        self, outbox: list[Message], term: int, *, pre: bool, transfer: bool
    ) -> None:
        last_index, last_term = self.log.last_index, self.log.last_term
        for voter in self.configurations.voters:
            if voter != self.replica:
                outbox.append(
                    RequestVote(self.replica, voter, term, last_index, last_term, pre, transfer)
                )

    def _own_vote_is_flushed(self) -> None:
        self._votes[self.replica] = True
        self._count_votes()

    def _on_vote_response(self, response: VoteResponse) -> None:
        if response.pre:
            asked = self.term + 1 if response.granted else self.term
            expected = self.role is Role.PRE_CANDIDATE and response.term == asked
        else:
            expected = self.role is Role.CANDIDATE and response.term == self.term
        if expected and response.sender in self.configurations.voters:
            self._votes.setdefault(response.sender, response.granted)
            self._count_votes()

    def _count_votes(self) -> None:
        result = tally(self.configurations.voters, self._votes)
        if result is Tally.LOST:
            self._become_follower(self.term, NOBODY)
        elif result is Tally.WON:
            if self.role is Role.PRE_CANDIDATE:
                self._become_candidate(transfer=False)
            else:
                self._become_leader()

    # Giving votes

    def _hears_leader(self) -> bool:
        """Whether a leader is alive, so that whoever wants an election is mistaken, removed or cut off."""
        return (
            self.settings.check_quorum
            and self.leader != NOBODY
            and self._elapsed < self.settings.election_ticks
        )

    def _on_request_vote(self, request: RequestVote) -> None:
        """Its term is ours, or for a pre-vote ours or a later one.

        A learner votes too: the candidate may have the entry that made it a voter, while it has not. Whether a vote
        counts is the candidate's configuration to say.
        """
        free = (
            self.vote == request.sender
            or (self.vote == NOBODY and self.leader == NOBODY)
            or (request.pre and request.term > self.term)
        )
        log = self.log
        up_to_date = (request.last_term, request.last_index) >= (log.last_term, log.last_index)
        granted = free and up_to_date
        term = request.term if granted else self.term
        response = VoteResponse(self.replica, request.sender, term, request.pre, granted)
        if granted and not request.pre:
            self.vote = request.sender
            self._elapsed = 0
            self._outbox_after_persist.append(response)
        else:
            self._outbox.append(response)
            if granted and self.role is Role.PRE_CANDIDATE and self._yields_to(request):
                self._become_follower(self.term, NOBODY)

    def _yields_to(self, request: RequestVote) -> bool:
        """Of two who want to run at the same time, one does. If both did, each would have its own vote, and both a new wait."""
        ours = self.log.last_term, self.log.last_index, self.replica
        return (request.last_term, request.last_index, request.sender) > ours
