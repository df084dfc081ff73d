"""What the answers of nodes come to when they are put together."""

from __future__ import annotations

from gramme.cli.status import ClusterStatus, ReplicaLine, as_text, put_together
from gramme.codec.status import NodeStatus, PartitionStatus, ReplicaRole, ReplicaStatus

ADDRESSES = ["h:1", "h:2", "h:3"]
HALF = 1 << 63
MUSIC = PartitionStatus(7, "0" * 12, "eu", "Music", None, 0, HALF - 1, {4: 1, 5: 2, 6: 3})


def replica(
    group: int, role: ReplicaRole, applied: int, term: int = 2, last: int = 0, read_rounds: int = 0
) -> ReplicaStatus:
    return ReplicaStatus(group, role, term, 0, applied, last or applied, [1, 2, 3], read_rounds)


def node(number: int, *replicas: ReplicaStatus, meta_index: int = 5) -> NodeStatus:
    role: ReplicaRole = "leader" if number == 1 else "follower"
    meta = replica(0, role, meta_index)
    return NodeStatus(number, "0.1.0", 1_234_567, meta_index, [MUSIC], [meta, *replicas])


def of_music(*answers: NodeStatus | str) -> ClusterStatus:
    return put_together(ADDRESSES, dict(enumerate(answers, start=1)))


def test_lag_is_what_the_leader_has_applied_and_a_replica_has_not() -> None:
    status = of_music(
        node(1, replica(7, "leader", 100, last=103)),
        node(2, replica(7, "follower", 100)),
        node(3, replica(7, "follower", 88)),
    )

    music = status.partitions[1]
    assert (music.table, music.leader, music.share, music.last) == ("Music", 1, 0.5, "7" + "f" * 15)
    assert [one.lag for one in music.replicas] == [0, 0, 12]
    assert status.is_led


def test_a_follower_that_was_asked_later_is_not_ahead() -> None:
    status = of_music(
        node(1, replica(7, "leader", 100)), node(2, replica(7, "follower", 101)), node(3)
    )

    assert [one.lag for one in status.partitions[1].replicas] == [0, 0, None]


def test_the_leader_of_the_newest_term_is_the_one() -> None:
    status = of_music(
        node(1, replica(7, "leader", 100, term=2)),
        node(2, replica(7, "follower", 100, term=3)),
        node(3, replica(7, "leader", 101, term=3)),
    )

    assert (status.partitions[1].leader, status.partitions[1].term) == (3, 3)


def test_who_cannot_be_asked_is_unreachable_and_its_replicas_unknown() -> None:
    status = of_music(
        node(1, replica(7, "follower", 100)), node(2, replica(7, "candidate", 100)), "gone"
    )

    assert [(one.up, one.reason) for one in status.nodes] == [
        (True, ""),
        (True, ""),
        (False, "gone"),
    ]
    assert status.partitions[0].leader == 1
    assert status.partitions[1].leader == 0
    assert status.partitions[1].replicas[2] == ReplicaLine(3, "unknown")
    assert not status.is_led


def test_nobody_there_is_nobody_leading() -> None:
    status = of_music("gone", "gone", "gone")

    assert [one.group for one in status.partitions] == [0]
    assert not status.is_led


def test_the_partitions_are_those_of_who_knows_most() -> None:
    old = NodeStatus(2, "0.1.0", 0, 3, [], [replica(0, "follower", 3)])

    status = of_music(node(1, replica(7, "leader", 9)), old, "gone")

    assert [one.group for one in status.partitions] == [0, 7]
    assert [one.role for one in status.partitions[1].replicas] == ["leader", "missing", "unknown"]


def test_a_person_reads_aligned_columns() -> None:
    status = of_music(
        node(1, replica(7, "leader", 100, read_rounds=9)),
        node(2, replica(7, "follower", 88, read_rounds=4)),
        "no answer",
    )

    assert as_text(status).splitlines() == [
        "NODE   ADDRESS   STATE                    DATA     VERSION",
        "1      h:1       up                       1.2 MB   0.1.0",
        "2      h:2       up                       1.2 MB   0.1.0",
        "3      h:3       unreachable: no answer   -        -",
        "",
        "TABLE    INDEX   GROUP   RANGE   LEADER   TERM   READ ROUNDS   REPLICAS (NODE:APPLIED)",
        "(meta)   -       0       -       1        2      0             1:5  2:5  3:unknown",
        "Music    -       7       50.0%   1        2      13            1:100  2:88 (12 behind)  3:unknown",
    ]
