"""Which of several mistakes is told: each request here has all mistakes up to one kind, and is told of the first.

JSON types come before the model's constraints, these before the rules between parameters and the expressions, these
before the table, and the table before what must fit its schema.
"""

from __future__ import annotations

from typing import Any

import pytest

from tests.conformance.raw import Ask
from tests.conformance.tables import Item, unique_name

SERIALIZATION = "com.amazon.coral.service#SerializationException"
VALIDATION = "com.amazon.coral.validate#ValidationException"
NOT_FOUND = "com.amazonaws.dynamodb.v20120810#ResourceNotFoundException"


NO_MATCH = "The provided key element does not match the schema"
ENUM = "Member must satisfy enum value set: [INDEXES, TOTAL, NONE]"
PATTERN = "Member must satisfy regular expression pattern: [a-zA-Z0-9_.-]+"
BAD_KEY: Item = {"wrong": {"S": "a"}}

# Of each operation: what does not fit the schema, and what it says; then what is wrong with an expression, and what
# that says; then a value of the wrong JSON type.
OPERATIONS: dict[str, tuple[Item, str, Item, str, Item]] = {
    "GetItem": (
        {"Key": BAD_KEY},
        NO_MATCH,
        {"ProjectionExpression": ""},
        "Invalid ProjectionExpression: The expression can not be empty;",
        {"ConsistentRead": 1},
    ),
    "PutItem": (
        {"Item": BAD_KEY},
        "One or more parameter values were invalid: Missing the key pk in the item",
        {"ConditionExpression": "a ="},
        'Invalid ConditionExpression: Syntax error; token: "<EOF>", near: "="',
        {"Expected": 1},
    ),
    "UpdateItem": (
        {"Key": BAD_KEY},
        NO_MATCH,
        {"UpdateExpression": "SET a = :v"},
        (
            "Invalid UpdateExpression: An expression attribute value used in expression "
            "is not defined; attribute value: :v"
        ),
        {"AttributeUpdates": []},
    ),
    "DeleteItem": (
        {"Key": BAD_KEY},
        NO_MATCH,
        {"ExpressionAttributeNames": {"#a": "a"}},
        "ExpressionAttributeNames can only be specified when using expressions",
        {"ReturnValues": {}},
    ),
    "Query": (
        {
            "KeyConditionExpression": "wrong = :w",
            "ExpressionAttributeValues": {":w": {"S": "a"}},
        },
        "Query condition missed key schema element: pk",
        {"FilterExpression": "NOT"},
        'Invalid FilterExpression: Syntax error; token: "<EOF>", near: "NOT"',
        {"ScanIndexForward": "no"},
    ),
    "Scan": (
        {"ExclusiveStartKey": BAD_KEY},
        f"The provided starting key is invalid: {NO_MATCH}",
        {"Segment": 1},
        (
            "The TotalSegments parameter is required but was not present in the request "
            "when Segment parameter is present"
        ),
        {"Limit": "1"},
    ),
}


@pytest.mark.parametrize("operation", OPERATIONS)
def test_mistakes_are_told_from_the_outside_in(ask: Ask, table: str, operation: str) -> None:
    misfit, unfit, expression, wrong, mistyped = OPERATIONS[operation]
    body: Item = {"TableName": table} | misfit

    def told() -> tuple[str, str]:
        answer = ask(operation, **body)
        assert answer.status == 400
        error = answer.json()
        assert error.keys() in ({"__type", "message"}, {"__type", "Message"})
        return error["__type"], error.get("message") or error["Message"]

    assert told() == (VALIDATION, unfit)
    body["TableName"] = unique_name("missing")
    assert told() == (NOT_FOUND, "Requested resource not found")
    body |= expression
    assert told() == (VALIDATION, wrong)
    body["ReturnConsumedCapacity"] = "SOME"
    kind, message = told()
    assert kind == VALIDATION
    assert message.startswith("1 validation error detected: Value 'SOME' at ")
    assert message.endswith(ENUM)
    body["TableName"] = "not a name"
    kind, message = told()
    assert kind == VALIDATION
    assert message.startswith("1 validation error detected: ")
    assert message.endswith(PATTERN)
    body |= mistyped
    assert told()[0] == SERIALIZATION


def batches(name: str) -> list[tuple[str, Item]]:
    return [
        ("BatchGetItem", {"RequestItems": {name: {"Keys": [BAD_KEY]}}}),
        ("BatchWriteItem", {"RequestItems": {name: [{"PutRequest": {"Item": BAD_KEY}}]}}),
        ("BatchWriteItem", {"RequestItems": {name: [{"DeleteRequest": {"Key": BAD_KEY}}]}}),
    ]


def test_mistakes_of_a_batch_are_told_from_the_outside_in(ask: Ask, table: str) -> None:
    missing = unique_name("missing")
    for (operation, misfit), (_, nowhere) in zip(batches(table), batches(missing), strict=True):
        unfit = ask(operation, **misfit).json()
        not_found = ask(operation, **nowhere).json()
        enum = ask(operation, **nowhere, ReturnConsumedCapacity="SOME").json()
        mistyped = ask(operation, **nowhere, ReturnConsumedCapacity=1).json()

        assert unfit == {"__type": VALIDATION, "message": NO_MATCH}
        assert not_found == {"__type": NOT_FOUND, "message": "Requested resource not found"}
        assert enum["message"].startswith("1 validation error detected: Value 'SOME' at ")
        assert mistyped["__type"] == SERIALIZATION


@pytest.mark.parametrize(
    ("operation", "body", "kind", "message"),
    [
        ("CreateTable", {"TableName": "{table}"}, "ResourceInUseException", "Table already exists: {table}"),
        ("DescribeTable", {"TableName": "missing-table"}, "ResourceNotFoundException", "Requested resource not found: Table: missing-table not found"),
        ("DeleteTable", {"TableName": "missing-table"}, "ResourceNotFoundException", "Requested resource not found: Table: missing-table not found"),
        ("PutItem", {"TableName": "{table}", "Item": {"pk": {"S": "a"}}, "ConditionExpression": "attribute_exists(nothing)"}, "ConditionalCheckFailedException", "The conditional request failed"),
    ],
)  # fmt: skip
def test_error_of_the_service_has_its_name_space(
    ask: Ask, table: str, operation: str, body: Item, kind: str, message: str
) -> None:
    body = {
        name: value.replace("{table}", table) if isinstance(value, str) else value
        for name, value in body.items()
    }
    if operation == "CreateTable":
        body |= {
            "KeySchema": [{"AttributeName": "pk", "KeyType": "HASH"}],
            "AttributeDefinitions": [{"AttributeName": "pk", "AttributeType": "S"}],
            "BillingMode": "PAY_PER_REQUEST",
        }

    answer = ask(operation, **body)

    assert answer.status == 400
    assert answer.json() == {
        "__type": f"com.amazonaws.dynamodb.v20120810#{kind}",
        "message": message.replace("{table}", table),
    }


def test_all_mistakes_of_one_kind_are_told_together(ask: Ask) -> None:
    body: Any = {
        "TableName": unique_name("missing"),
        "Item": {"pk": {"S": "a"}},
        "ReturnConsumedCapacity": "a",
        "ReturnItemCollectionMetrics": "b",
        "ReturnValues": "c",
    }

    message = ask("PutItem", **body).json()["message"]

    assert message.startswith("3 validation errors detected: Value 'a' at 'returnConsumedCapacity'")
    assert message.count(" failed to satisfy constraint: Member must satisfy enum value set: ") == 3
