"""Bodies made from the service model alone: whatever an operation may be sent, it can be sent by this."""

from __future__ import annotations

from collections.abc import Callable
from random import Random
from typing import Any

from gramme.router.validation.generated import OPERATIONS, SHAPES
from tests.fuzz.tables import PASSING, TABLES
from tests.fuzz.values import Json, Values

DEPTH_MAX = 6
OPTIONAL_SHARE = 0.35
NAMES = ("pk", "sk", "a", "b", "c", "group", "n", "colour", "zz")
INDEXES = tuple(keys.index for table in TABLES for keys in table.indexes)
# Strings whose meaning the model does not tell, by the shape's name.
TEXTS: dict[str, tuple[str, ...]] = {
    "TableArn": (*(table.name for table in TABLES), *PASSING, "missing"),
    "TableName": (*(table.name for table in TABLES), *PASSING, "missing"),
    "IndexName": (*INDEXES, "none"),
    "AttributeName": NAMES,
    "KeySchemaAttributeName": NAMES,
    "NonKeyAttributeName": NAMES,
    "ConditionExpression": ("attribute_exists(a)", "a = b", "size(b) > n"),
    "KeyExpression": ("pk = :v0", "pk = :v0 AND sk > :v1"),
    "ProjectionExpression": ("a", "a, b", "c.a, e[0]"),
    "UpdateExpression": ("SET a = b", "REMOVE a", "SET a = if_not_exists(b, n)"),
    "ExpressionAttributeNameVariable": ("#a", "#b", "#0"),
    "ExpressionAttributeValueVariable": (":v0", ":v1", ":v2"),
    "TagKeyString": ("team", "a", "é", "k" * 128),
    "TagValueString": ("", "red", "v" * 256),
    "RegionName": ("us-east-1", "eu-north-1"),
}
WORDS = (
    "a",
    "abc",
    "a-b_c.d",
    "x" * 30,
    "1",
    "arn:aws:dynamodb:us-east-1:000000000000:table/simple",
)
INTEGERS = (0, 1, 2, 5, 10, 100, 1_000)


class Shapes:
    def __init__(self, values: Values, region: str) -> None:
        self.random: Random = values.random
        self._values = values
        self._region = region
        self._makers: dict[str, Callable[[Any, int], Any]] = {
            "structure": self._structure,
            "list": self._list,
            "map": self._map,
            "string": self._string,
            "integer": self._integer,
            "long": self._integer,
            "boolean": lambda shape, depth: self.random.random() < 0.5,
            "double": lambda shape, depth: self.random.choice((0.0, 0.5, 1.0, 100.0)),
            "timestamp": lambda shape, depth: self.random.choice((0, 1_700_000_000, 1.5)),
            "blob": lambda shape, depth: values.binary(),
        }

    def body(self, operation: str) -> Json:
        body: Json = self.make(OPERATIONS[operation])
        return body

    def make(self, name: str, depth: int = 0) -> Any:
        if name == "AttributeValue":
            return self._values.value()
        if name == "ResourceArnString":
            return self.arn()
        if name in TEXTS:
            return self.random.choice(TEXTS[name])
        shape = SHAPES[name]
        return self._makers[shape["type"]](shape, depth)

    def arn(self) -> str:
        table = self.random.choice((*TEXTS["TableArn"],))
        return f"arn:aws:dynamodb:{self._region}:000000000000:table/{table}"

    def _structure(self, shape: Any, depth: int) -> Json:
        required = shape.get("required", ())
        members = list(required)
        if depth < DEPTH_MAX:
            share = OPTIONAL_SHARE / (depth + 1)
            optional = [name for name in shape["members"] if name not in required]
            members += [name for name in optional if self.random.random() < share]
        return {name: self.make(shape["members"][name], depth + 1) for name in members}

    def _size(self, shape: Any) -> int:
        least: int = shape.get("min", 0)
        return least if self.random.random() < 0.3 else max(least, self.random.randint(1, 2))

    def _list(self, shape: Any, depth: int) -> list[Any]:
        return [self.make(shape["member"], depth + 1) for _ in range(self._size(shape))]

    def _map(self, shape: Any, depth: int) -> Json:
        return {
            self.make(shape["key"], depth + 1): self.make(shape["value"], depth + 1)
            for _ in range(self._size(shape))
        }

    def _string(self, shape: Any, depth: int) -> str:
        if "enum" in shape:
            return str(self.random.choice(shape["enum"]))
        text = self.random.choice(WORDS)
        least, most = shape.get("min", 0), shape.get("max", len(text))
        return text.ljust(least, "a")[:most]

    def _integer(self, shape: Any, depth: int) -> int:
        number = self.random.choice(INTEGERS)
        least, most = shape.get("min", number), shape.get("max", number)
        return max(int(least), min(number, int(most)))
