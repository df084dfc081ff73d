"""UpdateTable: global indexes added to a table with items in it, and removed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from tests.conformance.index_changes import BY_GROUP, creation, deletion, settle, update
from tests.conformance.tables import (
    Gsi,
    Item,
    TableFactory,
    a_table,
    definitions,
    eventually,
    invalid,
)

if TYPE_CHECKING:
    from types_boto3_dynamodb import DynamoDBClient

INVALID = "One or more parameter values were invalid: "
UNITS = {"ReadCapacityUnits": 1, "WriteCapacityUnits": 1}


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
    for message in (one, batch):
        assert message.startswith("One or more parameter values ")
    assert "ndex " in changed


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
