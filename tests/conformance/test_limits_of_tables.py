"""The limits of tables, each at its edge: the most that goes, and the least that does not."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.conformance.tables import (
    Gsi,
    Item,
    TableFactory,
    a_table,
    definitions,
    invalid,
    key_schema,
    refusal,
    unique_name,
)

if TYPE_CHECKING:
    from types_boto3_dynamodb import DynamoDBClient

INVALID = "One or more parameter values were invalid: "


def longer(value: str, most: int, at: str = "tableName") -> str:
    return (
        f"1 validation error detected: Value '{value}' at '{at}' failed to satisfy constraint: "
        f"Member must have length less than or equal to {most}"
    )


@pytest.mark.parametrize("length", [3, 255])
def test_name_of_a_table_has_from_3_to_255_characters(
    dynamodb: DynamoDBClient, tables: TableFactory, length: int
) -> None:
    name = "._-" if length == 3 else unique_name("long").ljust(length, "_")

    tables.create_from(a_table(TableName=name))

    assert dynamodb.describe_table(TableName=name)["Table"]["TableName"] == name


@pytest.mark.parametrize("name", ["ab", "n" * 256])
def test_name_of_a_new_table_is_refused(dynamodb: DynamoDBClient, name: str) -> None:
    message = invalid(dynamodb.create_table, **a_table(TableName=name))

    assert message.startswith(
        f"1 validation error detected: Value '{name}' at 'tableName' failed to satisfy constraint: "
        f"Member must have length {'greater' if len(name) < 3 else 'less'} than or equal to "
    )


@pytest.mark.parametrize("name", ["a", "ab", "n" * 255])
def test_short_name_is_no_mistake_elsewhere(dynamodb: DynamoDBClient, name: str) -> None:
    code, _ = refusal(dynamodb.get_item, TableName=name, Key={"pk": {"S": "a"}})

    assert code == "ResourceNotFoundException"


@pytest.mark.parametrize(
    "operation",
    ["get_item", "put_item", "delete_item", "update_item", "scan", "describe_table"],
)
def test_name_elsewhere_has_from_1_to_255_characters(
    dynamodb: DynamoDBClient, operation: str
) -> None:
    key: Item = {"pk": {"S": "a"}}
    parameters: Item = {"get_item": {"Key": key}, "put_item": {"Item": key}}.get(
        operation, {} if operation in ("scan", "describe_table") else {"Key": key}
    )

    empty = invalid(getattr(dynamodb, operation), TableName="", **parameters)
    long = invalid(getattr(dynamodb, operation), TableName="n" * 256, **parameters)

    assert empty == (
        "1 validation error detected: Value '' at 'tableName' failed to satisfy constraint: "
        "Member must have length greater than or equal to 1"
    )
    assert long == longer("n" * 256, 255)


@pytest.mark.parametrize(
    ("name", "constraint"),
    [
        ("ab", "Member must have length greater than or equal to 3"),
        ("n" * 256, "Member must have length less than or equal to 255"),
        ("a b", "Member must satisfy regular expression pattern: [a-zA-Z0-9_.-]+"),
    ],
)
def test_name_of_an_index_has_from_3_to_255_characters(
    dynamodb: DynamoDBClient, name: str, constraint: str
) -> None:
    message = invalid(dynamodb.create_table, **a_table("pk:S", Gsi(name, "g:S")))

    assert message == (
        f"1 validation error detected: Value '{name}' at "
        f"'globalSecondaryIndexes.1.member.indexName' failed to satisfy constraint: {constraint}"
    )


def test_key_attribute_has_a_name_of_at_most_255_characters(
    dynamodb: DynamoDBClient, tables: TableFactory
) -> None:
    name = tables.create(f"{'k' * 255}:S", Gsi("gsi", f"{'g' * 255}:S"))
    dynamodb.put_item(TableName=name, Item={"k" * 255: {"S": "a"}, "g" * 255: {"S": "b"}})

    for key, index in ((f"{'k' * 256}:S", ()), ("pk:S", (Gsi("gsi", f"{'k' * 256}:S"),))):
        message = invalid(dynamodb.create_table, **a_table(key, *index))
        assert "Member must have length less than or equal to 255" in message


def test_table_has_at_most_20_global_indexes(
    dynamodb: DynamoDBClient, tables: TableFactory
) -> None:
    indexes = [Gsi(f"gsi-{number}", "g:S", "KEYS_ONLY") for number in range(21)]
    name = tables.create("pk:S", *indexes[:20])

    message = invalid(dynamodb.create_table, **a_table("pk:S", *indexes))

    assert len(dynamodb.describe_table(TableName=name)["Table"]["GlobalSecondaryIndexes"]) == 20
    assert message == f"{INVALID}GlobalSecondaryIndex count exceeds the per-table limit of 20"


def including(*counts: int) -> list[Gsi]:
    return [
        Gsi(f"gsi-{number}", "g:S", "INCLUDE", tuple(f"a{number}-{each}" for each in range(count)))
        for number, count in enumerate(counts)
    ]


@pytest.mark.parametrize("counts", [(20,), (20, 20, 20, 20, 20)])
def test_indexes_may_include_20_attributes_each_and_100_together(
    tables: TableFactory, counts: tuple[int, ...]
) -> None:
    tables.create("pk:S", *including(*counts))


def test_more_included_attributes_are_refused(dynamodb: DynamoDBClient) -> None:
    for_one = invalid(dynamodb.create_table, **a_table("pk:S", *including(21)))
    for_all = invalid(dynamodb.create_table, **a_table("pk:S", *including(20, 20, 20, 20, 20, 1)))

    assert "Member must have length less than or equal to 20" in for_one
    assert for_all.startswith(INVALID)


@pytest.mark.parametrize("limit", [0, 101])
def test_page_of_names_has_from_1_to_100(dynamodb: DynamoDBClient, limit: int) -> None:
    assert len(dynamodb.list_tables(Limit=100)["TableNames"]) <= 100

    message = invalid(dynamodb.list_tables, Limit=limit)

    bound = "greater than or equal to 1" if limit < 1 else "less than or equal to 100"
    assert message == (
        f"1 validation error detected: Value '{limit}' at 'limit' failed to satisfy constraint: "
        f"Member must have value {bound}"
    )


@pytest.mark.parametrize(
    ("units", "at"),
    [((0, 1), "readCapacityUnits"), ((1, 0), "writeCapacityUnits")],
)
def test_units_are_at_least_one(dynamodb: DynamoDBClient, units: tuple[int, int], at: str) -> None:
    throughput = {"ReadCapacityUnits": units[0], "WriteCapacityUnits": units[1]}

    message = invalid(
        dynamodb.create_table,
        **a_table(BillingMode="PROVISIONED", ProvisionedThroughput=throughput),
    )

    assert message == (
        f"1 validation error detected: Value '0' at 'provisionedThroughput.{at}' failed to satisfy "
        "constraint: Member must have value greater than or equal to 1"
    )


def test_key_of_a_table_has_two_attributes_at_most(dynamodb: DynamoDBClient) -> None:
    three = [*key_schema("pk:S sk:S"), {"AttributeName": "tk", "KeyType": "RANGE"}]

    message = invalid(
        dynamodb.create_table,
        **a_table(KeySchema=three, AttributeDefinitions=definitions("pk:S sk:S tk:S")),
    )

    assert "Member must have length less than or equal to 2" in message
