"""A read is answered by who still led after it came."""

from __future__ import annotations

import pytest

from gramme.node.raft.messages import AppendEntries, Heartbeat, HeartbeatResponse, ReplicaId
from gramme.node.raft.ready import ReadState
from gramme.node.raft.refusals import NotLeader, TooManyReads
from gramme.node.raft.settings import Settings
from tests.unit.node.raft.cluster import Cluster

ONE, TWO = ReplicaId(1), ReplicaId(2)


def test_a_read_waits_for_a_majority_and_gets_the_commit_index() -> None:
    cluster = Cluster()
    cluster.elect(1)
    cluster.propose(b"a")
    cluster[1].read(7)
    cluster.work(1)
    before = list(cluster.shells[1].read_states)

    cluster.settle()

    assert before == []
    assert cluster.shells[1].read_states == [ReadState(7, 2)]


def test_reads_that_wait_together_ride_in_one_round() -> None:
    cluster = Cluster()
    leader = cluster.elect(1)

    for context in range(5):
        leader.read(context)
    ready = leader.ready()

    assert ready is not None
    assert [type(message) for message in ready.messages] == [Heartbeat] * 2


def test_an_answer_sent_before_a_read_came_does_not_confirm_it() -> None:
    cluster = Cluster()
    leader = cluster.elect(1)
    leader.read(1)
    cluster.shells[1].work()
    leader.read(2)
    cluster.shells[1].work()

    leader.step(HeartbeatResponse(TWO, ONE, 1, 1))
    cluster.shells[1].work()

    assert [state.context for state in cluster.shells[1].read_states] == [1]


def test_an_answer_to_a_later_round_confirms_the_earlier_ones() -> None:
    cluster = Cluster()
    leader = cluster.elect(1)
    for context in (1, 2):
        leader.read(context)
        cluster.shells[1].work()

    leader.step(HeartbeatResponse(TWO, ONE, 1, 2))
    cluster.shells[1].work()

    assert [state.context for state in cluster.shells[1].read_states] == [1, 2]


def test_no_read_before_the_leaders_own_first_entry_is_applied() -> None:
    cluster = Cluster(logs={1: (1,), 2: (1,), 3: (1,)})
    cluster.lose = lambda message: isinstance(message, AppendEntries)
    leader = cluster.elect(1)
    leader.read(1)
    cluster.tick(3)
    early = list(cluster.shells[1].read_states)

    cluster.lose = lambda message: False
    cluster.tick(6)

    assert not early
    assert cluster.shells[1].read_states == [ReadState(1, 2)]


def test_a_leader_that_is_cut_off_answers_no_read_and_says_so_when_deposed() -> None:
    cluster = Cluster()
    cluster.elect(1)
    cluster.cut = {1}
    cluster[1].read(1)

    cluster.tick(25)

    assert cluster.shells[1].read_states == []
    assert cluster.shells[1].reads_refused == [1]


def test_an_only_voter_answers_at_once() -> None:
    cluster = Cluster(1)
    cluster.elect(1)

    cluster[1].read(1)
    cluster.work(1)

    assert cluster.shells[1].read_states == [ReadState(1, 1)]


def test_a_learner_s_answer_confirms_nothing() -> None:
    cluster = Cluster(3, learners=[4])
    leader = cluster.elect(1)
    leader.read(1)
    cluster.shells[1].work()

    leader.step(HeartbeatResponse(ReplicaId(4), ONE, 1, 1))
    cluster.shells[1].work()

    assert cluster.shells[1].read_states == []


def test_an_answer_to_a_round_that_never_was_confirms_nothing() -> None:
    cluster = Cluster()
    leader = cluster.elect(1)
    leader.step(HeartbeatResponse(TWO, ONE, 1, 100))
    leader.read(1)
    cluster.shells[1].work()

    assert cluster.shells[1].read_states == []


def test_reads_that_wait_are_bounded() -> None:
    cluster = Cluster(settings=Settings(waiting_reads_max=2))
    leader = cluster.elect(1)
    leader.read(1)
    leader.read(2)

    with pytest.raises(TooManyReads):
        leader.read(3)

    cluster.settle()
    leader.read(3)


def test_rounds_under_way_are_bounded() -> None:
    cluster = Cluster(settings=Settings(read_rounds_max=2))
    leader = cluster.elect(1)
    rounds = 0

    for context in range(5):
        leader.read(context)
        rounds += bool(leader.ready())

    assert rounds == 2
    cluster.settle()


def test_only_the_leader_reads() -> None:
    cluster = Cluster()
    cluster.elect(1)

    with pytest.raises(NotLeader):
        cluster[2].read(1)
