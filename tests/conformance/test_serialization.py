"""JSON of the wrong type, in raw bytes: DynamoDB parses the whole request before it looks at any of it."""

from __future__ import annotations

import gzip
import json
from typing import Any

import pytest

from tests.conformance.raw import Ask, Signer, Wire
from tests.conformance.tables import Item, unique_name

SERIALIZATION = "com.amazon.coral.service#SerializationException"
VALIDATION = "com.amazon.coral.validate#ValidationException"


STRUCTURE = "Start of structure or map found where not expected"

WRONG_VALUES: list[tuple[Any, str]] = [
    ({"S": 5}, "NUMBER_VALUE cannot be converted to String"),
    ({"S": 5.5}, "DECIMAL_VALUE cannot be converted to String"),
    ({"S": True}, "TRUE_VALUE cannot be converted to String"),
    ({"S": False}, "FALSE_VALUE cannot be converted to String"),
    ({"S": {}}, STRUCTURE),
    ({"S": []}, "Unrecognized collection type class java.lang.String"),
    ({"N": 123}, "NUMBER_VALUE cannot be converted to String"),
    ({"N": 1.5}, "DECIMAL_VALUE cannot be converted to String"),
    ({"N": True}, "TRUE_VALUE cannot be converted to String"),
    ({"BOOL": "true"}, "Unexpected token received from parser"),
    ({"BOOL": 1}, "NUMBER_VALUE cannot be converted to Boolean"),
    ({"NULL": "no"}, "Unexpected token received from parser"),
    ({"B": 5}, "only base-64-encoded strings are convertible to bytes"),
    ({"B": {}}, STRUCTURE),
    ({"B": "abc"}, "Base64 encoded length is expected a multiple of 4 bytes but found: 3"),
    ({"B": "YQ"}, "Base64 encoded length is expected a multiple of 4 bytes but found: 2"),
    ({"B": "a-b_"}, "Invalid Base64 character: '-'"),
    ({"B": "YR=="}, "Invalid last non-pad Base64 character dectected"),
    ({"BS": ["YQ==", "abc"]}, "Base64 encoded length is expected a multiple of 4 bytes but found: 3"),
    ({"SS": "a"}, "Unexpected field type"),
    ({"SS": {}}, STRUCTURE),
    ({"SS": [1]}, "NUMBER_VALUE cannot be converted to String"),
    ({"NS": [1]}, "NUMBER_VALUE cannot be converted to String"),
    ({"L": "a"}, "Unexpected field type"),
    ({"L": {}}, STRUCTURE),
    ({"L": ["a"]}, "Unexpected value type in payload"),
    ({"L": [{"M": {"deep": {"N": 1}}}]}, "NUMBER_VALUE cannot be converted to String"),
    ({"M": "a"}, "Unexpected field type"),
    ({"M": {"a": "b"}}, "Unexpected value type in payload"),
    ("a", "Unexpected value type in payload"),
    (5, "Unexpected value type in payload"),
]  # fmt: skip


@pytest.mark.parametrize(("value", "message"), WRONG_VALUES)
def test_value_of_the_wrong_type_cannot_be_read(ask: Ask, value: Any, message: str) -> None:
    missing = unique_name("missing")
    key: Item = {"pk": {"S": "a"}}

    for operation, body in (
        ("PutItem", {"Item": key | {"a": value}}),
        ("GetItem", {"Key": {"pk": value}}),
        (
            "UpdateItem",
            {
                "Key": key,
                "UpdateExpression": "SET a = :v",
                "ExpressionAttributeValues": {":v": value},
            },
        ),
        (
            "Query",
            {"KeyConditionExpression": "pk = :v", "ExpressionAttributeValues": {":v": value}},
        ),
        ("Scan", {"ExclusiveStartKey": {"pk": value}}),
    ):
        answer = ask(operation, TableName=missing, **body)

        assert answer.status == 400
        assert answer.json() == {"__type": SERIALIZATION, "Message": message}, operation


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ({"X": "a"}, "Supplied AttributeValue is empty, must contain exactly one of the supported datatypes"),
        ({}, "Supplied AttributeValue is empty, must contain exactly one of the supported datatypes"),
        ({"S": None}, "Supplied AttributeValue is empty, must contain exactly one of the supported datatypes"),
        ({"S": "a", "N": "1"}, "Supplied AttributeValue has more than one datatypes set, must contain exactly one of the supported datatypes"),
        ({"N": "x"}, "The parameter cannot be converted to a numeric value: x"),
        ({"NULL": False}, "One or more parameter values were invalid: Null attribute value types must have the value of true"),
        ({"SS": []}, "One or more parameter values were invalid: An string set  may not be empty"),
        ({"NS": []}, "One or more parameter values were invalid: An number set  may not be empty"),
        ({"BS": []}, "One or more parameter values were invalid: Binary sets should not be empty"),
        ({"SS": ["a", "a"]}, "One or more parameter values were invalid: Input collection [a, a] contains duplicates."),
        ({"NS": ["1", "1.0"]}, "Input collection contains duplicates"),
        ({"BS": ["YQ==", "YQ=="]}, "One or more parameter values were invalid: Input collection [YQ==, YQ==]of type BS contains duplicates."),
        ({"SS": ["a", None]}, "One or more parameter values were invalid: An string set may not have a null string as a member"),
    ],
)  # fmt: skip
def test_value_that_can_be_read_may_still_be_invalid(ask: Ask, value: Any, message: str) -> None:
    answer = ask(
        "PutItem", TableName=unique_name("missing"), Item={"pk": {"S": "a"}, "list": {"L": [value]}}
    )

    assert (answer.status, answer.json()) == (400, {"__type": VALIDATION, "message": message})


def test_unknown_members_are_ignored(ask: Ask, table: str, pk: str) -> None:
    key: Item = {"pk": {"S": pk, "Other": "x"}}

    put = ask("PutItem", TableName=table, Item=key, Wish="list", ReturnValues=None)
    got = ask("GetItem", TableName=table, Key=key, ConsistentRead=True)

    assert (put.status, put.json()) == (200, {})
    assert got.json() == {"Item": {"pk": {"S": pk}}}


@pytest.mark.parametrize(
    ("operation", "body", "message"),
    [
        ("PutItem", {"TableName": 5}, "NUMBER_VALUE cannot be converted to String"),
        ("PutItem", {"TableName": ["a"]}, "Unrecognized collection type class java.lang.String"),
        ("PutItem", {"TableName": {}}, STRUCTURE),
        ("PutItem", {"Item": "a"}, "Unexpected field type"),
        ("PutItem", {"ReturnValues": 1}, "NUMBER_VALUE cannot be converted to String"),
        ("GetItem", {"ConsistentRead": "true"}, "Unexpected token received from parser"),
        ("GetItem", {"AttributesToGet": "a"}, "Unexpected field type"),
        ("Query", {"Limit": "5"}, "STRING_VALUE cannot be converted to Integer"),
        ("Query", {"Limit": True}, "TRUE_VALUE cannot be converted to Integer"),
        ("Query", {"ExpressionAttributeNames": {"#a": 1}}, "NUMBER_VALUE cannot be converted to String"),
        ("Scan", {"Segment": "0"}, "STRING_VALUE cannot be converted to Integer"),
        ("BatchGetItem", {"RequestItems": {"t": {"Keys": "a"}}}, None),
        ("BatchWriteItem", {"RequestItems": {"t": "a"}}, None),
        ("CreateTable", {"KeySchema": "a"}, "Unexpected field type"),
        ("CreateTable", {"ProvisionedThroughput": {"ReadCapacityUnits": "1"}}, "STRING_VALUE cannot be converted to Long"),
        ("ListTables", {"Limit": "5"}, "STRING_VALUE cannot be converted to Integer"),
    ],
)  # fmt: skip
def test_parameter_of_the_wrong_type_cannot_be_read(
    ask: Ask, operation: str, body: Item, message: str | None
) -> None:
    answer = ask(operation, **body)

    assert answer.status == 400
    assert answer.json()["__type"] == SERIALIZATION
    if message is not None:
        assert answer.json()["Message"] == message


UNREADABLE: Item = {"N": 5}


@pytest.mark.parametrize(
    ("operation", "body"),
    [
        ("PutItem", {"Item": {"pk": {"N": "x"}, "z": UNREADABLE}}),
        ("PutItem", {"Item": {"a": UNREADABLE}, "Expected": {}, "ConditionExpression": "a = :b"}),
        ("PutItem", {"Item": {"a": UNREADABLE}, "ReturnValues": "UPDATED_NEW"}),
        ("PutItem", {"Item": {"a": {"S": "x" * 500_000}, "z": UNREADABLE}}),
        (
            "PutItem",
            {
                "Item": {"pk": {"N": "x"}},
                "ConditionExpression": "pk = :v",
                "ExpressionAttributeValues": {":v": UNREADABLE},
            },
        ),
        (
            "DeleteItem",
            {
                "Key": {"pk": {"SS": []}},
                "ConditionExpression": "pk = :v",
                "ExpressionAttributeValues": {":v": UNREADABLE},
            },
        ),
        (
            "UpdateItem",
            {
                "Key": {"pk": {"N": "x"}},
                "UpdateExpression": "",
                "ExpressionAttributeValues": {":a": {"N": "x"}, ":v": {"B": "abc"}},
            },
        ),
        (
            "UpdateItem",
            {
                "Key": {"pk": {"N": "x"}},
                "AttributeUpdates": {"a": {"Value": UNREADABLE, "Action": "PUT"}},
            },
        ),
        (
            "UpdateItem",
            {
                "Key": {"pk": {"N": "x"}},
                "AttributeUpdates": {"a": {"Value": {"S": "a"}, "Action": 5}},
            },
        ),
        (
            "Query",
            {
                "Select": "ALL_PROJECTED_ATTRIBUTES",
                "KeyConditionExpression": "pk = :v",
                "ExpressionAttributeValues": {":v": UNREADABLE},
            },
        ),
        ("Query", {"ExclusiveStartKey": {"pk": UNREADABLE}}),
        ("Query", {"KeyConditions": {"pk": {"AttributeValueList": [UNREADABLE]}}}),
        ("Scan", {"Segment": 1, "ExclusiveStartKey": {"pk": UNREADABLE}}),
        (
            "Scan",
            {
                "FilterExpression": "",
                "ExpressionAttributeValues": {":v": {"L": [{"B": "abc"}]}},
            },
        ),
    ],
)
def test_what_cannot_be_read_comes_before_what_is_invalid(
    ask: Ask, operation: str, body: Item
) -> None:
    answer = ask(operation, TableName=unique_name("missing"), **body)

    assert (answer.status, answer.json()["__type"]) == (400, SERIALIZATION), answer.body


@pytest.mark.parametrize(
    ("operation", "requests"),
    [
        ("BatchGetItem", {"Keys": [{"pk": {"N": "x"}}, {"pk": UNREADABLE}]}),
        ("BatchGetItem", {"Keys": [{"pk": {"S": "a"}}, {"pk": {"S": "a"}}, {"pk": {"B": "abc"}}]}),
        ("BatchWriteItem", [{}, {"PutRequest": {"Item": {"pk": UNREADABLE}}}]),
        ("BatchWriteItem", [{"DeleteRequest": {"Key": {"pk": {"N": "x"}}}}, {"DeleteRequest": {"Key": {"pk": UNREADABLE}}}]),
    ],
)  # fmt: skip
def test_what_cannot_be_read_in_a_batch_comes_first_too(
    ask: Ask, operation: str, requests: Any
) -> None:
    answer = ask(operation, RequestItems={unique_name("missing"): requests})

    assert (answer.status, answer.json()["__type"]) == (400, SERIALIZATION), answer.body


@pytest.mark.parametrize("body", [b"[]", b'"a"', b"5", b"null", b"true"])
def test_body_is_an_object(wire: Wire, signer: Signer, body: bytes) -> None:
    answer = wire.ask(body=body, **signer.sign("ListTables", body))

    assert (answer.status, answer.json()) == (400, {"__type": SERIALIZATION})


def test_compressed_body_is_read_as_a_whole_too(wire: Wire, signer: Signer) -> None:
    request = {"TableName": unique_name("missing"), "Item": {"a": {"N": "x"}, "b": UNREADABLE}}
    body = gzip.compress(json.dumps(request).encode())
    answer = wire.ask(body=body, Content_Encoding="gzip", **signer.sign("PutItem", body))

    assert (answer.status, answer.json()["__type"]) == (400, SERIALIZATION)
