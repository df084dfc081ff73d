"""Counting. A majority of no voters does not exist: an empty configuration decides nothing."""

from __future__ import annotations

import enum
from collections.abc import Mapping, Sequence

from gramme.node.raft.messages import ReplicaId


class Tally(enum.Enum):
    OPEN = enum.auto()
    WON = enum.auto()
    LOST = enum.auto()


def majority(voters: int) -> int:
    return voters // 2 + 1


def reached_by_majority(values: list[int]) -> int:
    """Return the greatest number that a majority of `values` has reached, or 0. Sorts the list."""
    if not values:
        return 0
    values.sort()
    return values[(len(values) - 1) // 2]


def tally(voters: Sequence[ReplicaId], votes: Mapping[ReplicaId, bool]) -> Tally:
    """Count the votes of `voters`. Votes of others, learners among them, do not count."""
    if not voters:
        return Tally.LOST
    needed = majority(len(voters))
    granted = refused = 0
    for voter in voters:
        vote = votes.get(voter)
        if vote is not None:
            granted += vote
            refused += not vote
    if granted >= needed:
        return Tally.WON
    if refused > len(voters) - needed:
        return Tally.LOST
    return Tally.OPEN
