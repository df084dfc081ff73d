"""What CreateTable makes of a definition, and which definitions it refuses."""

from __future__ import annotations

from typing import Any

import pytest

from gramme.errors import ResourceInUse, ValidationError
from tests.unit.router.operations.router import CALLER, COMPOSITE, HASH_ONLY, NOW_MS, Body, Router

INVALID = "One or more parameter values were invalid: "


def definitions(*names: str) -> list[dict[str, str]]:
    return [{"AttributeName": name, "AttributeType": "S"} for name in names]


def schema(*names: str, kinds: str = "HASH RANGE") -> list[dict[str, str]]:
    return [
        {"AttributeName": name, "KeyType": kind}
        for name, kind in zip(names, kinds.split(), strict=False)
    ]


def an_index(**changes: Any) -> Body:
    return {
        "IndexName": "gsi",
        "KeySchema": schema("g"),
        "Projection": {"ProjectionType": "ALL"},
    } | changes


def a_table(*indexes: Body, **changes: Any) -> Body:
    body = {
        "TableName": "new",
        "AttributeDefinitions": definitions("a", "g") if indexes else definitions("a"),
        "KeySchema": schema("a"),
        "BillingMode": "PAY_PER_REQUEST",
    }
    if indexes:
        body["GlobalSecondaryIndexes"] = list(indexes)
    return body | changes


def test_created_table_is_in_the_catalog_with_its_schema() -> None:
    router = Router.start()

    router.ask("CreateTable", COMPOSITE)

    table = router.context.catalog.find(*CALLER, "music").table
    assert (table.hash.name, table.hash.type) == ("artist", "S")
    assert table.range is not None
    assert (table.range.name, table.range.type) == ("year", "N")
    assert [key.name for key in table.indexes[0].keys] == ["genre", "year"]
    assert table.indexes[0].non_key_attributes == ("title",)
    assert table.provisioned is None
    assert table.created_at_ms == NOW_MS


def test_answer_says_that_the_table_is_being_created() -> None:
    description = Router.start().ask("CreateTable", COMPOSITE)["TableDescription"]

    assert description["TableStatus"] == "CREATING"
    assert description["GlobalSecondaryIndexes"][0]["IndexStatus"] == "CREATING"
    assert description["CreationDateTime"] == NOW_MS / 1000
    assert description["TableArn"] == "arn:aws:dynamodb:us-east-1:000000000000:table/music"
    assert len(description["TableId"]) == 36


def test_existing_table_is_in_use(router: Router) -> None:
    message = router.refusal("CreateTable", HASH_ONLY, ResourceInUse)

    assert message == "Table already exists: simple"


def test_provisioned_units_are_kept() -> None:
    throughput = {"ReadCapacityUnits": 5, "WriteCapacityUnits": 6}
    body = a_table(
        an_index(ProvisionedThroughput={"ReadCapacityUnits": 1, "WriteCapacityUnits": 2}),
        BillingMode="PROVISIONED",
        ProvisionedThroughput=throughput,
    )

    description = Router.start().ask("CreateTable", body)["TableDescription"]

    assert description["ProvisionedThroughput"] == {"NumberOfDecreasesToday": 0} | throughput
    index = description["GlobalSecondaryIndexes"][0]
    assert index["ProvisionedThroughput"]["WriteCapacityUnits"] == 2
    assert "BillingModeSummary" not in description


def test_index_key_may_have_several_attributes_of_each_kind() -> None:
    names = ("a", "g", "h", "r", "s")
    index = an_index(KeySchema=schema("g", "h", "r", "s", kinds="HASH HASH RANGE RANGE"))
    router = Router.start()

    router.ask("CreateTable", a_table(index, AttributeDefinitions=definitions(*names)))

    made = router.context.catalog.find(*CALLER, "new").table.indexes[0]
    assert [key.name for key in made.hash] == ["g", "h"]
    assert [key.name for key in made.range] == ["r", "s"]


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        (
            {"ProvisionedThroughput": {"ReadCapacityUnits": 1, "WriteCapacityUnits": 1}},
            (
                f"{INVALID}Neither ReadCapacityUnits nor WriteCapacityUnits can be specified "
                "when BillingMode is PAY_PER_REQUEST"
            ),
        ),
        (
            {"BillingMode": None},
            (
                f"{INVALID}ReadCapacityUnits and WriteCapacityUnits must both be specified "
                "when BillingMode is PROVISIONED"
            ),
        ),
        (
            {
                "BillingMode": "PROVISIONED",
                "ProvisionedThroughput": {
                    "ReadCapacityUnits": 1_000_000_000_001,
                    "WriteCapacityUnits": 1,
                },
            },
            "Given value 1000000000001 for ReadCapacityUnits is out of bounds",
        ),
        (
            {"AttributeDefinitions": definitions("a", "b")},
            (
                f"{INVALID}Number of attributes in KeySchema does not exactly match "
                "number of attributes defined in AttributeDefinitions"
            ),
        ),
        (
            {"KeySchema": schema("a", "a")},
            "Invalid KeySchema: Some index key attribute have no definition",
        ),
        (
            {"KeySchema": schema("b")},
            (
                f"{INVALID}Some index key attributes are not defined in AttributeDefinitions. "
                "Keys: [b], AttributeDefinitions: [a]"
            ),
        ),
        (
            {"KeySchema": schema("a", "a"), "AttributeDefinitions": definitions("a", "b")},
            "Both the Hash Key and the Range Key element in the KeySchema have the same name",
        ),
        (
            {"KeySchema": schema("a", kinds="RANGE")},
            "Invalid KeySchema: The first KeySchemaElement is not a HASH key type",
        ),
        (
            {
                "KeySchema": schema("a", "b", kinds="HASH HASH"),
                "AttributeDefinitions": definitions("a", "b"),
            },
            "Invalid KeySchema: The second KeySchemaElement is not a RANGE key type",
        ),
        ({"AttributeDefinitions": definitions("a", "a")}, "Attribute Name is duplicated: a"),
        ({"GlobalSecondaryIndexes": []}, f"{INVALID}List of GlobalSecondaryIndexes is empty"),
        (
            {"StreamSpecification": {"StreamEnabled": False, "StreamViewType": "KEYS_ONLY"}},
            (
                f"{INVALID}Table is being created with a stream disabled, "
                "UpdateViewType should not be specified"
            ),
        ),
        (
            {"StreamSpecification": {"StreamEnabled": True}},
            f"{INVALID}Table is being created with a stream enabled, UpdateViewType is required",
        ),
        (
            {"StreamSpecification": {"StreamEnabled": True, "StreamViewType": "KEYS_ONLY"}},
            "StreamSpecification is not supported yet",
        ),
        (
            {"SSESpecification": {"Enabled": False, "SSEType": "KMS"}},
            f"{INVALID}SSEType can not be specified if Enabled is false",
        ),
    ],
)
def test_table_is_refused(changes: Body, message: str) -> None:
    router = Router.start()

    refusal = router.refusal("CreateTable", a_table(**changes), ValidationError)

    assert refusal == message
    assert router.nodes.created == 0


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        (
            {"KeySchema": schema("x")},
            (
                f"{INVALID}Some index key attributes are not defined in AttributeDefinitions. "
                "Keys: [x], AttributeDefinitions: [a, g]"
            ),
        ),
        (
            {"KeySchema": schema("a")},
            (
                f"{INVALID}Some AttributeDefinitions are not used. "
                "AttributeDefinitions: [a, g], keys used: [a]"
            ),
        ),
        (
            {"KeySchema": schema("g", "a", kinds="RANGE HASH")},
            "Invalid KeySchema: The first KeySchemaElement is not a HASH key type",
        ),
        (
            {"KeySchema": schema("g", "g")},
            "Both the Hash Key and the Range Key element in the KeySchema have the same name",
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
            {"ProvisionedThroughput": {"ReadCapacityUnits": 1, "WriteCapacityUnits": 1}},
            (
                f"{INVALID}ProvisionedThroughput should not be specified for index: gsi "
                "when BillingMode is PAY_PER_REQUEST"
            ),
        ),
    ],
)
def test_index_is_refused(changes: Body, message: str) -> None:
    body = a_table(an_index(**changes))

    assert Router.start().refusal("CreateTable", body, ValidationError) == message


def test_hash_attributes_of_an_index_come_first() -> None:
    index = an_index(KeySchema=schema("g", "a", "b", kinds="HASH RANGE HASH"))
    body = a_table(index, AttributeDefinitions=definitions("a", "b", "g"))

    message = Router.start().refusal("CreateTable", body, ValidationError)

    assert message == (
        f"{INVALID}All HASH key attributes must precede RANGE key attributes in the KeySchema"
    )


def test_index_of_a_provisioned_table_needs_units() -> None:
    body = a_table(
        an_index(),
        BillingMode="PROVISIONED",
        ProvisionedThroughput={"ReadCapacityUnits": 1, "WriteCapacityUnits": 1},
    )

    message = Router.start().refusal("CreateTable", body, ValidationError)

    assert message == f"{INVALID}ProvisionedThroughput is not specified for index: gsi"


def test_index_names_are_unique() -> None:
    body = a_table(an_index(), an_index())

    message = Router.start().refusal("CreateTable", body, ValidationError)

    assert message == f"{INVALID}Duplicate index name: gsi"


def test_twenty_indexes_are_the_most() -> None:
    indexes = [an_index(IndexName=f"gsi-{number}") for number in range(21)]

    message = Router.start().refusal("CreateTable", a_table(*indexes), ValidationError)

    assert message == f"{INVALID}GlobalSecondaryIndex count exceeds the per-table limit of 20"


def test_hundred_projected_attributes_are_the_most() -> None:
    projection = {
        "ProjectionType": "INCLUDE",
        "NonKeyAttributes": [f"attribute-{number}" for number in range(20)],
    }
    indexes = [an_index(IndexName=f"gsi-{number}", Projection=projection) for number in range(6)]

    message = Router.start().refusal("CreateTable", a_table(*indexes), ValidationError)

    assert message is not None
    assert "NonKeyAttributes" in message


def test_local_index_needs_a_range_key() -> None:
    index = an_index(IndexName="lsi", KeySchema=schema("a", "g"))
    body = a_table(AttributeDefinitions=definitions("a", "g"), LocalSecondaryIndexes=[index])

    message = Router.start().refusal("CreateTable", body, ValidationError)

    assert message == (
        f"{INVALID}Table KeySchema does not have a range key, "
        "which is required when specifying a LocalSecondaryIndex"
    )


def test_local_index_keeps_the_tables_partition_key() -> None:
    index = an_index(IndexName="lsi", KeySchema=schema("a", "c"))
    body = a_table(
        AttributeDefinitions=definitions("a", "b", "c"),
        KeySchema=schema("a", "b"),
        LocalSecondaryIndexes=[index],
    )

    described = Router.start().ask("CreateTable", body)["TableDescription"]

    (shown,) = described["LocalSecondaryIndexes"]
    assert shown["KeySchema"] == schema("a", "c")
    assert "GlobalSecondaryIndexes" not in described
