"""Scan: what it asks of which partition, and how it makes one page of what they answer."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from gramme.commands import PAGE_SIZE_MAX, PAGE_STORED_BYTES_MAX, Page, Scan
from gramme.errors import ValidationError
from gramme.partitions import TOKEN_SPACE, Partition
from gramme.router.operations.scan import PARTITIONS_PER_TURN
from tests.unit.router.operations.router import HASH_ONLY, Router

QUARTER = TOKEN_SPACE // 4


@pytest.fixture
def filled(router: Router) -> Router:
    for number in range(20):
        item = {"id": {"S": str(number)}, "n": {"N": str(number)}}
        router.ask("PutItem", {"TableName": "simple", "Item": item})
    return router


def ranges(router: Router) -> list[tuple[int, int]]:
    return [(scan.first, scan.last) for scan in router.nodes.scans_seen]


def test_scan_visits_partitions_in_token_order(filled: Router) -> None:
    answer = filled.ask("Scan", {"TableName": "simple"})

    assert answer["Count"] == 20
    assert ranges(filled) == [(number * QUARTER, (number + 1) * QUARTER - 1) for number in range(4)]


def test_segment_cuts_partitions(filled: Router) -> None:
    filled.ask("Scan", {"TableName": "simple", "Segment": 1, "TotalSegments": 3})

    third = TOKEN_SPACE // 3
    assert ranges(filled) == [(third, 2 * QUARTER - 1), (2 * QUARTER, 2 * TOKEN_SPACE // 3 - 1)]


def test_scan_goes_on_in_the_partition_of_its_start_key(filled: Router) -> None:
    first = filled.ask("Scan", {"TableName": "simple", "Limit": 19})
    filled.nodes.scans_seen.clear()

    rest = filled.ask(
        "Scan", {"TableName": "simple", "ExclusiveStartKey": first["LastEvaluatedKey"]}
    )

    assert rest["Count"] == 1
    seen = filled.nodes.scans_seen[0]
    assert seen.start is not None
    assert seen.first == int.from_bytes(seen.start[:8])
    assert len(filled.nodes.scans_seen) <= 2


def test_limit_is_what_is_left_of_it(filled: Router) -> None:
    answer = filled.ask("Scan", {"TableName": "simple", "Limit": 12})

    scans = filled.nodes.scans_seen
    assert answer["Count"] == answer["ScannedCount"] == 12
    assert scans[0].limit == 12
    assert all(scan.limit is not None and 0 < scan.limit < 12 for scan in scans[1:])


def test_room_is_what_is_left_of_the_page(router: Router, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[Scan] = []

    async def scan(partition: Partition, scan: Scan) -> Page:
        asked.append(scan)
        last_key = b'{"id":{"S":"a"}}' if len(asked) == 3 else None
        return Page([], 0, 5, 1000, last_key, 3000)

    monkeypatch.setattr(router.nodes, "scan", scan)
    answer = router.ask("Scan", {"TableName": "simple"})

    assert answer["ScannedCount"] == 15
    assert answer["LastEvaluatedKey"] == {"id": {"S": "a"}}
    assert [PAGE_SIZE_MAX - scan.size_max for scan in asked] == [0, 1000, 2000]
    assert [PAGE_STORED_BYTES_MAX - scan.stored_bytes_max for scan in asked] == [0, 3000, 6000]


def test_scan_of_many_partitions_lets_others_run(monkeypatch: pytest.MonkeyPatch) -> None:
    router = Router.start(partitions=3 * PARTITIONS_PER_TURN)
    router.ask("CreateTable", HASH_ONLY)
    turns = 0
    sleep = asyncio.sleep

    async def count(seconds: float) -> None:
        nonlocal turns
        turns += 1
        await sleep(seconds)

    monkeypatch.setattr("gramme.router.operations.scan.asyncio.sleep", count)
    router.ask("Scan", {"TableName": "simple"})

    assert len(router.nodes.scans_seen) == 3 * PARTITIONS_PER_TURN
    assert turns == 3


@pytest.mark.parametrize(
    "parameters",
    [{"ScanFilter": {}}, {"AttributesToGet": ["a"]}, {"ConditionalOperator": "AND"}],
    ids=lambda parameters: next(iter(parameters)),
)
def test_older_parameters_do_not_go_with_expressions(
    router: Router, parameters: dict[str, Any]
) -> None:
    body = {
        "TableName": "simple",
        "FilterExpression": "a = :a",
        "ExpressionAttributeValues": {":a": {"S": "a"}},
    }

    message = router.refusal("Scan", body | parameters, ValidationError)

    assert message is not None
    assert f"Non-expression parameters: {{{next(iter(parameters))}}}" in message
