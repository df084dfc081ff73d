"""UpdateTable: changes of global indexes that DynamoDB refuses, and its words for that."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from tests.conformance.index_changes import BY_GROUP, ONE_AT_A_TIME, creation, deletion, settle
from tests.conformance.tables import Gsi, Lsi, TableFactory, a_table, definitions, invalid, refusal

if TYPE_CHECKING:
    from types_boto3_dynamodb import DynamoDBClient

INVALID = "One or more parameter values were invalid: "
UNITS = {"ReadCapacityUnits": 1, "WriteCapacityUnits": 1}
INDEXES_MAX = 20


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        (
            creation(BY_GROUP, AttributeDefinitions=None),
            f"{INVALID}AttributeDefinitions is not specified for index: by-group",
        ),
        (
            creation(Gsi("by-two", "a:S b:S"), AttributeDefinitions=definitions("a:S")),
            "Invalid KeySchema: Some index key attribute have no definition",
        ),
        (
            creation(BY_GROUP, AttributeDefinitions=definitions("other:S")),
            (
                f"{INVALID}Some index key attributes are not defined in AttributeDefinitions. "
                "Keys: [group], AttributeDefinitions: [other]"
            ),
        ),
        (
            creation(Gsi("again", "taken:N")),
            (
                f"{INVALID}Attributes cannot be redefined. Please check that your attribute has "
                "the same type as previously defined. "
                "Existing schema: Schema:[SchemaElement: key{taken:S:HASH}] "
                "New schema: Schema:[SchemaElement: key{taken:N:HASH}]"
            ),
        ),
        (
            creation(Gsi("again", "pk:B")),
            (
                f"{INVALID}Attributes cannot be redefined. Please check that your attribute has "
                "the same type as previously defined. "
                "Existing schema: Schema:[SchemaElement: key{pk:S:HASH}] "
                "New schema: Schema:[SchemaElement: key{pk:B:HASH}]"
            ),
        ),
        (
            creation(Gsi("existing", "nothing:S"), AttributeDefinitions=None),
            "Attempting to create an index which already exists",
        ),
        (
            creation(Gsi("by-group", "group:S", "INCLUDE")),
            f"{INVALID}ProjectionType is INCLUDE, but NonKeyAttributes is not specified",
        ),
        (
            creation(Gsi("by-group", "group:S", "KEYS_ONLY", ("a",))),
            f"{INVALID}ProjectionType is KEYS_ONLY, but NonKeyAttributes is specified",
        ),
        (
            creation(Gsi("by-group", "group:S", "INCLUDE", ("a", "a"))),
            f"{INVALID}Duplicate element in NonKeyAttributes: a",
        ),
        (
            creation(
                BY_GROUP,
                GlobalSecondaryIndexUpdates=[
                    {"Create": BY_GROUP.definition() | {"ProvisionedThroughput": UNITS}}
                ],
            ),
            (
                f"{INVALID}Neither ReadCapacityUnits nor WriteCapacityUnits can be specified "
                "for index: by-group when BillingMode is PAY_PER_REQUEST"
            ),
        ),
        (
            creation(BY_GROUP, DeletionProtectionEnabled=True),
            f"{INVALID}DeletionProtection modification must be the only operation in the request",
        ),
        (
            creation(BY_GROUP, ProvisionedThroughput=UNITS),
            f"{INVALID}You cannot create or delete index while updating table IOPS",
        ),
    ],
)
def test_creation_is_refused(
    dynamodb: DynamoDBClient, tables: TableFactory, changes: dict[str, Any], message: str
) -> None:
    name = tables.create("pk:S", Gsi("existing", "taken:S"))
    given = {key: value for key, value in changes.items() if value is not None}

    assert invalid(dynamodb.update_table, TableName=name, **given) == message
    assert len(settle(dynamodb, name)["GlobalSecondaryIndexes"]) == 1


def test_index_of_a_provisioned_table_needs_units(
    dynamodb: DynamoDBClient, tables: TableFactory
) -> None:
    name = tables.create_from(
        a_table("pk:S", BillingMode="PROVISIONED", ProvisionedThroughput=UNITS)
    )

    assert invalid(dynamodb.update_table, TableName=name, **creation(BY_GROUP)) == (
        f"{INVALID}Both ReadCapacityUnits and WriteCapacityUnits must be specified "
        "for index: by-group"
    )


def test_missing_index_is_not_removed(dynamodb: DynamoDBClient, tables: TableFactory) -> None:
    name = tables.create("pk:S", BY_GROUP)

    code, message = refusal(dynamodb.update_table, TableName=name, **deletion("none"))

    assert code == "ResourceNotFoundException"
    assert message == f"Requested resource not found: Index none for table {name}"


@pytest.mark.parametrize(
    "actions",
    [
        [{"Create": BY_GROUP.definition()}, {"Create": Gsi("second", "group:S").definition()}],
        [{"Create": BY_GROUP.definition()}, {"Delete": {"IndexName": "existing"}}],
        [{"Delete": {"IndexName": "none"}}, {"Delete": {"IndexName": "neither"}}],
    ],
    ids=["two creates", "create and delete", "two that are not there"],
)
def test_indexes_change_one_at_a_time(
    dynamodb: DynamoDBClient, tables: TableFactory, actions: list[Any]
) -> None:
    name = tables.create("pk:S", Gsi("existing", "taken:S"))

    code, message = refusal(
        dynamodb.update_table,
        TableName=name,
        AttributeDefinitions=definitions("group:S"),
        GlobalSecondaryIndexUpdates=actions,
    )

    assert code == "LimitExceededException"
    assert message == ONE_AT_A_TIME


def test_indexes_project_no_more_than_a_hundred_attributes(
    dynamodb: DynamoDBClient, tables: TableFactory
) -> None:
    attributes = tuple(f"a{number}" for number in range(20))
    indexes = [Gsi(f"index{number}", "group:S", "INCLUDE", attributes) for number in range(5)]
    name = tables.create("pk:S", *indexes)
    one_more = Gsi("by-group", "group:S", "INCLUDE", ("a0",))

    assert invalid(dynamodb.update_table, TableName=name, **creation(one_more)) == (
        f"{INVALID}Number of NonKeyAttributes across all indexes exceeds the per-table limit of 100"
    )


def test_table_has_no_more_than_twenty_indexes(
    dynamodb: DynamoDBClient, tables: TableFactory
) -> None:
    indexes = [Gsi(f"index{number}", "group:S") for number in range(INDEXES_MAX)]
    name = tables.create("pk:S", *indexes)

    code, message = refusal(dynamodb.update_table, TableName=name, **creation(BY_GROUP))

    assert code == "LimitExceededException"
    assert message == (
        "Subscriber limit exceeded: Number of global secondary indexes "
        "exceeds per-table limit of 20"
    )


def test_local_index_stays_as_it_is(dynamodb: DynamoDBClient, tables: TableFactory) -> None:
    name = tables.create("pk:S sk:S", Lsi("local", "pk:S n:N"))
    changed = {"Update": {"IndexName": "local", "ProvisionedThroughput": UNITS}}

    def refused(**request: Any) -> str:
        return invalid(dynamodb.update_table, TableName=name, **request)

    not_global = "an index that is not a GlobalSecondaryIndex: local"
    assert refused(**deletion("local")) == f"Cannot delete {not_global}"
    assert refused(GlobalSecondaryIndexUpdates=[changed]) == f"Cannot update {not_global}"
    again = refused(**creation(Gsi("local", "group:S")))
    assert again == "Attempting to create an index which already exists"


def test_attribute_of_a_local_index_keeps_its_type(
    dynamodb: DynamoDBClient, tables: TableFactory
) -> None:
    name = tables.create("pk:S sk:S", Lsi("local", "pk:S n:N"))

    message = invalid(dynamodb.update_table, TableName=name, **creation(Gsi("by-n", "n:S")))

    assert message.startswith(f"{INVALID}Attributes cannot be redefined.")
