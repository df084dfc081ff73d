"""Expressions, commands and answers drawn at random, with items to try them on."""

from __future__ import annotations

from collections.abc import Callable
from random import Random
from typing import Any, TypeVar

import msgspec
import orjson

from gramme.codec.trees import Expression
from gramme.commands import (
    AllWritten,
    Command,
    Delete,
    Found,
    Get,
    GetTotals,
    IndexRow,
    IndexUnits,
    IndexWrite,
    LocalRead,
    Page,
    Put,
    Query,
    Result,
    ReturnValues,
    Scan,
    Totals,
    Update,
    WriteAll,
    Written,
)
from gramme.errors import Throttling, ValidationError
from gramme.expressions.condition import Condition
from gramme.expressions.placeholders import Placeholders
from gramme.expressions.projection import Projection
from gramme.expressions.update import UpdateExpression
from gramme.model.item import Item, Values
from gramme.model.values import normalise_item, normalise_values
from gramme.model.version import Version
from gramme.partitions import TOKEN_SPACE
from gramme.router.operations.legacy.attribute_updates import attribute_updates
from gramme.router.operations.legacy.attributes_to_get import attributes_to_get
from gramme.router.operations.legacy.expected import expected_condition
from gramme.router.operations.legacy.filters import older_filter
from tests.fuzz.expressions import Expressions
from tests.fuzz.older import Older
from tests.fuzz.tables import COMPOSITE
from tests.fuzz.values import Values as FuzzedValues
from tests.support import expressions as reference
from tests.unit.gramme.expressions.test_update_random import Cases

T = TypeVar("T")
ITEMS = 5


class Drawn:
    def __init__(self, seed: int) -> None:
        self.random = Random(seed)
        self._values = FuzzedValues(self.random)
        self._older = Older(self._values)
        self._cases = Cases(self.random)

    def accepted(self, make: Callable[[], T]) -> T:
        """What `make` makes once it makes something that is not refused."""
        while True:
            try:
                return make()
            except ValidationError:
                continue

    def item(self) -> Item:
        item: Item = COMPOSITE.item(self._values) | self._cases.item()
        normalise_item(item)
        return item

    def items(self) -> list[Item]:
        return [{}, *(self.accepted(self.item) for _ in range(ITEMS))]

    def condition(self) -> tuple[Condition, Values]:
        return self.accepted(self._condition)

    def _condition(self) -> tuple[Condition, Values]:
        older = self.random.random()
        condition: Condition | None = None
        if older < 0.2:
            condition, values = expected_condition(self._older.expected())
        elif older < 0.4:
            body = self._older.filter("ScanFilter", COMPOSITE.keys)
            condition, values = older_filter(body, "ScanFilter")
        else:
            texts = Expressions(self._values)
            text = texts.condition()
            values = texts.values
            placeholders = Placeholders(texts.names or None, values or None)
            normalise_values(values)
            condition = placeholders.condition(text)
        assert condition is not None
        return condition, values

    def update(self) -> tuple[UpdateExpression, Values]:
        return self.accepted(self._update)

    def _update(self) -> tuple[UpdateExpression, Values]:
        if self.random.random() < 0.3:
            update, values = attribute_updates(self._older.updates())
            assert update is not None
            return update, values
        values = {}
        item = self._cases.item()
        actions = [self._cases.action(item, path) for path in self._cases.paths(item)]
        text = reference.written(actions, values)
        return Placeholders(None, values or None).update(text), values

    def projection(self) -> Projection:
        return self.accepted(self._projection)

    def _projection(self) -> Projection:
        if self.random.random() < 0.3:
            return attributes_to_get(self._older.attributes()["AttributesToGet"])
        paths = self._cases.paths(self._cases.item())
        text = ", ".join(map(reference.written_path, paths))
        return Placeholders(None, None).projection(text)

    def often(self, make: Callable[[], T]) -> T | None:
        return make() if self.random.random() < 0.6 else None

    def some_bytes(self) -> bytes:
        return self.random.randbytes(self.random.choice((0, 1, 8, 30, 300)))

    def number(self) -> int:
        return self.random.choice((0, 1, 200, 70_000, 2**32, 2**63 - 1))

    def flag(self) -> bool:
        return self.random.random() < 0.5

    def body(self) -> bytes:
        return orjson.dumps(self.accepted(self.item))

    def version(self) -> Version:
        return Version(self.number(), self.random.randrange(2**32))

    def put(self) -> Put:
        condition, values = self.often(self.condition) or (None, {})
        flags = (self.flag(), self.flag(), self.flag())
        return Put(self.some_bytes(), self.body(), self.number(), condition, values, *flags)

    def delete(self) -> Delete:
        condition, values = self.often(self.condition) or (None, {})
        return Delete(self.some_bytes(), condition, values, self.flag(), self.flag(), self.flag())

    def command(self) -> Command:
        random = self.random
        condition, values = self.often(self.condition) or (None, {})
        projection, local = self.often(self.projection), self.often(lambda: LocalRead(7, True))
        start, limit = self.often(self.some_bytes), self.often(self.number)
        page: dict[str, Any] = dict(  # noqa: C408
            start=start,
            limit=limit,
            consistent=self.flag(),
            filter=condition,
            values=values,
            projection=projection,
            count_only=self.flag(),
            local=local,
        )
        match random.randrange(9):
            case 0:
                return Get(self.some_bytes(), self.flag(), projection)
            case 1:
                return self.put()
            case 2:
                return self.delete()
            case 3:
                update, operands = self.often(self.update) or (None, {})
                modes: tuple[ReturnValues, ...] = ("NONE", "ALL_OLD", "UPDATED_NEW")
                returned = random.choice(modes)
                key = {"pk": {"S": "a"}}
                return Update(
                    self.some_bytes(), key, update, condition, values | operands, returned
                )
            case 4:
                forward = self.flag()
                return Query(
                    self.some_bytes(), self.some_bytes(), ("pk", "sk"), forward=forward, **page
                )
            case 5:
                return Scan(0, TOKEN_SPACE - 1, ("pk",), self.number(), self.number(), **page)
            case 6:
                return WriteAll(
                    [random.choice((self.put, self.delete))() for _ in range(random.randrange(5))]
                )
            case 7:
                return GetTotals()
            case _:
                row = IndexRow(
                    self.some_bytes(), self.often(self.body), self.number(), self.version()
                )
                return IndexWrite(1, 2, 3, [row] * random.randrange(4), self.version())

    def written(self) -> Written:
        units = self.often(lambda: IndexUnits({"by-group": 1.0}, {"by-time": 0.5, "é": 400.0}))
        return Written(self.often(self.body), self.number(), self.number(), units)

    def result(self) -> Result:
        random = self.random
        match random.randrange(6):
            case 0:
                return Found(self.often(self.body), self.number())
            case 1:
                return self.written()
            case 2:
                items = [self.body() for _ in range(random.randrange(5))]
                return Page(items, 1, 2, self.number(), self.often(self.body), self.number())
            case 3:
                return Totals(self.number(), self.number(), (Totals(1, 2),) * random.randrange(3))
            case 4:
                answers = [self.often(self.written) or Throttling("full") for _ in range(5)]
                return AllWritten.of(answers)
            case _:
                return None


def plain(value: Any) -> Any:
    """A command or an answer as it can be compared: expressions are their trees, errors their contents."""
    if isinstance(value, Expression):
        return value.tree
    if isinstance(value, Exception):
        return type(value), value.args, vars(value)
    if isinstance(value, msgspec.Struct):
        fields = [plain(getattr(value, name)) for name in value.__struct_fields__]
        return type(value), fields
    if isinstance(value, list):
        return [plain(each) for each in value]
    if isinstance(value, dict):
        return {name: plain(each) for name, each in value.items()}
    return value
