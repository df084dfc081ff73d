"""With every flush held up for half a second, nobody sees a write before its writer is answered.

A reader may be answered in the same instant as the writer, and its packet may overtake the writer's. So a reader
that saw the new value gives the writer's answer a moment to arrive; a moment much shorter than the flush.
"""

from __future__ import annotations

import select
import threading
from collections.abc import Callable, Iterator

import pytest

from tests.support import tables
from tests.support.client import Client, Json, Refused
from tests.support.history import Key, item_of
from tests.support.server import Server

FLUSH_DELAY_MS = 500
OVERTAKING_S = 0.25
KEY = Key("seen", 1)
OLD, NEW = 1, 2

Read = Callable[[Client], list[Json]]


@pytest.fixture(scope="module", params=[1, 4], ids=["1 partition", "4 partitions"])
def server(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Server]:
    data = tmp_path_factory.mktemp("visibility") / "data"
    failpoints = {"GRAMME_FAILPOINTS": f"flush.delay_ms={FLUSH_DELAY_MS}"}
    with Server(data, "--partitions", str(request.param), environment=failpoints) as running:
        with running.client() as client:
            tables.create(client)
        yield running


def key_json() -> Json:
    item = item_of(KEY, OLD)
    return {"pk": item["pk"], "sk": item["sk"]}


def put_json(counter: int) -> Json:
    return {"TableName": tables.TABLE, "Item": item_of(KEY, counter)}


def get(client: Client, consistent: bool) -> list[Json]:
    request = {"TableName": tables.TABLE, "Key": key_json(), "ConsistentRead": consistent}
    found = client.call("GetItem", request).get("Item")
    return [found] if found else []


def local(client: Client, name: str, **options: str) -> list[Json]:
    request: Json = {
        "TableName": tables.TABLE,
        "IndexName": tables.LOCAL_BY_NUMBER if name == "n" else tables.LOCAL_BY_COLOUR,
        "KeyConditionExpression": "pk = :pk",
        "ExpressionAttributeValues": {":pk": {"S": KEY.partition}},
        **options,
    }
    return list(tables.query(client, request))


READS: dict[str, Read] = {
    "strong get": lambda client: get(client, True),
    "eventual get": lambda client: get(client, False),
    "query": lambda client: list(tables.read_base(client, [KEY.partition]).values()),
    "index": lambda client: tables.read_index(client, tables.BY_GROUP),
    "index of keys": lambda client: tables.read_index(client, tables.BY_COLOUR),
    "local index": lambda client: local(client, "n"),
    "local index of keys": lambda client: local(client, "colour"),
    "local index with its items": lambda client: local(client, "colour", Select="ALL_ATTRIBUTES"),
    "scan of a local index": lambda client: tables.read_local_index(
        client, tables.LOCAL_BY_NUMBER, tables.TABLE
    ),
}


def shows_new(items: list[Json]) -> bool:
    """Whether the new item is among them; an index of keys alone shows it by its colour."""
    new = item_of(KEY, NEW)
    return any(all(item[name] == new.get(name) for name in item) for item in items)


def answered(client: Client, within_s: float = 0.0) -> bool:
    return bool(select.select([client.fileno()], [], [], within_s)[0])


def watch(server: Server, writer: Client, read: Read, early: list[str], name: str) -> None:
    """Read on and on until the writer is answered; note if the new value showed before."""
    with server.client() as client:
        while not answered(writer):
            if shows_new(read(client)) and not answered(writer, OVERTAKING_S):
                early.append(name)
                return


def test_no_read_shows_a_write_before_it_is_answered(server: Server) -> None:
    with server.client() as writer, server.client() as reader:
        writer.call("PutItem", put_json(OLD))
        tables.await_indexes(reader, {KEY: item_of(KEY, OLD)})
        early: list[str] = []

        writer.send("PutItem", put_json(NEW))
        watchers = [
            threading.Thread(target=watch, args=(server, writer, read, early, name))
            for name, read in READS.items()
        ]
        for watcher in watchers:
            watcher.start()
        for watcher in watchers:
            watcher.join()
        writer.receive()

        assert early == []
        assert tables.await_indexes(reader, {KEY: item_of(KEY, NEW)}) is None
        assert {name for name, read in READS.items() if not shows_new(read(reader))} == set()


def conditional_put() -> tuple[str, Json]:
    return "PutItem", {**put_json(NEW + 1), "ConditionExpression": "attribute_not_exists(pk)"}


def conditional_delete() -> tuple[str, Json]:
    request: Json = {"TableName": tables.TABLE, "Key": key_json()}
    return "DeleteItem", {**request, "ConditionExpression": "attribute_not_exists(pk)"}


def conditional_update() -> tuple[str, Json]:
    return "UpdateItem", {
        "TableName": tables.TABLE,
        "Key": key_json(),
        "UpdateExpression": "SET n = :n",
        "ConditionExpression": "attribute_not_exists(pk)",
        "ExpressionAttributeValues": {":n": {"N": "9"}},
    }


@pytest.mark.parametrize("refused", [conditional_put, conditional_delete, conditional_update])
def test_a_condition_that_failed_on_a_write_is_not_answered_before_it(
    server: Server, refused: Callable[[], tuple[str, Json]]
) -> None:
    with server.client() as writer, server.client() as other:
        writer.call("DeleteItem", {"TableName": tables.TABLE, "Key": key_json()})

        writer.send("PutItem", put_json(OLD))
        wait_until_sent(server, other)
        other.send(*refused())
        with pytest.raises(Refused, match="ConditionalCheckFailed"):
            other.receive()

        assert answered(writer, OVERTAKING_S)
        writer.receive()


def wait_until_sent(server: Server, client: Client) -> None:
    """A round trip on another connection, so that what was sent before has been read by the server."""
    client.call("DescribeTable", {"TableName": tables.TABLE})
