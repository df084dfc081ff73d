"""The checker of histories: what it lets pass, what it convicts, and what it says then."""

from __future__ import annotations

import time
from dataclasses import replace
from random import Random

import pytest

from tests.support.linearizability import (
    Consistent,
    GaveUp,
    NotLinearizable,
    Undecided,
    Violation,
    assert_linearizable,
    check,
)
from tests.support.operations import (
    Action,
    Answer,
    Done,
    Operation,
    Read,
    Recorder,
    Refused,
    Saw,
    Swap,
    Value,
    Write,
)

READ = Read()
DONE = Done()


def asked(client: str, invoked: float, action: Action) -> Operation:
    return Operation(client, action, invoked)


def told(
    client: str, invoked: float, responded: float, action: Action, answer: Answer = DONE
) -> Operation:
    return Operation(client, action, invoked, responded, answer)


BAD = {
    "a stale read": [
        told("a", 1, 2, Write(1)),
        told("a", 3, 4, Write(2)),
        told("b", 5, 6, READ, Saw(1)),
    ],
    "a lost write": [
        told("a", 1, 2, Write(1)),
        told("b", 3, 4, READ, Saw(None)),
    ],
    "one write applied twice, by a retry": [
        told("a", 1, 10, Write(1)),
        told("b", 2, 3, READ, Saw(1)),
        told("b", 4, 5, Swap(1, 2)),
        told("b", 6, 7, READ, Saw(1)),
    ],
    "two conditional writes on one value": [
        told("a", 1, 2, Write(1)),
        told("a", 3, 6, Swap(1, 2)),
        told("b", 4, 5, Swap(1, 3)),
    ],
    "a lost conditional write took effect twice": [
        asked("a", 1, Swap(None, 1)),
        told("b", 2, 3, Swap(1, None)),
        told("b", 4, 5, READ, Saw(1)),
    ],
    "a read goes back": [
        told("a", 1, 2, Write(1)),
        told("a", 3, 10, Write(2)),
        told("b", 4, 5, READ, Saw(2)),
        told("c", 6, 7, READ, Saw(1)),
    ],
    "a refusal met what was not committed before it was answered": [
        told("a", 1, 2, Write(1)),
        told("b", 3, 4, Swap(1, 2), Refused(3)),
        told("c", 5, 6, Write(3)),
    ],
    "a refusal met a write that failed": [
        told("a", 1, 2, Write(1)),
        told("b", 3, 4, Swap(1, 3), Refused(2)),
    ],
    "a refusal met what it expects": [
        told("a", 1, 2, Write(1)),
        told("b", 3, 4, Swap(1, 2), Refused(1)),
    ],
    "a refusal without a reason": [
        told("a", 1, 2, Write(1)),
        told("b", 3, 4, Swap(1, 2), Refused()),
    ],
    "a read of what was never written": [
        told("a", 1, 2, Write(1)),
        told("b", 1, 2, READ, Saw(7)),
    ],
    "a read of what is written later": [
        told("b", 1, 2, READ, Saw(1)),
        told("a", 3, 4, Write(1)),
    ],
    "a read of what was lost later": [
        told("b", 1, 2, READ, Saw(1)),
        asked("a", 3, Write(1)),
    ],
    "a lost write seen, gone and seen again": [
        asked("a", 1, Write(1)),
        told("b", 2, 3, READ, Saw(1)),
        told("b", 4, 5, Write(2)),
        told("b", 6, 7, READ, Saw(1)),
    ],
    "a deleted item comes back": [
        told("a", 1, 2, Write(1)),
        told("a", 3, 4, Write(None)),
        told("b", 5, 6, READ, Saw(1)),
    ],
    "two readers see two writes in two orders": [
        told("a", 1, 20, Write(1)),
        told("b", 1, 20, Write(2)),
        told("c", 2, 3, READ, Saw(1)),
        told("c", 4, 5, READ, Saw(2)),
        told("d", 2, 3, READ, Saw(2)),
        told("d", 4, 5, READ, Saw(1)),
    ],
}

GOOD = {
    "nothing": [],
    "writes side by side": [
        told("a", 1, 4, Write(1)),
        told("b", 2, 3, Write(2)),
        told("c", 5, 6, READ, Saw(1)),
    ],
    "a lost write that never took effect": [
        told("a", 1, 2, Write(1)),
        asked("a", 3, Write(2)),
        told("b", 4, 5, READ, Saw(1)),
    ],
    "a lost write that took effect late": [
        asked("a", 1, Write(1)),
        told("b", 2, 3, READ, Saw(None)),
        told("b", 4, 5, Write(2)),
        told("b", 6, 7, READ, Saw(1)),
    ],
    "a lost delete, seen between two writes": [
        told("a", 1, 2, Write(1)),
        asked("a", 3, Write(None)),
        told("b", 4, 5, READ, Saw(None)),
        told("b", 6, 7, Write(2)),
        told("b", 8, 9, READ, Saw(2)),
    ],
    "a chain of lost conditional writes": [
        asked("a", 1, Swap(None, 1)),
        asked("b", 2, Swap(1, 2)),
        asked("c", 3, Swap(2, 3)),
        told("d", 4, 5, READ, Saw(3)),
    ],
    "a lost write keeps a condition from holding": [
        told("a", 1, 2, Write(1)),
        asked("a", 3, Write(2)),
        told("b", 4, 5, Swap(1, 3), Refused()),
    ],
    "a lost conditional write that was refused": [
        told("a", 1, 2, Write(1)),
        asked("a", 3, Swap(2, 3)),
        told("b", 4, 5, READ, Saw(1)),
    ],
    "a conditional write that changes nothing": [
        told("a", 1, 2, Write(1)),
        told("b", 3, 4, Swap(1, 1)),
        told("b", 5, 6, Swap(1, 2)),
    ],
    "one of two racing inserts is refused": [
        told("a", 1, 4, Swap(None, 1)),
        told("b", 2, 3, Swap(None, 2), Refused(1)),
    ],
    "an answer and a request at one moment": [
        told("a", 1, 2, Write(1)),
        told("b", 2, 3, READ, Saw(None)),
    ],
}


@pytest.mark.parametrize("history", BAD.values(), ids=BAD.keys())
def test_what_cannot_be_is_a_violation(history: list[Operation]) -> None:
    assert isinstance(check(history), Violation)


@pytest.mark.parametrize("history", GOOD.values(), ids=GOOD.keys())
def test_what_can_be_is_consistent(history: list[Operation]) -> None:
    assert isinstance(check(history), Consistent)


def test_the_item_that_was_there_before_counts() -> None:
    history = [told("a", 1, 2, READ, Saw(1))]

    assert isinstance(check(history, initial=1), Consistent)
    assert isinstance(check(history), Violation)


def test_a_violation_names_the_operations_that_make_it_and_no_others() -> None:
    guilty = [
        told("a", 400.1, 400.2, Write("old")),
        told("a", 400.3, 400.4, Write("new")),
        told("b", 400.5, 400.6, READ, Saw("old")),
    ]
    history = sorted([*sound_history(Random(1), 800), *guilty], key=lambda one: one.invoked)

    verdict = check(history)

    assert isinstance(verdict, Violation)
    assert verdict.core == guilty


def test_a_violation_says_what_cannot_come_next_and_why() -> None:
    assert str(check(BAD["a stale read"])).splitlines() == [
        "no order explains these answers, beginning with no item:",
        "  a [1, 2] write 1 -> done",
        "  a [3, 4] write 2 -> done",
        "  b [5, 6] read -> 1",
        "the longest order, after which there is 1:",
        "  a [1, 2] write 1 -> done",
        "and none of these can come next:",
        "  a [3, 4] write 2 -> done: b [5, 6] read -> 1 could not follow any more",
    ]


def test_a_search_that_reaches_its_bound_gives_up() -> None:
    history = sound_history(Random(1), 100)

    verdict = check(history, steps_max=10)

    assert verdict == GaveUp(operations=100, steps=10)


def test_an_undecided_history_fails() -> None:
    with pytest.raises(Undecided, match="k: undecided"):
        assert_linearizable({"k": sound_history(Random(1), 100)}, steps_max=10)


def test_keys_are_judged_by_themselves() -> None:
    assert_linearizable(
        {
            "k": [told("a", 1, 2, Write(1)), told("a", 3, 4, READ, Saw(1))],
            "l": [told("a", 5, 6, READ, Saw(None))],
        }
    )


def test_a_violation_names_its_key() -> None:
    with pytest.raises(NotLinearizable, match="k: no order"):
        assert_linearizable({"k": BAD["a stale read"], "l": GOOD["nothing"]})


def test_a_recorder_takes_down_what_happens_in_order() -> None:
    recorder = Recorder()

    write = recorder.asked("a", "k", Write(1))
    other = recorder.asked("b", "l", READ)
    recorder.answered(write, DONE)
    lost = recorder.asked("a", "k", Write(2))
    throttled = recorder.asked("b", "k", Write(3))
    recorder.undone(throttled)
    recorder.answered(other, Saw(None))

    assert lost
    assert recorder.histories == {
        "k": [told("a", 1, 3, Write(1)), asked("a", 4, Write(2))],
        "l": [told("b", 2, 6, READ, Saw(None))],
    }


@pytest.mark.parametrize("lost", [0.0, 0.05], ids=["all answered", "many lost"])
@pytest.mark.parametrize("told_what_met", [True, False], ids=["met", "not met"])
def test_thousands_of_operations_are_judged_in_a_moment(lost: float, told_what_met: bool) -> None:
    history = sound_history(Random(7), 3000, lost=lost, told_what_met=told_what_met)

    started = time.process_time()
    verdict = check(history)

    assert isinstance(verdict, Consistent)
    assert time.process_time() - started < 5


@pytest.mark.parametrize("seed", range(5))
def test_a_stale_read_among_thousands_is_found_and_explained(seed: int) -> None:
    random = Random(seed)
    history = sound_history(random, 2000, lost=0.03)
    reads = [one for one in history if isinstance(one.answer, Saw) and one.answer.value is not None]
    early, altered = reads[len(reads) // 4], random.choice(reads[len(reads) // 2 :])
    history[history.index(altered)] = replace(altered, answer=early.answer)

    verdict = check(history)

    assert isinstance(verdict, Violation), f"seed {seed}"
    assert len(verdict.core) < 8, f"seed {seed}: {verdict}"


def sound_history(
    random: Random,
    count: int,
    clients: int = 16,
    lost: float = 0.0,
    told_what_met: bool = True,
) -> list[Operation]:
    """What clients would see of one item that takes each operation at one moment."""
    history: list[Operation] = []
    free_at = [random.random() for _ in range(clients)]
    item: Value = None
    asked_for: list[tuple[float, float, float, int]] = []
    for number in range(count):
        client = number % clients
        invoked = free_at[client]
        effect = invoked + random.expovariate(1)
        responded = effect + random.expovariate(1)
        free_at[client] = responded + random.expovariate(2)
        asked_for.append((effect, invoked, responded, client))
    for number, (_, invoked, responded, client) in enumerate(sorted(asked_for), 1):
        swaps = [Swap(item, number), Swap(number - 2, number)]
        actions: list[Action] = [READ, Write(number), Write(None), *swaps]
        action = random.choice(actions)
        item, answer = effect_of(action, item)
        if isinstance(answer, Refused) and not told_what_met:
            answer = Refused()
        if random.random() < lost:
            history.append(asked(f"c{client}", invoked, action))
        else:
            history.append(told(f"c{client}", invoked, responded, action, answer))
    return history


def effect_of(action: Action, item: Value) -> tuple[Value, Answer]:
    match action:
        case Read():
            return item, Saw(item)
        case Write(value):
            return value, DONE
        case Swap(expected, value):
            return (value, DONE) if expected == item else (item, Refused(item))
