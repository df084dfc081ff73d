"""Bugs put in on purpose, one at a time: a simulation that does not see them proves nothing.

Each takes away one thing that `node/` does, or does it too early.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any
from weakref import WeakKeyDictionary

import msgspec
import pytest

from gramme.calls import Calls
from gramme.codec.frame import Request
from gramme.codec.item import body_of, size_of
from gramme.commands import Found, Get, Written
from gramme.node.cluster import ClusterNode
from gramme.node.commit import CommitLoop, Piece
from gramme.node.consensus import Consensus
from gramme.node.engine.api import Operation, Row
from gramme.node.group_log import GroupLog, Position
from gramme.node.raft import leader as leader_module
from gramme.node.raft import quorum as quorum_module
from gramme.node.raft.core import Raft
from gramme.node.raft.leader import Leader
from gramme.node.raft.messages import Entry, HardState, HeartbeatResponse, Message
from gramme.node.raft.proposer import Proposer
from gramme.node.raft.quorum import majority
from gramme.node.raft.ready import Ready, Role, SoftState
from gramme.node.reads import Reads
from gramme.node.replica import Pending, Replica
from gramme.node.request_ids import RequestIds
from tests.simulate.report import Report
from tests.simulate.seeds import simulate
from tests.support.cluster import Cluster, first_rows
from tests.support.simulated_disk import SimulatedDisk

Break = Callable[[pytest.MonkeyPatch], None]
SEEDS_MAX = 100
# Of what is said of a violation.
CAUGHT_LENGTH = 110


@dataclass(frozen=True, slots=True)
class Finding:
    """After how many seeds a bug was seen, and by what; None if it was not."""

    bug: str
    seeds: int
    report: Report | None

    def __str__(self) -> str:
        if self.report is None:
            return f"| {self.bug} | not in {self.seeds} | nothing |"
        caught = (self.report.violation or "").splitlines()[0]
        return f"| {self.bug} | {self.seeds} | {caught[:CAUGHT_LENGTH]} |"


def hunt(bug: str, first: int = 1, seeds_max: int = SEEDS_MAX) -> Finding:
    with pytest.MonkeyPatch.context() as patch:
        BUGS[bug](patch)
        for number in range(seeds_max):
            report = simulate(first + number)
            if report.violation is not None:
                return Finding(bug, number + 1, report)
    return Finding(bug, seeds_max, None)


# Flushing


def own_flush_counts_early(patch: pytest.MonkeyPatch) -> None:
    written = Consensus.written

    def too_early(self: Consensus) -> bool:
        for ready in self._collected:
            if ready.must_flush:
                self.raft.persisted(ready.number)
        return written(self)

    patch.setattr(Consensus, "written", too_early)


def promises_leave_before_the_flush(patch: pytest.MonkeyPatch) -> None:
    do = Consensus._do

    def too_early(self: Consensus, ready: Ready) -> None:
        self._send_all(ready.messages_after_persist)
        do(self, ready)

    patch.setattr(Consensus, "_do", too_early)


def a_flush_covers_what_came_after_it_began(patch: pytest.MonkeyPatch) -> None:
    def flushed(self: Consensus) -> None:
        for ready in [*self._collected, *self._todo]:
            if ready.must_flush:
                self.raft.persisted(ready.number)
                self._send_all(ready.messages_after_persist)
        self._collected = []
        self.pump()

    patch.setattr(Consensus, "flushed", flushed)


def votes_are_not_remembered(patch: pytest.MonkeyPatch) -> None:
    remember = GroupLog.remember

    def forgetful(self: GroupLog, state: HardState) -> Any:
        return remember(self, HardState(max(state.term - 1, 0), state.vote, state.commit))

    patch.setattr(GroupLog, "remember", forgetful)


def the_position_is_a_write_of_its_own(patch: pytest.MonkeyPatch) -> None:
    effects = Consensus._effects

    def in_two(self: Consensus, entries: list[Entry]) -> Iterable[Piece]:
        for operations, size in effects(self, entries):
            # Large enough never to be written together with the next.
            yield operations[-1:], 1 << 30
            if operations[:-1]:
                yield operations[:-1], size

    patch.setattr(Consensus, "_effects", in_two)


def overwritten_entries_stay(patch: pytest.MonkeyPatch) -> None:
    append = GroupLog.append

    def kept(self: GroupLog, entries: list[Entry]) -> Any:
        return [row for row in append(self, entries) if row.value is not None]

    patch.setattr(GroupLog, "append", kept)


# Raft


def _commit_at(patch: pytest.MonkeyPatch, index_of: Callable[[Proposer, Leader], int]) -> None:
    def advance(self: Proposer, leader: Leader) -> None:
        index = index_of(self, leader)
        if index > self.log.committed:
            self.log.committed = index
            leader.stirred = True

    patch.setattr(Raft, "_advance_commit", advance)


def old_terms_are_committed_by_counting(patch: pytest.MonkeyPatch) -> None:
    _commit_at(patch, lambda raft, leader: leader.held_by_majority())


def entries_are_applied_before_they_are_committed(patch: pytest.MonkeyPatch) -> None:
    def own(raft: Proposer, leader: Leader) -> int:
        index = raft.log.persisted
        return index if index >= leader.own_term_index else 0

    _commit_at(patch, own)


def learners_count(patch: pytest.MonkeyPatch) -> None:
    def held(leader: Leader) -> int:
        values = [progress.match for progress in leader.progress.values()]
        values.append(leader._log.persisted)
        return sorted(values)[-majority(len(leader._configurations.voters))]

    patch.setattr(Leader, "held_by_majority", held)


def half_is_a_majority(patch: pytest.MonkeyPatch) -> None:
    def half(voters: int) -> int:
        return max(1, voters // 2)

    for module in (quorum_module, leader_module):
        patch.setattr(module, "majority", half)


def reads_ask_no_quorum(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(Leader, "confirmed_round", lambda self: self.reads.newest_round)


def leaders_serve_at_once(patch: pytest.MonkeyPatch) -> None:
    heed = Consensus._heed

    def at_once(self: Consensus, state: SoftState) -> None:
        heed(self, state)
        if state.role is Role.LEADER:
            self.leading_term = state.term
            self.machine.lead(state.term)

    patch.setattr(Proposer, "serving", property(lambda self: self._leadership is not None))
    patch.setattr(Consensus, "_heed", at_once)


def a_wiped_replica_keeps_its_id(patch: pytest.MonkeyPatch) -> None:
    def wipe(self: Cluster, number: int) -> None:
        self.crash(number, torn=False)
        node = self.nodes[number]
        node.disk = SimulatedDisk(self.random, self.shape.habits)
        for (group, replica), home in self.homes.items():
            if home == number:
                first = self.ledger.groups[group].configurations[0][1]
                homes = {id: at for (of, id), at in self.homes.items() if of == group}
                node.disk.install(first_rows(group, Position(replica, 0, 0, first, homes)))  # type: ignore[arg-type]

    patch.setattr(Cluster, "wipe", wipe)


# The replica and its rounds


def rounds_outlive_leadership(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(Consensus, "_lose", lambda self, error: None)


def the_overlay_outlives_leadership(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(Replica, "follow", lambda self: None)


def reads_show_the_overlay(patch: pytest.MonkeyPatch) -> None:
    get = Replica.get

    async def early(self: Replica, asked: Get) -> Found:
        pending = self._pending(asked.key)
        if pending is None or pending.stored is None:
            return await get(self, asked)
        return Found(body_of(pending.stored), size_of(pending.stored))

    patch.setattr(Replica, "get", early)


def failed_conditions_are_not_confirmed(patch: pytest.MonkeyPatch) -> None:
    async def unconfirmed(self: Replica, pending: Pending | None) -> None:
        if pending is not None:
            await pending.round.flushed

    patch.setattr(Replica, "_seen_for_sure", unconfirmed)


def failed_conditions_do_not_wait(patch: pytest.MonkeyPatch) -> None:
    async def at_once(self: Replica, pending: Pending | None) -> None:
        if pending is None:
            await self._commits.confirm()

    patch.setattr(Replica, "_seen_for_sure", at_once)


def reads_join_a_round_under_way(patch: pytest.MonkeyPatch) -> None:
    join = Reads.join

    async def late(self: Reads) -> None:
        if self._asked:
            await asyncio.shield(list(self._asked.values())[-1])
        else:
            await join(self)

    patch.setattr(Reads, "join", late)


def readys_overtake_each_other(patch: pytest.MonkeyPatch) -> None:
    def pump(self: Consensus) -> None:
        while (ready := self.raft.ready()) is not None:
            self._do(ready)
        self._reads.applied(self.raft.applied_index)

    patch.setattr(Consensus, "pump", pump)


def logs_lose_what_is_not_applied(patch: pytest.MonkeyPatch) -> None:
    compact = GroupLog.compact

    def too_much(self: GroupLog, applied: int, needed: int) -> tuple[int, list[Operation]] | None:
        found = compact(self, self._last, self._last)
        return None if found is None else (min(found[0], applied), found[1])

    patch.setattr(GroupLog, "compact", too_much)


def configurations_are_not_remembered(patch: pytest.MonkeyPatch) -> None:
    def forgetful(self: Consensus, entry: Entry) -> None:
        self.position = msgspec.structs.replace(self.position)

    patch.setattr(Consensus, "_reconfigure", forgetful)


def reads_are_confirmed_by_nodes(patch: pytest.MonkeyPatch) -> None:
    """Who follows this node in one group is taken to follow it in all."""
    hear = Consensus.hear
    logs: WeakKeyDictionary[CommitLoop, list[Consensus]] = WeakKeyDictionary()

    def heard(self: Consensus, node: int, message: Message) -> None:
        hear(self, node, message)
        beside = logs.setdefault(self._commits, [])
        if self not in beside:
            beside.append(self)
        if isinstance(message, HeartbeatResponse):
            for other in beside:
                raft = other.raft
                if other is not self and raft._leadership is not None:
                    round = raft._leadership.reads.newest_round
                    for replica in raft.matches():
                        if other.node_of(replica) == node:
                            answer = HeartbeatResponse(replica, raft.replica, raft.term, round)
                            hear(other, node, answer)
                    other.pump()

    patch.setattr(Consensus, "hear", heard)


# Request ids


def request_ids_are_not_looked_for(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(RequestIds, "find", lambda self, id, key: None)


def request_ids_are_not_remembered(patch: pytest.MonkeyPatch) -> None:
    row = RequestIds.row

    def forgetful(self: RequestIds, id: bytes, key: bytes, written: Written) -> Row:
        return msgspec.structs.replace(row(self, id, key, written), value=None)

    patch.setattr(RequestIds, "row", forgetful)


def every_attempt_is_said_to_be_the_first(patch: pytest.MonkeyPatch) -> None:
    ask = Calls.ask

    def as_first(self: Calls, *args: Any, first: bool = False, **kwargs: Any) -> Any:
        return ask(self, *args, first=True, **kwargs)

    patch.setattr(Calls, "ask", as_first)


def writes_are_done_in_any_term(patch: pytest.MonkeyPatch) -> None:
    perform = ClusterNode._perform

    async def whenever(self: ClusterNode, request: Request) -> Any:
        hosted = self.hosted.get(request.group)
        if hosted is not None and request.id:
            request = msgspec.structs.replace(request, term=hosted.consensus.leading_term)
        return await perform(self, request)

    patch.setattr(ClusterNode, "_perform", whenever)


BUGS: dict[str, Break] = {
    broken.__name__.replace("_", " "): broken
    for broken in (
        own_flush_counts_early,
        promises_leave_before_the_flush,
        a_flush_covers_what_came_after_it_began,
        votes_are_not_remembered,
        the_position_is_a_write_of_its_own,
        overwritten_entries_stay,
        old_terms_are_committed_by_counting,
        entries_are_applied_before_they_are_committed,
        learners_count,
        half_is_a_majority,
        reads_ask_no_quorum,
        leaders_serve_at_once,
        a_wiped_replica_keeps_its_id,
        rounds_outlive_leadership,
        the_overlay_outlives_leadership,
        reads_show_the_overlay,
        failed_conditions_are_not_confirmed,
        failed_conditions_do_not_wait,
        reads_join_a_round_under_way,
        readys_overtake_each_other,
        logs_lose_what_is_not_applied,
        configurations_are_not_remembered,
        reads_are_confirmed_by_nodes,
        request_ids_are_not_looked_for,
        request_ids_are_not_remembered,
        every_attempt_is_said_to_be_the_first,
        writes_are_done_in_any_term,
    )
}
