"""BatchWriteItem and BatchGetItem: what goes to the nodes, what comes back undone, and who gets a turn meanwhile."""

from __future__ import annotations

import asyncio

import orjson
import pytest

from gramme.commands import Delete, Found, Get, Put
from gramme.errors import Throttling, ValidationError
from gramme.partitions import Partition
from gramme.router.operations import batch_get_item, batch_write_item
from gramme.router.operations.all import OPERATIONS
from tests.unit.router.operations.router import CALLER, Body, Router

# A body may nest 1024 levels, which is more than orjson writes.
DEEP = orjson.loads(b'{"M":{"a":' * 300 + b'{"S":"x"}' + b"}}" * 300)


def puts(*ids: str, **attributes: Body) -> list[Body]:
    return [{"PutRequest": {"Item": {"id": {"S": id}, **attributes}}} for id in ids]


def keys(*ids: str) -> list[Body]:
    return [{"id": {"S": id}} for id in ids]


def ask_as_is(router: Router, operation: str, body: Body) -> Body:
    """Send what is too deep for `Router.ask` to copy."""

    async def run() -> bytes:
        return await OPERATIONS[operation](router.context, CALLER, body)

    answer: Body = orjson.loads(asyncio.run(run()))
    return answer


def count_turns(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """Every time that others were let run, from now on."""
    turns: list[float] = []
    sleep = asyncio.sleep

    async def count(seconds: float) -> None:
        turns.append(seconds)
        await sleep(seconds)

    monkeypatch.setattr(asyncio, "sleep", count)
    return turns


def test_write_without_wishes(router: Router) -> None:
    requests = [*puts("a"), {"DeleteRequest": {"Key": {"id": {"S": "b"}}}}]

    answer = router.ask("BatchWriteItem", {"RequestItems": {"simple": requests}})

    assert answer == {"UnprocessedItems": {}}
    assert isinstance(router.nodes.write_seen, Delete)


def test_item_is_measured_and_normalised(router: Router) -> None:
    router.ask("BatchWriteItem", {"RequestItems": {"simple": puts("a", n={"N": "1.0"})}})

    put = router.nodes.write_seen
    assert isinstance(put, Put)
    assert put.item == b'{"id":{"S":"a"},"n":{"N":"1"}}'
    assert put.size == len("ida") + len("n") + 2


def test_what_there_is_no_room_for_comes_back(router: Router) -> None:
    router.nodes.room = 1
    body: Body = {
        "RequestItems": {"simple": puts("a", "b"), "music": [a_song("c")]},
        "ReturnConsumedCapacity": "TOTAL",
    }

    answer = router.ask("BatchWriteItem", body)

    assert answer["UnprocessedItems"] == {"simple": puts("b"), "music": [a_song("c")]}
    assert answer["ConsumedCapacity"] == [
        {"TableName": "simple", "CapacityUnits": 1.0},
        {"TableName": "music", "CapacityUnits": 0.0},
    ]
    router.nodes.room = None
    again = router.ask("BatchWriteItem", {"RequestItems": answer["UnprocessedItems"]})
    assert again == {"UnprocessedItems": {}}


def a_song(artist: str) -> Body:
    return {"PutRequest": {"Item": {"artist": {"S": artist}, "year": {"N": "1934"}}}}


def test_batch_without_room_for_any_is_refused(router: Router) -> None:
    router.nodes.room = 0

    message = router.refusal(
        "BatchWriteItem", {"RequestItems": {"simple": puts("a", "b")}}, Throttling
    )

    assert message == "no room"


def test_small_batch_takes_one_turn(router: Router, monkeypatch: pytest.MonkeyPatch) -> None:
    turns = count_turns(monkeypatch)

    requests = puts(*map(str, range(25)), text={"S": "x" * 1000})
    router.ask("BatchWriteItem", {"RequestItems": {"simple": requests}})

    assert turns == []


def test_large_batch_lets_others_run(router: Router, monkeypatch: pytest.MonkeyPatch) -> None:
    turns = count_turns(monkeypatch)

    requests = puts("a", "b", "c", text={"S": "x" * (batch_write_item.SLICE_BYTES + 1)})
    router.ask("BatchWriteItem", {"RequestItems": {"simple": requests}})

    # After each item but the last, once for checking and once for encoding.
    assert len(turns) == 4


def test_get_tells_nodes_what_is_wanted(router: Router) -> None:
    body: Body = {
        "RequestItems": {
            "simple": {
                "Keys": keys("a"),
                "ConsistentRead": True,
                "ProjectionExpression": "#a",
                "ExpressionAttributeNames": {"#a": "a"},
            }
        }
    }

    answer = router.ask("BatchGetItem", body)

    assert answer == {"Responses": {"simple": []}, "UnprocessedKeys": {}}
    seen = router.nodes.get_seen
    assert seen is not None
    assert seen.consistent
    assert seen.projection is not None


@pytest.mark.parametrize("limit", ["ITEMS_SIZE_MAX", "ANSWER_BYTES_MAX"])
def test_answer_is_bound_and_makes_progress(
    router: Router, monkeypatch: pytest.MonkeyPatch, limit: str
) -> None:
    monkeypatch.setattr(batch_get_item, limit, 1)
    router.ask("BatchWriteItem", {"RequestItems": {"simple": puts("a", "b", "c")}})
    remaining: Body = {
        "simple": {"Keys": keys("missing", "a", "b", "c"), "ConsistentRead": True},
        "music": {"Keys": [{"artist": {"S": "a"}, "year": {"N": "1"}}]},
    }
    seen: list[list[Body]] = []

    while remaining:
        answer = router.ask("BatchGetItem", {"RequestItems": remaining})
        seen.append(answer["Responses"].get("simple", []))
        remaining = answer["UnprocessedKeys"]
        assert remaining.get("simple", {"ConsistentRead": True})["ConsistentRead"]

    assert seen == [keys("a"), keys("b"), keys("c")]


def test_many_reads_let_others_run(router: Router, monkeypatch: pytest.MonkeyPatch) -> None:
    turns = count_turns(monkeypatch)

    wanted = {"Keys": keys(*map(str, range(100)))}
    router.ask("BatchGetItem", {"RequestItems": {"simple": wanted}})

    assert len(turns) == 99 // batch_get_item.SLICE_READS


def test_large_reads_let_others_run(router: Router, monkeypatch: pytest.MonkeyPatch) -> None:
    async def get(partition: Partition, get: Get) -> Found:
        return Found(b"{}", batch_get_item.SLICE_BYTES + 1)

    monkeypatch.setattr(router.nodes, "get", get)
    turns = count_turns(monkeypatch)

    router.ask("BatchGetItem", {"RequestItems": {"simple": {"Keys": keys("a", "b", "c")}}})

    assert len(turns) == 2


def test_key_nested_too_deep_to_be_written_is_refused(router: Router) -> None:
    body: Body = {"RequestItems": {"simple": {"Keys": [{"id": DEEP}]}}}

    with pytest.raises(ValidationError, match="Nesting Levels have exceeded supported limits"):
        ask_as_is(router, "BatchGetItem", body)


def test_undone_writes_come_back_without_what_nobody_knows(router: Router) -> None:
    router.nodes.room = 1
    unknown = [
        {"Extra": DEEP, "PutRequest": {"Extra": DEEP, **put["PutRequest"]}}
        for put in puts("a", "b")
    ]

    answer = ask_as_is(router, "BatchWriteItem", {"RequestItems": {"simple": unknown}})

    assert answer["UnprocessedItems"] == {"simple": puts("b")}


def test_unread_keys_come_back_without_what_nobody_knows(
    router: Router, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(batch_get_item, "ITEMS_SIZE_MAX", 1)
    router.ask("BatchWriteItem", {"RequestItems": {"simple": puts("a", "b")}})
    wanted: Body = {"Keys": keys("a", "b"), "ConsistentRead": True, "Extra": DEEP}
    song: Body = {"Keys": [{"artist": {"S": "a"}, "year": {"N": "1"}}]}

    answer = ask_as_is(
        router,
        "BatchGetItem",
        {"RequestItems": {"simple": wanted, "music": song | {"Extra": DEEP}}},
    )

    assert answer["UnprocessedKeys"] == {
        "simple": {"Keys": keys("b"), "ConsistentRead": True},
        "music": song,
    }
