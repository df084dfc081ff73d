"""The states of a table on a server told to take its time, and what of a table outlives a restart or a race."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from gramme.embedded import Server, serving
from tests.conformance.tables import Gsi, a_table, invalid, refusal
from tests.support.waiting import until
from tests.unit.gramme.slow import DELAY_MS, IN_USE, TIMEOUT_S, Slow, client_of

CALLERS = 8


@pytest.fixture
def slow() -> Iterator[Slow]:
    with serving(clock="virtual", table_delay_ms=DELAY_MS) as server:
        yield Slow(server)


def test_table_in_creation_is_described_and_cannot_be_used(slow: Slow) -> None:
    name = slow.create()
    key = {"pk": {"S": "a"}}

    assert slow.status(name) == "CREATING"
    assert name in slow.dynamodb.list_tables()["TableNames"]
    assert refusal(slow.dynamodb.get_item, TableName=name, Key=key) == (
        "ResourceNotFoundException",
        "Requested resource not found",
    )
    assert invalid(slow.dynamodb.describe_time_to_live, TableName=name) == (
        "Cannot describe time to live while table is in CREATING state: "
        "Current table state is CREATING"
    )

    slow.pass_time(name, "ACTIVE")

    assert "Item" not in slow.dynamodb.get_item(TableName=name, Key=key)


def test_table_in_creation_is_in_use(slow: Slow) -> None:
    name = slow.create()
    expected = ("ResourceInUseException", f"{IN_USE}Table is being created: {name}")

    assert refusal(slow.dynamodb.create_table, **a_table(TableName=name)) == expected
    assert refusal(slow.dynamodb.delete_table, TableName=name) == expected
    assert (
        refusal(slow.dynamodb.update_table, TableName=name, BillingMode="PAY_PER_REQUEST")
        == expected
    )


def test_table_in_update_goes_on_working(slow: Slow) -> None:
    name = slow.create_active()
    slow.dynamodb.update_table(
        TableName=name,
        BillingMode="PROVISIONED",
        ProvisionedThroughput={"ReadCapacityUnits": 1, "WriteCapacityUnits": 1},
    )

    assert slow.status(name) == "UPDATING"
    slow.dynamodb.put_item(TableName=name, Item={"pk": {"S": "a"}})
    slow.dynamodb.update_table(TableName=name, DeletionProtectionEnabled=False)
    assert refusal(slow.dynamodb.delete_table, TableName=name) == (
        "ResourceInUseException",
        f"{IN_USE}Table: {name} is in the process of being updated.",
    )
    assert refusal(slow.dynamodb.update_table, TableName=name, BillingMode="PAY_PER_REQUEST") == (
        "ResourceInUseException",
        f"{IN_USE}Table IOPS are currently being updated. Table: {name}",
    )

    slow.pass_time(name, "ACTIVE")

    table = slow.dynamodb.describe_table(TableName=name)["Table"]
    assert table["ProvisionedThroughput"]["ReadCapacityUnits"] == 1


def test_table_in_deletion_is_there_until_it_is_gone(slow: Slow) -> None:
    name = slow.create_active(Gsi("gsi", "g:S"))
    slow.dynamodb.delete_table(TableName=name)

    assert slow.status(name) == "DELETING"
    # To delete it again is no mistake.
    again = slow.dynamodb.delete_table(TableName=name)["TableDescription"]
    assert again["TableStatus"] == "DELETING"
    assert refusal(slow.dynamodb.create_table, **a_table(TableName=name)) == (
        "ResourceInUseException",
        f"Table already exists: {name}",
    )
    assert refusal(slow.dynamodb.update_table, TableName=name, BillingMode="PAY_PER_REQUEST") == (
        "ResourceInUseException",
        f"{IN_USE}Table is being deleted: {name}",
    )
    arn = slow.dynamodb.describe_table(TableName=name)["Table"]["TableArn"]
    assert refusal(slow.dynamodb.untag_resource, ResourceArn=arn, TagKeys=["a"]) == (
        "ResourceInUseException",
        f"{IN_USE}Table is being deleted: {name}",
    )

    slow.clock.advance(DELAY_MS)

    def gone() -> bool:
        return name not in slow.dynamodb.list_tables()["TableNames"]

    until(gone, TIMEOUT_S, f"{name} is gone")
    slow.create(TableName=name)


def test_states_end_with_a_restart_and_a_doomed_table_stays_doomed(tmp_path: Path) -> None:
    data = str(tmp_path / "data")
    with serving(in_memory=False, data=data, clock="virtual", table_delay_ms=DELAY_MS) as server:
        slow = Slow(server)
        doomed = slow.create_active(Tags=[{"Key": "a", "Value": "b"}])
        slow.dynamodb.delete_table(TableName=doomed)
        created = slow.create(DeletionProtectionEnabled=True)

    with serving(in_memory=False, data=data, clock="virtual", table_delay_ms=DELAY_MS) as server:
        slow = Slow(server)
        table = slow.dynamodb.describe_table(TableName=created)["Table"]

        assert table["TableStatus"] == "ACTIVE"
        assert table["DeletionProtectionEnabled"] is True
        slow.clock.advance(DELAY_MS)

        def gone() -> bool:
            return doomed not in slow.dynamodb.list_tables()["TableNames"]

        until(gone, TIMEOUT_S, f"{doomed} is gone")


def test_what_was_updated_is_there_after_a_restart(tmp_path: Path) -> None:
    data = str(tmp_path / "data")
    with serving(in_memory=False, data=data) as server:
        name, arn = _create_and_update(server)

    with serving(in_memory=False, data=data) as server:
        dynamodb = client_of(server)
        table = dynamodb.describe_table(TableName=name)["Table"]
        tags = dynamodb.list_tags_of_resource(ResourceArn=arn)["Tags"]
        dynamodb.put_item(TableName=name, Item={"pk": {"S": "b"}})
        found = dynamodb.get_item(TableName=name, Key={"pk": {"S": "a"}})

    assert table["TableClassSummary"]["TableClass"] == "STANDARD_INFREQUENT_ACCESS"
    assert table["ItemCount"] == 1
    assert tags == [{"Key": "env", "Value": "test"}]
    assert found["Item"] == {"pk": {"S": "a"}}


def test_callers_at_once_do_not_undo_each_other() -> None:
    with serving() as server, ThreadPoolExecutor(CALLERS) as callers:
        _, arn = _create_and_update(server)

        def tag(number: int) -> None:
            client_of(server).tag_resource(
                ResourceArn=arn, Tags=[{"Key": f"key{number}", "Value": ""}]
            )

        list(callers.map(tag, range(CALLERS)))
        tags = client_of(server).list_tags_of_resource(ResourceArn=arn)["Tags"]

    assert {tag["Key"] for tag in tags} == {"env", *(f"key{number}" for number in range(CALLERS))}


def _create_and_update(server: Server) -> tuple[str, str]:
    dynamodb = client_of(server)
    parameters = a_table()
    arn = dynamodb.create_table(**parameters)["TableDescription"]["TableArn"]
    name = str(parameters["TableName"])
    dynamodb.update_table(TableName=name, TableClass="STANDARD_INFREQUENT_ACCESS")
    dynamodb.tag_resource(ResourceArn=arn, Tags=[{"Key": "env", "Value": "test"}])
    dynamodb.put_item(TableName=name, Item={"pk": {"S": "a"}})
    return name, arn
