"""From any configuration the steps lead to the replicas that are placed, one at a time, and never through a weaker group."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from gramme.node.membership import next_change
from gramme.node.raft.configuration import Change, ChangeKind, changed
from gramme.node.raft.messages import Configuration, ReplicaId


def replicas(*numbers: int) -> tuple[ReplicaId, ...]:
    return tuple(map(ReplicaId, numbers))


def steps(
    configuration: Configuration, placed: set[int], gone: set[int], caught_up: bool = True
) -> list[Change]:
    taken: list[Change] = []
    while len(taken) < 20:
        change = next_change(
            configuration, dict.fromkeys(placed, 1), gone.__contains__, lambda replica: caught_up
        )
        if change is None:
            return taken
        taken.append(change)
        configuration = changed(configuration, change)
    raise AssertionError("there is no end to it")


def test_new_one_is_filled_before_the_old_one_goes_and_counted_after() -> None:
    assert steps(Configuration(replicas(1, 2, 3)), {1, 2, 9}, {3}) == [
        Change(ChangeKind.ADD_LEARNER, ReplicaId(9)),
        Change(ChangeKind.REMOVE, ReplicaId(3)),
        Change(ChangeKind.PROMOTE, ReplicaId(9)),
    ]


def test_nobody_goes_while_who_takes_the_place_has_not_caught_up() -> None:
    assert steps(Configuration(replicas(1, 2, 3)), {1, 2, 9}, {3}, caught_up=False) == [
        Change(ChangeKind.ADD_LEARNER, ReplicaId(9)),
    ]


def test_who_is_not_known_to_be_gone_stays() -> None:
    # An old copy of the placement, which does not have the newest replica.
    assert steps(Configuration(replicas(1, 2), replicas(9)), {1, 2, 3}, {3}) == []


def test_learner_that_is_gone_itself_goes() -> None:
    assert steps(Configuration(replicas(1, 2, 3), replicas(9)), {1, 2, 12}, {3, 9}) == [
        Change(ChangeKind.ADD_LEARNER, ReplicaId(12)),
        Change(ChangeKind.REMOVE, ReplicaId(3)),
        Change(ChangeKind.REMOVE, ReplicaId(9)),
        Change(ChangeKind.PROMOTE, ReplicaId(12)),
    ]


@given(st.integers(1, 5), st.sets(st.integers(1, 5)))
def test_all_that_is_placed_is_counted_in_the_end_and_nothing_else(
    size: int, lost: set[int]
) -> None:
    first = range(1, size + 1)
    gone = {one for one in lost if one <= size}
    if 2 * len(gone) >= size:
        # Without a majority nobody leads.
        return
    placed = {one + 10 if one in gone else one for one in first}
    configuration = Configuration(replicas(*first))
    for change in steps(configuration, placed, gone):
        configuration = changed(configuration, change)
        alive = [voter for voter in configuration.voters if voter not in gone]
        assert 2 * len(alive) > len(configuration.voters)
    assert set(configuration.voters) == placed and not configuration.learners
