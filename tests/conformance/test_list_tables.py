"""ListTables. There may be tables of others, so the tests look at a page that begins with their own."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.conformance.tables import TableFactory, a_table, invalid, unique_name

if TYPE_CHECKING:
    from types_boto3_dynamodb import DynamoDBClient


def some_tables(tables: TableFactory, count: int) -> list[str]:
    prefix = unique_name("list")
    return [
        tables.create_from(a_table(TableName=f"{prefix}-{number}"))
        for number in reversed(range(count))
    ]


def test_names_come_in_order_by_pages(dynamodb: DynamoDBClient, tables: TableFactory) -> None:
    names = sorted(some_tables(tables, 3))

    # No table has this name; it sorts just before the first.
    before = names[0][:-1]
    first = dynamodb.list_tables(ExclusiveStartTableName=before, Limit=2)
    second = dynamodb.list_tables(ExclusiveStartTableName=first["LastEvaluatedTableName"], Limit=1)

    assert first["TableNames"] == names[:2]
    assert first["LastEvaluatedTableName"] == names[1]
    assert second["TableNames"] == names[2:]


def test_page_after_the_last_name_is_empty(dynamodb: DynamoDBClient) -> None:
    answer = dynamodb.list_tables(ExclusiveStartTableName="zzzz-zzzz-zzzz")

    assert answer["TableNames"] == []
    assert "LastEvaluatedTableName" not in answer


def test_limit_is_at_least_one(dynamodb: DynamoDBClient) -> None:
    message = invalid(dynamodb.list_tables, Limit=0)

    assert message == (
        "1 validation error detected: Value '0' at 'limit' failed to satisfy constraint: "
        "Member must have value greater than or equal to 1"
    )
