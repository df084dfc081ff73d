"""Requests of every operation that is served: mostly valid, nearly valid, and hostile.

Everything is drawn from one `random.Random`, so a request is known by its seed; hypothesis passes in one of its own and
shrinks what it finds. Operations on items have makers of their own, which know the tables; all others, and those that
nobody has thought of here yet, are made from the service model.
"""

from __future__ import annotations

from collections.abc import Callable
from random import Random
from typing import NamedTuple

import orjson

from gramme.router.operations.all import OPERATIONS
from gramme.router.validation import generated
from tests.fuzz.expressions import Expressions
from tests.fuzz.mistakes import hostile, one_thing_off
from tests.fuzz.older import Older
from tests.fuzz.shapes import Shapes
from tests.fuzz.tables import PASSING, TABLES, Keys, TableSpec, index_definition
from tests.fuzz.values import Json, Values

KINDS = ("valid", "near", "hostile")
SHARES = (5, 4, 2)
# How often each is drawn; what is not named here once.
WEIGHTS = dict(PutItem=8, UpdateItem=8, Query=6, GetItem=4, Scan=4, DeleteItem=3)  # noqa: C408
WEIGHTS |= dict(BatchWriteItem=3, BatchGetItem=3, CreateTable=2, UpdateTable=2)  # noqa: C408
UNSERVED = sorted(generated.OPERATIONS.keys() - OPERATIONS.keys())
UNSERVED_SHARE = 0.01
# With the parameters from before expressions.
OLDER_SHARE = 0.2
# Made from the model alone, also where there is a maker.
PLAIN_SHARE = 0.15
BATCH_MAX = 5


class Request(NamedTuple):
    kind: str
    operation: str
    body: bytes


class Requests:
    """Draws requests; `region` is the namespace they are sent to."""

    def __init__(self, random: Random, region: str) -> None:
        self.random = random
        self.values = Values(random)
        self._older = Older(self.values)
        self._shapes = Shapes(self.values, region)
        self._operations = sorted(OPERATIONS)
        self._weights = [WEIGHTS.get(name, 1) for name in self._operations]
        self._makers: dict[str, Callable[[], Json]] = {
            "PutItem": self._put,
            "GetItem": self._get,
            "DeleteItem": self._delete,
            "UpdateItem": self._update,
            "Query": self._query,
            "Scan": self._scan,
            "BatchGetItem": self._batch_get,
            "BatchWriteItem": self._batch_write,
            "CreateTable": self._create,
            "UpdateTable": self._update_table,
            "DeleteTable": lambda: {"TableName": random.choice(PASSING)},
        }

    def draw(self) -> Request:
        random = self.random
        operation = random.choices(self._operations, self._weights)[0]
        if random.random() < UNSERVED_SHARE:
            operation = random.choice(UNSERVED)
        return self.of(operation, random.choices(KINDS, SHARES)[0])

    def of(self, operation: str, kind: str) -> Request:
        random = self.random
        make = self._makers.get(operation)
        is_plain = make is None or random.random() < PLAIN_SHARE
        body = self._shapes.body(operation) if make is None or is_plain else make()
        if kind == "near":
            one_thing_off(random, generated.OPERATIONS[operation], body, self.values)
        if kind == "hostile":
            return Request(kind, operation, hostile(random, body, self.values))
        return Request(kind, operation, orjson.dumps(body))

    def _table(self) -> TableSpec:
        return self.random.choice(TABLES)

    def _sometimes(self, body: Json, share: float = 0.25, **members: tuple[object, ...]) -> Json:
        """Add each member with one of its values, now and then."""
        for name, values in members.items():
            if self.random.random() < share:
                body[name] = self.random.choice(values)
        return body

    def _is_older(self) -> bool:
        return self.random.random() < OLDER_SHARE

    def _write(self, body: Json, *returned: str) -> Json:
        expressions = Expressions(self.values)
        if self._is_older():
            body |= self._older.expected()
        elif self.random.random() < 0.4:
            body["ConditionExpression"] = expressions.condition()
        self._sometimes(
            body,
            ReturnValues=("NONE", *returned),
            ReturnConsumedCapacity=("NONE", "TOTAL", "INDEXES"),
            ReturnItemCollectionMetrics=("NONE", "SIZE"),
            ReturnValuesOnConditionCheckFailure=("NONE", "ALL_OLD"),
        )
        return expressions.placed_in(body)

    def _put(self) -> Json:
        table = self._table()
        return self._write({"TableName": table.name, "Item": table.item(self.values)}, "ALL_OLD")

    def _delete(self) -> Json:
        table = self._table()
        return self._write({"TableName": table.name, "Key": table.key(self.values)}, "ALL_OLD")

    def _update(self) -> Json:
        table, expressions = self._table(), Expressions(self.values)
        body: Json = {"TableName": table.name, "Key": table.key(self.values)}
        if self._is_older():
            body |= self._older.updates()
            if self.random.random() < 0.4:
                body |= self._older.expected()
        else:
            if self.random.random() < 0.9:
                body["UpdateExpression"] = expressions.update()
            if self.random.random() < 0.3:
                body["ConditionExpression"] = expressions.condition()
        self._sometimes(
            body,
            ReturnValues=("NONE", "ALL_OLD", "ALL_NEW", "UPDATED_OLD", "UPDATED_NEW"),
            ReturnConsumedCapacity=("NONE", "TOTAL", "INDEXES"),
        )
        return expressions.placed_in(body)

    def _get(self) -> Json:
        table, expressions = self._table(), Expressions(self.values)
        body: Json = {"TableName": table.name, "Key": table.key(self.values)}
        if self._is_older():
            body |= self._older.attributes()
        elif self.random.random() < 0.4:
            body["ProjectionExpression"] = expressions.projection()
        self._sometimes(body, ConsistentRead=(True, False))
        return expressions.placed_in(body)

    def _narrow(self, body: Json, expressions: Expressions) -> None:
        if self.random.random() < 0.3:
            body["FilterExpression"] = expressions.condition()
        if self.random.random() < 0.3:
            body["ProjectionExpression"] = expressions.projection()
        else:
            self._sometimes(body, Select=("COUNT", "ALL_ATTRIBUTES"))

    def _page(self, table: TableSpec, keys: Keys) -> Json:
        """What Query and Scan have in common, without their filters."""
        body: Json = {"TableName": table.name}
        if keys.index:
            body["IndexName"] = keys.index
        if not keys.index:
            self._sometimes(body, ConsistentRead=(True, False))
        return self._sometimes(
            body, Limit=(1, 2, 10, 10_000), ReturnConsumedCapacity=("TOTAL", "INDEXES")
        )

    def _keys(self, table: TableSpec) -> Keys:
        return self.random.choice((table.keys, *table.indexes))

    def _query(self) -> Json:
        table, expressions = self._table(), Expressions(self.values)
        keys = self._keys(table)
        body = self._page(table, keys)
        if self._is_older():
            body |= self._older.key_conditions(keys)
            if self.random.random() < 0.5:
                body |= self._older.filter("QueryFilter", keys)
        else:
            body["KeyConditionExpression"] = expressions.key_condition(keys)
            self._narrow(body, expressions)
        self._sometimes(body, ScanIndexForward=(True, False))
        self._sometimes(body, 0.1, ExclusiveStartKey=(self._start(table, keys),))
        return expressions.placed_in(body)

    def _scan(self) -> Json:
        table, expressions = self._table(), Expressions(self.values)
        keys = self._keys(table)
        body = self._page(table, keys)
        if self._is_older():
            body |= self._older.filter("ScanFilter", keys)
        else:
            self._narrow(body, expressions)
        if self.random.random() < 0.3:
            total = self.random.choice((1, 2, 4, 1_000_000))
            body |= {"TotalSegments": total, "Segment": self.random.randrange(total)}
        self._sometimes(body, 0.1, ExclusiveStartKey=(self._start(table, keys),))
        return expressions.placed_in(body)

    def _start(self, table: TableSpec, keys: Keys) -> Json:
        key = table.key(self.values)
        for name, kind in keys.attributes:
            key.setdefault(name, self.values.of(kind))
        return key

    def _several(self, table: TableSpec) -> list[Json]:
        """Different keys of a table: the same one twice would be refused."""
        keys = [table.key(self.values) for _ in range(self.random.randint(1, BATCH_MAX))]
        return list({orjson.dumps(key): key for key in keys}.values())

    def _batch_get(self) -> Json:
        asked: Json = {}
        for table in self.random.sample(TABLES, self.random.randint(1, 2)):
            expressions = Expressions(self.values)
            asked[table.name] = {"Keys": self._several(table)}
            if self.random.random() < 0.3:
                asked[table.name]["ProjectionExpression"] = expressions.projection()
            expressions.placed_in(asked[table.name])
        return self._sometimes({"RequestItems": asked}, ReturnConsumedCapacity=("TOTAL",))

    def _batch_write(self) -> Json:
        wanted: Json = {}
        for table in self.random.sample(TABLES, self.random.randint(1, 2)):
            wanted[table.name] = [
                {"DeleteRequest": {"Key": key}}
                if self.random.random() < 0.3
                else {"PutRequest": {"Item": table.item(self.values) | key}}
                for key in self._several(table)
            ]
        return self._sometimes({"RequestItems": wanted}, ReturnConsumedCapacity=("INDEXES",))

    def _create(self) -> Json:
        random = self.random
        like = self._table()
        body = TableSpec(random.choice(PASSING), like.keys, like.indexes).definition()
        if like.keys.range is not None and random.random() < 0.2:
            local = Keys(like.keys.hash, ("local", "S"), "by-local")
            body["LocalSecondaryIndexes"] = [index_definition(local)]
            body["AttributeDefinitions"].append({"AttributeName": "local", "AttributeType": "S"})
        return self._sometimes(
            body,
            0.1,
            DeletionProtectionEnabled=(True, False),
            TableClass=("STANDARD", "STANDARD_INFREQUENT_ACCESS"),
            SSESpecification=({"Enabled": True}, {"Enabled": False}),
            StreamSpecification=({"StreamEnabled": False},),
            Tags=([{"Key": "team", "Value": "red"}],),
        )

    def _update_table(self) -> Json:
        """One property at a time, which is all that DynamoDB takes."""
        random = self.random
        name = random.choice((*PASSING, *(table.name for table in TABLES)))
        index = Keys(("b", "S"), None, random.choice(("later", "by-group")))
        create = {
            "AttributeDefinitions": [{"AttributeName": "b", "AttributeType": "S"}],
            "GlobalSecondaryIndexUpdates": [{"Create": index_definition(index)}],
        }
        units = {"ReadCapacityUnits": random.choice((1, 5)), "WriteCapacityUnits": 5}
        properties: tuple[Json, ...] = (
            {"BillingMode": "PAY_PER_REQUEST"},
            {"BillingMode": "PROVISIONED", "ProvisionedThroughput": units},
            {"DeletionProtectionEnabled": random.random() < 0.3},
            {"TableClass": random.choice(("STANDARD", "STANDARD_INFREQUENT_ACCESS"))},
            {"SSESpecification": {"Enabled": random.random() < 0.5}},
            {"OnDemandThroughput": {"MaxReadRequestUnits": random.choice((-1, 100))}},
            {"WarmThroughput": {"ReadUnitsPerSecond": 12_000, "WriteUnitsPerSecond": 4_000}},
            create,
            {"GlobalSecondaryIndexUpdates": [{"Delete": {"IndexName": "later"}}]},
        )
        return {"TableName": name, **random.choice(properties)}
