"""One step at a time: voters, learners, and those who are gone."""

from __future__ import annotations

import pytest

from gramme.node.raft.configuration import Change, ChangeKind, changed
from gramme.node.raft.messages import (
    AppendEntries,
    Configuration,
    Entry,
    EntryKind,
    ReplicaId,
    decode_membership,
    encode_membership,
)
from gramme.node.raft.ready import Role
from gramme.node.raft.refusals import ChangeRefused
from tests.unit.node.raft.cluster import Cluster, an_entry

ONE, TWO, THREE, FOUR = (ReplicaId(number) for number in (1, 2, 3, 4))


def change(kind: str, replica: int) -> Change:
    return Change(ChangeKind[kind], ReplicaId(replica))


@pytest.mark.parametrize(
    ("kind", "replica", "voters", "learners"),
    [
        ("ADD_LEARNER", 5, (1, 2, 3), (4, 5)),
        ("ADD_VOTER", 5, (1, 2, 3, 5), (4,)),
        ("PROMOTE", 4, (1, 2, 3, 4), ()),
        ("REMOVE", 3, (1, 2), (4,)),
        ("REMOVE", 4, (1, 2, 3), ()),
    ],
)
def test_a_change_moves_one_replica(
    kind: str, replica: int, voters: tuple[ReplicaId, ...], learners: tuple[ReplicaId, ...]
) -> None:
    old = Configuration((ONE, TWO, THREE), (FOUR,))

    assert changed(old, change(kind, replica)) == Configuration(voters, learners)


@pytest.mark.parametrize(
    ("kind", "replica"),
    [
        ("ADD_LEARNER", 1),
        ("ADD_LEARNER", 2),
        ("ADD_VOTER", 2),
        ("PROMOTE", 1),
        ("PROMOTE", 9),
        ("REMOVE", 9),
        ("REMOVE", 1),
        ("ADD_VOTER", 0),
    ],
)
def test_a_change_that_does_not_fit_is_refused(kind: str, replica: int) -> None:
    with pytest.raises(ChangeRefused):
        changed(Configuration((ONE,), (TWO,)), change(kind, replica))


def test_a_new_replica_becomes_a_learner_and_then_a_voter() -> None:
    cluster = Cluster()
    cluster.elect(1)
    cluster.propose(b"a")
    cluster.add(4)

    cluster[1].propose_configuration(change("ADD_LEARNER", 4))
    cluster.settle()
    cluster[1].propose_configuration(change("PROMOTE", 4))
    cluster.settle()

    assert cluster.effects(4)[0] == b"a"
    assert cluster[4].is_voter
    assert cluster.shells[4].disk.stored.configuration.voters == (1, 2, 3, 4)


def test_a_second_change_waits_until_the_first_is_applied() -> None:
    cluster = Cluster(3, learners=[4, 5])
    leader = cluster.elect(1)
    leader.propose_configuration(change("PROMOTE", 4))

    with pytest.raises(ChangeRefused):
        leader.propose_configuration(change("PROMOTE", 5))

    cluster.settle()
    leader.propose_configuration(change("PROMOTE", 5))


def test_no_change_before_an_entry_of_the_leaders_own_term_is_applied() -> None:
    cluster = Cluster(3, learners=[4])
    cluster.lose = lambda message: isinstance(message, AppendEntries)
    leader = cluster.elect(1)

    with pytest.raises(ChangeRefused):
        leader.propose_configuration(change("PROMOTE", 4))


def test_a_promoted_learner_counts_from_the_append_on() -> None:
    cluster = Cluster(3, learners=[4])
    leader = cluster.elect(1)
    cluster.cut = {2}
    leader.propose_configuration(change("PROMOTE", 4))
    cluster.settle()
    cluster.cut = {2, 3}
    committed = leader.log.committed

    cluster.propose(b"a")

    assert committed == leader.log.committed == 2


def test_a_configuration_goes_again_when_its_entry_is_overwritten() -> None:
    cluster = Cluster(3, learners=[4])
    leader = cluster.elect(1)
    cluster.cut = {1}
    leader.propose_configuration(change("PROMOTE", 4))
    cluster.flush(1)
    assert leader.configurations.voters == (1, 2, 3, 4)

    cluster.tick(30)
    cluster.cut = set()
    cluster.tick(10)

    assert cluster[1].configurations.voters == (1, 2, 3)


def test_a_configuration_that_is_not_applied_is_found_again_after_a_crash() -> None:
    cluster = Cluster(3, learners=[4])
    leader = cluster.elect(1)
    cluster.cut = {1}
    leader.propose_configuration(change("PROMOTE", 4))
    cluster.flush(1)

    cluster.crash(1)

    assert cluster[1].configurations.voters == (1, 2, 3, 4)
    assert cluster.shells[1].disk.stored.configuration.voters == (1, 2, 3)


def test_a_leader_that_is_removed_leads_until_that_is_committed() -> None:
    cluster = Cluster()
    leader = cluster.elect(1)

    leader.propose_configuration(change("REMOVE", 1))
    before = leader.role
    cluster.settle()

    assert (before, leader.role) == (Role.LEADER, Role.FOLLOWER)
    assert cluster.leader.replica in (TWO, THREE)


def test_a_removed_leader_does_not_count_itself() -> None:
    cluster = Cluster()
    leader = cluster.elect(1)
    cluster.cut = {3}

    leader.propose_configuration(change("REMOVE", 1))
    cluster.settle()

    assert leader.role is Role.LEADER
    assert leader.applied_index == 1


def test_a_leader_that_began_to_remove_itself_and_died_can_still_be_elected_to_finish_it() -> None:
    # Replica 2 has not heard of it, needs the vote of 1, and does not get it, because its log is the shorter one.
    cluster = Cluster(2)
    cluster.elect(1)
    cluster.cut = {2}
    cluster[1].propose_configuration(change("REMOVE", 1))
    cluster.flush(1)
    cluster.crash(1)

    cluster.cut = set()
    cluster.tick(60)

    assert cluster.leader.replica == TWO
    assert cluster[1].configurations.voters == cluster[2].configurations.voters == (2,)


def test_a_removed_replica_that_never_heard_of_it_disturbs_nobody() -> None:
    cluster = Cluster()
    leader = cluster.elect(1)
    cluster.cut = {3}
    leader.propose_configuration(change("REMOVE", 3))
    cluster.settle()

    cluster.cut = set()
    cluster.tick(200)

    assert cluster.leader is leader
    assert leader.term == cluster[3].term == 1


def test_a_removed_replica_is_not_elected_when_the_leader_is_gone() -> None:
    cluster = Cluster()
    leader = cluster.elect(1)
    cluster.cut = {3}
    leader.propose_configuration(change("REMOVE", 3))
    cluster.propose(b"a")
    cluster.cut = {1}

    cluster.tick(200)

    assert cluster[3].role is not Role.LEADER
    assert cluster[2].term == 1


def test_a_group_of_two_can_be_made_one() -> None:
    cluster = Cluster(2)
    leader = cluster.elect(1)

    leader.propose_configuration(change("REMOVE", 2))
    cluster.flush(1)
    cluster.propose(b"a")

    assert cluster.effects(1)[-1] == b"a"


def test_what_the_shell_sends_with_a_change_arrives_with_it() -> None:
    cluster = Cluster(3, learners=[4])
    cluster.elect(1)

    cluster[1].propose_configuration(change("REMOVE", 4), b"moved")
    cluster.settle()

    entry = cluster.shells[2].disk.stored.entries[-1]
    assert decode_membership(entry.data).context == b"moved"


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"\xc1",
        encode_membership(Configuration(()), b""),
        encode_membership(Configuration((ONE, ONE)), b""),
        encode_membership(Configuration((ONE,), (ONE,)), b""),
    ],
    ids=["nothing", "no msgpack", "no voters", "twice", "both"],
)
def test_an_append_with_an_impossible_configuration_changes_nothing(data: bytes) -> None:
    cluster = Cluster()
    entries = [an_entry(1, 1), Entry(1, 2, EntryKind.CONFIGURATION, data)]

    cluster[2].step(AppendEntries(ONE, TWO, 1, 0, 0, 2, entries))

    assert cluster[2].log.last_index == 0
    assert cluster[2].ill_formed == 1
