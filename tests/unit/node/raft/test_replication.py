"""How entries get everywhere, and when they are committed."""

from __future__ import annotations

import pytest

from gramme.node.raft.messages import (
    AppendEntries,
    AppendResponse,
    HardState,
    Message,
    ReplicaId,
)
from gramme.node.raft.refusals import NotLeader
from gramme.node.raft.settings import Settings
from tests.unit.node.raft.cluster import Cluster, an_entry

ONE, TWO = ReplicaId(1), ReplicaId(2)


def terms(cluster: Cluster, replica: int) -> list[int]:
    return [entry.term for entry in cluster.shells[replica].disk.stored.entries]


def test_every_replica_applies_what_was_proposed_in_order() -> None:
    cluster = Cluster()
    cluster.elect(1)

    cluster.propose(b"a", b"b")
    cluster.propose(b"c")

    assert [cluster.effects(replica) for replica in (1, 2, 3)] == [[b"a", b"b", b"c"]] * 3


def test_only_the_leader_takes_proposals_and_others_say_who_that_is() -> None:
    cluster = Cluster()
    cluster.elect(1)

    with pytest.raises(NotLeader) as refusal:
        cluster[2].propose(b"a")

    assert refusal.value.leader == ONE


def test_a_minority_commits_nothing() -> None:
    cluster = Cluster()
    cluster.elect(1)
    cluster.cut = {2, 3}

    cluster.propose(b"a")

    assert cluster.effects(1) == []


def test_proposals_between_two_readys_leave_in_one_append() -> None:
    cluster = Cluster()
    leader = cluster.elect(1)

    for _ in range(32):
        leader.propose(b"a")
    ready = leader.ready()

    assert ready is not None
    assert [len(m.entries) for m in ready.messages if isinstance(m, AppendEntries)] == [32, 32]


def test_an_entry_of_an_earlier_term_is_not_committed_by_counting() -> None:
    # Figure 8 of the paper, at (c): 1 leads again and gives entry 2, of term 2, to a majority.
    cluster = Cluster(
        logs={1: (1, 2), 2: (1,), 3: (1, 3)},
        terms={1: 3, 2: 3, 3: 3},
        settings=Settings(append_bytes_max=1),
    )
    cluster.cut = {3}
    refused: list[Message] = []

    def lose(message: Message) -> bool:
        """All that holds the entry of term 4, but for the first, which does not fit and is refused."""
        own = isinstance(message, AppendEntries) and message.previous_index == 2
        refused.extend([message] * own)
        return own and len(refused) > 1

    cluster.lose = lose
    cluster.elect(1)

    assert cluster[1]._leadership is not None
    assert cluster[1]._leadership.held_by_majority() == 2
    assert terms(cluster, 2) == [1, 2]
    assert cluster[1].log.committed == 0


def test_entries_of_earlier_terms_are_committed_with_the_leaders_first_own() -> None:
    cluster = Cluster(logs={1: (1, 2), 2: (1,), 3: (1,)})

    cluster.elect(1)

    assert [cluster[replica].log.committed for replica in (1, 2, 3)] == [3, 3, 3]


@pytest.mark.parametrize(
    "follower",
    [
        (1, 1, 1, 4, 4, 5, 5, 6, 6),
        (1, 1, 1, 4),
        (1, 1, 1, 4, 4, 5, 5, 6, 6, 6, 6),
        (1, 1, 1, 4, 4, 5, 5, 6, 6, 6, 7, 7),
        (1, 1, 1, 4, 4, 4, 4),
        (1, 1, 1, 2, 2, 2, 3, 3, 3, 3, 3),
    ],
    ids=["a", "b", "c", "d", "e", "f"],
)
def test_a_followers_log_becomes_the_leaders(follower: tuple[int, ...]) -> None:
    # Figure 7 of the paper.
    leader = (1, 1, 1, 4, 4, 5, 5, 6, 6, 6)
    cluster = Cluster(logs={1: leader, 2: follower, 3: leader}, terms={1: 7, 2: 7, 3: 7})
    cluster.cut = {2}
    cluster.elect(1)

    cluster.cut = set()
    cluster[1].heartbeat()
    cluster.settle()

    assert terms(cluster, 2) == [*leader, 8]


def test_a_long_conflict_is_found_in_a_few_questions() -> None:
    same = (1,) * 10
    cluster = Cluster(logs={1: same + (3,) * 500, 2: same + (2,) * 400, 3: same + (3,) * 500})
    cluster.cut = {2}
    cluster.elect(1)
    cluster.cut = set()
    seen: list[Message] = []

    def watch(message: Message) -> bool:
        seen.append(message)
        return False

    cluster.lose = watch
    cluster[1].heartbeat()
    cluster.settle()

    refusals = [m for m in seen if isinstance(m, AppendResponse) and m.rejected]
    assert len(refusals) <= 2
    assert terms(cluster, 2) == [*same, *[3] * 500, 4]


def test_a_repeated_append_changes_nothing() -> None:
    cluster = Cluster()
    append = AppendEntries(ONE, TWO, 1, 0, 0, 0, [an_entry(1, 1), an_entry(1, 2)])
    cluster[2].step(append)
    cluster.flush(2)

    cluster[2].step(AppendEntries(ONE, TWO, 1, 0, 0, 0, [an_entry(1, 1)]))
    ready = cluster[2].ready()

    assert ready is not None
    assert ready.entries == []
    assert ready.messages == [AppendResponse(TWO, ONE, 1, 1)]
    assert cluster[2].log.last_index == 2


def test_many_appends_are_acknowledged_together() -> None:
    raft = Cluster()[2]
    raft.step(AppendEntries(ONE, TWO, 1, 0, 0, 0, [an_entry(1, 1)]))
    raft.step(AppendEntries(ONE, TWO, 1, 1, 1, 0, [an_entry(1, 2)]))

    ready = raft.ready()

    assert ready is not None
    assert ready.messages_after_persist == [AppendResponse(TWO, ONE, 1, 2)]


def test_a_follower_commits_no_further_than_the_append_it_matched() -> None:
    cluster = Cluster(logs={2: (1, 1, 1)})

    cluster[2].step(AppendEntries(ONE, TWO, 2, 1, 1, 3, []))

    assert cluster[2].log.committed == 1


def test_the_last_append_that_got_lost_is_sent_again() -> None:
    cluster = Cluster()
    cluster.elect(1)
    cluster.cut = {2}
    cluster.propose(b"a")
    cluster.cut = set()

    cluster.tick(cluster.settings.heartbeat_ticks + 1)

    assert cluster.effects(2) == [b"a"]


def test_followers_learn_of_a_commit_without_waiting_for_a_heartbeat() -> None:
    cluster = Cluster()
    cluster.elect(1)

    cluster.propose(b"a")

    assert cluster.effects(3) == [b"a"]


def test_a_commit_is_told_by_the_next_entries_if_it_need_not_be_told_at_once() -> None:
    cluster = Cluster(settings=Settings(eager_commits=False))
    cluster.elect(1)

    cluster.propose(b"a")
    assert cluster.effects(3) == []
    cluster.propose(b"b")

    assert cluster.effects(3) == [b"a"]
    assert cluster[1].owes_commit


def test_a_commit_is_told_when_the_shell_asks_for_it() -> None:
    cluster = Cluster(settings=Settings(eager_commits=False))
    cluster.elect(1)
    cluster.propose(b"a")

    cluster[1].tell_commit()
    cluster.settle()

    assert [cluster.effects(replica) for replica in (2, 3)] == [[b"a"]] * 2
    assert not cluster[1].owes_commit


def test_a_commit_is_told_by_a_heartbeat_if_by_nothing_else() -> None:
    cluster = Cluster(settings=Settings(eager_commits=False))
    cluster.elect(1)
    cluster.propose(b"a")

    cluster[1].heartbeat()
    cluster.settle()

    assert cluster.effects(3) == [b"a"]


def test_a_learner_gets_everything_and_counts_for_nothing() -> None:
    cluster = Cluster(2, learners=[3, 4])
    cluster.elect(1)
    cluster.propose(b"a")
    cluster.cut = {2}

    cluster.propose(b"b")

    assert cluster.effects(3) == [b"a"]
    assert cluster.shells[3].disk.last_index() == 3


def test_committed_entries_come_in_bounded_portions() -> None:
    cluster = Cluster(settings=Settings(committed_bytes_max=100))
    leader = cluster.elect(1)
    for _ in range(10):
        leader.propose(b"x" * 40)
    sizes = []

    leader.ready()
    for number in (2, 3):
        leader.step(AppendResponse(ReplicaId(number), ONE, 1, 11))
    while (ready := leader.ready()) is not None:
        sizes.append(len(ready.committed))

    assert sizes == [1] * 10


def test_a_restarted_replica_goes_on_where_its_disk_ends() -> None:
    cluster = Cluster()
    cluster.elect(1)
    cluster.propose(b"a")
    cluster.crash(2)

    cluster.propose(b"b")
    cluster.tick(4)

    assert cluster.effects(2) == [b"a", b"b"]
    assert cluster.shells[2].disk.stored.hard_state == HardState(1, ONE, 3)


def test_the_leader_says_how_far_everybody_is() -> None:
    cluster = Cluster(3, learners=[4])
    cluster.elect(1)
    cluster.cut = {3}
    cluster.propose(b"a")

    assert cluster[1].matches() == {2: 2, 3: 1, 4: 2}
    assert cluster[2].matches() == {}
