"""UpdateTable and tags where callers meet: nobody undoes what another has done."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from gramme.errors import ResourceInUse, ValidationError
from gramme.model.table import Table
from gramme.router.operations.alteration import ATTEMPTS_MAX
from tests.unit.router.operations.router import CALLER, HASH_ONLY, Body, Router

ARN = "arn:aws:dynamodb:us-east-1:000000000000:table/simple"
PROTECT = {"TableName": "simple", "DeletionProtectionEnabled": True}


def add_tag(table: Table) -> Table:
    tags = [*table.echo.get("Tags", ()), {"Key": f"k{len(table.echo)}", "Value": ""}]
    return replace(table, echo=table.echo | {"Tags": tags})


def table_of(router: Router) -> Table:
    return router.context.catalog.find(*CALLER, "simple").table


def test_change_of_another_is_kept(router: Router) -> None:
    router.nodes.changes = [add_tag]

    router.ask("UpdateTable", PROTECT)

    assert table_of(router).deletion_protection is True
    assert len(table_of(router).echo["Tags"]) == 1


def test_who_is_always_too_late_is_told(router: Router) -> None:
    router.nodes.changes = [add_tag] * ATTEMPTS_MAX

    router.refusal("UpdateTable", PROTECT, ResourceInUse)

    assert table_of(router).deletion_protection is False


def test_what_changes_nothing_is_not_written(router: Router) -> None:
    router.ask("UpdateTable", {"TableName": "simple", "BillingMode": "PAY_PER_REQUEST"})
    router.ask("UpdateTable", {"TableName": "simple", "TableClass": "STANDARD"})
    router.ask_raw("UntagResource", {"ResourceArn": ARN, "TagKeys": ["absent"]})

    assert router.nodes.altered == 0


def test_tags_answer_nothing(router: Router) -> None:
    body = {"ResourceArn": ARN, "Tags": [{"Key": "a", "Value": "b"}]}

    assert router.ask_raw("TagResource", body) == b""


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        (
            {"StreamSpecification": {"StreamEnabled": True, "StreamViewType": "KEYS_ONLY"}},
            "StreamSpecification is not supported yet",
        ),
        (
            {"ReplicaUpdates": [{"Create": {"RegionName": "eu-west-1"}}]},
            "ReplicaUpdates is not supported yet",
        ),
    ],
)
def test_what_is_not_built_is_refused(router: Router, changes: Body, message: str) -> None:
    refusal = router.refusal("UpdateTable", {"TableName": "simple"} | changes, ValidationError)

    assert refusal == message


def test_empty_settings_change_nothing(router: Router) -> None:
    router.ask("UpdateTable", {"TableName": "simple", "OnDemandThroughput": {}})
    router.ask("UpdateTable", {"TableName": "simple", "WarmThroughput": {}})

    assert router.nodes.altered == 0


def test_limits_go_with_the_mode_they_are_for(router: Router) -> None:
    router.ask(
        "CreateTable",
        HASH_ONLY | {"TableName": "limited", "OnDemandThroughput": {"MaxReadRequestUnits": 5}},
    )

    router.ask(
        "UpdateTable",
        {
            "TableName": "limited",
            "BillingMode": "PROVISIONED",
            "ProvisionedThroughput": {"ReadCapacityUnits": 1, "WriteCapacityUnits": 1},
        },
    )

    described = router.ask("DescribeTable", {"TableName": "limited"})["Table"]
    assert "OnDemandThroughput" not in described


def test_items_are_counted(router: Router) -> None:
    router.ask("PutItem", {"TableName": "simple", "Item": {"id": {"S": "a"}}})

    described = router.ask("DescribeTable", {"TableName": "simple"})["Table"]

    assert (described["ItemCount"], described["TableSizeBytes"]) == (1, 3)
