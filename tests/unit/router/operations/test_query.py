"""Query: the range it asks a node for, its pages, and what it refuses."""

from __future__ import annotations

import pytest

from gramme.codec.key import encode_component
from gramme.errors import ResourceNotFound, ValidationError
from gramme.partitions import token_bytes
from tests.unit.router.operations.router import Body, Router

YEARS = [-10, -1, 0, 1, 2, 9, 10, 100]
INVALID = "One or more parameter values were invalid: "


def a_query(condition: str = "artist = :a", **changes: object) -> Body:
    values = {":a": {"S": "Django"}, ":lo": {"N": "1"}, ":hi": {"N": "10"}}
    used = {name: value for name, value in values.items() if name in condition}
    body: Body = {
        "TableName": "music",
        "KeyConditionExpression": condition,
        "ExpressionAttributeValues": used,
        "ExpressionAttributeNames": {"#y": "year"},
    }
    if "#y" not in condition:
        del body["ExpressionAttributeNames"]
    return body | changes


def an_index_query(condition: str = "genre = :g", **changes: object) -> Body:
    return {
        "TableName": "music",
        "IndexName": "by-genre",
        "KeyConditionExpression": condition,
        "ExpressionAttributeValues": {":g": {"S": "swing"}},
    } | changes


@pytest.fixture
def filled(router: Router) -> Router:
    for artist in ("Django", "Djang", "Stéphane"):
        for year in YEARS:
            item = {"artist": {"S": artist}, "year": {"N": str(year)}}
            router.ask("PutItem", {"TableName": "music", "Item": item})
    return router


def years(answer: Body) -> list[int]:
    return [int(item["year"]["N"]) for item in answer["Items"]]


@pytest.mark.parametrize(
    ("condition", "expected"),
    [
        ("artist = :a", YEARS),
        ("artist = :a AND #y = :lo", [1]),
        ("artist = :a AND #y < :lo", [-10, -1, 0]),
        ("artist = :a AND #y <= :lo", [-10, -1, 0, 1]),
        ("artist = :a AND #y > :hi", [100]),
        ("artist = :a AND #y >= :hi", [10, 100]),
        ("artist = :a AND #y BETWEEN :lo AND :hi", [1, 2, 9, 10]),
    ],
)
def test_condition_on_the_range_key(filled: Router, condition: str, expected: list[int]) -> None:
    answer = filled.ask("Query", a_query(condition))

    assert years(answer) == expected
    assert answer["Count"] == answer["ScannedCount"] == len(expected)
    assert {item["artist"]["S"] for item in answer["Items"]} == {"Django"}


def test_rows_come_backwards_if_asked(filled: Router) -> None:
    answer = filled.ask("Query", a_query(ScanIndexForward=False))

    assert years(answer) == YEARS[::-1]


@pytest.mark.parametrize("forward", [True, False])
def test_pages_follow_one_another(filled: Router, forward: bool) -> None:
    seen: list[int] = []
    start: Body = {}
    while True:
        answer = filled.ask("Query", a_query(Limit=3, ScanIndexForward=forward) | start)
        seen += years(answer)
        if "LastEvaluatedKey" not in answer:
            break
        start = {"ExclusiveStartKey": answer["LastEvaluatedKey"]}

    assert seen == (YEARS if forward else YEARS[::-1])


def test_count_returns_no_items(filled: Router) -> None:
    answer = filled.ask("Query", a_query(Select="COUNT"))

    assert answer == {"Count": 8, "ScannedCount": 8}


def test_begins_with_is_a_range_of_its_own(router: Router) -> None:
    table = {
        "TableName": "paths",
        "AttributeDefinitions": [
            {"AttributeName": "a", "AttributeType": "S"},
            {"AttributeName": "b", "AttributeType": "S"},
        ],
        "KeySchema": [
            {"AttributeName": "a", "KeyType": "HASH"},
            {"AttributeName": "b", "KeyType": "RANGE"},
        ],
        "BillingMode": "PAY_PER_REQUEST",
    }
    router.ask("CreateTable", table)
    for name in ("w", "x", "x\x00", "x/1", "x\U0010ffff", "y"):
        item = {"a": {"S": "root"}, "b": {"S": name}}
        router.ask("PutItem", {"TableName": "paths", "Item": item})

    answer = router.ask(
        "Query",
        {
            "TableName": "paths",
            "KeyConditionExpression": "a = :a AND begins_with(b, :b)",
            "ExpressionAttributeValues": {":a": {"S": "root"}, ":b": {"S": "x"}},
        },
    )

    found = [item["b"]["S"] for item in answer["Items"]]
    assert found == ["x", "x\x00", "x/1", "x\U0010ffff"]


def test_query_of_an_index_asks_for_its_rows(router: Router) -> None:
    router.ask("Query", an_index_query("genre = :g"))

    query = router.nodes.query_seen
    assert query is not None
    hash = encode_component("S", {"S": "swing"})
    assert query.lower == token_bytes(b"seed", hash) + hash
    assert query.key_names == ("artist", "year", "genre")


def test_start_key_of_an_index_names_one_row(router: Router) -> None:
    key = {"genre": {"S": "swing"}, "year": {"N": "1937"}, "artist": {"S": "Django"}}

    router.ask("Query", an_index_query(ExclusiveStartKey=key))

    query = router.nodes.query_seen
    assert query is not None
    year = encode_component("N", {"N": "1937"})
    assert query.start == query.lower + year + encode_component("S", {"S": "Django"}) + year


def test_reading_an_index_is_charged_to_it(router: Router) -> None:
    answer = router.ask("Query", an_index_query(ReturnConsumedCapacity="INDEXES"))

    assert answer["ConsumedCapacity"] == {
        "TableName": "music",
        "CapacityUnits": 0.5,
        "Table": {"CapacityUnits": 0.0},
        "GlobalSecondaryIndexes": {"by-genre": {"CapacityUnits": 0.5}},
    }


def test_sizes_of_a_page_are_rounded_together(filled: Router) -> None:
    answer = filled.ask("Query", a_query(ReturnConsumedCapacity="TOTAL", ConsistentRead=True))

    assert answer["ConsumedCapacity"] == {"TableName": "music", "CapacityUnits": 1.0}


def test_missing_table_is_not_found(router: Router) -> None:
    router.refusal("Query", a_query(TableName="none"), ResourceNotFound)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        (
            {"KeyConditionExpression": None, "ExpressionAttributeValues": None},
            (
                "Either the KeyConditions or KeyConditionExpression parameter "
                "must be specified in the request."
            ),
        ),
        (
            {"Select": "SPECIFIC_ATTRIBUTES"},
            (
                "1 validation error detected: Must specify the AttributesToGet or "
                "ProjectionExpression when choosing to get SPECIFIC_ATTRIBUTES"
            ),
        ),
        (
            {"Select": "COUNT", "ProjectionExpression": "title"},
            (
                "1 validation error detected: Cannot specify the ProjectionExpression "
                "when choosing to get only the Count"
            ),
        ),
        (
            {"Select": "ALL_PROJECTED_ATTRIBUTES"},
            (
                "1 validation error detected: ALL_PROJECTED_ATTRIBUTES can be used only "
                "when Querying using an IndexName"
            ),
        ),
        (
            {"QueryFilter": {}},
            (
                "Can not use both expression and non-expression parameters in the same request: "
                "Non-expression parameters: {QueryFilter} "
                "Expression parameters: {KeyConditionExpression}"
            ),
        ),
        (
            {"IndexName": "none"},
            "The table does not have the specified index: none",
        ),
        (
            {"FilterExpression": "artist = :a"},
            (
                "Filter Expression can only contain non-primary key attributes: "
                "Primary key attribute: artist"
            ),
        ),
    ],
)
def test_query_is_refused(router: Router, changes: Body, message: str) -> None:
    assert router.refusal("Query", a_query(**changes), ValidationError) == message


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        (
            {"ConsistentRead": True},
            "Consistent reads are not supported on global secondary indexes",
        ),
        (
            {"Select": "ALL_ATTRIBUTES"},
            (
                f"{INVALID}Select type ALL_ATTRIBUTES is not supported for global secondary index "
                "by-genre because its projection type is not ALL"
            ),
        ),
        (
            {"ProjectionExpression": "title, price, label"},
            f"{INVALID}Global secondary index by-genre does not project [label, price]",
        ),
        (
            {"FilterExpression": "price = :g"},
            (
                f"{INVALID}Secondary index by-genre does not project "
                "one or more filter attributes: [price]"
            ),
        ),
    ],
)
def test_index_query_is_refused(router: Router, changes: Body, message: str) -> None:
    assert router.refusal("Query", an_index_query(**changes), ValidationError) == message


@pytest.mark.parametrize(
    ("condition", "key", "message"),
    [
        ("artist = :a", {}, "The provided starting key is invalid"),
        ("artist = :a", {"artist": {"S": "Django"}}, "The provided starting key is invalid"),
        (
            "artist = :a",
            {"artist": {"S": "Django"}, "title": {"S": "x"}},
            "The provided starting key is invalid",
        ),
        (
            "artist = :a",
            {"artist": {"S": "Django"}, "year": {"S": "x"}},
            "The provided key element does not match the schema",
        ),
        (
            "artist = :a",
            {"artist": {"S": "Stéphane"}, "year": {"N": "1"}},
            "The provided starting key is outside query boundaries based on provided conditions",
        ),
        (
            "artist = :a AND #y > :lo",
            {"artist": {"S": "Django"}, "year": {"N": "1"}},
            "The provided starting key does not match the range key predicate",
        ),
        (
            "artist = :a AND #y > :lo",
            {"artist": {"S": "Stéphane"}, "year": {"N": "2"}},
            "The query can return at most one row and cannot be restarted",
        ),
        (
            "artist = :a AND #y = :lo",
            {"artist": {"S": "Django"}, "year": {"N": "1"}},
            "The query can return at most one row and cannot be restarted",
        ),
    ],
)
def test_start_key_is_refused(router: Router, condition: str, key: Body, message: str) -> None:
    body = a_query(condition, ExclusiveStartKey=key)

    assert router.refusal("Query", body, ValidationError) == message


def test_start_key_of_an_index_needs_the_table_key_too(router: Router) -> None:
    key = {"genre": {"S": "swing"}, "year": {"N": "1"}, "artist": {"N": "1"}}
    body = an_index_query(ExclusiveStartKey=key)

    message = router.refusal("Query", body, ValidationError)

    assert message == (
        "The provided starting key is invalid: The provided key element does not match the schema"
    )


def test_hash_only_table_has_no_second_page(router: Router) -> None:
    body = {
        "TableName": "simple",
        "KeyConditionExpression": "id = :a",
        "ExpressionAttributeValues": {":a": {"S": "x"}},
        "ExclusiveStartKey": {"id": {"S": "x"}},
    }

    message = router.refusal("Query", body, ValidationError)

    assert message == (
        "The provided exclusive start key is invalid: ExclusiveStartKey: {id=AttributeValue: {S:x}}"
    )
