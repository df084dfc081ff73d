"""The table that the tests of containers use."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from types_boto3_dynamodb import DynamoDBClient

TABLE = "Music"

Item = dict[str, Any]


def create_table(dynamodb: DynamoDBClient) -> None:
    """Return when it can be used."""
    dynamodb.create_table(
        TableName=TABLE,
        KeySchema=[
            {"AttributeName": "Artist", "KeyType": "HASH"},
            {"AttributeName": "Song", "KeyType": "RANGE"},
        ],
        AttributeDefinitions=[
            {"AttributeName": "Artist", "AttributeType": "S"},
            {"AttributeName": "Song", "AttributeType": "S"},
        ],
        BillingMode="PAY_PER_REQUEST",
    )
    dynamodb.get_waiter("table_exists").wait(TableName=TABLE)


def song(title: str, number: int) -> Item:
    """Each number is another artist."""
    return {"Artist": {"S": f"artist {number}"}, "Song": {"S": title}, "Plays": {"N": str(number)}}


def key_of(item: Item) -> Item:
    return {"Artist": item["Artist"], "Song": item["Song"]}
