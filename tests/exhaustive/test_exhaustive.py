"""The search in a short form, and the proof that it sees what it looks for: with a rule taken out it finds where that ends.

The long form is `python -m tests.exhaustive`.
"""

from __future__ import annotations

from collections.abc import Callable

import pytest

from gramme.node.raft.core import Raft
from gramme.node.raft.election import Elector
from gramme.node.raft.follower import Follower
from gramme.node.raft.leader import Leader
from gramme.node.raft.log import RaftLog
from gramme.node.raft.messages import AppendResponse, ReplicaId, RequestVote
from gramme.node.raft.quorum import majority
from tests.exhaustive.starts import STARTS

STATES_MAX = 30_000
# A seeded bug is found long before.
STATES_MAX_BROKEN = 400_000


@pytest.mark.parametrize("name", STARTS)
def test_no_order_of_events_breaks_a_rule(name: str) -> None:
    search = STARTS[name].search()

    report = search.run(states_max=STATES_MAX)

    print(f"{name}: {report}")
    assert report.violation is None, report.trace


def test_a_small_history_is_searched_to_its_end() -> None:
    search = STARTS["one successor"].search()

    report = search.run()

    print(f"one successor: {report}")
    assert report.complete
    assert report.violation is None


def commit_old_terms_by_counting(patch: pytest.MonkeyPatch) -> None:
    def advance(raft: Raft, leader: Leader) -> None:
        index = leader.held_by_majority()
        if index > raft.log.committed:
            raft.log.committed = index
            leader.stirred = True

    patch.setattr(Raft, "_advance_commit", advance)


def count_learners(patch: pytest.MonkeyPatch) -> None:
    def held(leader: Leader) -> int:
        values = [progress.match for progress in leader.progress.values()]
        values.append(leader._log.persisted)
        return sorted(values)[-majority(len(leader._configurations.voters))]

    patch.setattr(Leader, "held_by_majority", held)


def acknowledge_before_the_flush(patch: pytest.MonkeyPatch) -> None:
    def acknowledge(follower: Follower, leader: ReplicaId, index: int) -> None:
        answer = AppendResponse(follower.replica, leader, follower.term, index)
        follower._outbox.append(answer)

    patch.setattr(Follower, "_acknowledge", acknowledge)


def count_itself_before_the_flush(patch: pytest.MonkeyPatch) -> None:
    persisted = property(lambda log: log.last_index, lambda log, index: None)
    patch.setattr(RaftLog, "persisted", persisted, raising=False)


def vote_before_the_flush(patch: pytest.MonkeyPatch) -> None:
    vote = Elector._on_request_vote

    def hasty(elector: Elector, request: RequestVote) -> None:
        vote(elector, request)
        elector._outbox += elector._outbox_after_persist
        elector._outbox_after_persist.clear()

    patch.setattr(Elector, "_on_request_vote", hasty)


def ask_for_votes_before_the_flush(patch: pytest.MonkeyPatch) -> None:
    become = Elector._become_candidate

    def hasty(elector: Elector, *, transfer: bool) -> None:
        become(elector, transfer=transfer)
        elector._outbox += elector._outbox_after_persist
        elector._outbox_after_persist.clear()
        elector._own_vote_is_flushed()

    patch.setattr(Elector, "_become_candidate", hasty)


def vote_for_shorter_logs(patch: pytest.MonkeyPatch) -> None:
    vote = Elector._on_request_vote

    def generous(elector: Elector, request: RequestVote) -> None:
        log = elector.log
        last = log.last_index, log.last_term
        log.last_index = log.last_term = 0
        vote(elector, request)
        log.last_index, log.last_term = last

    patch.setattr(Elector, "_on_request_vote", generous)


def change_membership_before_committing(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(Raft, "serving", property(lambda raft: True))


@pytest.mark.parametrize(
    ("start", "bug", "violation"),
    [
        ("figure 8", commit_old_terms_by_counting, "state-machine safety"),
        ("learner", count_learners, "leader completeness"),
        ("write", acknowledge_before_the_flush, "leader completeness"),
        ("write", count_itself_before_the_flush, "leader completeness"),
        ("write", vote_for_shorter_logs, "leader completeness"),
        ("election", vote_before_the_flush, "election safety"),
        ("election", ask_for_votes_before_the_flush, "election safety"),
        ("removals", change_membership_before_committing, "leader completeness"),
    ],
    ids=lambda value: value.__name__ if callable(value) else value,
)
def test_the_search_finds_a_rule_that_was_taken_out(
    start: str,
    bug: Callable[[pytest.MonkeyPatch], None],
    violation: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    bug(monkeypatch)
    search = STARTS[start].search()

    report = search.run(states_max=STATES_MAX_BROKEN)

    print(f"{bug.__name__}: {report}")
    assert report.violation is not None
    assert report.violation.startswith(violation), report.trace
