"""The tables that every round of requests begins with, and keys and items for them."""

from __future__ import annotations

from dataclasses import dataclass
from random import Random

from tests.fuzz.values import Json, Values

# The attributes that items have beside their keys, and the type that each mostly has.
ATTRIBUTES = dict(a="N", b="S", c="M", d="SS", e="L", f="NS", status="S")  # noqa: C408
ATTRIBUTES |= dict(group="S", n="N", colour="N", blob="B")  # noqa: C408
# Few enough for requests to meet each other's items.
KEY_TEXTS = ("a", "b", "c", "é", "\x00", "long" * 50)
KEY_NUMBERS = ("0", "1", "-1", "2.5", "1e3", "1000", "-1e-5", "9" * 38)
KEY_BINARIES = ("YQ==", "AA==", "/w==", "AAA=")
KEY_VALUES = {"S": KEY_TEXTS, "N": KEY_NUMBERS, "B": KEY_BINARIES}

Attribute = tuple[str, str]


@dataclass(frozen=True)
class Keys:
    """The key of a table or an index, and the index's name and projection."""

    hash: Attribute
    range: Attribute | None = None
    index: str = ""
    projection: str = "ALL"

    @property
    def attributes(self) -> tuple[Attribute, ...]:
        return (self.hash,) if self.range is None else (self.hash, self.range)

    def schema(self) -> list[Json]:
        kinds = ("HASH", "RANGE")
        names = [name for name, _ in self.attributes]
        return [
            {"AttributeName": name, "KeyType": kind}
            for name, kind in zip(names, kinds, strict=False)
        ]


@dataclass(frozen=True)
class TableSpec:
    name: str
    keys: Keys
    indexes: tuple[Keys, ...] = ()

    def definition(self) -> Json:
        types = {
            name: kind for keys in (self.keys, *self.indexes) for name, kind in keys.attributes
        }
        definition: Json = {
            "TableName": self.name,
            "BillingMode": "PAY_PER_REQUEST",
            "KeySchema": self.keys.schema(),
            "AttributeDefinitions": [
                {"AttributeName": name, "AttributeType": kind} for name, kind in types.items()
            ],
        }
        if self.indexes:
            definition["GlobalSecondaryIndexes"] = [index_definition(each) for each in self.indexes]
        return definition

    def key(self, values: Values) -> Json:
        return {name: key_value(values.random, kind) for name, kind in self.keys.attributes}

    def item(self, values: Values) -> Json:
        """A whole item. What an index's key names has the type the index wants, or the item would be refused."""
        random = values.random
        item = self.key(values)
        wanted = dict(attribute for keys in self.indexes for attribute in keys.attributes)
        for name in random.sample(list(ATTRIBUTES), random.randint(0, 6)):
            if name in wanted:
                item.setdefault(name, key_value(random, wanted[name]))
            else:
                likely = random.random() < 0.8
                item.setdefault(name, values.of(ATTRIBUTES[name]) if likely else values.value())
        return item


def index_definition(keys: Keys) -> Json:
    projection: Json = {"ProjectionType": keys.projection}
    if keys.projection == "INCLUDE":
        projection["NonKeyAttributes"] = ["a", "b"]
    return {"IndexName": keys.index, "KeySchema": keys.schema(), "Projection": projection}


def key_value(random: Random, kind: str) -> Json:
    return {kind: random.choice(KEY_VALUES[kind])}


SIMPLE = TableSpec("simple", Keys(("pk", "S")))
COMPOSITE = TableSpec(
    "composite",
    Keys(("pk", "S"), ("sk", "N")),
    (
        Keys(("group", "S"), ("n", "N"), "by-group"),
        Keys(("colour", "N"), None, "by-colour", "KEYS_ONLY"),
    ),
)
BINARY = TableSpec(
    "binary",
    Keys(("id", "N"), ("blob", "B")),
    (Keys(("blob", "B"), ("id", "N"), "turned", "INCLUDE"),),
)
TABLES = (SIMPLE, COMPOSITE, BINARY)
# Tables that requests make, change and delete.
PASSING = ("passing-1", "passing-2", "passing.3")
