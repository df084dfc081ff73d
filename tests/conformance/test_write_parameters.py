"""What PutItem, UpdateItem and DeleteItem have in common: the parameters that all three take."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import pytest
from botocore.exceptions import ClientError

from tests.conformance.tables import Item

if TYPE_CHECKING:
    from types_boto3_dynamodb import DynamoDBClient

# A write of the item with a given `pk` in a table, with more parameters.
Write = Callable[..., dict[str, Any]]


@pytest.fixture(params=["put_item", "update_item", "delete_item"])
def write(request: pytest.FixtureRequest, dynamodb: DynamoDBClient, table: str, pk: str) -> Write:
    call: Write = getattr(dynamodb, request.param)
    holder = "Item" if request.param == "put_item" else "Key"

    def write(**parameters: Any) -> dict[str, Any]:
        return call(TableName=table, **{holder: {"pk": {"S": pk}}}, **parameters)

    return write


@pytest.fixture
def stored(dynamodb: DynamoDBClient, table: str, pk: str) -> Item:
    item: Item = {"pk": {"S": pk}, "status": {"S": "new"}, "n": {"N": "5"}}
    dynamodb.put_item(TableName=table, Item=item)
    return item


def test_condition_that_holds_lets_the_write_through(write: Write, stored: Item) -> None:
    answer = write(
        ConditionExpression="#s = :new AND n > :four",
        ExpressionAttributeNames={"#s": "status"},
        ExpressionAttributeValues={":new": {"S": "new"}, ":four": {"N": "4"}},
        ReturnValues="ALL_OLD",
    )

    assert answer["Attributes"] == stored


def test_failed_condition_shows_the_item_if_asked_to(write: Write, stored: Item) -> None:
    with pytest.raises(ClientError) as failure:
        write(
            ConditionExpression="attribute_not_exists(#p)",
            ExpressionAttributeNames={"#p": "pk"},
            ReturnValuesOnConditionCheckFailure="ALL_OLD",
        )

    assert failure.value.response["Error"]["Code"] == "ConditionalCheckFailedException"
    assert failure.value.response["Item"] == stored  # type: ignore[typeddict-item]


def test_failed_condition_shows_nothing_unless_asked_to(write: Write, stored: Item) -> None:
    with pytest.raises(ClientError) as failure:
        write(
            ConditionExpression="attribute_not_exists(pk)",
            ReturnValuesOnConditionCheckFailure="NONE",
        )

    assert "Item" not in failure.value.response


@pytest.mark.parametrize(("operator", "is_met"), [("AND", False), ("OR", True)])
def test_expectations_are_joined_by_the_conditional_operator(
    write: Write, stored: Item, operator: str, is_met: bool
) -> None:
    expected = {
        "n": {"ComparisonOperator": "GT", "AttributeValueList": [{"N": "4"}]},
        "missing": {"ComparisonOperator": "NOT_NULL"},
    }

    try:
        write(Expected=expected, ConditionalOperator=operator)
    except ClientError as error:
        assert error.response["Error"]["Code"] == "ConditionalCheckFailedException"
        assert not is_met
    else:
        assert is_met


def test_expectation_that_there_is_no_such_attribute(write: Write, stored: Item) -> None:
    write(Expected={"missing": {"Exists": False}, "n": {"Exists": True, "Value": {"N": "5"}}})


def test_table_without_local_indexes_has_no_item_collections(write: Write) -> None:
    answer = write(ReturnItemCollectionMetrics="SIZE")

    assert "ItemCollectionMetrics" not in answer
