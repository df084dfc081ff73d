"""Followers that need what was compacted away."""

from __future__ import annotations

from gramme.node.raft.configuration import Change, ChangeKind
from gramme.node.raft.messages import (
    AppendEntries,
    AppendResponse,
    Configuration,
    InstallSnapshot,
    Message,
    ReplicaId,
    Snapshot,
)
from gramme.node.raft.ready import Role
from tests.unit.node.raft.cluster import Cluster, an_entry

ONE, TWO, THREE = ReplicaId(1), ReplicaId(2), ReplicaId(3)
GROUP = Configuration((ONE, TWO, THREE))


def lagging() -> Cluster:
    """Replica 1 leads, 3 lacks what 1 has compacted away."""
    cluster = Cluster()
    cluster.elect(1)
    cluster.cut = {3}
    cluster.propose(b"a", b"b", b"c")
    cluster.shells[1].compact(cluster[1].applied_index)
    cluster.cut = set()
    return cluster


def snapshot(index: int, term: int) -> InstallSnapshot:
    return InstallSnapshot(ONE, TWO, 3, Snapshot(index, term, GROUP))


def test_a_follower_that_lacks_compacted_entries_gets_a_snapshot_and_then_the_rest() -> None:
    cluster = lagging()

    cluster.tick(4)
    cluster.propose(b"d")
    cluster.tick(4)

    assert cluster.effects(3) == [b"a", b"b", b"c", b"d"]
    assert cluster.shells[3].disk.first_index() == 5


def test_one_snapshot_at_a_time_is_asked_for() -> None:
    cluster = lagging()
    cluster[1].heartbeat()
    asked: list[Message] = []

    def never_arrives(message: Message) -> None:
        asked.extend([message] * isinstance(message, InstallSnapshot))

    cluster.lose = lambda message: isinstance(message, InstallSnapshot)
    cluster.drop = never_arrives  # type: ignore[method-assign]

    cluster.tick(20)

    assert len(asked) == 1


def test_a_snapshot_that_failed_is_tried_again() -> None:
    cluster = lagging()
    lost: list[Message] = []

    def lose_one(message: Message) -> bool:
        first = isinstance(message, InstallSnapshot) and not lost
        lost.extend([message] * first)
        return first

    cluster.lose = lose_one

    cluster.tick(10)

    assert lost
    assert cluster.effects(3) == [b"a", b"b", b"c"]


def test_who_has_a_snapshot_that_is_said_to_have_failed_is_sent_no_other() -> None:
    cluster = lagging()
    asked: list[Message] = []

    def arrives_unheard(message: Message) -> None:
        if isinstance(message, InstallSnapshot):
            asked.append(message)
            cluster[3].step(message)
            cluster[1].snapshot_failed(THREE)

    def unheard(message: Message) -> bool:
        answers = isinstance(message, AppendResponse) and message.sender == 3
        return isinstance(message, InstallSnapshot) or (answers and len(asked) == 1)

    cluster.lose = unheard
    cluster.drop = arrives_unheard  # type: ignore[method-assign]
    cluster.tick(4)
    cluster.lose = lambda message: isinstance(message, InstallSnapshot)

    cluster.tick(4)

    assert len(asked) == 1
    assert cluster[1].matches()[THREE] == cluster[1].log.last_index


def test_a_new_learner_of_a_compacted_group_begins_with_a_snapshot() -> None:
    cluster = lagging()
    cluster.add(4)

    cluster[1].propose_configuration(Change(ChangeKind.ADD_LEARNER, ReplicaId(4)))
    cluster.tick(10)

    assert cluster.effects(4)[:3] == [b"a", b"b", b"c"]
    assert cluster[4].configurations.newest.learners == (4,)


def test_a_snapshot_is_acknowledged_after_its_flush() -> None:
    raft = Cluster()[2]

    raft.step(snapshot(9, 2))
    ready = raft.ready()

    assert ready is not None
    assert ready.snapshot == Snapshot(9, 2, GROUP)
    assert ready.messages == []
    assert ready.messages_after_persist == [AppendResponse(TWO, ONE, 3, 9)]


def test_nobody_runs_while_a_snapshot_is_being_installed() -> None:
    raft = Cluster()[2]
    raft.step(snapshot(9, 2))
    raft.ready()

    for _ in range(100):
        raft.tick()

    assert raft.role is Role.FOLLOWER


def test_what_follows_a_snapshot_is_applied_after_it_is_installed() -> None:
    raft = Cluster()[2]
    raft.step(snapshot(9, 2))
    first = raft.ready()
    raft.step(AppendEntries(ONE, TWO, 3, 9, 2, 10, [an_entry(3, 10)]))
    second = raft.ready()
    assert first is not None
    assert second is not None
    assert first.snapshot is not None

    raft.installed(first.snapshot)
    third = raft.ready()

    assert second.committed == []
    assert third is not None
    assert third.committed == [an_entry(3, 10)]


def test_an_old_snapshot_changes_nothing() -> None:
    cluster = Cluster()
    cluster.elect(1)
    cluster.propose(b"a")

    cluster[2].step(InstallSnapshot(ONE, TWO, 1, Snapshot(1, 1, GROUP)))
    ready = cluster[2].ready()

    assert ready is not None
    assert ready.snapshot is None
    assert ready.messages == [AppendResponse(TWO, ONE, 1, 2)]


def test_a_snapshot_of_entries_that_are_here_only_commits_them() -> None:
    cluster = Cluster(logs={2: (1, 2, 2)})

    cluster[2].step(snapshot(2, 2))
    ready = cluster[2].ready()

    assert ready is not None
    assert ready.snapshot is None
    assert [entry.index for entry in ready.committed] == [1, 2]
    assert cluster[2].log.last_index == 3


def test_a_snapshot_replaces_a_log_that_conflicts_with_it() -> None:
    cluster = Cluster(logs={2: (1, 1, 1)})

    cluster[2].step(snapshot(2, 2))

    assert cluster[2].log.last_index == 2
    assert cluster[2].log.last_term == 2


def test_a_snapshot_describes_what_is_applied() -> None:
    cluster = Cluster()
    cluster.elect(1)
    cluster.propose(b"a")

    assert cluster[1].snapshot() == Snapshot(2, 1, GROUP)
