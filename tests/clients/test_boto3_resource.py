"""boto3's resource: Python's own types both ways, conditions written as Python, and the batch writer."""

from __future__ import annotations

from decimal import Decimal
from typing import TYPE_CHECKING, Any

import boto3
import pytest
from boto3.dynamodb.conditions import Attr, Key
from boto3.dynamodb.types import Binary

from tests.conformance.tables import Gsi, TableFactory, a_table, eventually

if TYPE_CHECKING:
    from types_boto3_dynamodb import DynamoDBServiceResource
    from types_boto3_dynamodb.service_resource import Table


@pytest.fixture(scope="session")
def resource(session: boto3.Session, endpoint: str) -> DynamoDBServiceResource:
    return session.resource("dynamodb", endpoint_url=endpoint)


@pytest.fixture(scope="session")
def music(resource: DynamoDBServiceResource, tables: TableFactory) -> Table:
    """A shared table of songs by artist, and by genre and year: a test keeps to its own artist and genre."""
    index = Gsi("by-genre", "genre:S year:N")
    return resource.Table(tables.create("artist:S song:S", index))


EVERY_TYPE: dict[str, Any] = {
    "text": "Grammé ⚡ 𝄞",
    "empty": "",
    "number": Decimal("-12.5"),
    "digits": Decimal(12345678901234567890123456789012345678),
    "small": Decimal("1E-130"),
    "bytes": Binary(b"\x00\x01\xff"),
    "yes": True,
    "nothing": None,
    "list": [Decimal(1), "two", [Binary(b"3")], {}],
    "map": {"deep": {"deeper": [None, False]}},
    "texts": {"a", "b", ""},
    "numbers": {Decimal(1), Decimal("2.5")},
    "blobs": {Binary(b"x"), Binary(b"")},
}


def test_every_type_comes_back_as_it_went(music: Table) -> None:
    item = {"artist": "types", "song": "all", **EVERY_TYPE}

    music.put_item(Item=item)

    read = music.get_item(Key={"artist": "types", "song": "all"}, ConsistentRead=True)["Item"]
    assert read == item
    assert {name: type(value) for name, value in read.items()} == {
        name: type(value) for name, value in item.items()
    }


def test_a_table_is_made_described_and_removed(resource: DynamoDBServiceResource) -> None:
    made = resource.create_table(**a_table("pk:S"))
    made.wait_until_exists()
    made.reload()

    assert made.table_status == "ACTIVE"
    assert made.name in [table.name for table in resource.tables.all()]
    assert made.name in [table.name for table in resource.tables.limit(1000).page_size(1)]

    made.delete()
    made.wait_until_not_exists()
    assert made.name not in [table.name for table in resource.tables.all()]


def test_the_batch_writer_sends_more_than_a_batch(music: Table) -> None:
    with music.batch_writer(overwrite_by_pkeys=["artist", "song"]) as batch:
        for number in range(60):
            batch.put_item(Item={"artist": "batch", "song": f"{number:02}", "n": number})
        batch.put_item(Item={"artist": "batch", "song": "59", "n": -1})
        batch.delete_item(Key={"artist": "batch", "song": "00"})

    kept = music.query(KeyConditionExpression=Key("artist").eq("batch"), ConsistentRead=True)
    assert [item["song"] for item in kept["Items"]] == [f"{number:02}" for number in range(1, 60)]
    assert kept["Items"][-1]["n"] == -1


@pytest.mark.parametrize(
    ("condition", "expected"),
    [
        (Key("song").eq("b"), "b"),
        (Key("song").lt("b"), "a"),
        (Key("song").lte("b"), "ab"),
        (Key("song").gt("b"), "cd"),
        (Key("song").gte("b"), "bcd"),
        (Key("song").between("b", "c"), "bc"),
        (Key("song").begins_with("c"), "c"),
    ],
    ids=["eq", "lt", "lte", "gt", "gte", "between", "begins with"],
)
def test_key_conditions_written_as_python(music: Table, condition: Any, expected: str) -> None:
    for song in "abcd":
        music.put_item(Item={"artist": "keys", "song": song})

    found = music.query(KeyConditionExpression=Key("artist").eq("keys") & condition)

    assert "".join(str(item["song"]) for item in found["Items"]) == expected


@pytest.mark.parametrize(
    ("condition", "expected"),
    [
        (Attr("plays").ne(1) & Attr("plays").lt(4), "bc"),
        (Attr("plays").between(2, 3) | Attr("song").eq("a"), "abc"),
        (~Attr("plays").gte(2), "a"),
        (Attr("tags").contains("live"), "ad"),
        (Attr("cover").exists(), "d"),
        (Attr("cover").not_exists() & Attr("title").begins_with("B"), "b"),
        (Attr("title").size().gt(5), "bd"),
        (Attr("plays").is_in([1, 4]), "ad"),
        (Attr("cover").attribute_type("M"), "d"),
        (Attr("cover.colour").eq("red"), "d"),
        (Attr("studios[1]").eq("Paris"), "c"),
    ],
    ids=[
        *("and", "or", "not", "contains", "exists", "not exists", "size", "is in"),
        *("type", "path", "element"),
    ],
)
def test_filters_written_as_python(music: Table, condition: Any, expected: str) -> None:
    songs: list[dict[str, Any]] = [
        {"song": "a", "plays": 1, "title": "Arc", "tags": {"live"}},
        {"song": "b", "plays": 2, "title": "Brushes"},
        {"song": "c", "plays": 3, "title": "Coil", "studios": ["Liège", "Paris"]},
        {"song": "d", "plays": 4, "title": "Dynamo", "tags": {"live"}, "cover": {"colour": "red"}},
    ]
    with music.batch_writer() as batch:
        for song in songs:
            batch.put_item(Item={"artist": "filters", **song})

    # `song` is a key, which a filter of a query may not name and a filter of a scan may.
    mine = Attr("artist").eq("filters")
    found = music.scan(FilterExpression=mine & condition, ConsistentRead=True)

    assert "".join(sorted(str(item["song"]) for item in found["Items"])) == expected


def test_an_update_returns_what_it_changed(music: Table) -> None:
    key = {"artist": "update", "song": "a"}
    music.put_item(Item={**key, "plays": 1, "tags": {"old"}, "notes": ["x"]})

    answer = music.update_item(
        Key=key,
        UpdateExpression=(
            "SET plays = plays + :one, notes = list_append(notes, :notes) "
            "REMOVE gone ADD likes :one DELETE tags :old"
        ),
        ExpressionAttributeValues={":one": 1, ":notes": ["y"], ":old": {"old"}},
        ConditionExpression=Attr("plays").lt(2),
        ReturnValues="ALL_NEW",
    )

    assert answer["Attributes"] == {**key, "plays": 2, "notes": ["x", "y"], "likes": 1}


def test_a_failed_condition_is_an_error_of_its_own_class(music: Table) -> None:
    item = {"artist": "condition", "song": "a"}
    music.put_item(Item=item)

    with pytest.raises(music.meta.client.exceptions.ConditionalCheckFailedException):
        music.put_item(Item=item, ConditionExpression=Attr("artist").not_exists())


def test_an_index_is_queried_backwards_with_a_projection(music: Table) -> None:
    for year in (1869, 1873, 1881):
        song = {"artist": "index", "song": str(year), "genre": "direct current", "year": year}
        music.put_item(Item=song)

    def newest() -> list[Any]:
        return music.query(
            IndexName="by-genre",
            KeyConditionExpression=Key("genre").eq("direct current") & Key("year").gt(1869),
            ProjectionExpression="#y",
            ExpressionAttributeNames={"#y": "year"},
            ScanIndexForward=False,
        )["Items"]

    eventually(newest, [{"year": 1881}, {"year": 1873}])


def test_a_batch_of_keys_is_read_through_the_resource(
    resource: DynamoDBServiceResource, music: Table
) -> None:
    music.put_item(Item={"artist": "get", "song": "a", "n": 1})

    answer = resource.batch_get_item(
        RequestItems={music.name: {"Keys": [{"artist": "get", "song": song} for song in "ab"]}}
    )

    assert answer["Responses"][music.name] == [{"artist": "get", "song": "a", "n": 1}]
