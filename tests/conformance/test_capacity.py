"""ConsumedCapacity of tables with indexes, and ItemCollectionMetrics: what a request used, and where."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from tests.conformance.raw import Signer, Wire
from tests.conformance.tables import Gsi, Item, Lsi, TableFactory

if TYPE_CHECKING:
    from types_boto3_dynamodb import DynamoDBClient

# About a unit and a half of a write, and so two.
LONG = {"S": "x" * 1500}
ONE = {"CapacityUnits": 1.0}
TWO = {"CapacityUnits": 2.0}


@pytest.fixture(scope="session")
def indexed(tables: TableFactory) -> str:
    return tables.create(
        "pk:S sk:N",
        Lsi("all", "pk:S n:N"),
        Lsi("keys", "pk:S n:N", "KEYS_ONLY"),
        Gsi("global", "group:S", "INCLUDE", ("note",)),
    )


def an_item(pk: str, sort: int = 1, **attributes: Item) -> Item:
    return {"pk": {"S": pk}, "sk": {"N": str(sort)}} | attributes


def in_all(pk: str, sort: int = 1, **attributes: Item) -> Item:
    return an_item(pk, sort, n={"N": "1"}, group={"S": pk}) | attributes


def put(dynamodb: DynamoDBClient, table: str, item: Item, detail: str = "INDEXES") -> Item:
    answer = dynamodb.put_item(TableName=table, Item=item, ReturnConsumedCapacity=detail)  # type: ignore[arg-type]
    return dict(answer["ConsumedCapacity"])


def used(table: str, total: float, **members: Any) -> Item:
    return {"TableName": table, "CapacityUnits": total} | members


def test_new_item_is_charged_in_each_index_that_keeps_it(
    dynamodb: DynamoDBClient, indexed: str, pk: str
) -> None:
    first = put(dynamodb, indexed, in_all(pk, note=LONG))
    total = put(dynamodb, indexed, in_all(pk, 2, note=LONG), "TOTAL")
    sparse = put(dynamodb, indexed, an_item(pk, 3))

    assert first == used(
        indexed,
        7.0,
        Table=TWO,
        LocalSecondaryIndexes={"all": TWO, "keys": ONE},
        GlobalSecondaryIndexes={"global": TWO},
    )
    assert total == used(indexed, 7.0)
    assert sparse == used(indexed, 1.0, Table=ONE)


def test_index_that_keeps_what_it_had_is_not_charged(
    dynamodb: DynamoDBClient, indexed: str, pk: str
) -> None:
    item = in_all(pk, note={"S": "x"})
    put(dynamodb, indexed, item)

    assert put(dynamodb, indexed, item) == used(indexed, 1.0, Table=ONE)
    assert put(dynamodb, indexed, item | {"other": LONG}) == used(
        indexed, 4.0, Table=TWO, LocalSecondaryIndexes={"all": TWO}
    )
    assert put(dynamodb, indexed, item) == used(
        indexed, 4.0, Table=TWO, LocalSecondaryIndexes={"all": TWO}
    )


def test_key_that_moves_is_two_writes(dynamodb: DynamoDBClient, indexed: str, pk: str) -> None:
    put(dynamodb, indexed, in_all(pk, note=LONG))

    answer = dynamodb.update_item(
        TableName=indexed,
        Key=an_item(pk),
        UpdateExpression="SET n = n + :one REMOVE note",
        ExpressionAttributeValues={":one": {"N": "1"}},
        ReturnConsumedCapacity="INDEXES",
    )

    assert answer["ConsumedCapacity"] == used(
        indexed,
        9.0,
        Table=TWO,
        LocalSecondaryIndexes={"all": {"CapacityUnits": 3.0}, "keys": TWO},
        GlobalSecondaryIndexes={"global": TWO},
    )


def test_delete_is_charged_where_the_item_was(
    dynamodb: DynamoDBClient, indexed: str, pk: str
) -> None:
    put(dynamodb, indexed, an_item(pk, n={"N": "1"}))

    def delete() -> Item:
        answer = dynamodb.delete_item(
            TableName=indexed, Key=an_item(pk), ReturnConsumedCapacity="INDEXES"
        )
        return dict(answer["ConsumedCapacity"])

    assert delete() == used(
        indexed, 3.0, Table=ONE, LocalSecondaryIndexes={"all": ONE, "keys": ONE}
    )
    assert delete() == used(indexed, 1.0, Table=ONE)


def test_batch_is_charged_in_the_indexes_too(
    dynamodb: DynamoDBClient, indexed: str, composite: str, pk: str
) -> None:
    put(dynamodb, indexed, in_all(pk, 9))
    requests: Any = {
        indexed: [
            {"PutRequest": {"Item": in_all(pk, 1, note=LONG)}},
            {"PutRequest": {"Item": an_item(pk, 2)}},
            {"DeleteRequest": {"Key": an_item(pk, 9)}},
        ],
        composite: [{"PutRequest": {"Item": an_item(pk)}}],
    }

    answer = dynamodb.batch_write_item(RequestItems=requests, ReturnConsumedCapacity="INDEXES")

    assert sorted(answer["ConsumedCapacity"], key=lambda told: told["CapacityUnits"]) == [
        used(composite, 1.0, Table=ONE),
        used(
            indexed,
            12.0,
            Table={"CapacityUnits": 4.0},
            LocalSecondaryIndexes={"all": {"CapacityUnits": 3.0}, "keys": TWO},
            GlobalSecondaryIndexes={"global": {"CapacityUnits": 3.0}},
        ),
    ]


@pytest.mark.parametrize(("consistent", "unit"), [(True, 1.0), (False, 0.5)])
def test_query_of_a_local_index_is_charged_for_its_rows_and_each_fetch(
    dynamodb: DynamoDBClient, indexed: str, pk: str, consistent: bool, unit: float
) -> None:
    # The index has three short rows; one of the items is over four kilobytes.
    for sort in range(3):
        put(dynamodb, indexed, in_all(pk, sort, note={"S": "x" * (5000 if sort == 1 else 10)}))

    def query(**changes: Any) -> Item:
        answer = dynamodb.query(
            TableName=indexed,
            IndexName="keys",
            KeyConditionExpression="pk = :pk",
            ExpressionAttributeValues={":pk": {"S": pk}},
            ConsistentRead=consistent,
            **changes,
        )
        return dict(answer["ConsumedCapacity"])

    rows = {"keys": {"CapacityUnits": unit}}
    assert query(ReturnConsumedCapacity="INDEXES") == used(
        indexed, unit, Table={"CapacityUnits": 0.0}, LocalSecondaryIndexes=rows
    )
    fetching: Item = {"Select": "ALL_ATTRIBUTES"}
    assert query(ReturnConsumedCapacity="INDEXES", **fetching) == used(
        indexed, 5 * unit, Table={"CapacityUnits": 4 * unit}, LocalSecondaryIndexes=rows
    )
    assert query(ReturnConsumedCapacity="TOTAL", **fetching) == used(indexed, 5 * unit)


def test_item_collections_are_told_of_tables_with_local_indexes(
    dynamodb: DynamoDBClient, indexed: str, pk: str
) -> None:
    key = an_item(pk)
    asked: Any = {"TableName": indexed, "ReturnItemCollectionMetrics": "SIZE"}
    expected = {"ItemCollectionKey": {"pk": {"S": pk}}, "SizeEstimateRangeGB": [0.0, 1.0]}

    answers: list[Any] = [
        dynamodb.put_item(Item=in_all(pk), **asked),
        dynamodb.update_item(Key=key, **asked),
        dynamodb.delete_item(Key=key, **asked),
    ]

    assert [answer["ItemCollectionMetrics"] for answer in answers] == [expected] * 3


def test_item_collections_are_told_only_if_asked_for(
    dynamodb: DynamoDBClient, indexed: str, composite: str, pk: str
) -> None:
    unasked = dynamodb.put_item(TableName=indexed, Item=an_item(pk))
    refused = dynamodb.put_item(
        TableName=indexed, Item=an_item(pk), ReturnItemCollectionMetrics="NONE"
    )
    without = dynamodb.put_item(
        TableName=composite, Item=an_item(pk), ReturnItemCollectionMetrics="SIZE"
    )

    for answer in (unasked, refused, without):
        assert "ItemCollectionMetrics" not in answer


def test_batch_tells_its_item_collections_by_table(
    dynamodb: DynamoDBClient, indexed: str, composite: str, pk: str
) -> None:
    requests: Any = {
        indexed: [
            {"PutRequest": {"Item": an_item(pk, 1)}},
            {"PutRequest": {"Item": an_item(pk, 2)}},
            {"DeleteRequest": {"Key": an_item(f"{pk}-2")}},
        ],
        composite: [{"PutRequest": {"Item": an_item(pk)}}],
    }

    answer = dynamodb.batch_write_item(RequestItems=requests, ReturnItemCollectionMetrics="SIZE")

    assert answer["ItemCollectionMetrics"] == {
        indexed: [
            {"ItemCollectionKey": {"pk": {"S": key}}, "SizeEstimateRangeGB": [0.0, 1.0]}
            for key in (pk, f"{pk}-2")
        ]
    }


def test_numbers_are_written_with_a_fraction(
    endpoint: str, dynamodb: DynamoDBClient, indexed: str, pk: str
) -> None:
    request = {
        "TableName": indexed,
        "Item": an_item(pk, n={"N": "1"}),
        "ReturnConsumedCapacity": "INDEXES",
        "ReturnItemCollectionMetrics": "SIZE",
    }
    body = json.dumps(request).encode()
    with Wire(endpoint) as wire:
        headers = Signer(endpoint, dynamodb.meta.region_name).sign("PutItem", body)
        answer = wire.ask("POST", body, **headers)

    assert answer.status == 200, answer.body
    told = answer.body.replace(b" ", b"")
    assert b'"CapacityUnits":3.0' in told
    assert b'"SizeEstimateRangeGB":[0.0,1.0]' in told
