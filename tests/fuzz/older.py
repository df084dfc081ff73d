"""The parameters from before expressions: Expected, AttributeUpdates, KeyConditions and filters."""

from __future__ import annotations

from tests.fuzz.tables import ATTRIBUTES, Keys, key_value
from tests.fuzz.values import Json, Values

# Operator -> how many operands it takes.
OPERANDS = dict(EQ=1, NE=1, LE=1, LT=1, GE=1, GT=1, CONTAINS=1, NOT_CONTAINS=1)  # noqa: C408
OPERANDS |= dict(BEGINS_WITH=1, BETWEEN=2, IN=3, NULL=0, NOT_NULL=0)  # noqa: C408
# What a sort key can be asked for.
OF_KEYS = ("EQ", "LE", "LT", "GE", "GT", "BETWEEN")
OF_SETS = ("d", "f")


class Older:
    def __init__(self, values: Values) -> None:
        self._values = values
        self._random = values.random

    def _names(self, taken: tuple[str, ...] = ()) -> list[str]:
        free = [name for name in ATTRIBUTES if name not in taken]
        return self._random.sample(free, self._random.randint(1, 3))

    def condition(self) -> Json:
        operator = self._random.choice(list(OPERANDS))
        kind = "S" if operator == "BEGINS_WITH" else self._random.choice("SN")
        operands = [self._values.of(kind) for _ in range(OPERANDS[operator])]
        if operator == "BETWEEN":
            operands = [{"N": "1"}, {"N": "5"}]
        condition: Json = {"ComparisonOperator": operator}
        if operands:
            condition["AttributeValueList"] = operands
        return condition

    def _joined(self, name: str, conditions: Json) -> Json:
        parameters: Json = {name: conditions}
        if len(conditions) > 1 and self._random.random() < 0.5:
            parameters["ConditionalOperator"] = self._random.choice(("AND", "OR"))
        return parameters

    def expected(self) -> Json:
        expectations: Json = {}
        for name in self._names():
            match self._random.randrange(3):
                case 0:
                    expectations[name] = {"Exists": False}
                case 1:
                    expectations[name] = {"Value": self._values.of(ATTRIBUTES[name])}
                case _:
                    expectations[name] = self.condition()
        return self._joined("Expected", expectations)

    def updates(self) -> Json:
        updates: Json = {}
        for name in self._names():
            kind = ATTRIBUTES[name]
            actions = ["PUT", "PUT", "DELETE"]
            if kind in ("N", "L") or name in OF_SETS:
                actions.append("ADD")
            action = self._random.choice(actions)
            updates[name] = {"Action": action}
            if action != "DELETE" or name in OF_SETS:
                updates[name]["Value"] = self._values.of(kind)
        return {"AttributeUpdates": updates}

    def key_conditions(self, keys: Keys) -> Json:
        name, kind = keys.hash
        conditions = {name: self._of_key("EQ", kind)}
        if keys.range is not None and self._random.random() < 0.6:
            name, kind = keys.range
            conditions[name] = self._of_key(self._random.choice(OF_KEYS), kind)
        return {"KeyConditions": conditions}

    def _of_key(self, operator: str, kind: str) -> Json:
        operands = [key_value(self._random, kind) for _ in range(OPERANDS[operator])]
        return {"ComparisonOperator": operator, "AttributeValueList": operands}

    def filter(self, parameter: str, keys: Keys) -> Json:
        taken = tuple(name for name, _ in keys.attributes)
        return self._joined(parameter, {name: self.condition() for name in self._names(taken)})

    def attributes(self) -> Json:
        return {"AttributesToGet": self._names()}
