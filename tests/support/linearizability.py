"""Says whether the answers that clients got about an item can be explained by doing one operation after the other.

Each operation has to take effect at one moment between its request and its answer. One without an answer may take
effect at any moment after its request, or never. Every key is judged by itself, which loses nothing: linearizability of the
keys is linearizability of all.

A verdict is one of three. `GaveUp` is not `Consistent`: whoever asks must say what an undecided history is worth, and
`assert_linearizable` takes it for a failure.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass

from tests.support.operations import Operation, Value, shown
from tests.support.ordering import ANY, GivenUp, Search, Stuck, step_of

# Some ten seconds. Sound histories take a step or two for each operation, violations a hundred times as many.
STEPS_MAX = 2_000_000
# What an explanation may take: a history is searched again and again with fewer answers in it.
SHRINK_STEPS_MAX = 1_000_000
# Of an order only the end is printed, and of operations that explain nothing only some.
LINES_MAX = 40


@dataclass(frozen=True, slots=True)
class Consistent:
    """`order` explains every answer. What is missing from it never took effect, or does so after all else."""

    order: list[Operation]


@dataclass(frozen=True, slots=True)
class Violation:
    """No order explains `core`, whatever `lost` did. Where time allowed, each answer in `core` is needed for that."""

    core: list[Operation]
    lost: list[Operation]
    initial: Value
    stuck: Stuck

    def __str__(self) -> str:
        lines = [f"no order explains these answers, beginning with {shown(self.initial)}:"]
        lines += _listed(self.core)
        if self.lost:
            lines += ["whatever these did, of which nobody knows:", *_listed(self.lost)]
        lines += [f"the longest order, after which there is {shown(self.stuck.item)}:"]
        lines += _listed(self.stuck.placed)
        lines += ["and none of these can come next:"]
        lines += _listed([f"{one}: {reason}" for one, reason in self.stuck.blocked])
        return "\n".join(lines)


@dataclass(frozen=True, slots=True)
class GaveUp:
    """Nobody knows. `operations` is the length of the history."""

    operations: int
    steps: int

    def __str__(self) -> str:
        return f"undecided after {self.steps} steps, with {self.operations} operations"


Verdict = Consistent | Violation | GaveUp


class NotLinearizable(AssertionError):
    """Some key has a violation."""


class Undecided(AssertionError):
    """No key has a violation that was found, and for some the search was given up."""


def assert_linearizable(
    histories: Mapping[Hashable, Sequence[Operation]],
    initial: Mapping[Hashable, Value] | None = None,
    steps_max: int = STEPS_MAX,
) -> None:
    """Raise NotLinearizable or Undecided, saying why, unless every key is consistent."""
    initial = initial or {}
    verdicts = {
        key: check(history, initial.get(key), steps_max) for key, history in histories.items()
    }
    for kind, failure in ((Violation, NotLinearizable), (GaveUp, Undecided)):
        found = [f"{key}: {one}" for key, one in verdicts.items() if isinstance(one, kind)]
        if found:
            raise failure("\n".join(found))


def check(
    history: Sequence[Operation], initial: Value = None, steps_max: int = STEPS_MAX
) -> Verdict:
    """Judge what happened to one key, which held `initial` before."""
    search = Search(history, initial, steps_max)
    try:
        if search.run():
            return Consistent(search.order)
    except GivenUp:
        return GaveUp(len(history), steps_max)
    return _explained(history, initial, search)


def _explained(history: Sequence[Operation], initial: Value, search: Search) -> Violation:
    shrinking = _Shrinking(history, initial)
    shrinking.shrink(search.farthest)
    known, lost = shrinking.known, shrinking.lost
    again = Search([*known, *lost], initial, STEPS_MAX)
    try:
        assert not again.run(), "forgetting answers made a violation of none"
    except GivenUp:
        again = search
    return Violation(known, lost, initial, again.stuck())


class _Shrinking:
    """Looks for few operations that have no order.

    Forgetting answers only ever makes more orders possible, so what is left convicts the whole history.
    """

    def __init__(self, history: Sequence[Operation], initial: Value) -> None:
        in_order = sorted(history, key=lambda one: one.invoked)
        self.known = [one for one in in_order if one.answer is not None]
        self.lost = [one for one in in_order if one.answer is None]
        self._initial = initial
        self._steps_left = SHRINK_STEPS_MAX
        self._steps_taken = SHRINK_STEPS_MAX

    def shrink(self, farthest: float) -> None:
        """`farthest` is the time of the first answer that cannot be, as far as the search can tell."""
        self._forget([one for one in self.known if (one.responded or 0) > farthest])
        # Lost writes make a search long, unless nobody is left who may have seen them: so readers go first.
        self._forget_most([one for one in self.known if step_of(one).makes is ANY])
        self._forget_most(self.known)

    def _forget_most(self, needless: list[Operation]) -> None:
        """Forget as many of these answers as possible, many at a time at first."""
        needless = self._forget_early(needless)
        size = len(needless)
        while size:
            chunks = [needless[start : start + size] for start in range(0, len(needless), size)]
            needed = [chunk for chunk in chunks if not self._forget(chunk)]
            needless = [one for chunk in needed for one in chunk]
            size = min(size // 2, len(needless))

    def _forget_early(self, needless: list[Operation]) -> list[Operation]:
        """Forget all but a few of the last of these answers, which mostly are to blame. Return what is left."""
        needless = sorted(needless, key=lambda one: one.responded or 0)
        left = 1
        while left < len(needless):
            if self._forget(needless[:-left]):
                return needless[-left:]
            left *= 4
        return needless

    def _forget(self, answers: list[Operation]) -> bool:
        """Forget these answers if the others still have no order."""
        gone = {id(one) for one in answers}
        known = [one for one in self.known if id(one) not in gone]
        forgotten = [one.forgotten() for one in self.known if id(one) in gone]
        lost = _pertinent(known, [*self.lost, *forgotten])
        if not self._impossible([*known, *lost]):
            return False
        self.known, self.lost = known, lost
        return True

    def _impossible(self, history: list[Operation]) -> bool:
        # What takes much longer than before is not a simpler history.
        steps_max = min(self._steps_left, 3 * self._steps_taken + 1_000)
        search = Search(history, self._initial, steps_max)
        try:
            impossible = not search.run()
        except GivenUp:
            impossible = False
        taken = steps_max - search.steps_left
        self._steps_left -= taken
        if impossible:
            self._steps_taken = taken
        return impossible


def _pertinent(known: list[Operation], lost: list[Operation]) -> list[Operation]:
    """Those of `lost` that could help to explain an answer."""
    steps = [step_of(one) for one in known]
    if any(step.wants is ANY and step.shuns is not ANY for step in steps):
        # Anything can keep a condition from holding.
        return [one for one in lost if step_of(one).makes is not ANY]
    while True:
        wanted = {step.wants for step in steps} | {step_of(one).wants for one in lost}
        kept = [one for one in lost if step_of(one).makes in wanted - {ANY}]
        if len(kept) == len(lost):
            return lost
        lost = kept


def _listed(things: Sequence[object]) -> list[str]:
    lines = [f"  {one}" for one in things[-LINES_MAX:]]
    left_out = len(things) - len(lines)
    return [f"  ({left_out} more)", *lines] if left_out else lines
