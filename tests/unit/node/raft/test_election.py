"""Who comes to lead, and who is left alone."""

from __future__ import annotations

import pytest

from gramme.node.raft.messages import (
    NOBODY,
    AppendEntries,
    Configuration,
    HardState,
    Heartbeat,
    ReplicaId,
    RequestVote,
    VoteResponse,
)
from gramme.node.raft.ready import Role
from gramme.node.raft.settings import Settings
from tests.unit.node.raft.cluster import Cluster
from tests.unit.node.raft.shell import Stored

ONE, TWO, THREE = ReplicaId(1), ReplicaId(2), ReplicaId(3)


def vote(term: int, *, last: tuple[int, int] = (0, 0), transfer: bool = False) -> RequestVote:
    last_term, last_index = last
    return RequestVote(ONE, TWO, term, last_index, last_term, False, transfer)


def test_who_hears_no_leader_runs_and_wins() -> None:
    cluster = Cluster()

    cluster.tick(21)

    leader = cluster.leader
    assert [cluster[replica].leader for replica in (1, 2, 3)] == [leader.replica] * 3


def test_an_only_voter_elects_itself_and_commits_once_its_own_flush_is_done() -> None:
    cluster = Cluster(1)

    cluster[1].campaign()
    cluster.work(1)
    before = cluster[1].role
    cluster.flush(1)

    assert (before, cluster[1].role) == (Role.CANDIDATE, Role.LEADER)
    assert cluster[1].log.committed == 1


def test_a_leader_begins_with_an_empty_entry_of_its_own_term() -> None:
    cluster = Cluster(logs={1: (1, 2)})

    cluster.elect(1)

    assert [entry.term for entry in cluster.shells[2].disk.stored.entries] == [1, 2, 3]


def test_a_vote_is_given_once_in_a_term() -> None:
    raft = Cluster()[2]
    raft.step(vote(1))
    raft.ready()

    raft.step(RequestVote(THREE, TWO, 1, 9, 9, False, False))

    ready = raft.ready()
    assert ready is not None
    assert ready.messages == [VoteResponse(TWO, THREE, 1, False, False)]


def test_a_vote_leaves_only_after_it_is_flushed() -> None:
    raft = Cluster()[2]

    raft.step(vote(1))
    ready = raft.ready()

    assert ready is not None
    assert ready.hard_state == HardState(1, ONE, 0)
    assert ready.messages == []
    assert ready.messages_after_persist == [VoteResponse(TWO, ONE, 1, False, True)]


def test_a_candidate_asks_for_votes_only_after_its_own_is_flushed() -> None:
    raft = Cluster(settings=Settings(pre_vote=False))[1]

    raft.campaign()
    ready = raft.ready()

    assert ready is not None
    assert ready.messages == []
    assert [type(message) for message in ready.messages_after_persist] == [RequestVote] * 2


def test_a_vote_is_remembered_over_a_crash() -> None:
    cluster = Cluster()
    cluster[2].step(vote(1))
    cluster.flush(2)

    cluster.crash(2)

    assert (cluster[2].term, cluster[2].vote) == (1, ONE)


@pytest.mark.parametrize(
    ("last", "granted"),
    [((2, 2), False), ((2, 3), True), ((2, 4), True), ((3, 1), True), ((1, 9), False)],
    ids=["shorter", "as long", "longer", "later term", "earlier term"],
)
def test_a_vote_goes_only_to_a_log_that_is_as_far(last: tuple[int, int], granted: bool) -> None:
    cluster = Cluster(logs={2: (1, 2, 2)}, terms={2: 3})

    cluster[2].step(vote(4, last=last))

    assert (cluster[2].vote == ONE) is granted


def test_a_pre_vote_changes_nothing_on_either_side() -> None:
    cluster = Cluster()
    cluster.cut = {2, 3}

    cluster[1].campaign()
    cluster.settle()
    cluster[2].step(RequestVote(ONE, TWO, 1, 0, 0, True, False))

    assert cluster[1].role is Role.PRE_CANDIDATE
    assert [cluster[replica].term for replica in (1, 2)] == [0, 0]
    assert cluster[2].vote == NOBODY


@pytest.mark.parametrize("logs", [{}, {1: (1, 1), 2: (1,)}], ids=["alike", "one is longer"])
def test_of_two_that_run_at_the_same_time_one_is_elected(logs: dict[int, tuple[int, ...]]) -> None:
    cluster = Cluster(logs=logs)
    cluster.cut = {3}

    for replica in (1, 2):
        cluster[replica].campaign()
        cluster.work(replica)
    cluster.settle()

    assert cluster.leader is cluster[1 if logs else 2]


def test_followers_whose_leader_s_streams_broke_elect_another_at_once() -> None:
    cluster = Cluster()
    cluster.elect(1)
    cluster.cut = {1}

    for replica in (2, 3):
        cluster[replica].gone(ONE)
    cluster.tick(cluster.settings.hurried_ticks, 2, 3)

    assert cluster.leader.term == 2


def test_a_follower_whose_stream_alone_broke_unseats_nobody() -> None:
    cluster = Cluster()
    cluster.elect(1)

    cluster[2].gone(ONE)
    cluster.tick(3 * cluster.settings.election_ticks)

    assert cluster.leader is cluster[1]
    assert [cluster[replica].leader for replica in (1, 2, 3)] == [ONE] * 3
    assert cluster.leader.term == 1


def test_nodes_that_were_all_down_elect_a_leader_as_soon_as_they_reach_each_other() -> None:
    cluster = Cluster()

    for replica in (1, 2, 3):
        cluster[replica].back()
    cluster.tick(cluster.settings.hurried_ticks)

    assert cluster.leader.term == 1


def test_a_node_that_is_back_among_others_unseats_nobody() -> None:
    cluster = Cluster()
    cluster.elect(1)
    cluster.cut = {3}
    cluster.tick(3 * cluster.settings.election_ticks)
    cluster.cut = set()

    cluster[3].back()
    cluster.tick(3 * cluster.settings.election_ticks)

    assert cluster.leader is cluster[1]
    assert [cluster[replica].leader for replica in (1, 2, 3)] == [ONE] * 3
    assert cluster.leader.term == 1


def test_who_hears_a_leader_takes_no_notice_of_who_is_back() -> None:
    cluster = Cluster()
    cluster.elect(1)

    cluster[2].back()
    cluster.tick(cluster.settings.hurried_ticks, 2)

    assert cluster[2].leader == ONE


def test_who_else_is_gone_does_not_matter_to_a_follower() -> None:
    cluster = Cluster()
    cluster.elect(1)

    cluster[2].gone(THREE)

    assert cluster[2].leader == ONE


def test_a_replica_that_was_cut_off_comes_back_without_unseating_the_leader() -> None:
    cluster = Cluster()
    cluster.elect(1)
    cluster.cut = {3}
    cluster.tick(100)

    cluster.cut = set()
    cluster.tick(30)

    assert cluster.leader is cluster[1]
    assert cluster[1].term == cluster[3].term == 1


def test_a_follower_that_hears_a_leader_ignores_who_wants_another() -> None:
    cluster = Cluster()
    cluster.elect(3)

    cluster[2].step(vote(9, last=(9, 9)))

    assert cluster[2].term == 1


def test_a_leader_that_hears_no_majority_steps_down() -> None:
    cluster = Cluster()
    cluster.elect(1)
    cluster.cut = {1}

    cluster.tick(20)

    assert cluster[1].role is not Role.LEADER
    assert cluster.leader is not cluster[1]


def test_a_leader_that_hears_a_majority_goes_on() -> None:
    cluster = Cluster()
    cluster.elect(1)
    cluster.cut = {3}

    cluster.tick(100)

    assert cluster.leader is cluster[1]


def test_a_deposed_leader_learns_it_from_the_answer_to_its_heartbeat() -> None:
    cluster = Cluster(settings=Settings(check_quorum=False))
    cluster.elect(1)
    cluster.cut = {1}
    cluster[2].campaign()
    cluster.settle()

    cluster.cut = set()
    cluster[1].heartbeat()
    cluster.settle()

    assert cluster[1].role is Role.FOLLOWER
    assert cluster[1].term == 2


def test_a_learner_never_runs() -> None:
    cluster = Cluster(1, learners=[2])

    cluster.tick(100, 2)

    assert cluster[2].role is Role.FOLLOWER
    assert cluster[2].term == 0


def test_a_replica_that_knows_no_configuration_never_runs() -> None:
    cluster = Cluster()
    cluster.add(7, Stored(HardState(), Configuration(())))

    cluster.tick(100, 7)

    assert cluster[7].term == 0


def test_a_learner_s_vote_is_not_counted() -> None:
    cluster = Cluster(3, learners=[4], settings=Settings(pre_vote=False))
    cluster.cut = {2, 3}
    cluster[1].campaign()
    cluster.settle()

    cluster[1].step(VoteResponse(ReplicaId(4), ONE, 1, False, True))

    assert cluster[1].role is Role.CANDIDATE


@pytest.mark.parametrize("kind", [Heartbeat, AppendEntries])
def test_a_candidate_gives_way_to_a_leader_of_its_term(kind: type) -> None:
    cluster = Cluster(settings=Settings(pre_vote=False))
    cluster[2].campaign()
    cluster.flush(2)

    if kind is Heartbeat:
        cluster[2].step(Heartbeat(ONE, TWO, 1, 0, 0))
    else:
        cluster[2].step(AppendEntries(ONE, TWO, 1, 0, 0, 0, []))

    assert cluster[2].role is Role.FOLLOWER
    assert cluster[2].leader == ONE


def test_a_second_leader_of_a_term_is_not_believed() -> None:
    cluster = Cluster()
    cluster.elect(1)

    cluster[2].step(Heartbeat(THREE, TWO, 1, 0, 0))

    assert cluster[2].leader == ONE
    assert cluster[2].ill_formed == 1


def test_a_tie_is_broken_by_another_draw() -> None:
    cluster = Cluster(4)

    for _ in range(40):
        cluster.tick(1)

    assert cluster.leader.term >= 1
