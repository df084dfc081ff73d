"""Query and Scan of a local secondary index, which shows every write at once when it is read strongly."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from tests.conformance.tables import Item, Lsi, TableFactory

if TYPE_CHECKING:
    from types_boto3_dynamodb import DynamoDBClient


@pytest.fixture(scope="session")
def indexed(tables: TableFactory) -> str:
    return tables.create(
        "pk:S sk:N",
        Lsi("all", "pk:S n:N"),
        Lsi("keys", "pk:S colour:S", "KEYS_ONLY"),
        Lsi("some", "pk:S n:N", "INCLUDE", ("colour",)),
        Lsi("same", "pk:S sk:N"),
        Lsi("binary", "pk:S raw:B", "KEYS_ONLY"),
    )


def query(
    dynamodb: DynamoDBClient, table: str, pk: str, index: str = "all", **changes: Any
) -> Item:
    parameters: dict[str, Any] = {
        "TableName": table,
        "IndexName": index,
        "KeyConditionExpression": "pk = :pk",
        "ExpressionAttributeValues": {":pk": {"S": pk}} | changes.pop("values", {}),
        "ConsistentRead": True,
    }
    request = parameters | changes
    return dict(
        dynamodb.query(**{name: request[name] for name in request if request[name] is not None})
    )


def an_item(pk: str, number: int, **attributes: Item) -> Item:
    key: Item = {"pk": {"S": pk}, "sk": {"N": str(number)}}
    return key | {"n": {"N": str(-number)}, "colour": {"S": f"c{number}"}} | attributes


def put(dynamodb: DynamoDBClient, table: str, *items: Item) -> None:
    for item in items:
        dynamodb.put_item(TableName=table, Item=item)


def sorts(answer: Item) -> list[int]:
    return [int(item["sk"]["N"]) for item in answer["Items"]]


def test_local_index_shows_items_in_its_own_order(
    dynamodb: DynamoDBClient, indexed: str, pk: str
) -> None:
    items = [an_item(pk, number) for number in range(4)]
    put(dynamodb, indexed, *items)
    put(dynamodb, indexed, an_item(f"{pk}-other", 1))

    assert query(dynamodb, indexed, pk)["Items"] == items[::-1]
    assert query(dynamodb, indexed, pk, ScanIndexForward=False)["Items"] == items


@pytest.mark.parametrize(
    ("condition", "found"),
    [
        ("n = :a", [1]),
        ("n < :a", [3, 2]),
        ("n <= :a", [3, 2, 1]),
        ("n > :a", [0]),
        ("n >= :a", [1, 0]),
        ("n BETWEEN :b AND :a", [2, 1]),
    ],
)
def test_key_condition_is_on_the_indexs_own_sort_key(
    dynamodb: DynamoDBClient, indexed: str, pk: str, condition: str, found: list[int]
) -> None:
    put(dynamodb, indexed, *(an_item(pk, number) for number in range(4)))
    bounds = {":a": {"N": "-1"}} | ({":b": {"N": "-2"}} if ":b" in condition else {})

    condition = f"pk = :pk AND {condition}"
    answer = query(dynamodb, indexed, pk, KeyConditionExpression=condition, values=bounds)

    assert sorts(answer) == found


def test_sort_keys_of_bytes_are_in_their_order(
    dynamodb: DynamoDBClient, indexed: str, pk: str
) -> None:
    raws = [b"\x00", b"\x00\x00", b"\x00\xff", b"\x01", b"\xff"]
    for number, raw in enumerate(raws):
        put(dynamodb, indexed, an_item(pk, -number, raw={"B": raw}))

    answer = query(dynamodb, indexed, pk, "binary")

    assert sorts(answer) == [0, -1, -2, -3, -4]


def test_item_without_the_sort_key_is_not_in_the_index(
    dynamodb: DynamoDBClient, indexed: str, pk: str
) -> None:
    partial = an_item(pk, 1)
    del partial["n"]
    put(dynamodb, indexed, partial, an_item(pk, 2))

    assert sorts(query(dynamodb, indexed, pk)) == [2]
    assert sorts(query(dynamodb, indexed, pk, "keys")) == [1, 2]


def test_every_write_shows_at_once(dynamodb: DynamoDBClient, indexed: str, pk: str) -> None:
    item = an_item(pk, 1)
    key = {"pk": item["pk"], "sk": item["sk"]}
    put(dynamodb, indexed, item)
    assert query(dynamodb, indexed, pk)["Items"] == [item]

    answer = dynamodb.update_item(
        TableName=indexed,
        Key=key,
        UpdateExpression="SET n = n + :one, note = :note",
        ExpressionAttributeValues={":one": {"N": "1"}, ":note": {"S": "new"}},
        ReturnValues="ALL_NEW",
    )
    assert query(dynamodb, indexed, pk)["Items"] == [answer["Attributes"]]
    assert query(dynamodb, indexed, pk)["Items"][0]["n"] == {"N": "0"}

    dynamodb.update_item(TableName=indexed, Key=key, UpdateExpression="REMOVE n")
    assert query(dynamodb, indexed, pk)["Items"] == []
    assert sorts(query(dynamodb, indexed, pk, "keys")) == [1]

    dynamodb.delete_item(TableName=indexed, Key=key)
    assert query(dynamodb, indexed, pk, "keys")["Items"] == []


def test_batch_shows_at_once(dynamodb: DynamoDBClient, indexed: str, pk: str) -> None:
    put(dynamodb, indexed, an_item(pk, 9))
    puts = [{"PutRequest": {"Item": an_item(pk, number)}} for number in range(5)]
    delete = {"DeleteRequest": {"Key": {"pk": {"S": pk}, "sk": {"N": "9"}}}}

    dynamodb.batch_write_item(RequestItems={indexed: [*puts, delete]})  # type: ignore[list-item]

    assert sorts(query(dynamodb, indexed, pk)) == [4, 3, 2, 1, 0]


@pytest.mark.parametrize("limit", [1, 2, 5])
@pytest.mark.parametrize("forward", [True, False], ids=["forward", "backward"])
@pytest.mark.parametrize("more", [{}, {"Select": "ALL_ATTRIBUTES"}], ids=["index", "fetched"])
def test_equal_sort_keys_are_paged_in_the_order_of_the_tables(
    dynamodb: DynamoDBClient, indexed: str, pk: str, limit: int, forward: bool, more: Item
) -> None:
    put(dynamodb, indexed, *(an_item(pk, n, colour={"S": "red"}) for n in (3, 1, 5, 0, 4, 2)))

    seen: list[int] = []
    start: Item = more | {"ScanIndexForward": forward, "Limit": limit}
    while True:
        answer = query(dynamodb, indexed, pk, "keys", **start)
        seen += sorts(answer)
        if "LastEvaluatedKey" not in answer:
            break
        assert answer["LastEvaluatedKey"] == {
            "pk": {"S": pk},
            "sk": {"N": str(seen[-1])},
            "colour": {"S": "red"},
        }
        start["ExclusiveStartKey"] = answer["LastEvaluatedKey"]

    assert seen == (list(range(6)) if forward else list(range(6))[::-1])


def test_index_with_the_tables_own_key_is_read_like_the_table(
    dynamodb: DynamoDBClient, indexed: str, pk: str
) -> None:
    items = [an_item(pk, number) for number in range(3)]
    put(dynamodb, indexed, *items)

    page = query(dynamodb, indexed, pk, "same", Limit=2)
    rest = query(dynamodb, indexed, pk, "same", ExclusiveStartKey=page["LastEvaluatedKey"])

    assert page["Items"] + rest["Items"] == items
    assert page["LastEvaluatedKey"] == {"pk": {"S": pk}, "sk": {"N": "1"}}


@pytest.mark.parametrize("more", [{}, {"Select": "ALL_PROJECTED_ATTRIBUTES"}])
def test_projected_attributes_are_shown_unless_others_are_asked_for(
    dynamodb: DynamoDBClient, indexed: str, pk: str, more: Item
) -> None:
    item = an_item(pk, 1, note={"S": "x"})
    put(dynamodb, indexed, item)

    def shown(index: str) -> set[str]:
        (found,) = query(dynamodb, indexed, pk, index, **more)["Items"]
        return set(found)

    assert shown("all") == set(item)
    assert shown("keys") == {"pk", "sk", "colour"}
    assert shown("some") == {"pk", "sk", "n", "colour"}


@pytest.mark.parametrize("consistent", [True, False])
def test_what_is_not_projected_is_fetched_from_the_table(
    dynamodb: DynamoDBClient, indexed: str, pk: str, consistent: bool
) -> None:
    items = [
        an_item(pk, n, note={"S": f"note {n}"}, deep={"M": {"a": {"N": str(n)}}}) for n in range(40)
    ]
    put(dynamodb, indexed, *items)

    def read(**changes: Any) -> list[Item]:
        answer = query(dynamodb, indexed, pk, "some", ConsistentRead=consistent, **changes)
        return list(answer["Items"])

    assert read(Select="ALL_ATTRIBUTES") == items[::-1]
    assert read(ProjectionExpression="note, deep.a, absent") == [
        {"note": item["note"], "deep": item["deep"]} for item in items[::-1]
    ]
    assert read(ProjectionExpression="colour") == [{"colour": i["colour"]} for i in items[::-1]]
    assert read(AttributesToGet=["note"], **older(pk)) == [{"note": i["note"]} for i in items[::-1]]


def older(pk: str) -> Item:
    """What to say instead of the expressions."""
    return {
        "KeyConditionExpression": None,
        "ExpressionAttributeValues": None,
        "KeyConditions": {"pk": {"ComparisonOperator": "EQ", "AttributeValueList": [{"S": pk}]}},
    }


def test_older_parameters_work_on_a_local_index(
    dynamodb: DynamoDBClient, indexed: str, pk: str
) -> None:
    put(dynamodb, indexed, *(an_item(pk, number) for number in range(6)))
    conditions = older(pk)
    conditions["KeyConditions"]["n"] = {
        "ComparisonOperator": "BETWEEN",
        "AttributeValueList": [{"N": "-4"}, {"N": "-1"}],
    }
    filter = {"colour": {"ComparisonOperator": "NE", "AttributeValueList": [{"S": "c3"}]}}

    answer = query(dynamodb, indexed, pk, QueryFilter=filter, **conditions)

    assert sorts(answer) == [4, 2, 1]
    assert (answer["Count"], answer["ScannedCount"]) == (3, 4)


@pytest.mark.parametrize("index", ["all", "some"])
def test_filter_leaves_out_what_was_counted(
    dynamodb: DynamoDBClient, indexed: str, pk: str, index: str
) -> None:
    put(dynamodb, indexed, *(an_item(pk, number, note={"S": "x"}) for number in range(4)))

    filtered: Item = {"FilterExpression": "colour > :c", "values": {":c": {"S": "c1"}}}
    whole = query(dynamodb, indexed, pk, index, Select="ALL_ATTRIBUTES", **filtered.copy())
    counted = query(dynamodb, indexed, pk, index, Select="COUNT", **filtered.copy())

    assert sorts(whole) == [3, 2]
    assert whole["Items"][0]["note"] == {"S": "x"}
    assert (whole["Count"], whole["ScannedCount"]) == (2, 4)
    assert "Items" not in counted
    assert (counted["Count"], counted["ScannedCount"]) == (2, 4)


@pytest.mark.parametrize("select", [{}, {"Select": "ALL_ATTRIBUTES"}], ids=["index", "fetched"])
def test_pages_of_a_megabyte(dynamodb: DynamoDBClient, indexed: str, pk: str, select: Item) -> None:
    note = {"S": "x" * 300_000}
    items = [an_item(pk, number, note=note) for number in range(5)]
    put(dynamodb, indexed, *items)

    index = "all" if not select else "keys"
    first = query(dynamodb, indexed, pk, index, **select)
    rest = query(
        dynamodb, indexed, pk, index, ExclusiveStartKey=first["LastEvaluatedKey"], **select
    )

    assert first["Count"] == 4
    assert sorted(sorts(first) + sorts(rest)) == [0, 1, 2, 3, 4]
    assert "LastEvaluatedKey" not in rest


def test_scan_shows_all_of_the_index(dynamodb: DynamoDBClient, tables: TableFactory) -> None:
    table = tables.create("pk:S sk:N", Lsi("keys", "pk:S colour:S", "KEYS_ONLY"))
    items = [an_item(f"p{n % 7}", n, note={"S": "x"}) for n in range(40)]
    sparse = an_item("p1", 99)
    del sparse["colour"]
    put(dynamodb, table, *items, sparse)

    def scan(**changes: Any) -> list[Item]:
        found: list[Item] = []
        request: Item = {"TableName": table, "IndexName": "keys", "ConsistentRead": True}
        request |= changes
        while True:
            page = dynamodb.scan(**request)
            found += page["Items"]
            if "LastEvaluatedKey" not in page:
                return found
            assert set(page["LastEvaluatedKey"]) == {"pk", "sk", "colour"}
            request["ExclusiveStartKey"] = page["LastEvaluatedKey"]

    def in_order(found: list[Item]) -> list[Item]:
        return sorted(found, key=lambda item: int(item["sk"]["N"]))

    keys = [{name: item[name] for name in ("pk", "sk", "colour")} for item in items]
    whole = scan()
    assert in_order(whole) == keys
    assert scan(Limit=3) == whole
    assert in_order(scan(Select="ALL_ATTRIBUTES", Limit=7)) == items
    assert scan(ProjectionExpression="note") == [{"note": {"S": "x"}}] * len(items)
    segments = [scan(Segment=number, TotalSegments=3) for number in range(3)]
    assert [item for segment in segments for item in segment] == whole


def test_filter_of_a_scan_finds_missing_what_is_not_projected(
    dynamodb: DynamoDBClient, tables: TableFactory
) -> None:
    table = tables.create("pk:S sk:N", Lsi("all", "pk:S n:N"), Lsi("keys", "pk:S n:N", "KEYS_ONLY"))
    put(dynamodb, table, an_item("p", 1, note={"S": "x"}))
    request: Item = {
        "TableName": table,
        "FilterExpression": "note = :x",
        "ExpressionAttributeValues": {":x": {"S": "x"}},
    }

    assert dynamodb.scan(IndexName="keys", **request)["Count"] == 0
    assert dynamodb.scan(IndexName="all", ConsistentRead=True, **request)["Count"] == 1
