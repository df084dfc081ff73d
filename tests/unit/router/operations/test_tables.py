"""DescribeTable, ListTables and DeleteTable."""

from __future__ import annotations

import pytest

from gramme.errors import AccessDenied, ResourceNotFound, ValidationError
from tests.unit.router.operations.router import HASH_ONLY, NOW_MS, Router

ARN = "arn:aws:dynamodb:us-east-1:000000000000:table/music"


def test_described_table_is_active(router: Router) -> None:
    table = router.ask("DescribeTable", {"TableName": "music"})["Table"]

    assert table["TableStatus"] == "ACTIVE"
    assert table["KeySchema"] == [
        {"AttributeName": "artist", "KeyType": "HASH"},
        {"AttributeName": "year", "KeyType": "RANGE"},
    ]
    assert table["AttributeDefinitions"] == [
        {"AttributeName": "artist", "AttributeType": "S"},
        {"AttributeName": "genre", "AttributeType": "S"},
        {"AttributeName": "year", "AttributeType": "N"},
    ]
    assert table["BillingModeSummary"] == {
        "BillingMode": "PAY_PER_REQUEST",
        "LastUpdateToPayPerRequestDateTime": NOW_MS / 1000,
    }
    index = table["GlobalSecondaryIndexes"][0]
    assert index["IndexStatus"] == "ACTIVE"
    assert index["IndexArn"] == f"{ARN}/index/by-genre"
    assert index["Projection"] == {"ProjectionType": "INCLUDE", "NonKeyAttributes": ["title"]}


def test_what_was_only_said_is_echoed(router: Router) -> None:
    said = {
        "TableName": "said",
        "TableClass": "STANDARD_INFREQUENT_ACCESS",
        "SSESpecification": {"Enabled": True, "SSEType": "KMS", "KMSMasterKeyId": "alias/mine"},
        "Tags": [{"Key": "team", "Value": "music"}],
        "WarmThroughput": {"ReadUnitsPerSecond": 20_000},
    }
    router.ask("CreateTable", HASH_ONLY | said)

    table = router.ask("DescribeTable", {"TableName": "said"})["Table"]

    assert table["TableClassSummary"] == {"TableClass": "STANDARD_INFREQUENT_ACCESS"}
    assert table["SSEDescription"] == {
        "Status": "ENABLED",
        "SSEType": "KMS",
        "KMSMasterKeyArn": "arn:aws:kms:us-east-1:000000000000:alias/mine",
    }
    assert table["WarmThroughput"]["ReadUnitsPerSecond"] == 20_000
    assert "Tags" not in table


def test_table_is_found_by_its_arn(router: Router) -> None:
    assert router.ask("DescribeTable", {"TableName": ARN})["Table"]["TableName"] == "music"


@pytest.mark.parametrize(
    ("arn", "message"),
    [
        (ARN.replace("us-east-1", "eu-west-1"), "Invalid AWS region in"),
        (ARN.replace("arn:aws", 'arn:"'), "Invalid AWS partition in"),
        (ARN.replace("table/", "stream/"), "Invalid resource type in"),
    ],
)
def test_arn_of_something_else_is_refused(router: Router, arn: str, message: str) -> None:
    refusal = router.refusal("DescribeTable", {"TableName": arn}, ValidationError)

    assert refusal == f"1 validation error detected: {message} '{arn}'"


def test_arn_of_another_account_is_denied(router: Router) -> None:
    arn = ARN.replace("000000000000", "111111111111")

    message = router.refusal("GetItem", {"TableName": arn, "Key": {"id": {"S": "a"}}}, AccessDenied)

    assert message == "Access is denied"


@pytest.mark.parametrize("operation", ["DescribeTable", "DeleteTable"])
def test_missing_table_is_named(router: Router, operation: str) -> None:
    message = router.refusal(operation, {"TableName": "none"}, ResourceNotFound)

    assert message == "Requested resource not found: Table: none not found"


def test_deleted_table_is_gone(router: Router) -> None:
    description = router.ask("DeleteTable", {"TableName": "music"})["TableDescription"]

    assert description["TableStatus"] == "DELETING"
    assert description["TableName"] == "music"
    router.refusal("DescribeTable", {"TableName": "music"}, ResourceNotFound)


def test_tables_are_listed_in_order_by_pages(router: Router) -> None:
    router.ask("CreateTable", HASH_ONLY | {"TableName": "another"})

    first = router.ask("ListTables", {"Limit": 2})
    second = router.ask("ListTables", {"Limit": 2, "ExclusiveStartTableName": "music"})

    assert first == {"TableNames": ["another", "music"], "LastEvaluatedTableName": "music"}
    assert second == {"TableNames": ["simple"]}


def test_page_may_start_after_a_table_that_does_not_exist(router: Router) -> None:
    answer = router.ask("ListTables", {"ExclusiveStartTableName": "nothing"})

    assert answer == {"TableNames": ["simple"]}


def test_full_page_at_the_end_promises_no_more(router: Router) -> None:
    assert "LastEvaluatedTableName" not in router.ask("ListTables", {"Limit": 2})
