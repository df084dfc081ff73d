"""What a local secondary index refuses: queries that do not fit it, and writes that it could not keep."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.conformance.tables import Item, Lsi, TableFactory, invalid

if TYPE_CHECKING:
    from types_boto3_dynamodb import DynamoDBClient

NOT_VALID = "One or more parameter values are not valid. "
EMPTY = "The AttributeValue for a key attribute cannot contain an empty string value."
INVALID = "One or more parameter values were invalid: "
NO_FILTER = f"{INVALID}Secondary index keys does not project one or more filter attributes: [note]"


@pytest.fixture(scope="session")
def indexed(tables: TableFactory) -> str:
    return tables.create(
        "pk:S sk:N", Lsi("all", "pk:S n:N"), Lsi("keys", "pk:S colour:S", "KEYS_ONLY")
    )


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"FilterExpression": "note = :pk"}, NO_FILTER),
        ({"FilterExpression": "note = :pk", "Select": "ALL_ATTRIBUTES"}, NO_FILTER),
        (
            {"FilterExpression": "colour = :pk"},
            (
                "Filter Expression can only contain non-primary key attributes: "
                "Primary key attribute: colour"
            ),
        ),
        (
            {"KeyConditionExpression": "pk = :pk AND sk = :pk"},
            "Query condition missed key schema element: colour",
        ),
        (
            {"ExclusiveStartKey": {"pk": {"S": "x"}, "sk": {"N": "1"}}},
            "The provided starting key is invalid",
        ),
        (
            {
                "ExclusiveStartKey": {
                    "pk": {"S": "elsewhere"},
                    "sk": {"N": "1"},
                    "colour": {"S": "red"},
                }
            },
            "The provided starting key is outside query boundaries based on provided conditions",
        ),
        (
            {
                "ExclusiveStartKey": {
                    "pk": {"S": "x"},
                    "sk": {"N": "1"},
                    "colour": {"N": "1"},
                }
            },
            "The provided key element does not match the schema",
        ),
        (
            {
                "ExclusiveStartKey": {
                    "pk": {"S": "x"},
                    "sk": {"S": "1"},
                    "colour": {"S": "red"},
                }
            },
            (
                "The provided starting key is invalid: "
                "The provided key element does not match the schema"
            ),
        ),
        ({"IndexName": "none"}, "The table does not have the specified index: none"),
    ],
)
def test_query_that_does_not_fit_is_refused(
    dynamodb: DynamoDBClient, indexed: str, changes: Item, message: str
) -> None:
    parameters: Item = {
        "TableName": indexed,
        "IndexName": "keys",
        "KeyConditionExpression": "pk = :pk",
        "ExpressionAttributeValues": {":pk": {"S": "x"}},
    }

    assert invalid(dynamodb.query, **parameters | changes) == message


@pytest.mark.parametrize(
    ("attributes", "message", "of_update"),
    [
        (
            {"n": {"S": "1"}},
            f"{INVALID}Type mismatch for Index Key n Expected: N Actual: S IndexName: all",
            None,
        ),
        (
            {"colour": {"NULL": True}},
            f"{INVALID}Type mismatch for Index Key colour Expected: S Actual: NULL IndexName: keys",
            None,
        ),
        (
            {"colour": {"S": ""}},
            (
                f"{NOT_VALID}A value specified for a secondary index key is not supported. {EMPTY} "
                "IndexName: keys, IndexKey: colour"
            ),
            (
                f"{NOT_VALID}The update expression attempted to update a secondary index key "
                f"to a value that is not supported. {EMPTY}"
            ),
        ),
        (
            {"colour": {"S": "x" * 1025}},
            (
                f"{INVALID}Size limit exceeded for Index Key colour "
                "Actual Size: 1025 bytes Max Size: 1024 bytes IndexName: keys"
            ),
            (
                "The update expression attempted to update the secondary index key "
                "beyond allowed size limits"
            ),
        ),
    ],
    ids=["type", "null", "empty", "long"],
)
def test_write_that_could_not_be_indexed_is_refused(
    dynamodb: DynamoDBClient,
    indexed: str,
    pk: str,
    attributes: Item,
    message: str,
    of_update: str | None,
) -> None:
    item = {"pk": {"S": pk}, "sk": {"N": "1"}} | attributes
    (name,) = attributes
    update: Item = {
        "Key": {"pk": {"S": pk}, "sk": {"N": "1"}},
        "UpdateExpression": "SET #a = :a",
        "ExpressionAttributeNames": {"#a": name},
        "ExpressionAttributeValues": {":a": attributes[name]},
    }

    assert invalid(dynamodb.put_item, TableName=indexed, Item=item) == message
    assert invalid(dynamodb.update_item, TableName=indexed, **update) == (of_update or message)
    batch = {indexed: [{"PutRequest": {"Item": item}}]}
    assert invalid(dynamodb.batch_write_item, RequestItems=batch) == message
    key = {"pk": {"S": pk}, "sk": {"N": "1"}}
    assert "Item" not in dynamodb.get_item(TableName=indexed, Key=key, ConsistentRead=True)


def test_path_may_not_go_into_the_indexs_key(
    dynamodb: DynamoDBClient, indexed: str, pk: str
) -> None:
    message = invalid(
        dynamodb.update_item,
        TableName=indexed,
        Key={"pk": {"S": pk}, "sk": {"N": "1"}},
        UpdateExpression="SET colour.x = :v",
        ExpressionAttributeValues={":v": {"S": "v"}},
    )

    assert message.endswith("IndexKey: colour")
