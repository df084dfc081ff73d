"""Scan: all items, in an order that is nobody's business but stays; pages, segments, filters and refusals."""

from __future__ import annotations

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

COUNT = 40
INVALID = "One or more parameter values were invalid: "
STARTING_KEY = "The provided starting key is invalid"
NO_MATCH = "The provided key element does not match the schema"


def an_item(number: int) -> Item:
    """Items of ten partition keys, four to each; every second one is in the index."""
    item: Item = {
        "pk": {"S": f"p{number // 4}"},
        "sk": {"N": str(number % 4)},
        "n": {"N": str(number)},
        "colour": {"S": "red"},
    }
    if number % 2:
        item["group"] = {"S": f"g{number % 3}"}
    return item


ITEMS = [an_item(number) for number in range(COUNT)]


@pytest.fixture(scope="module")
def filled(dynamodb: DynamoDBClient, tables: TableFactory) -> str:
    """A table that no test writes to."""
    table = tables.create("pk:S sk:N", Gsi("by-group", "group:S", "INCLUDE", ("n",)))
    for item in ITEMS:
        dynamodb.put_item(TableName=table, Item=item)
    eventually(
        lambda: dynamodb.scan(TableName=table, IndexName="by-group")["Count"], len(ITEMS) // 2
    )
    return table


def scan_all(dynamodb: DynamoDBClient, **parameters: Any) -> list[Item]:
    """The pages of a scan, to the last one."""
    pages: list[Item] = []
    start: Item = {}
    while True:
        page = dict(dynamodb.scan(**parameters, **start))
        pages.append(page)
        if "LastEvaluatedKey" not in page:
            return pages
        start = {"ExclusiveStartKey": page["LastEvaluatedKey"]}


def items_of(pages: list[Item]) -> list[Item]:
    return [item for page in pages for item in page["Items"]]


def numbers(items: list[Item]) -> list[int]:
    return sorted(int(item["n"]["N"]) for item in items)


def test_scan_returns_every_item_once(dynamodb: DynamoDBClient, filled: str) -> None:
    answer = dynamodb.scan(TableName=filled)

    assert numbers(list(answer["Items"])) == list(range(COUNT))
    assert answer["Count"] == answer["ScannedCount"] == COUNT
    assert "LastEvaluatedKey" not in answer
    assert "ConsumedCapacity" not in answer


def test_items_of_a_partition_key_stand_together_in_order(
    dynamodb: DynamoDBClient, filled: str
) -> None:
    items = dynamodb.scan(TableName=filled, ConsistentRead=True)["Items"]

    keys = [(item["pk"]["S"], int(item["sk"]["N"])) for item in items]
    partitions = list(dict.fromkeys(pk for pk, _ in keys))
    assert keys == [(pk, sk) for pk in partitions for sk in range(4)]
    assert partitions != sorted(partitions)


@pytest.mark.parametrize("limit", [1, 3, 7, COUNT, COUNT + 1])
def test_pages_make_up_the_whole_in_the_same_order(
    dynamodb: DynamoDBClient, filled: str, limit: int
) -> None:
    whole = dynamodb.scan(TableName=filled)["Items"]

    pages = scan_all(dynamodb, TableName=filled, Limit=limit)

    assert items_of(pages) == whole
    assert all(page["ScannedCount"] == limit for page in pages[:-1])
    assert set(pages[0].get("LastEvaluatedKey", ("pk", "sk"))) == {"pk", "sk"}


def test_limit_counts_what_is_evaluated(dynamodb: DynamoDBClient, filled: str) -> None:
    pages = scan_all(
        dynamodb,
        TableName=filled,
        Limit=5,
        FilterExpression="n >= :n AND sk <> :one",
        ExpressionAttributeValues={":n": {"N": "30"}, ":one": {"N": "1"}},
    )

    assert numbers(items_of(pages)) == [30, 31, 32, 34, 35, 36, 38, 39]
    assert [page["ScannedCount"] for page in pages[:-1]] == [5] * (COUNT // 5)
    assert any(not page["Items"] for page in pages[:-1])


def test_filter_may_name_the_key(dynamodb: DynamoDBClient, filled: str) -> None:
    answer = dynamodb.scan(
        TableName=filled,
        FilterExpression="pk = :pk",
        ExpressionAttributeValues={":pk": {"S": "p3"}},
    )

    assert numbers(list(answer["Items"])) == [12, 13, 14, 15]
    assert (answer["Count"], answer["ScannedCount"]) == (4, COUNT)


def test_projection_shows_what_it_names(dynamodb: DynamoDBClient, filled: str) -> None:
    answer = dynamodb.scan(
        TableName=filled,
        ProjectionExpression="#n, nothing",
        ExpressionAttributeNames={"#n": "n"},
        Select="SPECIFIC_ATTRIBUTES",
    )

    assert sorted(answer["Items"], key=lambda item: int(item["n"]["N"])) == [
        {"n": item["n"]} for item in ITEMS
    ]


def test_count_has_no_items(dynamodb: DynamoDBClient, filled: str) -> None:
    answer = dynamodb.scan(
        TableName=filled,
        Select="COUNT",
        FilterExpression="n < :n",
        ExpressionAttributeValues={":n": {"N": "9"}},
    )

    assert "Items" not in answer
    assert (answer["Count"], answer["ScannedCount"]) == (9, COUNT)


@pytest.mark.parametrize(
    ("total", "limit"), [(1, 2), (2, 2), (3, 50), (4, 3), (7, 2), (7, 50), (500, 50)]
)
def test_segments_are_disjoint_and_make_up_the_whole(
    dynamodb: DynamoDBClient, filled: str, total: int, limit: int
) -> None:
    seen: list[Item] = []

    for segment in range(total):
        pages = scan_all(
            dynamodb, TableName=filled, Segment=segment, TotalSegments=total, Limit=limit
        )
        seen += items_of(pages)

    assert numbers(seen) == list(range(COUNT))
    # Segments follow one another in the order of the whole.
    assert seen == dynamodb.scan(TableName=filled)["Items"]


def test_last_of_a_million_segments(dynamodb: DynamoDBClient, filled: str) -> None:
    answer = dynamodb.scan(TableName=filled, Segment=999_999, TotalSegments=1_000_000)

    assert answer["Count"] == len(answer["Items"])


def test_start_key_need_not_exist(dynamodb: DynamoDBClient, filled: str) -> None:
    whole = dynamodb.scan(TableName=filled)["Items"]
    at = next(i for i, item in enumerate(whole) if item["sk"] == {"N": "1"})

    answer = dynamodb.scan(
        TableName=filled, ExclusiveStartKey={"pk": whole[at]["pk"], "sk": {"N": "1.5"}}
    )

    assert answer["Items"] == whole[at + 1 :]


def test_index_is_scanned(dynamodb: DynamoDBClient, filled: str) -> None:
    whole = dynamodb.scan(TableName=filled, IndexName="by-group")["Items"]

    pages = scan_all(dynamodb, TableName=filled, IndexName="by-group", Limit=3)

    assert numbers(list(whole)) == list(range(1, COUNT, 2))
    assert all(set(item) == {"pk", "sk", "group", "n"} for item in whole)
    assert items_of(pages) == whole
    assert set(pages[0]["LastEvaluatedKey"]) == {"pk", "sk", "group"}


def test_segments_of_an_index(dynamodb: DynamoDBClient, filled: str) -> None:
    whole = dynamodb.scan(TableName=filled, IndexName="by-group")["Items"]

    seen = [
        item
        for segment in range(5)
        for item in items_of(
            scan_all(
                dynamodb,
                TableName=filled,
                IndexName="by-group",
                Segment=segment,
                TotalSegments=5,
                Limit=2,
            )
        )
    ]

    assert seen == whole


def test_page_ends_at_a_megabyte_before_the_filter(
    dynamodb: DynamoDBClient, tables: TableFactory
) -> None:
    table = tables.create("pk:S")
    padding = "x" * 100_000
    for number in range(25):
        item = {"pk": {"S": str(number)}, "n": {"N": str(number)}, "padding": {"S": padding}}
        dynamodb.put_item(TableName=table, Item=item)

    pages = scan_all(
        dynamodb,
        TableName=table,
        FilterExpression="n = :n",
        ExpressionAttributeValues={":n": {"N": "24"}},
        ReturnConsumedCapacity="TOTAL",
    )

    assert [page["ScannedCount"] for page in pages] == [11, 11, 3]
    assert numbers(items_of(pages)) == [24]
    # 11 items of 100,006 bytes or a few more are 269 units of 4 KB, at half a unit each.
    assert pages[0]["ConsumedCapacity"] == {"TableName": table, "CapacityUnits": 134.5}


def test_empty_table_is_one_empty_page(dynamodb: DynamoDBClient, tables: TableFactory) -> None:
    table = tables.create("pk:S")

    answer = dynamodb.scan(TableName=table, Limit=1)

    assert (answer["Items"], answer["Count"], answer["ScannedCount"]) == ([], 0, 0)
    assert "LastEvaluatedKey" not in answer


@pytest.mark.parametrize(("consistent", "units"), [(False, 0.5), (True, 1.0)])
def test_capacity_rounds_the_sum(
    dynamodb: DynamoDBClient, filled: str, consistent: bool, units: float
) -> None:
    answer = dynamodb.scan(
        TableName=filled, ConsistentRead=consistent, ReturnConsumedCapacity="INDEXES"
    )

    assert answer["ConsumedCapacity"] == {
        "TableName": filled,
        "CapacityUnits": units,
        "Table": {"CapacityUnits": units},
    }


def test_capacity_of_an_index_is_told_by_its_name(dynamodb: DynamoDBClient, filled: str) -> None:
    answer = dynamodb.scan(TableName=filled, IndexName="by-group", ReturnConsumedCapacity="INDEXES")

    assert answer["ConsumedCapacity"] == {
        "TableName": filled,
        "CapacityUnits": 0.5,
        "Table": {"CapacityUnits": 0.0},
        "GlobalSecondaryIndexes": {"by-group": {"CapacityUnits": 0.5}},
    }


def test_table_may_be_named_by_its_arn(dynamodb: DynamoDBClient, filled: str) -> None:
    arn = dynamodb.describe_table(TableName=filled)["Table"]["TableArn"]

    assert dynamodb.scan(TableName=arn, Select="COUNT")["Count"] == COUNT


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        (
            {"Limit": 0},
            (
                "1 validation error detected: Value '0' at 'limit' failed to satisfy constraint: "
                "Member must have value greater than or equal to 1"
            ),
        ),
        (
            {"Segment": 0},
            (
                "The TotalSegments parameter is required but was not present in the request "
                "when Segment parameter is present"
            ),
        ),
        (
            {"TotalSegments": 4},
            (
                "The Segment parameter is required but was not present in the request "
                "when parameter TotalSegments is present"
            ),
        ),
        (
            {"Segment": 5, "TotalSegments": 5},
            (
                "The Segment parameter is zero-based and must be less than parameter "
                "TotalSegments: Segment: 5 is not less than TotalSegments: 5"
            ),
        ),
        (
            {"Segment": 0, "TotalSegments": 1_000_001},
            (
                "1 validation error detected: Value '1000001' at 'totalSegments' failed to satisfy "
                "constraint: Member must have value less than or equal to 1000000"
            ),
        ),
        (
            {"Select": "SPECIFIC_ATTRIBUTES"},
            (
                "Must specify the AttributesToGet or ProjectionExpression "
                "when choosing to get SPECIFIC_ATTRIBUTES"
            ),
        ),
        (
            {"Select": "COUNT", "ProjectionExpression": "pk"},
            "Cannot specify the ProjectionExpression when choosing to get only the Count",
        ),
        (
            {"Select": "ALL_PROJECTED_ATTRIBUTES"},
            "ALL_PROJECTED_ATTRIBUTES can be used only when Querying using an IndexName",
        ),
        (
            {"FilterExpression": ""},
            "Invalid FilterExpression: The expression can not be empty;",
        ),
        (
            {"ExpressionAttributeNames": {"#a": "a"}},
            "ExpressionAttributeNames can only be specified when using expressions",
        ),
        (
            {"ExpressionAttributeValues": {":a": {"S": "a"}}, "ProjectionExpression": "a"},
            (
                "ExpressionAttributeValues can only be specified when using expressions: "
                "FilterExpression is null"
            ),
        ),
        (
            {"FilterExpression": "a = :a", "ScanFilter": {}},
            (
                "Can not use both expression and non-expression parameters in the same request: "
                "Non-expression parameters: {ScanFilter} Expression parameters: {FilterExpression}"
            ),
        ),
        (
            {"Segment": 1, "ExclusiveStartKey": {"a": {}}},
            (
                f"{STARTING_KEY}: Supplied AttributeValue is empty, "
                "must contain exactly one of the supported datatypes"
            ),
        ),
        (
            {"Segment": 1, "ExclusiveStartKey": {"a": {"N": "b"}}},
            "The parameter cannot be converted to a numeric value: b",
        ),
    ],
)
def test_scan_is_refused_even_without_a_table(
    dynamodb: DynamoDBClient, parameters: dict[str, Any], message: str
) -> None:
    assert invalid(dynamodb.scan, TableName=unique_name("missing"), **parameters) == message


@pytest.mark.parametrize("key", [{}, {"b": {"S": "a"}}, {"pk": {"N": "1"}}])
def test_missing_table_comes_before_a_bad_start_key(dynamodb: DynamoDBClient, key: Item) -> None:
    code, message = refusal(dynamodb.scan, TableName=unique_name("missing"), ExclusiveStartKey=key)

    assert code == "ResourceNotFoundException"
    assert message == "Requested resource not found"


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"IndexName": "nothing"}, "The table does not have the specified index: nothing"),
        (
            {"IndexName": "by-group", "ConsistentRead": True},
            "Consistent reads are not supported on global secondary indexes",
        ),
        (
            {"IndexName": "by-group", "Select": "ALL_ATTRIBUTES"},
            (
                f"{INVALID}Select type ALL_ATTRIBUTES is not supported for global secondary index "
                "by-group because its projection type is not ALL"
            ),
        ),
        (
            {"IndexName": "by-group", "ProjectionExpression": "colour"},
            f"{INVALID}Global secondary index by-group does not project [colour]",
        ),
        (
            {"FilterExpression": "attribute_exists(pk.a)"},
            (
                "Key attributes must be scalars; list random access '[]' and map lookup '.' "
                "are not allowed: Key: pk"
            ),
        ),
        (
            {"FilterExpression": "attribute_exists(pk.a)", "ExclusiveStartKey": {}},
            f"{STARTING_KEY}: {NO_MATCH}",
        ),
    ],
)
def test_scan_does_not_fit_the_schema(
    dynamodb: DynamoDBClient, filled: str, parameters: dict[str, Any], message: str
) -> None:
    assert invalid(dynamodb.scan, TableName=filled, **parameters) == message


@pytest.mark.parametrize(
    "key",
    [
        {},
        {"pk": {"S": "p"}},
        {"pk": {"S": "p"}, "sk": {"S": "1"}},
        {"pk": {"S": "p"}, "other": {"N": "1"}},
        {"pk": {"S": "p"}, "sk": {"N": "1"}, "n": {"N": "1"}},
    ],
)
def test_start_key_does_not_fit_the_table(dynamodb: DynamoDBClient, filled: str, key: Item) -> None:
    message = invalid(dynamodb.scan, TableName=filled, ExclusiveStartKey=key)

    assert message == f"{STARTING_KEY}: {NO_MATCH}"


@pytest.mark.parametrize(
    ("key", "changes", "message"),
    [
        ({"pk": {"S": "p"}, "sk": {"N": "1"}}, {"Select": "ALL_ATTRIBUTES"}, STARTING_KEY),
        ({"pk": {"S": "p"}, "sk": {"N": "1"}, "other": {"S": "g"}}, {}, STARTING_KEY),
        ({"pk": {"S": "p"}, "sk": {"N": "1"}, "group": {"N": "1"}}, {}, NO_MATCH),
        (
            {"pk": {"S": "p"}, "sk": {"S": "1"}, "group": {"S": "g"}},
            {"Select": "ALL_ATTRIBUTES"},
            (
                f"{INVALID}Select type ALL_ATTRIBUTES is not supported for global secondary index "
                "by-group because its projection type is not ALL"
            ),
        ),
        (
            {"pk": {"S": "p"}, "sk": {"S": "1"}, "group": {"S": "g"}},
            {},
            f"{STARTING_KEY}: {NO_MATCH}",
        ),
    ],
)
def test_start_key_does_not_fit_the_index(
    dynamodb: DynamoDBClient, filled: str, key: Item, changes: dict[str, Any], message: str
) -> None:
    refused = invalid(
        dynamodb.scan, TableName=filled, IndexName="by-group", ExclusiveStartKey=key, **changes
    )

    assert refused == message


def test_start_key_of_another_segment(dynamodb: DynamoDBClient, filled: str) -> None:
    page = dynamodb.scan(TableName=filled, Segment=1, TotalSegments=2, Limit=1)

    message = invalid(
        dynamodb.scan,
        TableName=filled,
        Segment=0,
        TotalSegments=2,
        FilterExpression="attribute_exists(pk.a)",
        ExclusiveStartKey=page["LastEvaluatedKey"],
    )

    assert message == (
        f"{STARTING_KEY}: Invalid ExclusiveStartKey. "
        "Please use ExclusiveStartKey with correct Segment. TotalSegments: 2 Segment: 0"
    )
