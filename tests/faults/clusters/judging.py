"""Pure: what is wrong with what the clients of the mixed load were told.

Registers are judged by `linearizability.py`, each by itself, and twice: without the reads that came at the very end, and with them.
What only those show is an acknowledged write that was lost. Counters are judged by what additions returned: each
says how many there were, so they are in an order that must agree with their times, and so must the reads among them.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from itertools import groupby, pairwise
from math import inf

from tests.faults.clusters.records import AUDITOR, PEEKER, STRONG_READS, WRITES, Record
from tests.support import linearizability
from tests.support.operations import (
    Action,
    Answer,
    Done,
    Operation,
    Read,
    Refused,
    Saw,
    Swap,
    Write,
)

VALUE_WRITES = frozenset(("put", "update", "swap"))


@dataclass
class Judgement:
    keys: int = 0
    # One line or more for each key with one.
    lost: list[str] = field(default_factory=list)
    violations: list[str] = field(default_factory=list)


@dataclass
class Totals:
    operations: int = 0
    acknowledged: int = 0
    strong_reads: int = 0
    peeked: int = 0
    unknown: int = 0
    errors: Counter[str] = field(default_factory=Counter)


def totals_of(records: Iterable[Record]) -> Totals:
    totals = Totals()
    for one in records:
        totals.operations += 1
        if one.outcome == "unknown":
            totals.unknown += 1
        if one.error:
            totals.errors[one.error] += 1
        if one.outcome == "ok" and one.doing in WRITES:
            totals.acknowledged += 1
        if one.outcome == "ok" and one.doing in STRONG_READS:
            totals.strong_reads += 1
            totals.peeked += one.client == PEEKER
    return totals


def judge(records: Iterable[Record]) -> Judgement:
    of_key: defaultdict[str, list[Record]] = defaultdict(list)
    for one in records:
        if one.outcome != "refused":
            of_key[one.key].append(one)
    judgement = Judgement(len(of_key))
    for key, history in of_key.items():
        is_counter = any(one.doing in ("add", "count") for one in history)
        (_judge_counter if is_counter else _judge_register)(key, history, judgement)
    return judgement


def _judge_register(key: str, history: Sequence[Record], judgement: Judgement) -> None:
    glances = [one for one in history if one.doing == "glance"]
    operations = [_operation(one) for one in history if one.doing != "glance"]
    before = [one for one in operations if one.client != AUDITOR]
    judged = linearizability.check(before)
    if not isinstance(judged, linearizability.Consistent):
        judgement.violations.append(f"{key}: {judged}")
    elif len(before) < len(operations):
        judged = linearizability.check(operations)
        if not isinstance(judged, linearizability.Consistent):
            judgement.lost.append(f"{key}: {judged}")
    # A failed swap's value is what it met.
    begun = {
        one.value: one.began
        for one in history
        if one.doing in VALUE_WRITES and one.outcome != "failed"
    }
    for one in glances:
        if one.value is not None and begun.get(one.value, inf) > one.ended:
            judgement.violations.append(f"{key}: nobody had written what is shown by {one}")


def _operation(one: Record) -> Operation:
    answer: Answer | None = None
    action: Action
    match one.doing:
        case "get" | "query":
            action = Read()
            answer = Saw(one.value)
        case "delete":
            action = Write(None)
            answer = Done()
        case "swap":
            # What a failed one would have put is not in its record, and matters to nobody.
            failed = one.outcome == "failed"
            action = Swap(one.expected, object() if failed else one.value)
            answer = Refused(one.value) if failed else Done()
        case _:
            action = Write(one.value)
            answer = Done()
    if one.outcome == "unknown":
        return Operation(one.client, action, one.began)
    return Operation(one.client, action, one.began, one.ended, answer)


def _judge_counter(key: str, history: Sequence[Record], judgement: Judgement) -> None:
    additions = [one for one in history if one.doing == "add"]
    done = [one for one in additions if one.outcome == "ok"]
    unknown = [one for one in additions if one.outcome == "unknown"]
    reads = [one for one in history if one.doing == "count" and one.outcome == "ok"]
    counts = Counter(one.value for one in done)
    for count, times in counts.items():
        if times > 1:
            judgement.violations.append(f"{key}: {times} additions made it {count}")
    for early, late in _disorder([*done, *reads]):
        # A read at the very end that shows too little is a lost write.
        problems = judgement.lost if early.client == AUDITOR else judgement.violations
        problems.append(f"{key}: {early} comes before {late}, which had been answered already")
    for one in reads:
        most = sum(other.began < one.ended for other in (*done, *unknown))
        if (one.value or 0) > most:
            judgement.violations.append(
                f"{key}: {one.value} is read after {most} additions at most: {one}"
            )


def _place(one: Record) -> tuple[int, bool]:
    """Where an addition or a read is in the order of additions: a read right after the one it shows."""
    return one.value or 0, one.doing == "count"


def _disorder(records: Sequence[Record]) -> Iterable[tuple[Record, Record]]:
    """Pairs of which the first must come before the second, but began only after the second had been answered."""
    newest: Record | None = None
    for _, group in groupby(sorted(records, key=_place), key=_place):
        alike = list(group)
        if newest is not None:
            yield from ((newest, one) for one in alike if one.ended < newest.began)
        latest = max(alike, key=lambda one: one.began)
        if newest is None or latest.began > newest.began:
            newest = latest


def longest_gap_s(records: Iterable[Record], since: float, until: float, partitions: int) -> float:
    """The longest time without an acknowledged write on some partition, from a fault to the end of its round."""
    times: dict[int, list[float]] = {partition: [since] for partition in range(partitions)}
    for one in records:
        if one.outcome == "ok" and one.doing in WRITES and since < one.ended <= until:
            times[one.partition].append(one.ended)
    return max(
        later - earlier
        for moments in times.values()
        for earlier, later in pairwise([*sorted(moments), until])
    )
