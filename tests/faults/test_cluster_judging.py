"""The judge of the mixed load convicts what it is there for."""

from __future__ import annotations

import pytest

from tests.faults.clusters.judging import judge, longest_gap_s
from tests.faults.clusters.records import AUDITOR, Doing, Outcome, Record


def record(
    doing: Doing,
    value: int | None,
    began: float,
    ended: float,
    *,
    expected: int | None = None,
    outcome: Outcome = "ok",
    client: str = "a",
    partition: int = 0,
) -> Record:
    return Record(client, 1, partition, "k", doing, expected, value, began, ended, outcome)


SOUND = [
    record("put", 1, 0, 1),
    record("swap", 2, 2, 3, expected=1),
    record("swap", 2, 4, 5, expected=1, outcome="failed"),
    record("put", 3, 6, 9, outcome="unknown"),
    record("glance", 1, 10, 11),
    record("get", 2, 10, 11),
    record("query", 3, 12, 13),
    record("delete", None, 14, 15),
    record("put", 4, 16, 17, outcome="refused"),
    record("get", None, 18, 19, client=AUDITOR),
]
COUNTED = [
    record("add", 1, 0, 1),
    record("add", None, 2, 9, outcome="unknown"),
    record("add", 3, 3, 4),
    record("count", 3, 5, 6),
    record("count", 3, 5, 7),
    record("count", 3, 10, 11, client=AUDITOR),
]


@pytest.mark.parametrize("history", [SOUND, COUNTED], ids=["register", "counter"])
def test_sound_histories_are_let_go(history: list[Record]) -> None:
    judgement = judge(history)

    assert (judgement.keys, judgement.lost, judgement.violations) == (1, [], [])


@pytest.mark.parametrize(
    "history",
    [
        [*SOUND[:2], record("get", None, 4, 5, client=AUDITOR)],
        [*SOUND[:2], record("get", 1, 4, 5, client=AUDITOR)],
        [COUNTED[0], record("count", None, 4, 5, client=AUDITOR)],
    ],
    ids=["gone", "old", "counter"],
)
def test_an_acknowledged_write_that_is_not_there_at_last_is_lost(history: list[Record]) -> None:
    judgement = judge(history)

    assert len(judgement.lost) == 1
    assert judgement.violations == []


@pytest.mark.parametrize(
    "history",
    [
        [*SOUND[:2], record("get", 1, 4, 5)],
        [*SOUND[:2], record("swap", 5, 4, 5, expected=1)],
        [*SOUND[:2], record("swap", 2, 4, 5, expected=2, outcome="failed")],
        [record("put", 1, 5, 6), record("glance", 1, 1, 2)],
        [record("glance", 1, 1, 2)],
        [COUNTED[0], record("add", 1, 3, 4)],
        [COUNTED[0], record("count", 2, 3, 4)],
        [record("add", 2, 0, 1), record("add", 1, 3, 4)],
        [COUNTED[0], record("count", None, 3, 4)],
    ],
    ids=[
        *("stale read", "condition on what is gone", "refused though it held", "before it was put"),
        *("never put", "counted twice", "more than was added", "backwards", "stale count"),
    ],
)
def test_what_cannot_be_is_a_violation(history: list[Record]) -> None:
    judgement = judge(history)

    assert len(judgement.violations) == 1
    assert judgement.lost == []


def test_the_gap_is_that_of_the_partition_that_waited_longest() -> None:
    records = [
        *(record("put", at, at - 1, at, partition=at % 2) for at in range(100, 120)),
        record("get", 1, 120, 121),
        record("put", 1, 120, 121, outcome="unknown"),
        record("put", 2, 120, 123, partition=0),
        record("put", 3, 120, 127, partition=1),
        *(record("put", at, at - 1, at, partition=at % 2) for at in range(128, 140)),
    ]

    # From the fault on, not from the last write before it.
    assert longest_gap_s(records, since=120.5, until=139, partitions=2) == 6.5


def test_a_partition_that_never_writes_again_waits_until_the_end() -> None:
    records = [record("put", 1, 1, 2, partition=0)]

    assert longest_gap_s(records, since=0, until=50, partitions=2) == 50
