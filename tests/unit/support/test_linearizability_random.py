"""The checker against one that tries every order of every choice of the operations without an answer."""

from __future__ import annotations

from itertools import combinations, permutations

from hypothesis import event, given, settings
from hypothesis import strategies as st

from tests.support.linearizability import Consistent, GaveUp, Violation, check
from tests.support.operations import (
    UNTOLD,
    Answer,
    Done,
    Operation,
    Read,
    Refused,
    Saw,
    Swap,
    Value,
    Write,
)

VALUES = st.sampled_from([None, 1, 2, 3])


def do(item: Value, operation: Operation) -> tuple[Value, Answer]:
    """What an item makes of an operation, and what it answers."""
    match operation.action:
        case Read():
            return item, Saw(item)
        case Write(value):
            return value, Done()
        case Swap(expected, value):
            return (value, Done()) if item == expected else (item, Refused(item))


def explains(order: tuple[Operation, ...], initial: Value) -> bool:
    item = initial
    for number, operation in enumerate(order):
        for later in order[number + 1 :]:
            if later.responded is not None and later.responded < operation.invoked:
                return False
        item, answer = do(item, operation)
        untold = isinstance(operation.answer, Refused) and operation.answer.met is UNTOLD
        if untold and isinstance(answer, Refused):
            continue
        if operation.answer is not None and operation.answer != answer:
            return False
    return True


def has_order(history: list[Operation], initial: Value) -> bool:
    known = [one for one in history if one.answer is not None]
    lost = [one for one in history if one.answer is None]
    return any(
        explains(order, initial)
        for count in range(len(lost) + 1)
        for effective in combinations(lost, count)
        for order in permutations([*known, *effective])
    )


@st.composite
def operations(draw: st.DrawFn, told_what_met: bool, lost: bool = True) -> Operation:
    action = draw(
        st.one_of(st.just(Read()), st.builds(Write, VALUES), st.builds(Swap, VALUES, VALUES))
    )
    invoked = draw(st.integers(0, 12))
    if lost and draw(st.integers(0, 3)) == 0:
        return Operation("c", action, invoked)
    responded = invoked + draw(st.integers(0, 6))
    answer: Answer = Done()
    if isinstance(action, Read):
        answer = Saw(draw(VALUES))
    elif isinstance(action, Swap) and draw(st.booleans()):
        answer = Refused(draw(VALUES)) if told_what_met else Refused()
    return Operation("c", action, invoked, responded, answer)


def histories(told_what_met: bool) -> st.SearchStrategy[list[Operation]]:
    return st.lists(operations(told_what_met), max_size=6)


@given(histories(told_what_met=True) | histories(told_what_met=False), VALUES)
@settings(max_examples=1500, deadline=None)
def test_agrees_with_trying_every_order(history: list[Operation], initial: Value) -> None:
    verdict = check(history, initial)

    event(type(verdict).__name__)
    assert isinstance(verdict, Consistent) == has_order(history, initial)
    assert not isinstance(verdict, GaveUp)


@given(histories(told_what_met=True) | histories(told_what_met=False), VALUES)
@settings(max_examples=300, deadline=None)
def test_the_order_it_gives_explains_the_history(history: list[Operation], initial: Value) -> None:
    verdict = check(history, initial)

    if isinstance(verdict, Consistent):
        assert explains(tuple(verdict.order), initial)
        answered = [one for one in history if one.answer is not None]
        assert all(verdict.order.count(one) >= answered.count(one) for one in answered)


@given(histories(told_what_met=True) | histories(told_what_met=False), VALUES)
@settings(max_examples=300, deadline=None)
def test_the_core_of_a_violation_is_one_by_itself(history: list[Operation], initial: Value) -> None:
    verdict = check(history, initial)

    if isinstance(verdict, Violation):
        assert not has_order([*verdict.core, *verdict.lost], initial)
