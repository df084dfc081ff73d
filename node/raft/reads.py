"""ReadIndex: how a leader makes sure that it still led when a read came, without trusting any clock.

A round of reads has a number. The leader takes the commit index when the round begins, sends the number with a
heartbeat, and when a majority has answered that number in this term, no other leader can have committed anything before
the round began; so what is applied up to that index shows every write answered before the reads came. All reads that
wait when a round begins ride in it. None joins a round that has begun, because its heartbeats were sent before the read.

Numbers live as long as the term does: an answer to an older leader's round carries an older term.
"""

from __future__ import annotations

from collections import deque

import msgspec

from gramme.node.raft.ready import ReadState


class Round(msgspec.Struct):
    number: int
    index: int
    contexts: list[int]


class Reads:
    """The reads of one leadership, in the order they came."""

    def __init__(self) -> None:
        self.waiting: list[int] = []
        self.rounds: deque[Round] = deque()
        self.count = 0
        self.newest_round = 0

    def add(self, context: int) -> None:
        self.waiting.append(context)
        self.count += 1

    def begin(self, committed: int) -> None:
        self.newest_round += 1
        self.rounds.append(Round(self.newest_round, committed, self.waiting))
        self.waiting = []

    def confirm(self, number: int) -> list[ReadState]:
        """A majority has answered round `number`, and so every earlier one."""
        confirmed: list[ReadState] = []
        while self.rounds and self.rounds[0].number <= number:
            round = self.rounds.popleft()
            confirmed += [ReadState(context, round.index) for context in round.contexts]
        self.count -= len(confirmed)
        return confirmed

    def unanswered(self) -> list[int]:
        """What nobody will answer, when leadership ends."""
        return [context for round in self.rounds for context in round.contexts] + self.waiting
