"""Pure: a table as a dict, and the few writes and conditions that the model test draws.

Each knows both its request and what it does to an item, so the test compares the two. Items have the attributes of
`tests.support.tables`: `n` and `group` make one global index, `colour` the other, and both are sort keys of local ones.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from decimal import Decimal

from tests.support.client import Json
from tests.support.history import Key


@dataclass(frozen=True)
class Condition:
    """`always`, `exists`, `absent`, or `below`: n is less than `bound`."""

    kind: str = "always"
    bound: int = 0

    def holds(self, item: Json | None) -> bool:
        if self.kind == "exists":
            return item is not None
        if self.kind == "absent":
            return item is None
        if self.kind == "below":
            return item is not None and "n" in item and int(item["n"]["N"]) < self.bound
        return True

    def add_to(self, request: Json) -> Json:
        expression = {
            "exists": "attribute_exists(pk)",
            "absent": "attribute_not_exists(pk)",
            "below": "n < :bound",
        }.get(self.kind)
        if expression is None:
            return request
        values = dict(request.get("ExpressionAttributeValues", {}))
        if self.kind == "below":
            values[":bound"] = {"N": str(self.bound)}
        extra: Json = {"ConditionExpression": expression}
        if values:
            extra["ExpressionAttributeValues"] = values
        return {**request, **extra}


def number(value: int | Decimal) -> Json:
    return {"N": str(value)}


def key_json(key: Key) -> Json:
    return {"pk": {"S": key.partition}, "sk": number(key.sort)}


@dataclass(frozen=True)
class Put:
    attributes: Json

    operation = "PutItem"

    def request(self, key: Key) -> Json:
        return {"Item": {**key_json(key), **self.attributes}, "ReturnValues": "ALL_OLD"}

    def batch_request(self, key: Key) -> Json:
        return {"PutRequest": {"Item": {**key_json(key), **self.attributes}}}

    def result(self, key: Key, item: Json | None) -> Json | None:
        return {**key_json(key), **self.attributes}


@dataclass(frozen=True)
class Delete:
    operation = "DeleteItem"

    def request(self, key: Key) -> Json:
        return {"Key": key_json(key), "ReturnValues": "ALL_OLD"}

    def batch_request(self, key: Key) -> Json:
        return {"DeleteRequest": {"Key": key_json(key)}}

    def result(self, key: Key, item: Json | None) -> Json | None:
        return None


@dataclass(frozen=True)
class Update:
    """`set` gives attributes, `add` adds to n, `regroup` takes the group away and sets the colour."""

    kind: str
    attributes: Json
    amount: int

    operation = "UpdateItem"

    def request(self, key: Key) -> Json:
        request: Json = {"Key": key_json(key), "ReturnValues": "ALL_NEW"}
        if self.kind == "add":
            request["UpdateExpression"] = "ADD n :amount"
            request["ExpressionAttributeValues"] = {":amount": number(self.amount)}
            return request
        if self.kind == "regroup":
            request["UpdateExpression"] = "REMOVE #group SET colour = :colour"
            request["ExpressionAttributeNames"] = {"#group": "group"}
            request["ExpressionAttributeValues"] = {":colour": number(self.amount % 3)}
            return request
        names = sorted(self.attributes)
        pairs = ", ".join(f"#{name} = :{name}" for name in names)
        request["UpdateExpression"] = f"SET {pairs}"
        request["ExpressionAttributeNames"] = {f"#{name}": name for name in names}
        request["ExpressionAttributeValues"] = {f":{n}": self.attributes[n] for n in names}
        return request

    def result(self, key: Key, item: Json | None) -> Json | None:
        new = dict(item) if item is not None else key_json(key)
        if self.kind == "add":
            new["n"] = number(int(new["n"]["N"]) + self.amount if "n" in new else self.amount)
        elif self.kind == "regroup":
            new.pop("group", None)
            new["colour"] = number(self.amount % 3)
        else:
            new.update(self.attributes)
        return new


Write = Put | Update | Delete


@dataclass(frozen=True)
class Range:
    """A condition on the sort key: one of DynamoDB's comparisons, or `all`."""

    comparison: str
    low: Decimal
    high: Decimal

    def holds(self, sort: int | Decimal) -> bool:
        return {
            "all": True,
            "=": sort == self.low,
            "<": sort < self.low,
            "<=": sort <= self.low,
            ">": sort > self.low,
            ">=": sort >= self.low,
            "BETWEEN": self.low <= sort <= self.high,
        }[self.comparison]

    def request(self, partition: str, name: str = "sk") -> Json:
        values: Json = {":pk": {"S": partition}}
        expression = "pk = :pk"
        if self.comparison != "all":
            values[":low"] = number(self.low)
            expression += f" AND {name} {self.comparison} :low"
        if self.comparison == "BETWEEN":
            values[":high"] = number(self.high)
            expression += " AND :high"
        return {"KeyConditionExpression": expression, "ExpressionAttributeValues": values}


class Model:
    """The items, and the names of the indexes that there are or will soon be."""

    def __init__(self, indexes: set[str]) -> None:
        self.items: dict[Key, Json] = {}
        self.indexes = indexes

    def set(self, key: Key, item: Json | None) -> None:
        if item is None:
            self.items.pop(key, None)
        else:
            self.items[key] = item

    def query(self, partition: str, wanted: Range, forward: bool) -> list[Json]:
        keys: Iterable[Key] = (
            key for key in self.items if key.partition == partition and wanted.holds(key.sort)
        )
        ordered = sorted(keys, key=lambda key: key.sort, reverse=not forward)
        return [self.items[key] for key in ordered]

    def query_local(self, partition: str, name: str, wanted: Range, forward: bool) -> list[Json]:
        """The same by another sort key, which not every item has. Items that share it are in the table's order."""
        found = [
            (Decimal(item[name]["N"]), key.sort, item)
            for key, item in self.items.items()
            if key.partition == partition and name in item
        ]
        found.sort(key=lambda row: row[:2], reverse=not forward)
        return [item for sort, _, item in found if wanted.holds(sort)]
