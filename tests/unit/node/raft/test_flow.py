"""Bounds: on what is in flight, in one append, uncommitted, and in memory."""

from __future__ import annotations

import pytest

from gramme.node.raft.messages import AppendEntries, Message, ReplicaId
from gramme.node.raft.refusals import TooMuchUncommitted
from gramme.node.raft.settings import ENTRY_OVERHEAD_BYTES, Settings
from tests.unit.node.raft.cluster import Cluster

TWO, THREE = ReplicaId(2), ReplicaId(3)
DATA = b"x" * (100 - ENTRY_OVERHEAD_BYTES)


def appends(messages: list[Message], to: int = 2) -> list[AppendEntries]:
    return [m for m in messages if isinstance(m, AppendEntries) and m.to == to and m.entries]


def burst(settings: Settings) -> list[AppendEntries]:
    """What a follower is sent of 20 entries of 100 bytes before it answers."""
    leader = Cluster(settings=settings)
    leader.elect(1)
    for _ in range(20):
        leader[1].propose(DATA)
    return appends(leader.shells[1].work())


def test_an_append_holds_as_many_entries_as_fit() -> None:
    sent = burst(Settings(append_bytes_max=350))

    assert [len(append.entries) for append in sent] == [3, 3, 3, 3, 3, 3, 2]


def test_an_entry_larger_than_an_append_goes_alone() -> None:
    sent = burst(Settings(append_bytes_max=10))

    assert [len(append.entries) for append in sent] == [1] * 20


def test_appends_in_flight_are_bounded_by_count() -> None:
    sent = burst(Settings(append_bytes_max=100, in_flight_appends_max=4))

    assert len(sent) == 4


def test_appends_in_flight_are_bounded_by_bytes() -> None:
    sent = burst(Settings(append_bytes_max=100, in_flight_bytes_max=500))

    assert len(sent) == 5


def test_answers_make_room() -> None:
    cluster = Cluster(settings=Settings(append_bytes_max=100, in_flight_appends_max=2))
    cluster.elect(1)

    cluster.propose(*[DATA] * 20)

    assert len(cluster.effects(2)) == 20


def test_a_full_window_of_lost_appends_does_not_hang() -> None:
    cluster = Cluster(settings=Settings(append_bytes_max=100, in_flight_appends_max=2))
    cluster.elect(1)
    cluster.cut = {2}
    cluster.propose(*[DATA] * 5)

    cluster.cut = set()
    cluster.tick(9)

    assert len(cluster.effects(2)) == 5


def test_a_probe_is_not_repeated_until_something_is_heard() -> None:
    cluster = Cluster()
    cluster.elect(1)
    cluster[1].unreachable(TWO)
    cluster[1].propose(b"a")
    first = appends(cluster.shells[1].work())

    cluster[1].propose(b"b")
    second = appends(cluster.shells[1].work())

    assert len(first) == 1
    assert second == []


def test_uncommitted_bytes_are_bounded_and_the_excess_is_refused() -> None:
    cluster = Cluster(settings=Settings(uncommitted_bytes_max=250))
    leader = cluster.elect(1)
    leader.propose(DATA)
    leader.propose(DATA)

    with pytest.raises(TooMuchUncommitted):
        leader.propose(DATA)

    cluster.settle()
    leader.propose(DATA)


def test_an_entry_larger_than_the_bound_may_go_when_nothing_else_waits() -> None:
    cluster = Cluster(settings=Settings(uncommitted_bytes_max=10))
    leader = cluster.elect(1)

    leader.propose(DATA)

    with pytest.raises(TooMuchUncommitted):
        leader.propose(b"")


def test_memory_keeps_a_bounded_tail_of_the_log() -> None:
    cluster = Cluster(settings=Settings(cached_bytes_max=1000))
    cluster.elect(1)

    for _ in range(20):
        cluster.propose(*[DATA] * 5)

    assert all(cluster[replica].log._tail_bytes <= 1000 for replica in (1, 2, 3))
    assert len(cluster.effects(1)) == 100


def test_a_follower_far_behind_is_served_from_the_storage() -> None:
    cluster = Cluster(settings=Settings(cached_bytes_max=300, append_bytes_max=250))
    cluster.elect(1)
    cluster.cut = {3}
    cluster.propose(*[DATA] * 30)

    cluster.cut = set()
    cluster.tick(cluster.settings.heartbeat_ticks + 1)

    assert len(cluster.effects(3)) == 30


def test_compaction_lets_go_of_memory() -> None:
    cluster = Cluster()
    cluster.elect(1)
    cluster.propose(*[DATA] * 10)

    cluster.shells[1].compact(cluster[1].applied_index)

    assert cluster[1].log._tail == []
