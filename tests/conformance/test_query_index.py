"""Query of a global secondary index. Its answers are eventually consistent, so they are polled."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from tests.conformance.tables import Gsi, Item, TableFactory, eventually, invalid

if TYPE_CHECKING:
    from types_boto3_dynamodb import DynamoDBClient

INVALID = "One or more parameter values were invalid: "


@pytest.fixture(scope="session")
def indexed(tables: TableFactory) -> str:
    return tables.create(
        "pk:S sk:N",
        Gsi("all", "group:S n:N"),
        Gsi("keys", "group:S", "KEYS_ONLY"),
        Gsi("some", "n:N", "INCLUDE", ("colour",)),
        Gsi("swapped", "sk:N pk:S"),
    )


def query(
    dynamodb: DynamoDBClient, table: str, group: str, index: str = "all", **changes: Any
) -> Item:
    parameters: dict[str, Any] = {
        "TableName": table,
        "IndexName": index,
        "KeyConditionExpression": "#g = :g",
        "ExpressionAttributeNames": {"#g": "group"},
        "ExpressionAttributeValues": {":g": {"S": group}},
    }
    return dict(dynamodb.query(**parameters | changes))


def an_item(group: str, number: int, **attributes: Item) -> Item:
    key: Item = {"pk": {"S": f"{group}/{number % 3}"}, "sk": {"N": str(number)}}
    return key | {"group": {"S": group}, "n": {"N": str(number // 2)}} | attributes


def put(dynamodb: DynamoDBClient, table: str, *items: Item) -> None:
    for item in items:
        dynamodb.put_item(TableName=table, Item=item)


def test_index_shows_items_in_its_own_order(
    dynamodb: DynamoDBClient, indexed: str, pk: str
) -> None:
    items = [an_item(pk, number, colour={"S": "red"}) for number in (0, 2, 4, 6)]
    put(dynamodb, indexed, *reversed(items))

    eventually(lambda: query(dynamodb, indexed, pk)["Items"], items)
    backwards = query(dynamodb, indexed, pk, ScanIndexForward=False)
    assert backwards["Items"] == items[::-1]


def test_item_without_the_key_is_not_in_the_index(
    dynamodb: DynamoDBClient, indexed: str, pk: str
) -> None:
    whole = an_item(pk, 0)
    partial = an_item(pk, 2)
    del partial["n"]
    put(dynamodb, indexed, partial, whole)

    eventually(lambda: query(dynamodb, indexed, pk)["Items"], [whole])
    eventually(lambda: query(dynamodb, indexed, pk, "keys")["Count"], 2)


def test_index_follows_changes(dynamodb: DynamoDBClient, indexed: str, pk: str) -> None:
    item = an_item(pk, 4)
    key = {name: item[name] for name in ("pk", "sk")}
    put(dynamodb, indexed, item)
    eventually(lambda: query(dynamodb, indexed, pk)["Items"], [item])

    moved = item | {"group": {"S": f"{pk}-moved"}}
    put(dynamodb, indexed, moved)
    eventually(lambda: query(dynamodb, indexed, pk)["Items"], [])
    eventually(lambda: query(dynamodb, indexed, f"{pk}-moved")["Items"], [moved])

    dynamodb.delete_item(TableName=indexed, Key=key)
    eventually(lambda: query(dynamodb, indexed, f"{pk}-moved")["Items"], [])


@pytest.mark.parametrize("limit", [1, 2, 5])
def test_equal_index_keys_are_paged_once_each(
    dynamodb: DynamoDBClient, indexed: str, pk: str, limit: int
) -> None:
    items = [an_item(pk, number) | {"n": {"N": "7"}} for number in range(6)]
    put(dynamodb, indexed, *items)
    eventually(lambda: query(dynamodb, indexed, pk)["Count"], 6)

    seen: list[Item] = []
    start: Item = {}
    while True:
        answer = query(dynamodb, indexed, pk, Limit=limit, **start)
        seen += answer["Items"]
        if "LastEvaluatedKey" not in answer:
            break
        assert set(answer["LastEvaluatedKey"]) == {"pk", "sk", "group", "n"}
        start = {"ExclusiveStartKey": answer["LastEvaluatedKey"]}

    assert sorted(seen, key=str) == sorted(items, key=str)


def test_keys_only_index_has_keys_only(dynamodb: DynamoDBClient, indexed: str, pk: str) -> None:
    item = an_item(pk, 4, colour={"S": "red"})
    put(dynamodb, indexed, item)

    expected = {name: item[name] for name in ("pk", "sk", "group")}
    eventually(lambda: query(dynamodb, indexed, pk, "keys")["Items"], [expected])


def test_including_index_has_what_it_names(dynamodb: DynamoDBClient, indexed: str, pk: str) -> None:
    number = str(abs(hash(pk)))
    item = an_item(pk, 1, colour={"S": "red"}, size={"N": "1"}) | {"n": {"N": number}}
    put(dynamodb, indexed, item)

    def read() -> Any:
        return dynamodb.query(
            TableName=indexed,
            IndexName="some",
            KeyConditionExpression="n = :n",
            ExpressionAttributeValues={":n": {"N": number}},
            Select="ALL_PROJECTED_ATTRIBUTES",
        )["Items"]

    eventually(read, [{name: item[name] for name in ("pk", "sk", "n", "colour")}])


def test_index_may_share_the_table_key(dynamodb: DynamoDBClient, indexed: str, pk: str) -> None:
    number = str(abs(hash(pk)))
    items: list[Item] = [{"pk": {"S": f"{pk}-{each}"}, "sk": {"N": number}} for each in "abc"]
    put(dynamodb, indexed, *items)

    def read(**changes: Any) -> Any:
        return dynamodb.query(
            TableName=indexed,
            IndexName="swapped",
            KeyConditionExpression="sk = :n",
            ExpressionAttributeValues={":n": {"N": number}},
            **changes,
        )

    eventually(lambda: read()["Items"], items)
    first = read(Limit=1)
    assert first["LastEvaluatedKey"] == items[0]
    assert read(ExclusiveStartKey=first["LastEvaluatedKey"])["Items"] == items[1:]


def test_reading_an_index_is_charged_to_it(dynamodb: DynamoDBClient, indexed: str, pk: str) -> None:
    answer = query(dynamodb, indexed, pk, ReturnConsumedCapacity="INDEXES")

    consumed = answer["ConsumedCapacity"]
    assert consumed["CapacityUnits"] == 0.5
    assert consumed["Table"] == {"CapacityUnits": 0.0}
    assert consumed["GlobalSecondaryIndexes"] == {"all": {"CapacityUnits": 0.5}}


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        (
            {"ConsistentRead": True},
            "Consistent reads are not supported on global secondary indexes",
        ),
        (
            {"index": "keys", "Select": "ALL_ATTRIBUTES"},
            (
                f"{INVALID}Select type ALL_ATTRIBUTES is not supported for global secondary index "
                "keys because its projection type is not ALL"
            ),
        ),
        (
            {"index": "keys", "ProjectionExpression": "colour"},
            f"{INVALID}Global secondary index keys does not project [colour]",
        ),
        (
            {"FilterExpression": "n = :g"},
            (
                "Filter Expression can only contain non-primary key attributes: "
                "Primary key attribute: n"
            ),
        ),
        (
            {"ExclusiveStartKey": {"group": {"S": "x"}, "n": {"N": "1"}}},
            "The provided starting key is invalid",
        ),
        (
            {
                "ExclusiveStartKey": {
                    "group": {"S": "x"},
                    "n": {"N": "1"},
                    "pk": {"S": "p"},
                    "sk": {"S": "1"},
                }
            },
            (
                "The provided starting key is invalid: "
                "The provided key element does not match the schema"
            ),
        ),
    ],
)
def test_query_is_refused(
    dynamodb: DynamoDBClient, indexed: str, changes: dict[str, Any], message: str
) -> None:
    refused = invalid(query, dynamodb=dynamodb, table=indexed, group="x", **changes)

    assert refused == message


def test_attributes_of_a_whole_index_are_all_there(
    dynamodb: DynamoDBClient, indexed: str, pk: str
) -> None:
    item = an_item(pk, 2, colour={"S": "red"})
    put(dynamodb, indexed, item)

    eventually(lambda: query(dynamodb, indexed, pk, Select="ALL_ATTRIBUTES")["Items"], [item])
