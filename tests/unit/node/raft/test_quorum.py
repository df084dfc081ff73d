"""Counting votes and matches."""

from __future__ import annotations

import pytest

from gramme.node.raft.messages import ReplicaId
from gramme.node.raft.quorum import Tally, reached_by_majority, tally


@pytest.mark.parametrize(
    ("values", "reached"),
    [([], 0), ([7], 7), ([7, 3], 3), ([9, 7, 3], 7), ([9, 7, 3, 1], 3), ([9, 8, 7, 3, 1], 7)],
    ids=["nobody", "one", "two", "three", "four", "five"],
)
def test_a_majority_has_reached_what_more_than_half_have(values: list[int], reached: int) -> None:
    assert reached_by_majority(values) == reached


@pytest.mark.parametrize(
    ("voters", "votes", "result"),
    [
        ([], {}, Tally.LOST),
        ([1], {1: True}, Tally.WON),
        ([1, 2], {1: True}, Tally.OPEN),
        ([1, 2], {1: True, 2: False}, Tally.LOST),
        ([1, 2, 3], {1: True, 3: True}, Tally.WON),
        ([1, 2, 3], {1: True, 2: False}, Tally.OPEN),
        ([1, 2, 3], {1: True, 4: True, 5: True}, Tally.OPEN),
        ([1, 2, 3, 4], {1: True, 2: True, 3: False, 4: False}, Tally.LOST),
    ],
    ids=["no group", "alone", "half", "a tie", "won", "open", "strangers", "tie of four"],
)
def test_an_election_is_won_by_more_than_half_of_the_voters(
    voters: list[ReplicaId], votes: dict[ReplicaId, bool], result: Tally
) -> None:
    assert tally(voters, votes) is result
