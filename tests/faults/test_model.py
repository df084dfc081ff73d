"""Random writes, batches, queries, scans, changes of indexes, restarts and crashes against a dict, on a real server.

GRAMME_MODEL_EXAMPLES and GRAMME_SEED make it longer and different; a failure prints the steps that lead to it.
"""

from __future__ import annotations

import itertools
import os
from collections.abc import Iterator
from decimal import Decimal

import hypothesis
import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, rule, run_state_machine_as_test

from tests.support import tables
from tests.support.client import Client, Json, Refused
from tests.support.history import GROUPS, Key
from tests.support.model import Condition, Delete, Model, Put, Range, Update, Write, key_json
from tests.support.server import Server

SEED = int(os.environ.get("GRAMME_SEED", "20260705"))
EXAMPLES = int(os.environ.get("GRAMME_MODEL_EXAMPLES", "10"))
STEPS = 30
PARTITIONS = ("a", "b", "c", "d")
SORTS = tuple(map(Decimal, ("-20", "-1", "0", "0.5", "1", "3", "20")))

table_names = (f"model-{serial}" for serial in itertools.count())

keys = st.builds(Key, st.sampled_from(PARTITIONS), st.sampled_from(SORTS))
numbers = st.integers(-5, 5).map(lambda value: {"N": str(value)})
attributes = st.fixed_dictionaries(
    {"n": numbers},
    optional={
        "group": st.integers(0, GROUPS - 1).map(lambda value: {"S": f"g{value}"}),
        "colour": st.integers(0, 2).map(lambda value: {"N": str(value)}),
        "note": st.text("ab\u00e9\U0001f409", max_size=3).map(lambda text: {"S": text}),
    },
)
writes = st.one_of(
    st.builds(Put, attributes),
    st.builds(Update, st.sampled_from(("set", "add", "regroup")), attributes, st.integers(-3, 3)),
    st.just(Delete()),
)
batch_writes = st.one_of(st.builds(Put, attributes), st.just(Delete()))
conditions = st.builds(
    Condition,
    st.sampled_from(("always", "always", "exists", "absent", "below")),
    st.integers(-5, 5),
)
ranges = st.builds(
    lambda comparison, bounds: Range(comparison, min(bounds), max(bounds)),
    st.sampled_from(("all", "=", "<", "<=", ">", ">=", "BETWEEN")),
    st.tuples(st.sampled_from(SORTS), st.sampled_from(SORTS)),
)


class Machine(RuleBasedStateMachine):
    def __init__(self, server: Server) -> None:
        super().__init__()
        self.server = server
        self.client = server.client()
        self.model = Model(indexes=set(tables.INDEXES))
        self.table = next(table_names)
        tables.create(self.client, tables.definition(self.table))

    def _again(self) -> None:
        self.client.close()
        self.server.start()
        self.client = self.server.client()

    def _request(self, key: Key, write: Write, condition: Condition) -> Json:
        return condition.add_to({"TableName": self.table, **write.request(key)})

    @rule(key=keys, write=writes, condition=conditions)
    def write(self, key: Key, write: Write, condition: Condition) -> None:
        old = self.model.items.get(key)
        request = self._request(key, write, condition)
        if not condition.holds(old):
            with pytest.raises(Refused, match="ConditionalCheckFailedException"):
                self.client.call(write.operation, request)
            return
        shown = self.client.call(write.operation, request).get("Attributes")
        self.model.set(key, write.result(key, old))
        assert shown == (self.model.items[key] if isinstance(write, Update) else old)

    @rule(key=keys)
    def get(self, key: Key) -> None:
        assert self._read(key) == self.model.items.get(key)

    def _read(self, key: Key) -> Json | None:
        request = {"TableName": self.table, "ConsistentRead": True, **Delete().request(key)}
        del request["ReturnValues"]
        return self.client.call("GetItem", request).get("Item")

    @rule(
        partition=st.sampled_from(PARTITIONS),
        wanted=ranges,
        forward=st.booleans(),
        limit=st.none() | st.integers(1, 4),
    )
    def query(self, partition: str, wanted: Range, forward: bool, limit: int | None) -> None:
        request: Json = {
            **wanted.request(partition),
            "TableName": self.table,
            "ConsistentRead": True,
            "ScanIndexForward": forward,
            **({"Limit": limit} if limit else {}),
        }
        expected = self.model.query(partition, wanted, forward)
        assert list(tables.query(self.client, request)) == expected
        assert self.client.call("Query", request)["Items"] == expected[:limit]

    @rule(
        partition=st.sampled_from(PARTITIONS),
        wanted=ranges,
        forward=st.booleans(),
        limit=st.none() | st.integers(1, 4),
        name=st.sampled_from(("n", "colour")),
    )
    def query_local_index(
        self, partition: str, wanted: Range, forward: bool, limit: int | None, name: str
    ) -> None:
        request: Json = {
            **wanted.request(partition, name),
            "TableName": self.table,
            "IndexName": tables.LOCAL_BY_NUMBER if name == "n" else tables.LOCAL_BY_COLOUR,
            "Select": "ALL_ATTRIBUTES",
            "ConsistentRead": True,
            "ScanIndexForward": forward,
            **({"Limit": limit} if limit else {}),
        }
        expected = self.model.query_local(partition, name, wanted, forward)
        assert list(tables.query(self.client, request)) == expected
        assert self.client.call("Query", request)["Items"] == expected[:limit]

    @rule()
    def local_indexes_are_right_at_once(self) -> None:
        assert tables.local_index_problem(self.client, self.model.items, self.table) is None

    @rule(limit=st.none() | st.integers(1, 4), segments=st.integers(1, 5))
    def scan(self, limit: int | None, segments: int) -> None:
        found = []
        for segment in range(segments):
            request: Json = {
                "TableName": self.table,
                "ConsistentRead": True,
                "Segment": segment,
                "TotalSegments": segments,
                **({"Limit": limit} if limit else {}),
            }
            found += self._scan(request)
        assert sorted(found, key=str) == sorted(self.model.items.values(), key=str)
        # Segments and pages change nothing in the order.
        assert found == self._scan({"TableName": self.table, "ConsistentRead": True})

    def _scan(self, request: Json) -> list[Json]:
        found: list[Json] = []
        while True:
            page = self.client.call("Scan", request)
            found += page["Items"]
            if "LastEvaluatedKey" not in page:
                return found
            request = {**request, "ExclusiveStartKey": page["LastEvaluatedKey"]}

    @rule(chosen=st.dictionaries(keys, batch_writes, min_size=1, max_size=25))
    def batch_write(self, chosen: dict[Key, Put | Delete]) -> None:
        requests = [write.batch_request(key) for key, write in chosen.items()]
        answer = self.client.call("BatchWriteItem", {"RequestItems": {self.table: requests}})
        assert answer == {"UnprocessedItems": {}}
        for key, write in chosen.items():
            self.model.set(key, write.result(key, self.model.items.get(key)))

    @rule(chosen=st.sets(keys, min_size=1))
    def batch_get(self, chosen: set[Key]) -> None:
        wanted = {"Keys": [key_json(key) for key in chosen], "ConsistentRead": True}
        answer = self.client.call("BatchGetItem", {"RequestItems": {self.table: wanted}})
        expected = [self.model.items[key] for key in chosen if key in self.model.items]
        assert sorted(answer["Responses"][self.table], key=str) == sorted(expected, key=str)
        assert answer["UnprocessedKeys"] == {}

    @rule()
    def query_indexes(self) -> None:
        tables.await_active(self.client, self.table)
        self._check_indexes(self.client)

    def _check_indexes(self, client: Client) -> None:
        there, items = self.model.indexes, self.model.items
        assert tables.await_indexes(client, items, self.table, indexes=sorted(there)) is None
        for index in set(tables.INDEXES) - there:
            with pytest.raises(Refused, match="does not have the specified index"):
                tables.read_index(client, index, self.table)

    # Starting again takes long, and other rules do that too.
    @rule(index=st.sampled_from(tables.INDEXES), crash=st.sampled_from((False, False, True)))
    def add_or_remove_index(self, index: str, crash: bool) -> None:
        tables.await_active(self.client, self.table)
        adding = index not in self.model.indexes
        request = (tables.addition if adding else tables.removal)(index, self.table)
        if not crash:
            self.client.call("UpdateTable", request)
            self.model.indexes ^= {index}
            return
        self.client.send("UpdateTable", request)
        self.server.kill()
        self._again()
        states = tables.index_states(self.client, self.table)
        found = {name for name, state in states.items() if state != "DELETING"}
        assert found - {index} == self.model.indexes - {index}
        self.model.indexes = found

    @rule(group=st.integers(0, GROUPS - 1), forward=st.booleans())
    def query_index_in_order(self, group: int, forward: bool) -> None:
        if tables.BY_GROUP not in self.model.indexes:
            return
        tables.await_active(self.client, self.table)
        request = {
            "TableName": self.table,
            "IndexName": tables.BY_GROUP,
            "KeyConditionExpression": "#group = :group",
            "ExpressionAttributeNames": {"#group": "group"},
            "ExpressionAttributeValues": {":group": {"S": f"g{group}"}},
            "ScanIndexForward": forward,
            "Limit": 2,
        }
        found = [int(item["n"]["N"]) for item in tables.query(self.client, request)]
        assert found == sorted(found, reverse=not forward)

    @rule(crash=st.booleans())
    def end(self, crash: bool) -> None:
        if crash:
            self.server.kill()
        else:
            assert self.server.stop() == 0
        self._again()

    @rule(key=keys, write=writes)
    def crash_during_a_write(self, key: Key, write: Write) -> None:
        old = self.model.items.get(key)
        self.client.send(write.operation, self._request(key, write, Condition()))
        self.server.kill()
        self._again()
        found = self._read(key)
        assert found in (old, write.result(key, old))
        self.model.set(key, found)

    def teardown(self) -> None:
        if self.server.exit_code() is not None:
            self.server.start()
        self.client.close()
        with self.server.client() as client:
            found = tables.read_base(client, PARTITIONS, self.table)
            assert found == self.model.items
            tables.await_active(client, self.table)
            self._check_indexes(client)
            client.call("DeleteTable", {"TableName": self.table})


@pytest.fixture(params=[1, 4], ids=["1 partition", "4 partitions"])
def server(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Server]:
    data = tmp_path_factory.mktemp("model") / "data"
    with Server(data, "--partitions", str(request.param)) as running:
        yield running


def test_a_server_is_a_dict_whatever_happens_to_it(server: Server) -> None:
    print(f"seed {SEED}")
    chosen = settings(
        max_examples=EXAMPLES,
        stateful_step_count=STEPS,
        deadline=None,
        database=None,
        print_blob=True,
        suppress_health_check=list(HealthCheck),
    )

    @hypothesis.seed(SEED)
    class OnThisServer(Machine):
        def __init__(self) -> None:
            super().__init__(server)

    run_state_machine_as_test(OnThisServer, settings=chosen)
