"""UpdateTable: global indexes added to a table with items in it, and removed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from tests.conformance.tables import (
    Gsi,
    Item,
    TableFactory,
    a_table,
    definitions,
    eventually,
    invalid,
    refusal,
)
from tests.support.waiting import until

if TYPE_CHECKING:
    from types_boto3_dynamodb import DynamoDBClient

INVALID = "One or more parameter values were invalid: "
UNITS = {"ReadCapacityUnits": 1, "WriteCapacityUnits": 1}
# DynamoDB takes ten to twenty minutes for an empty table.
SETTLED_TIMEOUT_S = 1800.0
BY_GROUP = Gsi("by-group", "group:S")
INDEXES_MAX = 20


def creation(index: Gsi, **changes: Any) -> dict[str, Any]:
    """What UpdateTable takes to add an index."""
    return {
        "AttributeDefinitions": definitions(index.key),
        "GlobalSecondaryIndexUpdates": [{"Create": index.definition()}],
    } | changes


def deletion(name: str) -> dict[str, Any]:
    return {"GlobalSecondaryIndexUpdates": [{"Delete": {"IndexName": name}}]}


def settle(dynamodb: DynamoDBClient, name: str) -> dict[str, Any]:
    """The table when it and all of its indexes are active."""

    def settled() -> bool:
        table = dynamodb.describe_table(TableName=name)["Table"]
        indexes = table.get("GlobalSecondaryIndexes", [])
        return all(
            status == "ACTIVE"
            for status in (table["TableStatus"], *(index["IndexStatus"] for index in indexes))
        )

    until(settled, SETTLED_TIMEOUT_S, f"{name} and its indexes are active")
    return dict(dynamodb.describe_table(TableName=name)["Table"])


def update(dynamodb: DynamoDBClient, name: str, **changes: Any) -> dict[str, Any]:
    dynamodb.update_table(TableName=name, **changes)
    return settle(dynamodb, name)


def put(dynamodb: DynamoDBClient, table: str, pk: str, **attributes: Any) -> Item:
    item = {"pk": {"S": pk}, **attributes}
    dynamodb.put_item(TableName=table, Item=item)
    return item


def indexed(dynamodb: DynamoDBClient, table: str, group: str, index: str = "by-group") -> list[str]:
    page = dynamodb.query(
        TableName=table,
        IndexName=index,
        KeyConditionExpression="#group = :group",
        ExpressionAttributeNames={"#group": "group"},
        ExpressionAttributeValues={":group": {"S": group}},
    )
    return sorted(item["pk"]["S"] for item in page["Items"])


def test_index_is_added_with_the_items_from_before(
    dynamodb: DynamoDBClient, tables: TableFactory
) -> None:
    name = tables.create()
    for number in range(300):
        put(dynamodb, name, f"pk{number:03}", group={"S": f"g{number % 3}"})

    answer = dynamodb.update_table(TableName=name, **creation(BY_GROUP))["TableDescription"]
    table = settle(dynamodb, name)
    put(dynamodb, name, "pk999", group={"S": "g0"})

    assert answer["TableStatus"] == "UPDATING"
    [index] = answer["GlobalSecondaryIndexes"]
    assert index["IndexStatus"] == "CREATING"
    assert index["Backfilling"] is False
    assert index["IndexArn"] == f"{answer['TableArn']}/index/by-group"
    assert index["ItemCount"] == 0
    [index] = table["GlobalSecondaryIndexes"]
    assert "Backfilling" not in index
    assert index["KeySchema"] == [{"AttributeName": "group", "KeyType": "HASH"}]
    assert index["Projection"] == {"ProjectionType": "ALL"}
    assert table["AttributeDefinitions"] == definitions("group:S pk:S")
    assert indexed(dynamodb, name, "g1") == [f"pk{number:03}" for number in range(1, 300, 3)]
    expected = [*(f"pk{number:03}" for number in range(0, 300, 3)), "pk999"]
    eventually(lambda: indexed(dynamodb, name, "g0"), expected)


def test_new_index_is_scanned_and_queried_in_order(
    dynamodb: DynamoDBClient, tables: TableFactory
) -> None:
    name = tables.create("pk:S sk:N")
    for number in (3, -1, 20, 0):
        dynamodb.put_item(
            TableName=name,
            Item={
                "pk": {"S": "a"},
                "sk": {"N": str(number)},
                "group": {"S": "g"},
                "n": {"N": str(-number)},
                "kept": {"S": "x"},
                "left": {"S": "y"},
            },
        )
    index = Gsi("by-n", "group:S n:N", "INCLUDE", ("kept",))

    update(dynamodb, name, **creation(index))

    page = dynamodb.query(
        TableName=name,
        IndexName="by-n",
        KeyConditionExpression="#group = :group",
        ExpressionAttributeNames={"#group": "group"},
        ExpressionAttributeValues={":group": {"S": "g"}},
    )
    assert [item["n"]["N"] for item in page["Items"]] == ["-20", "-3", "0", "1"]
    assert all(item.keys() == {"pk", "sk", "group", "n", "kept"} for item in page["Items"])
    assert dynamodb.scan(TableName=name, IndexName="by-n", Select="COUNT")["Count"] == 4


@pytest.mark.parametrize(
    "group",
    [{"N": "1"}, {"NULL": True}, {"S": ""}, {"S": "x" * 2049}, {"L": [{"S": "g"}]}],
    ids=["number", "null", "empty", "too long", "list"],
)
def test_item_that_cannot_be_indexed_is_passed_over_and_refused_later(
    dynamodb: DynamoDBClient, tables: TableFactory, group: Item
) -> None:
    name = tables.create()
    put(dynamodb, name, "odd", group=group)
    put(dynamodb, name, "usual", group={"S": "g"})
    put(dynamodb, name, "sparse")

    update(dynamodb, name, **creation(BY_GROUP))

    scanned = dynamodb.scan(TableName=name, IndexName="by-group")["Items"]
    assert [item["pk"]["S"] for item in scanned] == ["usual"]
    assert dynamodb.scan(TableName=name, Select="COUNT")["Count"] == 3
    item = {"pk": {"S": "new"}, "group": group}
    one = invalid(dynamodb.put_item, TableName=name, Item=item)
    batch = invalid(
        dynamodb.batch_write_item, RequestItems={name: [{"PutRequest": {"Item": item}}]}
    )
    changed = invalid(
        dynamodb.update_item,
        TableName=name,
        Key={"pk": {"S": "sparse"}},
        UpdateExpression="SET #group = :group",
        ExpressionAttributeNames={"#group": "group"},
        ExpressionAttributeValues={":group": group},
    )
    for message in (one, batch, changed):
        assert message.startswith("One or more parameter values ")


def test_item_that_cannot_be_indexed_is_changed_elsewhere_and_put_right(
    dynamodb: DynamoDBClient, tables: TableFactory
) -> None:
    name = tables.create()
    put(dynamodb, name, "odd", group={"N": "1"})
    update(dynamodb, name, **creation(BY_GROUP))
    changes: dict[str, Any] = {
        "TableName": name,
        "Key": {"pk": {"S": "odd"}},
        "UpdateExpression": "SET #name = :value",
    }

    dynamodb.update_item(
        **changes,
        ExpressionAttributeNames={"#name": "other"},
        ExpressionAttributeValues={":value": {"S": "x"}},
    )
    again = invalid(
        dynamodb.update_item,
        **changes,
        ExpressionAttributeNames={"#name": "group"},
        ExpressionAttributeValues={":value": {"N": "2"}},
    )
    assert indexed(dynamodb, name, "g") == []
    dynamodb.update_item(
        **changes,
        ExpressionAttributeNames={"#name": "group"},
        ExpressionAttributeValues={":value": {"S": "g"}},
    )

    assert again.startswith(f"{INVALID}Type mismatch for Index Key group Expected: S Actual: N")
    eventually(lambda: indexed(dynamodb, name, "g"), ["odd"])


def test_index_is_removed(dynamodb: DynamoDBClient, tables: TableFactory) -> None:
    name = tables.create("pk:S", BY_GROUP, Gsi("other", "other:S"))
    put(dynamodb, name, "a", group={"S": "g"}, other={"S": "o"})
    eventually(lambda: indexed(dynamodb, name, "g"), ["a"])

    answer = dynamodb.update_table(TableName=name, **deletion("by-group"))["TableDescription"]
    table = settle(dynamodb, name)

    assert answer["TableStatus"] == "UPDATING"
    states = {one["IndexName"]: one["IndexStatus"] for one in answer["GlobalSecondaryIndexes"]}
    assert states == {"by-group": "DELETING", "other": "ACTIVE"}
    assert [index["IndexName"] for index in table["GlobalSecondaryIndexes"]] == ["other"]
    assert table["AttributeDefinitions"] == definitions("other:S pk:S")
    assert invalid(indexed, dynamodb=dynamodb, table=name, group="g") == (
        "The table does not have the specified index: by-group"
    )
    # Nobody minds the type any more.
    put(dynamodb, name, "a", group={"N": "1"}, other={"S": "p"})
    found = dynamodb.get_item(TableName=name, Key={"pk": {"S": "a"}}, ConsistentRead=True)
    assert found["Item"]["group"] == {"N": "1"}


def test_last_index_is_removed_and_comes_again_with_another_key(
    dynamodb: DynamoDBClient, tables: TableFactory
) -> None:
    name = tables.create("pk:S", BY_GROUP)
    put(dynamodb, name, "a", group={"S": "g"}, kind={"N": "1"})

    without = update(dynamodb, name, **deletion("by-group"))
    put(dynamodb, name, "b", group={"S": "g"}, kind={"N": "1"})
    table = update(dynamodb, name, **creation(Gsi("by-group", "group:S kind:N", "KEYS_ONLY")))

    assert "GlobalSecondaryIndexes" not in without
    assert without["AttributeDefinitions"] == definitions("pk:S")
    assert table["AttributeDefinitions"] == definitions("group:S kind:N pk:S")
    assert indexed(dynamodb, name, "g") == ["a", "b"]


def test_protection_against_deletion_is_not_for_indexes(
    dynamodb: DynamoDBClient, tables: TableFactory
) -> None:
    name = tables.create_from(a_table("pk:S", BY_GROUP, DeletionProtectionEnabled=True))

    table = update(dynamodb, name, **deletion("by-group"))
    dynamodb.update_table(TableName=name, DeletionProtectionEnabled=False)

    assert "GlobalSecondaryIndexes" not in table


def test_other_definitions_are_not_looked_at(
    dynamodb: DynamoDBClient, tables: TableFactory
) -> None:
    name = tables.create()

    table = update(
        dynamodb,
        name,
        **creation(BY_GROUP, AttributeDefinitions=definitions("unused:B group:S")),
    )
    removed = update(
        dynamodb, name, **deletion("by-group"), AttributeDefinitions=definitions("pk:N")
    )

    assert table["AttributeDefinitions"] == definitions("group:S pk:S")
    assert removed["AttributeDefinitions"] == definitions("pk:S")


def test_index_is_added_with_its_own_units(dynamodb: DynamoDBClient, tables: TableFactory) -> None:
    name = tables.create_from(
        a_table("pk:S", BillingMode="PROVISIONED", ProvisionedThroughput=UNITS)
    )
    create = Gsi("other", "other:S").definition() | {"ProvisionedThroughput": UNITS}

    table = update(
        dynamodb,
        name,
        AttributeDefinitions=definitions("other:S"),
        GlobalSecondaryIndexUpdates=[{"Create": create}],
    )

    [index] = table["GlobalSecondaryIndexes"]
    assert index["ProvisionedThroughput"]["ReadCapacityUnits"] == 1
    assert index["WarmThroughput"]["WriteUnitsPerSecond"] == 1


def test_index_is_added_together_with_a_change_of_another(
    dynamodb: DynamoDBClient, tables: TableFactory
) -> None:
    name = tables.create("pk:S", BY_GROUP)
    limits = {"MaxReadRequestUnits": 7, "MaxWriteRequestUnits": 8}
    create = {"Create": Gsi("other", "other:S").definition()}
    change = {"Update": {"IndexName": "by-group", "OnDemandThroughput": limits}}

    table = update(
        dynamodb,
        name,
        AttributeDefinitions=definitions("other:S"),
        GlobalSecondaryIndexUpdates=[create, change],
    )

    by_name = {index["IndexName"]: index for index in table["GlobalSecondaryIndexes"]}
    assert by_name.keys() == {"by-group", "other"}
    assert by_name["by-group"]["OnDemandThroughput"] == limits


def test_index_is_added_together_with_a_change_of_the_billing_mode(
    dynamodb: DynamoDBClient, tables: TableFactory
) -> None:
    name = tables.create_from(
        a_table("pk:S", BillingMode="PROVISIONED", ProvisionedThroughput=UNITS)
    )

    table = update(dynamodb, name, **creation(BY_GROUP, BillingMode="PAY_PER_REQUEST"))

    assert table["BillingModeSummary"]["BillingMode"] == "PAY_PER_REQUEST"
    [index] = table["GlobalSecondaryIndexes"]
    assert index["ProvisionedThroughput"]["ReadCapacityUnits"] == 0


def test_index_has_up_to_four_attributes_of_each_kind(
    dynamodb: DynamoDBClient, tables: TableFactory
) -> None:
    name = tables.create()
    names = [f"{kind}{number}" for kind in "hr" for number in range(4)]
    put(dynamodb, name, "whole", **{attribute: {"S": "x"} for attribute in names})
    put(dynamodb, name, "part", **{attribute: {"S": "x"} for attribute in names[1:]})
    schema = [
        {"AttributeName": attribute, "KeyType": "HASH" if attribute[0] == "h" else "RANGE"}
        for attribute in names
    ]
    create = Gsi("by-many", "h0:S").definition() | {"KeySchema": schema}

    update(
        dynamodb,
        name,
        AttributeDefinitions=definitions(" ".join(f"{attribute}:S" for attribute in names)),
        GlobalSecondaryIndexUpdates=[{"Create": create}],
    )

    items = dynamodb.scan(TableName=name, IndexName="by-many")["Items"]
    assert [item["pk"]["S"] for item in items] == ["whole"]


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
    assert message == (
        "Subscriber limit exceeded: Only 1 online index can be created or deleted "
        "simultaneously per table"
    )


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
