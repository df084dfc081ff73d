"""Breadth first through everything that can happen to a few replicas.

The network is the set of all messages ever sent, and any of them may arrive at any time: that is every order, every
repetition, and every loss, for a message that is never delivered again is a lost one. Flushes finish one by one,
and a crash keeps any prefix of the unfinished ones. Terms, proposals, changes and crashes are bounded; nothing else is.

In every state reached:

- election safety: one leader at most has spoken in each term;
- log matching: where two logs have an entry of the same term, they agree up to it;
- leader completeness: who comes to lead has every entry that was committed in an earlier term;
- state-machine safety: no two replicas ever apply different entries at an index, over crashes as well.

What was committed is remembered with the term it was committed in, because a leader elected late in an earlier term may
lack it and be right.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from itertools import combinations
from typing import Any

from gramme.node.raft.configuration import Change
from gramme.node.raft.messages import AppendEntries, Message, encode_message
from gramme.node.raft.ready import Role
from gramme.node.raft.refusals import Refused
from tests.exhaustive.replicas import happened, shape_of
from tests.unit.node.raft.shell import Shell

# Index of an entry is its place: term, data, the term it was committed in.
Committed = tuple[tuple[int, bytes, int], ...]
Event = tuple[str, Any]
# What happened, and to which replica.
Step = tuple[int, Event]


@dataclass(frozen=True, slots=True)
class Bounds:
    """What may happen in one history."""

    terms: int = 2
    campaigns: int = 2
    proposals: int = 1
    crashes: int = 1
    changes: tuple[Change, ...] = ()
    # Who may run for election; the others are alike.
    candidates: tuple[int, ...] = (1, 2, 3)
    # Every flush finishes at once: for what goes wrong between replicas rather than within one.
    instant_flushes: bool = False


# Numbers of the replicas, the set of messages as bits, what is left of campaigns, proposals, crashes and changes, the
# number of what was committed.
State = tuple[tuple[int, ...], int, int, int, int, int, int]


@dataclass
class Report:
    states: int = 0
    depth: int = 0
    # Everything within the bounds was visited.
    complete: bool = False
    violation: str | None = None
    trace: list[str] = field(default_factory=list)
    seconds: float = 0.0

    def __str__(self) -> str:
        extent = "all of them" if self.complete else f"to depth {self.depth}"
        outcome = self.violation or "no violation"
        return f"{self.states:,} states, {extent}, in {self.seconds:.1f} s: {outcome}"


class Search:
    """See the module's head."""

    def __init__(self, shells: list[Shell], bounds: Bounds, messages: list[Message]) -> None:
        self.bounds = bounds
        self._shells: list[Shell] = []
        self._shell_numbers: dict[Any, int] = {}
        self._messages: list[Message] = []
        self._message_numbers: dict[bytes, int] = {}
        self._committed: list[Committed] = [()]
        self._committed_numbers: dict[Committed, int] = {(): 0}
        self._outcomes: dict[tuple[int, Any], tuple[int, int] | None] = {}
        self._matching: dict[tuple[int, int], bool] = {}
        # What leaders said: term -> sender -> messages.
        self._said: dict[int, dict[int, int]] = {}
        replicas = tuple(self._number_of(shell) for shell in shells)
        left = (bounds.campaigns, bounds.proposals, bounds.crashes, len(bounds.changes))
        committed = 0
        for replica in replicas:
            committed = self._commit(committed, replica)
        network = 0
        for message in messages:
            network |= 1 << self._message_number(message)
        self.start: State = (replicas, network, *left, committed)

    def run(self, *, depth_max: int = 10**6, states_max: int = 10**9) -> Report:
        report = Report()
        began = time.monotonic()
        came_from: dict[State, tuple[State, Step] | None] = {self.start: None}
        frontier = [self.start]
        while frontier and report.depth < depth_max and len(came_from) < states_max:
            report.depth += 1
            following: list[State] = []
            for state in frontier:
                for step, successor in self._successors(state):
                    if successor in came_from:
                        continue
                    came_from[successor] = (state, step)
                    following.append(successor)
                    report.violation = self._violation(state, successor)
                    if report.violation:
                        report.trace = _trace(came_from, successor)
                        following = []
                        break
                if report.violation or len(came_from) >= states_max:
                    break
            frontier = following
            if report.violation:
                break
        report.complete = not frontier and not report.violation
        report.states = len(came_from)
        report.seconds = time.monotonic() - began
        return report

    # What can happen

    def _successors(self, state: State) -> list[tuple[Step, State]]:
        replicas, network, campaigns, proposals, crashes, changes, committed = state
        found: list[tuple[Step, State]] = []

        def add(place: int, event: Event, left: tuple[int, int, int, int]) -> None:
            outcome = self._outcome(replicas[place], event)
            if outcome is None:
                return
            number, sent = outcome
            if number != replicas[place] or network | sent != network or event[0] == "crash":
                after = (*replicas[:place], number, *replicas[place + 1 :])
                known = self._commit(committed, number)
                found.append(((place + 1, event), (after, network | sent, *left, known)))

        left = (campaigns, proposals, crashes, changes)
        for place, number in enumerate(replicas):
            shell = self._shells[number]
            raft = shell.raft
            if campaigns and place + 1 in self.bounds.candidates and raft.term < self.bounds.terms:
                add(place, ("campaign", None), (campaigns - 1, proposals, crashes, changes))
            if proposals and raft.role is Role.LEADER:
                data = b"%d" % proposals
                add(place, ("propose", data), (campaigns, proposals - 1, crashes, changes))
            if changes and raft.role is Role.LEADER:
                change = self.bounds.changes[-changes]
                add(place, ("change", change), (campaigns, proposals, crashes, changes - 1))
            if shell.flushes:
                add(place, ("flush", None), left)
            if crashes:
                for kept in range(len(shell.flushes) + 1):
                    add(place, ("crash", kept), (campaigns, proposals, crashes - 1, changes))
        bits = network
        while bits:
            lowest = bits & -bits
            bits ^= lowest
            message = self._messages[lowest.bit_length() - 1]
            add(message.to - 1, ("deliver", message), left)
        return found

    def _outcome(self, number: int, event: Event) -> tuple[int, int] | None:
        name, detail = event
        key = (number, self._message_number(detail) if name == "deliver" else event)
        if key not in self._outcomes:
            try:
                after, sent = happened(
                    self._shells[number], event, instant_flushes=self.bounds.instant_flushes
                )
            except Refused:
                self._outcomes[key] = None
            else:
                bits = 0
                for message in sent:
                    bits |= 1 << self._message_number(message)
                self._outcomes[key] = (self._number_of(after), bits)
        return self._outcomes[key]

    # Numbers for things

    def _number_of(self, shell: Shell) -> int:
        shape = shape_of(shell)
        number = self._shell_numbers.setdefault(shape, len(self._shells))
        if number == len(self._shells):
            self._shells.append(shell)
        return number

    def _message_number(self, message: Message) -> int:
        encoded = encode_message(message)
        number = self._message_numbers.setdefault(encoded, len(self._messages))
        if number == len(self._messages):
            self._messages.append(message)
            if isinstance(message, AppendEntries):
                said = self._said.setdefault(message.term, {})
                said[message.sender] = said.get(message.sender, 0) | 1 << number
        return number

    def _commit(self, number: int, replica: int) -> int:
        """What is known to be committed, after this replica did something."""
        committed, shell = self._committed[number], self._shells[replica]
        effects = shell.disk.stored.effects
        if len(effects) <= len(committed):
            return number
        news = tuple((term, data, shell.raft.term) for _, term, data in effects[len(committed) :])
        longer = committed + news
        known = self._committed_numbers.setdefault(longer, len(self._committed))
        if known == len(self._committed):
            self._committed.append(longer)
        return known

    # What must hold

    def _violation(self, before: State, after: State) -> str | None:
        replicas, network, committed = after[0], after[1], self._committed[after[6]]
        for term, said in self._said.items():
            if sum(bool(network & bits) for bits in said.values()) > 1:
                return f"election safety: two leaders in term {term}"
        for one, other in combinations(sorted(set(replicas)), 2):
            if not self._match(one, other):
                return "log matching"
        for old, new in zip(before[0], replicas, strict=True):
            if old == new:
                continue
            shell = self._shells[new]
            for at, (_, term, data) in enumerate(shell.disk.stored.effects):
                if committed[at][:2] != (term, data):
                    return f"state-machine safety: entry {at + 1}"
            was, now = self._shells[old].raft.role, shell.raft.role
            if now is Role.LEADER and was is not Role.LEADER and not _has(shell, committed):
                return f"leader completeness: term {shell.raft.term}"
        return None

    def _match(self, one: int, other: int) -> bool:
        known = self._matching.get((one, other))
        if known is None:
            logs = [self._shells[number].disk.stored.entries for number in (one, other)]
            agree = 0
            for at, (left, right) in enumerate(zip(*logs, strict=False), start=1):
                if left.term == right.term:
                    agree = at
            known = self._matching[one, other] = logs[0][:agree] == logs[1][:agree]
        return known


def _has(shell: Shell, committed: Committed) -> bool:
    entries = shell.disk.stored.entries
    return all(
        at < len(entries) and (entries[at].term, entries[at].data) == (term, data)
        for at, (term, data, committed_in) in enumerate(committed)
        if committed_in < shell.raft.term
    )


def _trace(came_from: dict[State, tuple[State, Step] | None], state: State) -> list[str]:
    lines: list[str] = []
    while (known := came_from[state]) is not None:
        state, (replica, (name, detail)) = known
        lines.append(f"{replica} {name}" + ("" if detail is None else f" {detail}"))
    return lines[::-1]
