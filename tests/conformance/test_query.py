"""Query of a table."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from tests.conformance.tables import Item, TableFactory, unique_name

if TYPE_CHECKING:
    from types_boto3_dynamodb import DynamoDBClient

NUMBERS = ["-100", "-2.5", "-1", "0", "0.001", "1", "9", "10", "1000000"]


@pytest.fixture(scope="session")
def numbers(dynamodb: DynamoDBClient, composite: str) -> str:
    """A partition key with an item for each of NUMBERS; its neighbours have items too."""
    pk = unique_name("numbers")
    for key in (pk, f"{pk}+", pk[:-1]):
        for position, number in enumerate(reversed(NUMBERS)):
            item: Item = {
                "pk": {"S": key},
                "sk": {"N": number},
                "parity": {"S": "odd" if position % 2 else "even"},
            }
            dynamodb.put_item(TableName=composite, Item=item)
    return pk


def query(
    dynamodb: DynamoDBClient, table: str, pk: str, condition: str = "pk = :pk", **changes: Any
) -> Item:
    values: Item = {":pk": {"S": pk}} | changes.pop("values", {})
    answer: Item = dict(
        dynamodb.query(
            TableName=table,
            KeyConditionExpression=condition,
            ExpressionAttributeValues=values,
            ConsistentRead=True,
            **changes,
        )
    )
    return answer


def sort_keys(answer: Item) -> list[str]:
    return [item["sk"]["N"] for item in answer["Items"]]


def test_items_come_in_the_order_of_their_sort_keys(
    dynamodb: DynamoDBClient, composite: str, numbers: str
) -> None:
    answer = query(dynamodb, composite, numbers)

    assert sort_keys(answer) == NUMBERS
    assert answer["Count"] == answer["ScannedCount"] == len(NUMBERS)
    assert "LastEvaluatedKey" not in answer


def test_order_can_be_reversed(dynamodb: DynamoDBClient, composite: str, numbers: str) -> None:
    answer = query(dynamodb, composite, numbers, ScanIndexForward=False)

    assert sort_keys(answer) == NUMBERS[::-1]


@pytest.mark.parametrize(
    ("condition", "expected"),
    [
        ("pk = :pk AND sk = :one", ["1"]),
        ("sk = :one AND pk = :pk", ["1"]),
        ("(pk = :pk) AND (sk < :one)", ["-100", "-2.5", "-1", "0", "0.001"]),
        ("pk = :pk AND sk <= :one", ["-100", "-2.5", "-1", "0", "0.001", "1"]),
        ("pk = :pk AND sk > :one", ["9", "10", "1000000"]),
        ("pk = :pk AND :one < sk", ["9", "10", "1000000"]),
        ("pk = :pk AND sk >= :one", ["1", "9", "10", "1000000"]),
        ("pk = :pk and sk between :zero AND :one", ["0", "0.001", "1"]),
    ],
)
def test_condition_on_the_sort_key(
    dynamodb: DynamoDBClient, composite: str, numbers: str, condition: str, expected: list[str]
) -> None:
    values = {":one": {"N": "1"}, ":zero": {"N": "-0.5"}}
    used = {name: value for name, value in values.items() if name in condition}

    answer = query(dynamodb, composite, numbers, condition, values=used)

    assert sort_keys(answer) == expected


@pytest.mark.parametrize(
    ("type", "ordered", "prefix", "begun"),
    [
        ("S", ["", "a", "a\x00", "aa", "ab", "b", "é", "\uffff", "\U0001f600"], "a", 4),
        ("B", [b"\x00", b"a", b"a\x00", b"a\x00\x01", b"a\x01", b"a\xff", b"b"], b"a", 5),
    ],
)
def test_text_sorts_by_its_bytes(
    dynamodb: DynamoDBClient,
    tables: TableFactory,
    type: str,
    ordered: list[Any],
    prefix: Any,
    begun: int,
) -> None:
    name = tables.create(f"pk:S sk:{type}")
    ordered = [value for value in ordered if value]
    for value in reversed(ordered):
        dynamodb.put_item(TableName=name, Item={"pk": {"S": "p"}, "sk": {type: value}})

    everything = query(dynamodb, name, "p")
    some = query(
        dynamodb,
        name,
        "p",
        "pk = :pk AND begins_with(sk, :prefix)",
        values={":prefix": {type: prefix}},
    )

    assert [item["sk"][type] for item in everything["Items"]] == ordered
    expected = [value for value in ordered if value.startswith(prefix)]
    assert len(expected) == begun
    assert [item["sk"][type] for item in some["Items"]] == expected


@pytest.mark.parametrize("forward", [True, False])
@pytest.mark.parametrize("limit", [1, 4, 9])
def test_pages_follow_one_another(
    dynamodb: DynamoDBClient, composite: str, numbers: str, forward: bool, limit: int
) -> None:
    seen: list[str] = []
    start: Item = {}
    while True:
        answer = query(dynamodb, composite, numbers, Limit=limit, ScanIndexForward=forward, **start)
        assert answer["Count"] <= limit
        seen += sort_keys(answer)
        if "LastEvaluatedKey" not in answer:
            break
        assert set(answer["LastEvaluatedKey"]) == {"pk", "sk"}
        start = {"ExclusiveStartKey": answer["LastEvaluatedKey"]}

    assert seen == (NUMBERS if forward else NUMBERS[::-1])


def test_page_that_is_just_full_does_not_know_that_it_is_the_last(
    dynamodb: DynamoDBClient, composite: str, numbers: str
) -> None:
    full = query(dynamodb, composite, numbers, Limit=len(NUMBERS))
    after = query(dynamodb, composite, numbers, ExclusiveStartKey=full["LastEvaluatedKey"])
    larger = query(dynamodb, composite, numbers, Limit=len(NUMBERS) + 1)

    assert sort_keys(full) == NUMBERS
    assert (after["Items"], "LastEvaluatedKey" in after) == ([], False)
    assert "LastEvaluatedKey" not in larger


def test_start_key_need_not_exist(dynamodb: DynamoDBClient, composite: str, numbers: str) -> None:
    key = {"pk": {"S": numbers}, "sk": {"N": "5"}}

    answer = query(dynamodb, composite, numbers, ExclusiveStartKey=key)

    assert sort_keys(answer) == ["9", "10", "1000000"]


def test_filter_counts_what_it_looked_at(
    dynamodb: DynamoDBClient, composite: str, numbers: str
) -> None:
    answer = query(
        dynamodb,
        composite,
        numbers,
        FilterExpression="parity = :odd",
        values={":odd": {"S": "odd"}},
        Limit=5,
    )

    assert answer["ScannedCount"] == 5
    assert answer["Count"] == len(answer["Items"]) == 2
    assert answer["LastEvaluatedKey"]["sk"] == {"N": "0.001"}


def test_page_may_be_empty_and_not_the_last(
    dynamodb: DynamoDBClient, composite: str, numbers: str
) -> None:
    answer = query(
        dynamodb,
        composite,
        numbers,
        FilterExpression="attribute_exists(nothing)",
        Limit=2,
    )

    assert answer["Items"] == []
    assert answer["LastEvaluatedKey"] == {"pk": {"S": numbers}, "sk": {"N": "-2.5"}}


def test_projection_picks_attributes(
    dynamodb: DynamoDBClient, composite: str, numbers: str
) -> None:
    answer = query(
        dynamodb, composite, numbers, ProjectionExpression="parity", Select="SPECIFIC_ATTRIBUTES"
    )

    assert answer["Items"][:2] == [{"parity": {"S": "even"}}, {"parity": {"S": "odd"}}]


def test_count_returns_no_items(dynamodb: DynamoDBClient, composite: str, numbers: str) -> None:
    answer = query(
        dynamodb,
        composite,
        numbers,
        Select="COUNT",
        FilterExpression="parity = :odd",
        values={":odd": {"S": "odd"}},
    )

    assert (answer["Count"], answer["ScannedCount"]) == (4, 9)
    assert "Items" not in answer


def test_page_ends_at_a_megabyte(dynamodb: DynamoDBClient, composite: str, pk: str) -> None:
    for number in range(4):
        item: Item = {"pk": {"S": pk}, "sk": {"N": str(number)}, "text": {"S": "x" * 300_000}}
        dynamodb.put_item(TableName=composite, Item=item)

    first = query(dynamodb, composite, pk, ReturnConsumedCapacity="TOTAL")
    second = query(dynamodb, composite, pk, ExclusiveStartKey=first["LastEvaluatedKey"])

    assert sort_keys(first) + sort_keys(second) == ["0", "1", "2", "3"]
    assert first["Count"] in (3, 4)
    assert first["ConsumedCapacity"]["CapacityUnits"] == pytest.approx(220, abs=75)


def test_unknown_partition_key_has_no_items(
    dynamodb: DynamoDBClient, composite: str, pk: str
) -> None:
    answer = query(dynamodb, composite, pk, ReturnConsumedCapacity="INDEXES")

    assert answer["Items"] == []
    assert answer["Count"] == 0
    assert answer["ConsumedCapacity"] == {
        "TableName": composite,
        "CapacityUnits": 1.0,
        "Table": {"CapacityUnits": 1.0},
    }


def test_hash_only_table_has_one_item(dynamodb: DynamoDBClient, table: str, pk: str) -> None:
    dynamodb.put_item(TableName=table, Item={"pk": {"S": pk}})

    assert query(dynamodb, table, pk)["Items"] == [{"pk": {"S": pk}}]


def test_a_table_without_sort_key_can_be_paged_an_item_at_a_time(
    dynamodb: DynamoDBClient, table: str
) -> None:
    dynamodb.put_item(TableName=table, Item={"pk": {"S": "a"}})

    pages = dynamodb.get_paginator("query").paginate(
        TableName=table,
        KeyConditionExpression="pk = :pk",
        ExpressionAttributeValues={":pk": {"S": "a"}},
        PaginationConfig={"PageSize": 1},
    )

    assert [page["Count"] for page in pages] == [1]
