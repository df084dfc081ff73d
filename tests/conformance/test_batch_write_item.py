"""BatchWriteItem: many puts and deletes at once, checked as a whole and done one by one."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import pytest

from tests.conformance.tables import (
    Gsi,
    Item,
    TableFactory,
    eventually,
    invalid,
    refusal,
    unique_name,
)

if TYPE_CHECKING:
    from types_boto3_dynamodb import DynamoDBClient

DUPLICATES = "Provided list of item keys contains duplicates"
NO_MATCH = "The provided key element does not match the schema"
SEVERAL = (
    "Supplied AttributeValue has more than one datatypes set, "
    "must contain exactly one of the supported datatypes"
)


def put(**item: Item) -> Any:
    return {"PutRequest": {"Item": item}}


def delete(**key: Item) -> Any:
    return {"DeleteRequest": {"Key": key}}


def text(value: str) -> Item:
    return {"S": value}


def write(dynamodb: DynamoDBClient, table: str, *requests: Any, **parameters: Any) -> Item:
    return dict(dynamodb.batch_write_item(RequestItems={table: requests}, **parameters))


def get(dynamodb: DynamoDBClient, table: str, **key: Item) -> Item | None:
    return dynamodb.get_item(TableName=table, Key=key, ConsistentRead=True).get("Item")


def test_puts_and_deletes_go_together(
    dynamodb: DynamoDBClient, table: str, composite: str, pk: str
) -> None:
    dynamodb.put_item(TableName=table, Item={"pk": text(f"{pk}-old")})

    answer = dynamodb.batch_write_item(
        RequestItems={
            table: [
                put(pk=text(pk), n={"N": "1.0"}),
                delete(pk=text(f"{pk}-old")),
                delete(pk=text(f"{pk}-never")),
            ],
            composite: [put(pk=text(pk), sk={"N": str(number)}) for number in range(3)],
        }
    )

    assert answer["UnprocessedItems"] == {}
    assert "ConsumedCapacity" not in answer
    assert "ItemCollectionMetrics" not in answer
    assert get(dynamodb, table, pk=text(pk)) == {"pk": text(pk), "n": {"N": "1"}}
    assert get(dynamodb, table, pk=text(f"{pk}-old")) is None
    for number in range(3):
        assert get(dynamodb, composite, pk=text(pk), sk={"N": str(number)}) is not None


def test_put_replaces_the_whole_item(dynamodb: DynamoDBClient, table: str, pk: str) -> None:
    dynamodb.put_item(TableName=table, Item={"pk": text(pk), "old": text("x")})

    write(dynamodb, table, put(pk=text(pk), new=text("y")))

    assert get(dynamodb, table, pk=text(pk)) == {"pk": text(pk), "new": text("y")}


def test_twenty_five_large_items(dynamodb: DynamoDBClient, table: str, pk: str) -> None:
    padding = text("x" * 300_000)

    answer = write(
        dynamodb, table, *(put(pk=text(f"{pk}-{n}"), padding=padding) for n in range(25))
    )

    assert answer["UnprocessedItems"] == {}
    assert get(dynamodb, table, pk=text(f"{pk}-24")) == {
        "pk": text(f"{pk}-24"),
        "padding": padding,
    }


def test_indexes_follow(dynamodb: DynamoDBClient, tables: TableFactory) -> None:
    table = tables.create("pk:S", Gsi("by-group", "group:S"))
    requests = [put(pk=text(str(n)), group=text("g")) for n in range(10)]

    write(dynamodb, table, *requests)

    eventually(lambda: dynamodb.scan(TableName=table, IndexName="by-group")["Count"], 10)


def test_capacity_is_told_of_each_table(
    dynamodb: DynamoDBClient, table: str, composite: str, pk: str
) -> None:
    requests: Any = {
        table: [put(pk=text(pk), a=text("x" * 1500)), put(pk=text(f"{pk}-2"))],
        composite: [delete(pk=text(pk), sk={"N": "1"})],
    }

    total = dynamodb.batch_write_item(RequestItems=requests, ReturnConsumedCapacity="TOTAL")
    indexes = dynamodb.batch_write_item(RequestItems=requests, ReturnConsumedCapacity="INDEXES")

    assert sorted(total["ConsumedCapacity"], key=str) == sorted(
        [
            {"TableName": table, "CapacityUnits": 3.0},
            {"TableName": composite, "CapacityUnits": 1.0},
        ],
        key=str,
    )
    assert {
        "TableName": table,
        "CapacityUnits": 3.0,
        "Table": {"CapacityUnits": 3.0},
    } in indexes["ConsumedCapacity"]


def test_delete_is_charged_for_what_it_removes(
    dynamodb: DynamoDBClient, table: str, pk: str
) -> None:
    write(dynamodb, table, put(pk=text(pk), a=text("x" * 3000)))

    answer = write(dynamodb, table, delete(pk=text(pk)), ReturnConsumedCapacity="TOTAL")

    assert answer["ConsumedCapacity"] == [{"TableName": table, "CapacityUnits": 3.0}]


def test_table_without_local_indexes_has_no_item_collections(
    dynamodb: DynamoDBClient, table: str, pk: str
) -> None:
    answer = write(dynamodb, table, put(pk=text(pk)), ReturnItemCollectionMetrics="SIZE")

    assert answer.get("ItemCollectionMetrics", {}) == {}


def test_table_may_be_named_by_its_arn(dynamodb: DynamoDBClient, table: str, pk: str) -> None:
    arn = dynamodb.describe_table(TableName=table)["Table"]["TableArn"]

    answer = write(dynamodb, arn, put(pk=text(pk)), ReturnConsumedCapacity="TOTAL")

    assert answer["ConsumedCapacity"] == [{"TableName": arn, "CapacityUnits": 1.0}]
    assert get(dynamodb, table, pk=text(pk)) == {"pk": text(pk)}


def test_empty_request(dynamodb: DynamoDBClient) -> None:
    message = invalid(dynamodb.batch_write_item, RequestItems={})

    assert message == "The requestItems parameter is required for BatchWriteItem"


@pytest.mark.parametrize("count", [0, 26])
def test_twenty_five_is_the_most_for_a_table(dynamodb: DynamoDBClient, count: int) -> None:
    name = unique_name("missing")
    requests = [put(pk=text(str(n))) for n in range(count)]

    message = invalid(dynamodb.batch_write_item, RequestItems={name: requests})

    assert re.fullmatch(
        rf"1 validation error detected: Value '\{{{name}=\[.*\]\}}' at 'requestItems' "
        "failed to satisfy constraint: Map value must satisfy constraint: "
        r"\[Member must have length less than or equal to 25, "
        r"Member must have length greater than or equal to 1\]",
        message,
    )


def test_twenty_five_is_the_most_for_all_tables(dynamodb: DynamoDBClient) -> None:
    requests = {unique_name("missing"): [put(pk=text(str(n))) for n in range(13)] for _ in range(2)}

    message = invalid(dynamodb.batch_write_item, RequestItems=requests)

    assert message == "Too many items requested for the BatchWriteItem call"


@pytest.mark.parametrize(
    ("request_", "message"),
    [
        ({}, SEVERAL),
        ({**put(pk=text("a")), **delete(pk=text("a"))}, SEVERAL),
        (
            put(pk={}),
            "Supplied AttributeValue is empty, must contain exactly one of the supported datatypes",
        ),
        (put(pk={"S": "a", "N": "1"}), SEVERAL),
        (delete(pk={"N": "b"}), "The parameter cannot be converted to a numeric value: b"),
        (
            put(pk={"SS": []}),
            "One or more parameter values were invalid: An string set  may not be empty",
        ),
        (
            put(pk=text("a"), b=text("x" * 409_600)),
            "Item size has exceeded the maximum allowed size",
        ),
    ],
)
def test_request_is_refused_even_without_a_table(
    dynamodb: DynamoDBClient, request_: Item, message: str
) -> None:
    refused = invalid(dynamodb.batch_write_item, RequestItems={unique_name("missing"): [request_]})

    assert refused == message


def test_missing_table_comes_before_duplicates(dynamodb: DynamoDBClient) -> None:
    code, message = refusal(
        dynamodb.batch_write_item,
        RequestItems={unique_name("missing"): [put(pk=text("a")), delete(pk=text("a"))]},
    )

    assert code == "ResourceNotFoundException"
    assert message == "Requested resource not found"


@pytest.mark.parametrize(
    "requests",
    [
        [put(pk=text("a"), sk={"N": "1"}), put(pk=text("a"), sk={"N": "1"})],
        [put(pk=text("a"), sk={"N": "1"}), delete(pk=text("a"), sk={"N": "1"})],
        [delete(pk=text("a"), sk={"N": "1"}), put(pk=text("a"), sk={"N": "1"})],
        [put(pk=text("a"), sk={"N": "1e3"}), put(pk=text("a"), sk={"N": "1000.0"})],
    ],
    ids=["two puts", "put and delete", "delete and put", "two spellings of one number"],
)
def test_one_item_may_be_named_once(
    dynamodb: DynamoDBClient, composite: str, requests: list[Item]
) -> None:
    message = invalid(dynamodb.batch_write_item, RequestItems={composite: requests})

    assert message == DUPLICATES


@pytest.mark.parametrize(
    ("request_", "message"),
    [
        (put(), NO_MATCH),
        (put(pk=text("a")), NO_MATCH),
        (put(pk=text("a"), sk=text("1")), NO_MATCH),
        (put(pk={"NULL": True}, sk={"N": "1"}), NO_MATCH),
        (delete(pk=text("a")), NO_MATCH),
        (delete(pk=text("a"), sk={"N": "1"}, other=text("x")), NO_MATCH),
        (
            put(pk=text(""), sk={"N": "1"}),
            (
                "One or more parameter values are not valid. The AttributeValue for a key attribute "
                "cannot contain an empty string value. Key: pk"
            ),
        ),
        (
            put(pk=text("x" * 2049), sk={"N": "1"}),
            (
                "One or more parameter values were invalid: "
                "Size of hashkey has exceeded the maximum size limit of2048 bytes"
            ),
        ),
    ],
)
def test_key_does_not_fit_the_schema(
    dynamodb: DynamoDBClient, composite: str, request_: Item, message: str
) -> None:
    assert invalid(dynamodb.batch_write_item, RequestItems={composite: [request_]}) == message


def test_key_of_an_index_does_not_fit(dynamodb: DynamoDBClient, tables: TableFactory) -> None:
    table = tables.create("pk:S", Gsi("by-group", "group:S"))

    message = invalid(
        dynamodb.batch_write_item, RequestItems={table: [put(pk=text("a"), group={"N": "1"})]}
    )

    assert message == (
        "One or more parameter values were invalid: "
        "Type mismatch for Index Key group Expected: S Actual: N IndexName: by-group"
    )


def test_one_mistake_and_nothing_is_written(dynamodb: DynamoDBClient, table: str, pk: str) -> None:
    requests = {
        table: [put(pk=text(pk))],
        unique_name("missing"): [put(pk=text(pk))],
    }

    code, _ = refusal(dynamodb.batch_write_item, RequestItems=requests)

    assert code == "ResourceNotFoundException"
    assert get(dynamodb, table, pk=text(pk)) is None
