"""Older parameters with anything at all in them: an answer or a refusal, never a crash."""

from __future__ import annotations

from contextlib import suppress
from random import Random
from typing import Any

import pytest

from gramme.commands import Update
from gramme.errors import GrammeError, ValidationError
from tests.unit.router.operations.router import Router

SEEDS = range(20)
REQUESTS = 150
KEY = {"id": {"S": "a"}}
NAMES = ("id", "a", "a.b", "#a", ":a", "", "é" * 40)
OPERATORS = (
    *("EQ", "NE", "IN", "LE", "LT", "GE", "GT", "BETWEEN", "NOT_NULL", "NULL"),
    *("CONTAINS", "NOT_CONTAINS", "BEGINS_WITH", "XX"),
)
ANYTHING: tuple[Any, ...] = (None, 0, 1.5, "x", True, [], {}, [None], {"a": None}, [[]], {"S": {}})
VALUES: tuple[Any, ...] = (
    *({"S": "x"}, {"S": ""}, {"N": "1e2"}, {"N": "x"}, {"N": 1}, {"B": "YQ=="}, {"B": "*"}),
    *({"SS": ["a"]}, {"SS": []}, {"SS": ["a", "a"]}, {"NS": ["1", "1.0"]}, {"BS": ["YQ=="]}),
    *({"BOOL": True}, {"NULL": True}, {"NULL": False}, {"L": [{"N": "1"}]}, {"L": [{}]}),
    *({"M": {"a": {"S": "b"}}}, {"M": {"a": None}}, {"S": "x", "N": "1"}, {"X": 1}, {}),
)
# What a condition or an update may meet.
STORED: tuple[Any, ...] = (
    *({"S": "x"}, {"N": "100"}, {"B": "YQ=="}, {"SS": ["a"]}, {"NS": ["1"]}, {"BS": ["YQ=="]}),
    *({"BOOL": True}, {"NULL": True}, {"L": [{"N": "1"}]}, {"M": {"a": {"S": "b"}}}),
)


class Maker:
    """Makes requests that are mostly well formed, so that most of them get past the first check."""

    def __init__(self, random: Random) -> None:
        self.random = random

    def perhaps(self, value: Any) -> Any:
        return self.random.choice(ANYTHING) if self.random.random() < 0.04 else value

    def value(self) -> Any:
        return self.perhaps(self.random.choice(VALUES))

    def values(self) -> Any:
        return self.perhaps([self.value() for _ in range(self.random.choice((0, 1, 1, 1, 2, 3)))])

    def some(self, **members: Any) -> Any:
        chosen = {name: make() for name, make in members.items() if self.random.random() < 0.6}
        return self.perhaps(chosen)

    def operator(self) -> Any:
        return self.perhaps(self.random.choice(OPERATORS))

    def condition(self) -> Any:
        return self.perhaps(
            {"ComparisonOperator": self.operator(), "AttributeValueList": self.values()}
        )

    def expectation(self) -> Any:
        return self.some(
            Value=self.value,
            Exists=lambda: self.perhaps(self.random.choice((True, False))),
            ComparisonOperator=self.operator,
            AttributeValueList=self.values,
        )

    def update(self) -> Any:
        actions = ("PUT", "ADD", "DELETE", "XX")
        return self.some(Value=self.value, Action=lambda: self.perhaps(self.random.choice(actions)))

    def map_of(self, make: Any) -> Any:
        names = self.random.sample(NAMES, self.random.choice((0, 1, 1, 2, 3)))
        return self.perhaps({name: make() for name in names})

    def key_conditions(self) -> Any:
        conditions = self.map_of(self.condition)
        return conditions | {"id": self.condition()} if type(conditions) is dict else conditions

    def names(self) -> Any:
        return self.perhaps([self.perhaps(self.random.choice(NAMES)) for _ in range(2)])

    def conditional_operator(self) -> Any:
        return self.perhaps(self.random.choice(("AND", "OR", None, None)))

    def request(self) -> tuple[str, dict[str, Any]]:
        operation = self.random.choice(("PutItem", "UpdateItem", "DeleteItem", "GetItem", "Query"))
        body: dict[str, Any] = {"TableName": self.random.choice(("simple", "none"))}
        if operation == "Query":
            body["KeyConditions"] = self.key_conditions()
            body["QueryFilter"] = self.map_of(self.condition)
            body["AttributesToGet"] = self.random.choice((None, self.names()))
        elif operation == "GetItem":
            body |= {"Key": KEY, "AttributesToGet": self.names()}
        else:
            body |= {"Item" if operation == "PutItem" else "Key": KEY}
            body["Expected"] = self.map_of(self.expectation)
        if operation == "UpdateItem":
            body["AttributeUpdates"] = self.map_of(self.update)
        if operation != "GetItem":
            body["ConditionalOperator"] = self.conditional_operator()
        return operation, body


def use(router: Router) -> None:
    """Do with the last command what a node would."""
    write, query = router.nodes.write_seen, router.nodes.query_seen
    router.nodes.write_seen = router.nodes.query_seen = None
    for value in STORED:
        item = KEY | {"a": value}
        if write is not None and write.condition is not None:
            write.condition.test(item, write.values)
        if isinstance(write, Update) and write.update is not None:
            with suppress(ValidationError):
                write.update.apply(item, write.values)
        if query is not None and query.filter is not None:
            query.filter.test(item, query.values)


@pytest.mark.parametrize("seed", SEEDS)
def test_whatever_is_sent_is_answered_or_refused(router: Router, seed: int) -> None:
    maker = Maker(Random(seed))
    answered = 0

    for _ in range(REQUESTS):
        operation, body = maker.request()
        try:
            router.ask(operation, body)
        except GrammeError as refusal:
            assert refusal.status == 400, (operation, body)
        else:
            answered += 1
            use(router)

    assert answered
