"""Handing leadership over."""

from __future__ import annotations

import pytest

from gramme.node.raft.messages import ReplicaId, TimeoutNow
from gramme.node.raft.ready import Role
from gramme.node.raft.refusals import ChangeRefused, TransferUnderWay
from tests.unit.node.raft.cluster import Cluster

ONE, TWO, THREE, FOUR = (ReplicaId(number) for number in (1, 2, 3, 4))


def test_leadership_goes_to_who_it_is_handed_to_without_any_time_passing() -> None:
    cluster = Cluster()
    cluster.elect(1)

    cluster[1].transfer(THREE)
    cluster.settle()

    assert cluster.leader is cluster[3]
    assert cluster[1].leader == THREE


def test_a_successor_that_lags_first_catches_up() -> None:
    cluster = Cluster()
    cluster.elect(1)
    cluster.cut = {3}
    cluster.propose(b"a")
    cluster.cut = set()

    cluster[1].transfer(THREE)
    cluster.tick(4)

    assert cluster.leader is cluster[3]
    assert cluster.effects(3) == [b"a"]


def test_nothing_is_proposed_while_leadership_is_handed_over() -> None:
    cluster = Cluster()
    leader = cluster.elect(1)
    leader.transfer(TWO)

    with pytest.raises(TransferUnderWay):
        leader.propose(b"a")


def test_a_leader_goes_on_when_its_successor_does_not_take_over() -> None:
    cluster = Cluster()
    leader = cluster.elect(1)
    cluster.lose = lambda message: isinstance(message, TimeoutNow)
    leader.transfer(TWO)

    cluster.tick(10)
    leader.propose(b"a")

    assert leader.role is Role.LEADER


@pytest.mark.parametrize("to", [1, 4, 9], ids=["itself", "a learner", "a stranger"])
def test_leadership_goes_to_another_voter_only(to: int) -> None:
    cluster = Cluster(3, learners=[4])
    leader = cluster.elect(1)

    with pytest.raises(ChangeRefused):
        leader.transfer(ReplicaId(to))


def test_only_the_leader_can_tell_a_replica_to_run() -> None:
    cluster = Cluster()
    cluster.elect(1)

    cluster[2].step(TimeoutNow(THREE, TWO, 1))

    assert cluster[2].role is Role.FOLLOWER


def test_a_learner_that_is_told_to_run_does_not() -> None:
    cluster = Cluster(3, learners=[4])
    cluster.elect(1)

    cluster[4].step(TimeoutNow(ONE, FOUR, 1))

    assert cluster[4].role is Role.FOLLOWER
