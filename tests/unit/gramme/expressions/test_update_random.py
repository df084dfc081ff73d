"""Random updates and projections against an evaluator that shares nothing with the compiled one.

The cases are drawn by hand and not by hypothesis, which tries variations of few ideas: here thousands of small items and
updates that have nothing to do with each other find more in less time. A case is known by its seed and number.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from copy import deepcopy
from random import Random
from typing import Any

import pytest

from gramme.errors import ValidationError
from gramme.expressions.placeholders import Placeholders
from gramme.model.item import Values
from tests.support import expressions as reference
from tests.support.examples import examples, first_seed
from tests.support.expressions import Action, Parts, Refused, Side, Value
from tests.unit.gramme.expressions.using import projected

SEEDS = range(first_seed(), first_seed() + 3)
NAMES = ("a", "b", "c")
NUMBERS = ("0", "1", "-2.5", "10", "99999999999999999999")
SETS = {"SS": "xyz", "NS": "123"}


def positions(value: Value, here: Parts = ()) -> Iterator[Parts]:
    """Every place in a value, and the places just beyond it."""
    if here:
        yield here
    if "M" in value:
        for name, inner in value["M"].items():
            yield from positions(inner, (*here, name))
        yield (*here, "d")
    if "L" in value:
        for index, inner in enumerate(value["L"]):
            yield from positions(inner, (*here, index))
        yield from ((*here, len(value["L"]) + beyond) for beyond in (2, 0))


class Cases:
    """Draws items, and what may be done to them."""

    def __init__(self, random: Random) -> None:
        self.random = random

    def often(self, share: float = 0.8) -> bool:
        return self.random.random() < share

    def value(self, depth: int = 0) -> Value:
        kind = self.random.choice(
            ("N", "S", "SS", "NS") if depth > 2 else ("N", "SS", "L", "M", "L")
        )
        return self.of(kind, depth)

    def of(self, kind: str, depth: int = 0) -> Value:
        random = self.random
        match kind:
            case "N":
                return {"N": random.choice(NUMBERS)}
            case "L":
                return {"L": [self.value(depth + 1) for _ in range(random.randint(0, 3))]}
            case "M":
                names = random.sample(NAMES, random.randint(0, 3))
                return {"M": {name: self.value(depth + 1) for name in names}}
            case "SS" | "NS":
                return {kind: random.sample(SETS[kind], random.randint(1, 3))}
            case _:
                return {"S": "s"}

    def item(self) -> Value:
        names = self.random.sample(NAMES, self.random.randint(1, 3))
        return {name: self.value() for name in names}

    def path(self, item: Value, kind: str | None = None) -> Parts:
        """Mostly of what is there, and of the kind that is asked for."""
        places = list(positions({"M": item}))
        if kind is not None and self.often():
            places = [
                path for path in places if kind in (reference.find(item, path) or {})
            ] or places
        if self.often(0.95):
            return self.random.choice(places)
        return (self.random.choice(NAMES), self.random.choice((0, 3, "a", "b")))

    def paths(self, item: Value) -> list[Parts]:
        """A few, which are seldom in each other's way."""
        may_clash = not self.often(0.9)
        chosen: list[Parts] = []
        for _ in range(self.random.randint(1, 4)):
            path = self.path(item, self.random.choice((None, "N", "SS", "L")))
            if may_clash or not reference.clash([*chosen, path]):
                chosen.append(path)
        return chosen

    def operand(self, item: Value, kind: str) -> Side:
        match self.random.randrange(3):
            case 0:
                return ("path", self.path(item, kind))
            case 1:
                default = self.random.choice(
                    (("value", self.of(kind)), ("path", self.path(item, kind)))
                )
                return ("if_not_exists", self.path(item, kind), default)
            case _:
                return ("value", self.of(kind))

    def side(self, item: Value) -> Side:
        match self.random.randrange(4):
            case 0:
                return ("list_append", self.operand(item, "L"), self.operand(item, "L"))
            case 1:
                sign = self.random.choice("+-")
                return (sign, self.operand(item, "N"), self.operand(item, "N"))
            case _:
                return self.operand(item, self.random.choice(("S", "N", "SS", "L", "M")))

    def action(self, item: Value, path: Parts) -> Action:
        found = reference.find(item, path) or {}
        kind = next((kind for kind in ("N", "SS", "NS") if kind in found), None)
        match self.random.randrange(4):
            case 0:
                return ("REMOVE", path)
            case 1 if kind is not None or self.often(0.3):
                clause = self.random.choice(("ADD", "DELETE" if kind != "N" else "ADD"))
                given = kind if kind is not None and self.often() else "SS"
                return (clause, path, self.of(given))
            case _:
                return ("SET", path, self.side(item))


def same(value: Any) -> Any:
    """A value in which sets have no order."""
    if isinstance(value, dict):
        return {
            name: sorted(inner) if name in SETS and isinstance(inner, list) else same(inner)
            for name, inner in value.items()
        }
    return [same(inner) for inner in value] if isinstance(value, list | tuple) else value


def apply(item: Value, actions: list[Action]) -> tuple[Value, Value, Value] | None:
    """What the compiled update makes of an item, and its UPDATED_OLD and UPDATED_NEW; None if it is refused."""
    values: Values = {}
    text = reference.written(actions, values)
    try:
        placeholders = Placeholders(None, values or None)
        update = placeholders.update(text)
        placeholders.finish()
        new = update.apply(item, values)
    except ValidationError:
        return None
    return new, update.updated_old(item, new), update.updated_new(item, new)


def expected(item: Value, actions: list[Action]) -> tuple[Value, Value, Value] | None:
    touched = [action[1] for action in actions]
    try:
        new = reference.update(deepcopy(item), actions)
    except Refused:
        return None
    return new, reference.project(item, touched), reference.project(new, touched)


@pytest.mark.parametrize("seed", SEEDS)
def test_compiled_updates_do_what_they_say(seed: int) -> None:
    cases = Cases(Random(seed))
    done: Counter[str] = Counter()

    for number in range(examples(1_000)):
        item = cases.item()
        actions = [cases.action(item, path) for path in cases.paths(item)]
        wanted = expected(item, actions)

        text = reference.written(actions, {})
        assert same(apply(item, actions)) == same(wanted), (seed, number, item, text)
        done.update(each[2][0] if each[0] == "SET" else each[0] for each in actions if wanted)

    # Nothing is shown by what is always refused.
    for each in ("REMOVE", "ADD", "DELETE", "list_append", "+", "-", "if_not_exists", "path"):
        assert done[each] >= 5, done


@pytest.mark.parametrize("seed", SEEDS)
def test_compiled_projections_show_what_they_name(seed: int) -> None:
    cases = Cases(Random(seed))

    for number in range(examples(500)):
        item = cases.item()
        paths = cases.paths(item)
        text = ", ".join(map(reference.written_path, paths))
        try:
            found: Value | None = projected(text, item)
        except ValidationError:
            found = None

        wanted = None if reference.clash(paths) else reference.project(item, paths)
        assert found == wanted, (seed, number, item, text)
