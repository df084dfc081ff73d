"""Pure: looks for an order of one item's operations that explains every answer.

This is the search of Wing and Gong with the memory of Lowe: operations are placed one after the other, the next one
always among those that no unplaced operation precedes, and a set of placed operations that led nowhere once is not
entered again with the same item. What keeps it quick with many clients and many lost answers:

- Whatever changes nothing and fits the item is placed at once, because no order is lost by placing it now.
- An operation without an answer is placed only right before one that needs what it makes. Otherwise it can as well
  come later, or never. Those that do the same stand for each other.
- The item never moves on from a value that an operation still needs and that nothing else can make again.
- A write that nobody can notice is placed as soon as nobody needs the item it replaces, and before any other
  write that asks nothing of the item.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import Enum
from math import inf

from tests.support.operations import (
    UNTOLD,
    Operation,
    Read,
    Refused,
    Saw,
    Swap,
    Untold,
    Value,
    Write,
    shown,
)


class Whatever(Enum):
    """Stands where an operation does not care, or leaves the item as it is. No value, so that None remains one."""

    ANY = "any"


ANY = Whatever.ANY
Wanted = Value | Whatever


@dataclass(frozen=True, slots=True)
class Step:
    """What an operation asks of the item and makes of it."""

    wants: Wanted = ANY
    shuns: Wanted = ANY
    makes: Wanted = ANY

    def fits(self, item: Value) -> bool:
        if self.wants is not ANY and self.wants != item:
            return False
        return self.shuns is ANY or self.shuns != item

    @property
    def is_write(self) -> bool:
        return self.makes is not ANY and self.wants is ANY


def step_of(operation: Operation) -> Step:
    match operation.action, operation.answer:
        case Read(), Saw(value):
            return Step(wants=value)
        case Write(value), _:
            return Step(makes=value)
        case Swap(expected), Refused(Untold()):
            return Step(shuns=expected)
        case Swap(expected), Refused(met):
            return Step(wants=met, shuns=expected if met == expected else ANY)
        case Swap(expected, value), _:
            return Step(wants=expected, makes=ANY if value == expected else value)
    return Step()


@dataclass(frozen=True, slots=True)
class Stuck:
    """The longest order found, the item it leaves, and why none of `blocked` can come next."""

    placed: list[Operation]
    item: Value
    blocked: list[tuple[Operation, str]]


class GivenUp(Exception):
    """The bound was reached before the search came to an end."""


class Search:
    """`order` is the order in which operations were placed, once `run` has said that there is one."""

    def __init__(self, history: Sequence[Operation], initial: Value, steps_max: int) -> None:
        known = [one for one in history if one.answer is not None]
        # A lost read, or a lost write of what it expects, tells nothing and does nothing.
        lost = [one for one in history if one.answer is None and step_of(one).makes is not ANY]
        known.sort(key=lambda one: one.invoked)
        lost.sort(key=lambda one: one.invoked)
        self._operations = [*known, *lost]
        self._steps = [step_of(one) for one in self._operations]
        self._invoked = [one.invoked for one in self._operations]
        self._responded = [
            inf if one.responded is None else one.responded for one in self._operations
        ]
        self._known = len(known)
        # The unplaced operations with an answer are a list in order of invocation; its head is entry -1.
        self._after = [*range(1, self._known + 1), 0]
        self._before = [*range(-1, self._known)]
        self._placed = 0
        self._used = 0
        self._item = initial
        self._journal: list[tuple[int, Value]] = []
        self._best: list[int] = []
        self._best_placed = 0
        self.steps_left = steps_max
        # The first answer that no order reaches; later ones can be to blame for it.
        self.farthest = -inf
        self._count_needs()

    def _count_needs(self) -> None:
        known = self._steps[: self._known]
        lost = self._steps[self._known :]
        self._needed = Counter(step.wants for step in known)
        self._makers = Counter(step.makes for step in self._steps)
        # What a lost conditional write expects may be needed, though nothing has to see it.
        self._wanted_by_lost = {step.wants for step in lost}
        shunned = {step.shuns for step in known} - {ANY}
        # A refusal that does not say what it met may have met anything.
        self._untold = any(step.wants is ANY and step.shuns is not ANY for step in known)
        self._noticed = self._needed.keys() | self._wanted_by_lost | shunned
        self._lost_alike: dict[Step, list[int]] = {}
        self._lost_making: dict[Wanted, list[Step]] = {}
        for index, step in enumerate(lost, self._known):
            alike = step
            if step.is_write and step.makes not in self._noticed:
                # Writes that nobody notices differ in nothing: at most they keep a condition from holding.
                alike = Step(makes=UNTOLD)
            if alike not in self._lost_alike:
                self._lost_alike[alike] = []
                self._lost_making.setdefault(alike.makes, []).append(alike)
            self._lost_alike[alike].append(index)

    def run(self) -> bool:
        """Whether there is an order. Raises GivenUp."""
        if any(
            value is not ANY and value != self._item and not self._makers[value]
            for value in self._needed
        ):
            self._settle()
            self._remember_best()
            self.farthest = inf
            return False
        seen: set[tuple[int, int, int, Value]] = set()
        moves: list[tuple[int, Iterator[list[int]]]] = []
        while True:
            self._settle()
            head = self._after[-1]
            if head == self._known:
                return True
            state = (head, self._placed >> head, self._used, self._item)
            if state not in seen:
                seen.add(state)
                moves.append((len(self._journal), self._moves()))
            if not self._advance(moves):
                return False

    def _advance(self, moves: list[tuple[int, Iterator[list[int]]]]) -> bool:
        """Take the next move there is, going back as far as needed."""
        while moves:
            mark, untried = moves[-1]
            if len(self._journal) > mark:
                self._remember_best()
                self._go_back(mark)
            for move in untried:
                self._step()
                if all(self._place(index) for index in move):
                    return True
                self._go_back(mark)
            self._remember_best()
            moves.pop()
        return False

    @property
    def order(self) -> list[Operation]:
        return [self._operations[index] for index, _ in self._journal]

    def _step(self) -> None:
        self.steps_left -= 1
        if self.steps_left <= 0:
            raise GivenUp

    # What may come next.

    def _window(self) -> tuple[list[int], float]:
        """The unplaced operations that none precedes, and the time before which the next one was invoked."""
        window = []
        limit = inf
        index = self._after[-1]
        while index != self._known and self._invoked[index] <= limit:
            window.append(index)
            limit = min(limit, self._responded[index])
            index = self._after[index]
        return window, limit

    def _settle(self) -> None:
        """Place everything whose place is no choice."""
        placed = True
        while placed:
            placed = False
            window, _ = self._window()
            for index in window:
                step = self._steps[index]
                if step.makes is ANY and step.fits(self._item):
                    placed = self._place(index)
            if not placed and (unnoticed := self._unnoticed_write(window)) is not None:
                placed = self._place(unnoticed)

    def _unnoticed_write(self, window: list[int]) -> int | None:
        """A write that is no choice, because nobody would notice and nobody needs what it replaces."""
        if self._untold or self._needed[self._item] or self._item in self._wanted_by_lost:
            return None
        return self._first_unnoticed(window)

    def _first_unnoticed(self, window: list[int]) -> int | None:
        for index in window:
            step = self._steps[index]
            if step.is_write and step.makes not in self._noticed:
                return index
        return None

    def _moves(self) -> Iterator[list[int]]:
        window, limit = self._window()
        self.farthest = max(self.farthest, limit)
        # What has to be placed soonest is the likeliest to come next.
        window.sort(key=self._responded.__getitem__)
        unnoticed = None if self._untold else self._first_unnoticed(window)
        tried = set()
        if unnoticed is not None:
            yield [unnoticed]
        for index in window:
            step = self._steps[index]
            if step in tried:
                continue
            tried.add(step)
            if unnoticed is not None and step.is_write:
                # Overwriting what nobody notices is no worse, and that was tried.
                continue
            for lost in self._preparations(step, limit):
                if unnoticed is None or not lost or not self._steps[lost[0]].is_write:
                    yield [*lost, index]

    def _preparations(self, step: Step, limit: float) -> Iterator[list[int]]:
        """The lost operations after which the item fits."""
        if step.fits(self._item):
            yield []
        elif step.wants is ANY:
            yield from self._distractions(step, limit)
        elif step.wants != step.shuns:
            yield from self._chains(step.wants, limit)

    def _distractions(self, step: Step, limit: float) -> Iterator[list[int]]:
        """The lost operations that keep a condition from holding."""
        for alike, lost in self._lost_alike.items():
            if alike.makes != step.shuns and alike.fits(self._item):
                index = self._unused(lost, limit)
                if index is not None:
                    yield [index]

    def _chains(self, target: Wanted, limit: float) -> Iterator[list[int]]:
        """The lost operations that, in this order, make `target` of the item."""
        unfinished: list[tuple[Wanted, list[int], frozenset[Wanted]]] = [(target, [], frozenset())]
        while unfinished:
            goal, chain, passed = unfinished.pop()
            for alike in self._lost_making.get(goal, ()):
                self._step()
                index = self._unused(self._lost_alike[alike], limit)
                if index is None:
                    continue
                if alike.fits(self._item):
                    yield [index, *chain]
                elif alike.wants not in passed:
                    unfinished.append((alike.wants, [index, *chain], passed | {goal}))

    def _unused(self, lost: list[int], limit: float) -> int | None:
        """The first of these that is not placed, if it may come next."""
        for index in lost:
            if not self._used >> (index - self._known) & 1:
                return index if self._invoked[index] <= limit else None
        return None

    # Placing, and taking back.

    def _place(self, index: int) -> bool:
        """Place an operation that fits. False if that leaves another without what it needs."""
        step = self._steps[index]
        before = self._item
        self._journal.append((index, before))
        if index < self._known:
            self._placed |= 1 << index
            following, preceding = self._after[index], self._before[index]
            self._after[preceding] = following
            self._before[following] = preceding
            self._needed[step.wants] -= 1
        else:
            self._used |= 1 << (index - self._known)
        if step.makes is ANY:
            return True
        self._makers[step.makes] -= 1
        self._item = step.makes
        return before == step.makes or not self._needed[before] or self._makers[before] > 0

    def _go_back(self, mark: int) -> None:
        while len(self._journal) > mark:
            index, self._item = self._journal.pop()
            step = self._steps[index]
            if step.makes is not ANY:
                self._makers[step.makes] += 1
            if index >= self._known:
                self._used ^= 1 << (index - self._known)
                continue
            self._placed ^= 1 << index
            self._after[self._before[index]] = index
            self._before[self._after[index]] = index
            self._needed[step.wants] += 1

    # What to say when there is no order.

    def _remember_best(self) -> None:
        placed = self._placed.bit_count()
        if placed > self._best_placed:
            self._best_placed = placed
            self._best = [index for index, _ in self._journal]

    def stuck(self) -> Stuck:
        """Where the longest order ends. Ask after `run` has said that there is none."""
        self._go_back(0)
        for index in self._best:
            self._place(index)
        window, _ = self._window()
        return Stuck(
            placed=self.order,
            item=self._item,
            blocked=[(self._operations[index], self._objection(index)) for index in window],
        )

    def _objection(self, index: int) -> str:
        step = self._steps[index]
        if step.wants is not ANY and not step.fits(self._item):
            return f"the item is {shown(self._item)}"
        if not step.fits(self._item):
            return "its condition holds"
        for other in self._unplaced():
            if other != index and self._steps[other].wants == self._item:
                return f"{self._operations[other]} could not follow any more"
        return "nothing that follows fits"

    def _unplaced(self) -> Iterator[int]:
        index = self._after[-1]
        while index != self._known:
            yield index
            index = self._after[index]
