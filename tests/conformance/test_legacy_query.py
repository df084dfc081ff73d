"""KeyConditions, QueryFilter, ConditionalOperator and AttributesToGet of Query."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from tests.conformance.tables import Gsi, Item, TableFactory, eventually

if TYPE_CHECKING:
    from types_boto3_dynamodb import DynamoDBClient


def operator(name: str, *values: Item) -> Item:
    return {"ComparisonOperator": name, "AttributeValueList": list(values)}


@pytest.fixture(scope="module")
def songs(dynamodb: DynamoDBClient, tables: TableFactory) -> str:
    """A table whose partition `p` has the sort keys 1 to 6."""
    table = tables.create("pk:S sk:N", Gsi("by-tag", "tag:S sk:N", "INCLUDE", ("title",)))
    for number in range(1, 7):
        item = {
            "pk": {"S": "p"},
            "sk": {"N": str(number)},
            "tag": {"S": "even" if number % 2 == 0 else "odd"},
            "title": {"S": "abcdef"[number - 1] * 2},
        }
        dynamodb.put_item(TableName=table, Item=item)
    return table


def query(dynamodb: DynamoDBClient, table: str, sort: Item | None = None, **changes: Any) -> Item:
    conditions = {"pk": operator("EQ", {"S": "p"})}
    if sort is not None:
        conditions["sk"] = sort
    parameters: Item = {"TableName": table, "KeyConditions": conditions} | changes
    return dict(dynamodb.query(**parameters))


def numbers(answer: Item) -> list[int]:
    return [int(item["sk"]["N"]) for item in answer["Items"]]


@pytest.mark.parametrize(
    ("sort", "expected"),
    [
        (None, [1, 2, 3, 4, 5, 6]),
        (operator("EQ", {"N": "3.0"}), [3]),
        (operator("LT", {"N": "3"}), [1, 2]),
        (operator("LE", {"N": "3"}), [1, 2, 3]),
        (operator("GT", {"N": "3"}), [4, 5, 6]),
        (operator("GE", {"N": "3"}), [3, 4, 5, 6]),
        (operator("BETWEEN", {"N": "2"}, {"N": "4"}), [2, 3, 4]),
    ],
)
def test_key_conditions_name_a_range_of_sort_keys(
    dynamodb: DynamoDBClient, songs: str, sort: Item | None, expected: list[int]
) -> None:
    assert numbers(query(dynamodb, songs, sort)) == expected
    assert numbers(query(dynamodb, songs, sort, ScanIndexForward=False)) == expected[::-1]


def test_begins_with_names_the_keys_with_a_prefix(
    dynamodb: DynamoDBClient, tables: TableFactory
) -> None:
    table = tables.create("pk:S sk:S")
    for name in ("ab", "abc", "b"):
        dynamodb.put_item(TableName=table, Item={"pk": {"S": "p"}, "sk": {"S": name}})

    answer = query(dynamodb, table, operator("BEGINS_WITH", {"S": "ab"}))

    assert [item["sk"]["S"] for item in answer["Items"]] == ["ab", "abc"]


def test_pages_go_on_from_their_last_key(dynamodb: DynamoDBClient, songs: str) -> None:
    sort = operator("GT", {"N": "1"})
    first = query(dynamodb, songs, sort, Limit=2)

    second = query(dynamodb, songs, sort, ExclusiveStartKey=first["LastEvaluatedKey"])

    assert numbers(first) + numbers(second) == [2, 3, 4, 5, 6]


@pytest.mark.parametrize(
    ("filter", "conditional_operator", "expected"),
    [
        ({"tag": operator("EQ", {"S": "even"})}, None, [2, 4, 6]),
        ({"tag": operator("NE", {"S": "even"})}, None, [1, 3, 5]),
        ({"title": operator("CONTAINS", {"S": "c"})}, None, [3]),
        ({"title": operator("IN", {"S": "aa"}, {"S": "ff"})}, None, [1, 6]),
        ({"none": operator("NULL")}, None, [1, 2, 3, 4, 5, 6]),
        (
            {"tag": operator("EQ", {"S": "odd"}), "title": operator("GT", {"S": "b"})},
            None,
            [3, 5],
        ),
        (
            {"tag": operator("EQ", {"S": "odd"}), "title": operator("EQ", {"S": "bb"})},
            "OR",
            [1, 2, 3, 5],
        ),
        ({}, None, [1, 2, 3, 4, 5, 6]),
    ],
)
def test_query_filter_keeps_the_rows_that_pass(
    dynamodb: DynamoDBClient,
    songs: str,
    filter: Item,
    conditional_operator: str | None,
    expected: list[int],
) -> None:
    changes: Item = {"QueryFilter": filter}
    if conditional_operator is not None:
        changes["ConditionalOperator"] = conditional_operator

    answer = query(dynamodb, songs, None, **changes)

    assert numbers(answer) == expected
    assert (answer["Count"], answer["ScannedCount"]) == (len(expected), 6)


def test_attributes_to_get_are_all_that_is_got(dynamodb: DynamoDBClient, songs: str) -> None:
    answer = query(
        dynamodb,
        songs,
        operator("LE", {"N": "2"}),
        AttributesToGet=["title", "none"],
        Select="SPECIFIC_ATTRIBUTES",
        QueryFilter={"tag": operator("EQ", {"S": "odd"})},
    )

    assert answer["Items"] == [{"title": {"S": "aa"}}]


def test_key_conditions_go_with_other_expressions_than_their_own(
    dynamodb: DynamoDBClient, songs: str
) -> None:
    answer = query(
        dynamodb,
        songs,
        operator("LT", {"N": "4"}),
        FilterExpression="tag = :t",
        ProjectionExpression="sk",
        ExpressionAttributeValues={":t": {"S": "odd"}},
    )

    assert answer["Items"] == [{"sk": {"N": "1"}}, {"sk": {"N": "3"}}]


def test_index_is_queried_by_its_own_key(dynamodb: DynamoDBClient, songs: str) -> None:
    conditions = {"tag": operator("EQ", {"S": "even"}), "sk": operator("GT", {"N": "2"})}

    def read() -> list[int]:
        return numbers(query(dynamodb, songs, IndexName="by-tag", KeyConditions=conditions))

    eventually(read, [4, 6])
