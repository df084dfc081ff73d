"""The states of an index on a server told to take its time, and what is refused in which of them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from gramme.embedded import serving
from tests.conformance.index_changes import BY_GROUP, ONE_AT_A_TIME, creation, deletion
from tests.conformance.tables import Gsi, invalid, refusal
from tests.support.waiting import until
from tests.unit.gramme.slow import DELAY_MS, IN_USE, TIMEOUT_S, Slow

OTHER = Gsi("other", "other:S")
UNITS: Any = {"ReadCapacityUnits": 2, "WriteCapacityUnits": 2}
REFUSED_FOR_NOW = ("LimitExceededException", ONE_AT_A_TIME)


@pytest.fixture
def slow() -> Iterator[Slow]:
    with serving(clock="virtual", table_delay_ms=DELAY_MS) as server:
        yield Slow(server)


def change(name: str = "by-group") -> dict[str, Any]:
    limits = {"MaxReadRequestUnits": 5}
    return {
        "GlobalSecondaryIndexUpdates": [
            {"Update": {"IndexName": name, "OnDemandThroughput": limits}}
        ]
    }


def states(slow: Slow, name: str) -> tuple[str, dict[str, tuple[str, bool | None]]]:
    """The state of the table, and that of each index with its Backfilling."""
    table = slow.dynamodb.describe_table(TableName=name)["Table"]
    indexes: dict[str, tuple[str, bool | None]] = {
        index["IndexName"]: (index["IndexStatus"], index.get("Backfilling"))
        for index in table.get("GlobalSecondaryIndexes", [])
    }
    return table["TableStatus"], indexes


def pass_time(slow: Slow, name: str, index: tuple[str, bool | None] | None) -> None:
    """Let a state end, and wait for the next one of the index; None if it is gone."""
    slow.clock.advance(DELAY_MS)
    wait(slow, name, index)


def wait(slow: Slow, name: str, index: tuple[str, bool | None] | None) -> None:
    until(
        lambda: states(slow, name)[1].get("by-group") == index, TIMEOUT_S, f"the index is {index}"
    )


def adding(slow: Slow, *indexes: Gsi, **changes: Any) -> str:
    """A table to which an index is just being added."""
    name = slow.create_active(*indexes, **changes)
    slow.dynamodb.put_item(TableName=name, Item={"pk": {"S": "a"}, "group": {"S": "g"}})
    slow.dynamodb.update_table(TableName=name, **creation(BY_GROUP))
    return name


def query(slow: Slow, name: str) -> dict[str, Any]:
    return {
        "TableName": name,
        "IndexName": "by-group",
        "KeyConditionExpression": "#g = :g",
        "ExpressionAttributeNames": {"#g": "group"},
        "ExpressionAttributeValues": {":g": {"S": "g"}},
    }


def test_index_is_made_and_filled_before_it_is_active(slow: Slow) -> None:
    name = adding(slow)
    backfilling = "Cannot read from backfilling global secondary index: by-group"

    assert states(slow, name) == ("UPDATING", {"by-group": ("CREATING", False)})
    assert invalid(slow.dynamodb.query, **query(slow, name)) == backfilling
    pass_time(slow, name, ("CREATING", True))
    assert states(slow, name) == ("ACTIVE", {"by-group": ("CREATING", True)})
    assert invalid(slow.dynamodb.query, **query(slow, name)) == backfilling
    assert invalid(slow.dynamodb.scan, TableName=name, IndexName="by-group") == backfilling
    slow.dynamodb.put_item(TableName=name, Item={"pk": {"S": "b"}, "group": {"S": "g"}})
    pass_time(slow, name, ("ACTIVE", None))

    found = slow.dynamodb.query(**query(slow, name))["Items"]
    assert sorted(item["pk"]["S"] for item in found) == ["a", "b"]


def test_index_is_deleting_before_it_is_gone(slow: Slow) -> None:
    name = slow.create_active(BY_GROUP, OTHER)
    slow.dynamodb.update_table(TableName=name, **deletion("by-group"))

    assert states(slow, name) == (
        "UPDATING",
        {"by-group": ("DELETING", None), "other": ("ACTIVE", None)},
    )
    assert invalid(slow.dynamodb.query, **query(slow, name)) == (
        "The table does not have the specified index: by-group"
    )
    slow.dynamodb.put_item(TableName=name, Item={"pk": {"S": "a"}, "group": {"S": "g"}})
    pass_time(slow, name, None)
    assert states(slow, name) == ("ACTIVE", {"other": ("ACTIVE", None)})


def test_wrong_types_are_refused_from_the_beginning(slow: Slow) -> None:
    name = adding(slow)

    message = invalid(
        slow.dynamodb.update_item,
        TableName=name,
        Key={"pk": {"S": "a"}},
        UpdateExpression="SET #g = :g",
        ExpressionAttributeNames={"#g": "group"},
        ExpressionAttributeValues={":g": {"N": "1"}},
    )

    assert "Type mismatch for Index Key group Expected: S Actual: N" in message


def test_what_is_refused_while_an_index_is_made(slow: Slow) -> None:
    name = adding(slow, OTHER)
    where = f"Table: {name} Index: by-group"

    def refused(**changes: Any) -> tuple[str, str]:
        return refusal(slow.dynamodb.update_table, TableName=name, **changes)

    def in_use(words: str) -> tuple[str, str]:
        return "ResourceInUseException", f"{IN_USE}{words}"

    assert refused(**creation(Gsi("third", "third:S"))) == REFUSED_FOR_NOW
    assert refused(**deletion("other")) == REFUSED_FOR_NOW
    assert refused(**creation(BY_GROUP)) == in_use(f"Index is being created.  {where}")
    assert refused(**change()) == in_use(
        f"Index is being created but is not backfilling yet.  {where}"
    )
    assert refused(**deletion("by-group")) == in_use(
        "Index creation is in resource allocation phase. Retry deletion "
        f"during backfilling phase or when the index is active. {where}"
    )
    assert refused(OnDemandThroughput={"MaxReadRequestUnits": 5}) == in_use(
        "OnDemandThroughput cannot be updated while index creation is in progress "
        "for indexes: [by-group]"
    )
    assert refusal(slow.dynamodb.delete_table, TableName=name) == in_use(
        "Cannot delete table while indexes are being created, updated, or deleted."
    )
    # What has nothing to do with it is done.
    slow.dynamodb.update_table(TableName=name, **change("other"))
    slow.dynamodb.update_table(TableName=name, DeletionProtectionEnabled=False)


def test_what_is_refused_while_an_index_is_filled(slow: Slow) -> None:
    name = adding(slow, OTHER)
    pass_time(slow, name, ("CREATING", True))

    for changes in (creation(Gsi("third", "third:S")), deletion("other")):
        assert refusal(slow.dynamodb.update_table, TableName=name, **changes) == REFUSED_FOR_NOW
    assert refusal(slow.dynamodb.delete_table, TableName=name) == (
        "ResourceInUseException",
        f"{IN_USE}Cannot delete table while indexes are being created, updated, or deleted.",
    )
    slow.dynamodb.update_table(TableName=name, **change())
    slow.dynamodb.update_table(TableName=name, OnDemandThroughput={"MaxReadRequestUnits": 5})

    pass_time(slow, name, ("ACTIVE", None))
    index = slow.dynamodb.describe_table(TableName=name)["Table"]["GlobalSecondaryIndexes"][1]
    assert index["OnDemandThroughput"] == {"MaxReadRequestUnits": 5}


def test_index_is_removed_while_it_is_filled(slow: Slow) -> None:
    name = adding(slow)
    pass_time(slow, name, ("CREATING", True))

    answer = slow.dynamodb.update_table(TableName=name, **deletion("by-group"))["TableDescription"]

    assert answer["TableStatus"] == "UPDATING"
    assert answer["GlobalSecondaryIndexes"][0]["IndexStatus"] == "DELETING"
    assert "Backfilling" not in answer["GlobalSecondaryIndexes"][0]
    pass_time(slow, name, None)
    slow.dynamodb.delete_table(TableName=name)


def test_what_is_refused_while_an_index_is_removed(slow: Slow) -> None:
    name = slow.create_active(BY_GROUP, OTHER)
    slow.dynamodb.update_table(TableName=name, **deletion("by-group"))
    gone = (
        "ResourceInUseException",
        f"{IN_USE}Index is being deleted. Table: {name} Index: by-group",
    )

    for changes in (creation(BY_GROUP), change(), deletion("by-group")):
        assert refusal(slow.dynamodb.update_table, TableName=name, **changes) == gone
    assert (
        refusal(slow.dynamodb.update_table, TableName=name, **deletion("other")) == REFUSED_FOR_NOW
    )
    _, message = refusal(
        slow.dynamodb.update_table, TableName=name, OnDemandThroughput={"MaxReadRequestUnits": 5}
    )
    assert message == (
        f"{IN_USE}OnDemandThroughput cannot be updated while index deletion is in progress "
        "for indexes: [by-group]"
    )
    assert refusal(slow.dynamodb.delete_table, TableName=name)[0] == "ResourceInUseException"
    # It is on-demand already.
    slow.dynamodb.update_table(TableName=name, BillingMode="PAY_PER_REQUEST")


@pytest.mark.parametrize("done", ["created", "deleted"])
def test_units_wait_while_an_index_is_added_or_removed(slow: Slow, done: str) -> None:
    indexes = (BY_GROUP,) if done == "deleted" else ()
    parameters: dict[str, Any] = {"BillingMode": "PROVISIONED", "ProvisionedThroughput": UNITS}
    if indexes:
        parameters["GlobalSecondaryIndexes"] = [
            BY_GROUP.definition() | {"ProvisionedThroughput": UNITS}
        ]
    name = slow.create_active(*indexes, **parameters)
    request = deletion("by-group")
    if done == "created":
        request = creation(BY_GROUP)
        request["GlobalSecondaryIndexUpdates"][0]["Create"]["ProvisionedThroughput"] = UNITS
    slow.dynamodb.update_table(TableName=name, **request)
    other = {"ReadCapacityUnits": 3, "WriteCapacityUnits": 3}

    for changes in ({"ProvisionedThroughput": other}, {"BillingMode": "PAY_PER_REQUEST"}):
        code, message = refusal(slow.dynamodb.update_table, TableName=name, **changes)
        assert code == "ResourceInUseException"
        assert message == (
            f"{IN_USE}Can't change table IOPS when an index is being {done}. "
            f"Table: {name} Indexes: [by-group]"
        )


def test_indexes_wait_while_the_table_is_updated(slow: Slow) -> None:
    name = slow.create_active()
    slow.dynamodb.update_table(
        TableName=name, BillingMode="PROVISIONED", ProvisionedThroughput=UNITS
    )
    request = creation(BY_GROUP)
    request["GlobalSecondaryIndexUpdates"][0]["Create"]["ProvisionedThroughput"] = UNITS

    assert refusal(slow.dynamodb.update_table, TableName=name, **request) == (
        "ResourceInUseException",
        f"{IN_USE}Can't create or delete indexes while table IOPS are being updated. Table: {name}",
    )


def test_states_go_on_after_a_restart(tmp_path: Path) -> None:
    settings = {
        "in_memory": False,
        "data": str(tmp_path / "data"),
        "clock": "virtual",
        "table_delay_ms": DELAY_MS,
    }
    with serving(**settings) as server:
        slow = Slow(server)
        removed = slow.create_active(BY_GROUP)
        added = adding(slow)
        slow.dynamodb.update_table(TableName=removed, **deletion("by-group"))

    with serving(**settings) as server:
        slow = Slow(server)
        assert states(slow, removed) == ("UPDATING", {"by-group": ("DELETING", None)})
        pass_time(slow, removed, None)
        wait(slow, added, ("CREATING", True))
        pass_time(slow, added, ("ACTIVE", None))
        assert slow.dynamodb.query(**query(slow, added))["Count"] == 1
