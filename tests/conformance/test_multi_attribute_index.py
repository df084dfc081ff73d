"""Global indexes whose keys are made of several attributes: up to four of each kind."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from tests.conformance.tables import (
    Item,
    TableFactory,
    a_table,
    definitions,
    eventually,
    invalid,
)

if TYPE_CHECKING:
    from types_boto3_dynamodb import DynamoDBClient

INVALID = "One or more parameter values were invalid: "
NOT_SUPPORTED = "Query key condition not supported"


def schema(hashes: str, ranges: str = "") -> list[Item]:
    """From "a b" and "c d": two partition attributes and two sort attributes."""
    return [
        {"AttributeName": name, "KeyType": kind}
        for kind, names in (("HASH", hashes), ("RANGE", ranges))
        for name in names.split()
    ]


def with_index(keys: list[Item], **changes: Any) -> Item:
    names = dict.fromkeys(["pk", *(key["AttributeName"] for key in keys)])
    types = {"n": "N"}
    attributes = " ".join(f"{name}:{types.get(name, 'S')}" for name in names)
    index: Item = {
        "IndexName": "multi",
        "KeySchema": keys,
        "Projection": {"ProjectionType": "ALL"},
    }
    return a_table(
        AttributeDefinitions=definitions(attributes),
        GlobalSecondaryIndexes=[index | changes],
    )


@pytest.fixture(scope="session")
def matches(dynamodb: DynamoDBClient, tables: TableFactory) -> str:
    """Matches by cup and year, ordered by round, group and number."""
    name = tables.create_from(with_index(schema("cup season", "stage grp n")))
    for pk, cup, season, stage, grp, number in [
        ("1", "C", "24", "final", "x", 1),
        ("2", "C", "24", "pool", "a", 10),
        ("3", "C", "24", "pool", "a", 9),
        ("4", "C", "24", "pool", "b", 1),
        ("5", "C", "25", "pool", "a", 1),
        ("6", "D", "24", "pool", "a", 1),
    ]:
        item: Item = {
            "pk": {"S": pk},
            "cup": {"S": cup},
            "season": {"S": season},
            "stage": {"S": stage},
            "grp": {"S": grp},
            "n": {"N": str(number)},
        }
        dynamodb.put_item(TableName=name, Item=item)
        if pk == "2":
            # Each lacks one part of the key, and is not in the index.
            for part in ("cup", "season", "stage", "grp", "n"):
                rest = {attribute: item[attribute] for attribute in item if attribute != part}
                dynamodb.put_item(TableName=name, Item=rest | {"pk": {"S": f"no-{part}"}})
    eventually(lambda: dynamodb.scan(TableName=name, IndexName="multi")["Count"], 6)
    return name


VALUES: Item = {
    ":c": {"S": "C"},
    ":s": {"S": "24"},
    ":p": {"S": "pool"},
    ":po": {"S": "po"},
    ":a": {"S": "a"},
    ":b": {"S": "b"},
    ":nine": {"N": "9"},
    ":ten": {"N": "10"},
}


def query(dynamodb: DynamoDBClient, table: str, condition: str, **changes: Any) -> Item:
    words = condition.replace("(", " ").replace(")", " ").replace(",", " ").split()
    return dict(
        dynamodb.query(
            TableName=table,
            IndexName="multi",
            KeyConditionExpression=condition,
            ExpressionAttributeValues={name: VALUES[name] for name in VALUES if name in words},
            **changes,
        )
    )


def keys(answer: Item) -> str:
    return "".join(item["pk"]["S"] for item in answer["Items"])


@pytest.mark.parametrize(
    ("condition", "expected"),
    [
        ("cup = :c AND season = :s", "1324"),
        ("season = :s AND cup = :c AND stage = :p", "324"),
        ("cup = :c AND season = :s AND begins_with(stage, :po)", "324"),
        ("cup = :c AND season = :s AND stage = :p AND grp >= :a", "324"),
        ("cup = :c AND season = :s AND stage = :p AND grp = :a", "32"),
        ("cup = :c AND season = :s AND stage = :p AND grp = :a AND n > :nine", "2"),
        ("cup = :c AND season = :s AND stage = :p AND grp = :a AND n = :nine", "3"),
        (
            "n BETWEEN :nine AND :ten AND grp = :a AND stage = :p AND season = :s AND cup = :c",
            "32",
        ),
    ],
)
def test_sort_attributes_are_fixed_from_left_to_right(
    dynamodb: DynamoDBClient, matches: str, condition: str, expected: str
) -> None:
    assert keys(query(dynamodb, matches, condition)) == expected
    backwards = query(dynamodb, matches, condition, ScanIndexForward=False)
    assert keys(backwards) == expected[::-1]


@pytest.mark.parametrize(
    ("condition", "message"),
    [
        ("cup = :c", "Query condition missed key schema element: season"),
        ("season = :s AND stage = :p", "Query condition missed key schema element: cup"),
        ("cup = :c AND season > :s", NOT_SUPPORTED),
        (
            "cup = :c AND season = :s AND grp = :a",
            "Query condition missed key schema element: stage",
        ),
        (
            "cup = :c AND season = :s AND stage = :p AND n = :nine",
            "Query condition missed key schema element: grp",
        ),
        ("cup = :c AND season = :s AND stage > :p AND grp = :a", NOT_SUPPORTED),
        (
            "cup = :c AND season = :s AND stage = :p AND grp = :a AND n = :a",
            f"{INVALID}Condition parameter type does not match schema type",
        ),
    ],
)
def test_gap_in_the_condition_is_refused(
    dynamodb: DynamoDBClient, matches: str, condition: str, message: str
) -> None:
    assert invalid(query, dynamodb=dynamodb, table=matches, condition=condition) == message


def test_pages_follow_one_another(dynamodb: DynamoDBClient, matches: str) -> None:
    condition = "cup = :c AND season = :s"
    seen = ""
    start: Item = {}
    for _ in range(6):
        answer = query(dynamodb, matches, condition, Limit=1, **start)
        seen += keys(answer)
        if "LastEvaluatedKey" not in answer:
            break
        assert set(answer["LastEvaluatedKey"]) == {"pk", "cup", "season", "stage", "grp", "n"}
        start = {"ExclusiveStartKey": answer["LastEvaluatedKey"]}

    assert seen == "1324"


def equal(value: Item) -> Item:
    return {"ComparisonOperator": "EQ", "AttributeValueList": [value]}


def test_older_conditions_may_be_as_many_as_the_key_has(
    dynamodb: DynamoDBClient, matches: str
) -> None:
    conditions: Any = {
        "cup": equal({"S": "C"}),
        "season": equal({"S": "24"}),
        "stage": equal({"S": "pool"}),
        "grp": equal({"S": "a"}),
        "n": {"ComparisonOperator": "GT", "AttributeValueList": [{"N": "9"}]},
    }

    answer = dynamodb.query(TableName=matches, IndexName="multi", KeyConditions=conditions)

    assert keys(dict(answer)) == "2"


def test_older_conditions_leave_no_gap_either(dynamodb: DynamoDBClient, matches: str) -> None:
    conditions: Any = {
        "cup": equal({"S": "C"}),
        "season": equal({"S": "24"}),
        "grp": equal({"S": "a"}),
    }

    message = invalid(
        dynamodb.query, TableName=matches, IndexName="multi", KeyConditions=conditions
    )

    assert message == "Query condition missed key schema element: stage"


def test_key_is_not_filtered_by(dynamodb: DynamoDBClient, matches: str) -> None:
    message = invalid(
        query,
        dynamodb=dynamodb,
        table=matches,
        condition="cup = :c AND season = :s",
        FilterExpression="grp = :s",
    )

    assert message == (
        "Filter Expression can only contain non-primary key attributes: Primary key attribute: grp"
    )


@pytest.mark.parametrize("part", ["cup", "grp", "n"])
def test_every_part_is_checked_on_every_write(
    dynamodb: DynamoDBClient, matches: str, part: str
) -> None:
    message = invalid(
        dynamodb.put_item, TableName=matches, Item={"pk": {"S": "a"}, part: {"BOOL": True}}
    )

    type = "N" if part == "n" else "S"
    assert message == (
        f"{INVALID}Type mismatch for Index Key {part} Expected: {type} Actual: BOOL IndexName: multi"
    )


def test_four_attributes_of_each_kind_are_the_most(
    dynamodb: DynamoDBClient, tables: TableFactory
) -> None:
    name = tables.create_from(with_index(schema("a b c d", "e f g h")))

    table = dynamodb.describe_table(TableName=name)["Table"]

    assert table["GlobalSecondaryIndexes"][0]["KeySchema"] == schema("a b c d", "e f g h")


@pytest.mark.parametrize(
    ("keys", "changes"),
    [
        (schema("a b c d e"), {}),
        (schema("a", "b c d e f"), {}),
        (schema("a b c d e", "f g h i"), {}),
        (schema("a", "b") + schema("c"), {}),
        (schema("", "a b"), {}),
        (schema("a a"), {}),
        (schema("a b", "b"), {}),
        (schema("a"), {"Projection": {"ProjectionType": "INCLUDE", "NonKeyAttributes": ["x", "x"]}}),
        (schema("a"), {"Projection": {"ProjectionType": "ALL", "NonKeyAttributes": ["x"]}}),
        (schema("a"), {"Projection": {"ProjectionType": "INCLUDE"}}),
    ],
    ids=[
        "five partition attributes",
        "five sort attributes",
        "nine attributes",
        "partition after sort",
        "no partition attribute",
        "one attribute twice",
        "one attribute for both",
        "attribute included twice",
        "all and some",
        "include nothing",
    ],
)  # fmt: skip
def test_index_is_refused(dynamodb: DynamoDBClient, keys: list[Item], changes: Item) -> None:
    invalid(dynamodb.create_table, **with_index(keys, **changes))


def test_key_may_be_included_again(dynamodb: DynamoDBClient, tables: TableFactory) -> None:
    projection = {"ProjectionType": "INCLUDE", "NonKeyAttributes": ["a", "pk", "x"]}

    name = tables.create_from(with_index(schema("a"), Projection=projection))

    table = dynamodb.describe_table(TableName=name)["Table"]
    assert table["GlobalSecondaryIndexes"][0]["Projection"]["ProjectionType"] == "INCLUDE"
