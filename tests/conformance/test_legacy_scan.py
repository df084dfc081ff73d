"""ScanFilter, ConditionalOperator and AttributesToGet of Scan; AttributesToGet of BatchGetItem."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from tests.conformance.tables import Item, TableFactory, invalid

if TYPE_CHECKING:
    from types_boto3_dynamodb import DynamoDBClient

INVALID = "One or more parameter values were invalid: "


def operator(name: str, *values: Item) -> Item:
    return {"ComparisonOperator": name, "AttributeValueList": list(values)}


@pytest.fixture(scope="module")
def songs(dynamodb: DynamoDBClient, tables: TableFactory) -> str:
    table = tables.create("pk:S")
    for number in range(1, 7):
        item: Item = {"pk": {"S": f"p{number}"}, "n": {"N": str(number)}}
        if number % 2:
            item["tag"] = {"S": "odd"}
        dynamodb.put_item(TableName=table, Item=item)
    return table


def numbers(dynamodb: DynamoDBClient, table: str, **parameters: Any) -> list[int]:
    items = dynamodb.scan(TableName=table, **parameters)["Items"]
    return sorted(int(item["n"]["N"]) for item in items)


def test_scan_filter_leaves_out_what_does_not_match(dynamodb: DynamoDBClient, songs: str) -> None:
    filter: Any = {"n": operator("GT", {"N": "2"})}

    answer = dynamodb.scan(TableName=songs, ScanFilter=filter)

    assert (answer["Count"], answer["ScannedCount"]) == (4, 6)


@pytest.mark.parametrize(
    ("joined_by", "found"),
    [({}, [3, 5]), ({"ConditionalOperator": "OR"}, [1, 3, 4, 5, 6])],
    ids=["and", "or"],
)
def test_conditions_of_a_scan_filter_are_joined(
    dynamodb: DynamoDBClient, songs: str, joined_by: Item, found: list[int]
) -> None:
    filter = {"n": operator("GT", {"N": "2"}), "tag": operator("NOT_NULL")}

    assert numbers(dynamodb, songs, ScanFilter=filter, **joined_by) == found


def test_attributes_to_get_of_a_scan(dynamodb: DynamoDBClient, songs: str) -> None:
    items = dynamodb.scan(TableName=songs, AttributesToGet=["n"])["Items"]

    assert sorted(item["n"]["N"] for item in items) == ["1", "2", "3", "4", "5", "6"]
    assert all(set(item) == {"n"} for item in items)


def test_scan_filter_with_too_few_arguments(dynamodb: DynamoDBClient, songs: str) -> None:
    filter = {"n": {"ComparisonOperator": "EQ"}}

    message = invalid(dynamodb.scan, TableName=songs, ScanFilter=filter)

    assert message == f"{INVALID}Invalid number of argument(s) for the EQ ComparisonOperator"


def test_attributes_to_get_of_a_batch(dynamodb: DynamoDBClient, songs: str) -> None:
    request: Any = {"Keys": [{"pk": {"S": "p1"}}], "AttributesToGet": ["tag", "missing"]}

    answer = dynamodb.batch_get_item(RequestItems={songs: request})

    assert answer["Responses"] == {songs: [{"tag": {"S": "odd"}}]}


def test_attributes_to_get_of_a_batch_named_twice(dynamodb: DynamoDBClient, songs: str) -> None:
    request: Any = {"Keys": [{"pk": {"S": "p1"}}], "AttributesToGet": ["n", "n"]}

    message = invalid(dynamodb.batch_get_item, RequestItems={songs: request})

    assert message == f"{INVALID}Duplicate value in attribute name: n"
