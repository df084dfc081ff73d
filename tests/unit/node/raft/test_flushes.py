"""Nothing is promised before it is durable, however many flushes are under way."""

from __future__ import annotations

from gramme.node.raft.log import RaftLog
from gramme.node.raft.messages import (
    AppendEntries,
    AppendResponse,
    Configuration,
    HardState,
    ReplicaId,
)
from gramme.node.raft.ready import Role
from tests.unit.node.raft.cluster import Cluster, an_entry
from tests.unit.node.raft.shell import Disk, Stored

ONE, TWO, THREE = ReplicaId(1), ReplicaId(2), ReplicaId(3)


def test_an_append_is_acknowledged_after_its_flush() -> None:
    cluster = Cluster()
    cluster[2].step(AppendEntries(ONE, TWO, 1, 0, 0, 0, [an_entry(1, 1)]))

    sent = cluster.shells[2].work()
    flushed = cluster.shells[2].flush()

    assert sent == []
    assert flushed == [AppendResponse(TWO, ONE, 1, 1)]


def test_an_acknowledgement_of_nothing_new_waits_for_the_flush_under_way() -> None:
    cluster = Cluster()
    append = AppendEntries(ONE, TWO, 1, 0, 0, 0, [an_entry(1, 1)])
    cluster[2].step(append)
    cluster.shells[2].work()

    cluster[2].step(append)
    sent = cluster.shells[2].work()

    assert sent == []
    assert [len(flush.messages) for flush in cluster.shells[2].flushes] == [1, 1]


def test_a_leader_counts_itself_only_when_flushed() -> None:
    cluster = Cluster()
    leader = cluster.elect(1)
    entry = leader.propose(b"a")
    cluster.shells[1].work()
    leader.step(AppendResponse(TWO, ONE, 1, entry.index))
    before = leader.log.committed

    cluster.shells[1].flush()

    assert before == entry.index - 1
    assert leader.log.committed == entry.index


def test_a_quorum_of_others_commits_before_the_leader_has_flushed() -> None:
    cluster = Cluster()
    leader = cluster.elect(1)
    entry = leader.propose(b"a")
    cluster.shells[1].work()

    for follower in (TWO, THREE):
        leader.step(AppendResponse(follower, ONE, 1, entry.index))
    cluster.shells[1].work()

    assert cluster.effects(1) == [b"a"]
    assert cluster.shells[1].durable.applied < entry.index


def test_a_leader_sends_appends_before_its_own_flush() -> None:
    cluster = Cluster()
    leader = cluster.elect(1)
    leader.propose(b"a")

    sent = cluster.shells[1].work()

    assert [type(message) for message in sent] == [AppendEntries] * 2
    assert cluster.shells[1].flushes


def test_a_flush_covers_every_ready_before_it() -> None:
    cluster = Cluster()
    leader = cluster.elect(1)
    for data in (b"a", b"b"):
        leader.propose(data)
        cluster.shells[1].work()
    last = cluster.shells[1].flushes[-1]

    leader.persisted(last.number)

    assert leader.log.persisted == leader.log.last_index


def test_the_flush_of_an_overwritten_entry_does_not_count_for_its_successor() -> None:
    cluster = Cluster()
    cluster[2].step(AppendEntries(ONE, TWO, 1, 0, 0, 0, [an_entry(1, 1), an_entry(1, 2)]))
    first = cluster[2].ready()
    cluster[2].step(AppendEntries(THREE, TWO, 2, 1, 1, 0, [an_entry(2, 2)]))
    second = cluster[2].ready()
    assert first is not None
    assert second is not None

    cluster[2].persisted(first.number)
    after_first = cluster[2].log.persisted
    cluster[2].persisted(second.number)

    assert after_first == 1
    assert cluster[2].log.persisted == 2


def test_an_entry_that_comes_back_after_being_overwritten_must_be_flushed_again() -> None:
    log = RaftLog(Disk(Stored(HardState(), Configuration((ONE,)))), 1000)
    for number, term in enumerate((1, 2, 1), start=1):
        log.extend([an_entry(term, 1)])
        log.take_unhanded()
        log.in_flight(number)

    persisted = []
    for number in (1, 2, 3):
        log.flushed(number)
        persisted.append(log.persisted)

    assert persisted == [0, 0, 1]


def test_a_candidate_whose_vote_is_lost_in_a_crash_has_not_run() -> None:
    cluster = Cluster()
    cluster.tick(1)
    cluster[1].campaign()
    cluster.work(1)

    cluster.crash(1)
    cluster.settle()

    assert cluster[1].term == 0
    assert all(cluster[replica].role is not Role.LEADER for replica in (1, 2, 3))


def test_a_leader_that_loses_its_unflushed_log_loses_nothing_committed() -> None:
    cluster = Cluster()
    cluster.elect(1)
    cluster[1].propose(b"a")
    cluster.work(1)
    while cluster.network:
        cluster.deliver(cluster.network.pop(0))
        for follower in (2, 3):
            cluster.flush(follower)
    assert cluster.effects(1) == [b"a"]

    cluster.crash(1)
    cluster.tick(30)
    cluster.propose(b"b")

    assert [cluster.effects(replica) for replica in (1, 2, 3)] == [[b"a", b"b"]] * 3


def test_a_commit_alone_needs_no_flush() -> None:
    cluster = Cluster()
    cluster.elect(1)
    leader = cluster[1]
    entry = leader.propose(b"a")
    cluster.flush(1)
    leader.step(AppendResponse(TWO, ONE, 1, entry.index))

    ready = leader.ready()

    assert ready is not None
    assert ready.hard_state == HardState(1, ONE, entry.index)
    assert not ready.must_flush
