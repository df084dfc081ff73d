"""Local secondary indexes of CreateTable and DescribeTable: how they are shown, and which are refused."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from tests.conformance.tables import (
    Gsi,
    Lsi,
    TableFactory,
    a_table,
    definitions,
    invalid,
    key_schema,
)

if TYPE_CHECKING:
    from types_boto3_dynamodb import DynamoDBClient

INVALID = "One or more parameter values were invalid: "


def test_local_indexes_are_described(dynamodb: DynamoDBClient, tables: TableFactory) -> None:
    name = tables.create(
        "pk:S sk:N",
        Lsi("all", "pk:S n:N"),
        Lsi("some", "pk:S colour:B", "INCLUDE", ("z", "a")),
        Gsi("global", "n:N"),
    )

    table = dynamodb.describe_table(TableName=name)["Table"]

    assert table["AttributeDefinitions"] == definitions("colour:B n:N pk:S sk:N")
    assert table["LocalSecondaryIndexes"] == [
        {
            "IndexName": "all",
            "KeySchema": key_schema("pk:S n:N"),
            "Projection": {"ProjectionType": "ALL"},
            "IndexSizeBytes": 0,
            "ItemCount": 0,
            "IndexArn": f"{table['TableArn']}/index/all",
        },
        {
            "IndexName": "some",
            "KeySchema": key_schema("pk:S colour:B"),
            "Projection": {"ProjectionType": "INCLUDE", "NonKeyAttributes": ["a", "z"]},
            "IndexSizeBytes": 0,
            "ItemCount": 0,
            "IndexArn": f"{table['TableArn']}/index/some",
        },
    ]
    assert [index["IndexName"] for index in table["GlobalSecondaryIndexes"]] == ["global"]


def test_new_table_shows_its_local_indexes(dynamodb: DynamoDBClient, tables: TableFactory) -> None:
    parameters = a_table("pk:S sk:N", Lsi("lsi", "pk:S n:N", "KEYS_ONLY"))
    tables.names.append(parameters["TableName"])

    table = dynamodb.create_table(**parameters)["TableDescription"]

    (index,) = table["LocalSecondaryIndexes"]
    assert index["IndexName"] == "lsi"
    assert index["Projection"] == {"ProjectionType": "KEYS_ONLY"}
    assert "IndexStatus" not in index


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        (
            {"KeySchema": key_schema("pk:S x:S")},
            (
                f"{INVALID}Some index key attributes are not defined in AttributeDefinitions. "
                "Keys: [pk, x], AttributeDefinitions: [pk, sk, n]"
            ),
        ),
        (
            {"KeySchema": key_schema("pk:S pk:S")},
            "Both the Hash Key and the Range Key element in the KeySchema have the same name",
        ),
        (
            {"KeySchema": [{"AttributeName": "pk", "KeyType": "RANGE"}]},
            "Invalid KeySchema: The first KeySchemaElement is not a HASH key type",
        ),
        (
            {
                "KeySchema": [
                    {"AttributeName": "pk", "KeyType": "HASH"},
                    {"AttributeName": "n", "KeyType": "HASH"},
                ]
            },
            "Invalid KeySchema: The second KeySchemaElement is not a RANGE key type",
        ),
        (
            {"KeySchema": key_schema("pk:S")},
            f"{INVALID}Index KeySchema does not have a range key for index: lsi",
        ),
        (
            {"KeySchema": key_schema("sk:N")},
            f"{INVALID}Index KeySchema does not have a range key for index: lsi",
        ),
        (
            {"KeySchema": key_schema("sk:N n:N")},
            (
                f"{INVALID}Index KeySchema does not have the same leading hash key as table "
                "KeySchema for index: lsi. index hash key: sk, table hash key: pk"
            ),
        ),
        (
            {"KeySchema": key_schema("sk:N n:N"), "Projection": {}},
            (
                f"{INVALID}Index KeySchema does not have the same leading hash key as table "
                "KeySchema for index: lsi. index hash key: sk, table hash key: pk"
            ),
        ),
        ({"Projection": {}}, f"{INVALID}Unknown ProjectionType: null"),
        (
            {"Projection": {"ProjectionType": "INCLUDE"}},
            f"{INVALID}ProjectionType is INCLUDE, but NonKeyAttributes is not specified",
        ),
        (
            {"Projection": {"ProjectionType": "ALL", "NonKeyAttributes": ["x"]}},
            f"{INVALID}ProjectionType is ALL, but NonKeyAttributes is specified",
        ),
        (
            {"Projection": {"ProjectionType": "INCLUDE", "NonKeyAttributes": ["x", "x"]}},
            f"{INVALID}Duplicate element in NonKeyAttributes: x",
        ),
        (
            {"IndexName": "ls"},
            (
                "1 validation error detected: Value 'ls' at "
                "'localSecondaryIndexes.1.member.indexName' failed to satisfy constraint: "
                "Member must have length greater than or equal to 3"
            ),
        ),
    ],
)
def test_local_index_is_refused(
    dynamodb: DynamoDBClient, changes: dict[str, Any], message: str
) -> None:
    parameters = a_table("pk:S sk:N", Lsi("lsi", "pk:S n:N"))
    parameters["LocalSecondaryIndexes"][0] |= changes

    assert invalid(dynamodb.create_table, **parameters) == message


def test_list_of_local_indexes_may_not_be_empty(dynamodb: DynamoDBClient) -> None:
    parameters = a_table("pk:S sk:N", LocalSecondaryIndexes=[])

    message = invalid(dynamodb.create_table, **parameters)

    assert message == f"{INVALID}List of LocalSecondaryIndexes is empty"


def test_local_index_has_one_sort_key(dynamodb: DynamoDBClient) -> None:
    parameters = a_table("pk:S sk:N", Lsi("lsi", "pk:S n:N"))
    schema = parameters["LocalSecondaryIndexes"][0]["KeySchema"]
    schema.append({"AttributeName": "sk", "KeyType": "RANGE"})

    message = invalid(dynamodb.create_table, **parameters)

    assert "'localSecondaryIndexes.1.member.keySchema'" in message
    assert message.endswith("Member must have length less than or equal to 2")


@pytest.mark.parametrize("other", [Lsi("same", "pk:S m:N"), Gsi("same", "g:S")], ids=["lsi", "gsi"])
def test_indexes_of_both_kinds_share_their_names(
    dynamodb: DynamoDBClient, other: Gsi | Lsi
) -> None:
    parameters = a_table("pk:S sk:N", Lsi("same", "pk:S n:N"), other)

    message = invalid(dynamodb.create_table, **parameters)

    assert message == f"{INVALID}Duplicate index name: same"


def test_five_local_indexes_are_the_most(dynamodb: DynamoDBClient) -> None:
    indexes = [Lsi(f"lsi-{number}", "pk:S n:N") for number in range(6)]

    message = invalid(dynamodb.create_table, **a_table("pk:S sk:N", *indexes))

    assert message == f"{INVALID}Number of LocalSecondaryIndexes exceeds per-table limit of 5"


def test_a_hundred_projected_attributes_are_the_most(dynamodb: DynamoDBClient) -> None:
    names = tuple(f"a{number}" for number in range(20))
    local = [Lsi(f"lsi-{number}", "pk:S n:N", "INCLUDE", names) for number in range(5)]
    one_more = Gsi("gsi", "n:N", "INCLUDE", ("one",))

    message = invalid(dynamodb.create_table, **a_table("pk:S sk:N", *local, one_more))

    assert message == (
        f"{INVALID}Number of NonKeyAttributes across all indexes exceeds the per-table limit of 100"
    )


def test_twenty_projected_attributes_are_the_most_of_one_index(dynamodb: DynamoDBClient) -> None:
    names = tuple(f"a{number}" for number in range(21))
    parameters = a_table("pk:S sk:N", Lsi("lsi", "pk:S n:N", "INCLUDE", names))

    message = invalid(dynamodb.create_table, **parameters)

    assert "'localSecondaryIndexes.1.member.projection.nonKeyAttributes'" in message
    assert message.endswith("Member must have length less than or equal to 20")


def test_unused_definition_is_refused(dynamodb: DynamoDBClient) -> None:
    parameters = a_table("pk:S sk:N", Lsi("lsi", "pk:S n:N"))
    parameters["AttributeDefinitions"] += definitions("x:S")

    message = invalid(dynamodb.create_table, **parameters)

    assert message == (
        f"{INVALID}Some AttributeDefinitions are not used. "
        "AttributeDefinitions: [pk, sk, n, x], keys used: [pk, sk, n]"
    )
