"""The older parameters become what expressions become."""

from __future__ import annotations

import pytest

from gramme.commands import Put, Update
from gramme.errors import ValidationError
from gramme.expressions.placeholders import Placeholders
from gramme.model.item import Item, Values
from gramme.router.operations.legacy.comparisons import check_values, compare
from gramme.router.operations.legacy.filters import read_older
from gramme.router.operations.legacy.values import GivenValues
from tests.unit.gramme.expressions.using import complaint, n, s
from tests.unit.router.operations.router import Body, Router

KEY: Item = {"id": {"S": "a"}}
MANY = [str(number) for number in range(10_001)]
ITEMS: list[Item] = [
    {},
    {"a": n(1)},
    {"a": n(5)},
    {"a": s("b")},
    {"a": s("abc")},
    {"a": {"SS": ["b", "c"]}},
    {"a": {"L": [s("b"), n(5)]}},
    {"a": {"NULL": True}},
]


@pytest.mark.parametrize(
    ("operator", "values", "text"),
    [
        ("EQ", [s("b")], "a = :0"),
        ("NE", [s("b")], "a <> :0"),
        ("LE", [n(5)], "a <= :0"),
        ("LT", [n(5)], "a < :0"),
        ("GE", [n(5)], "a >= :0"),
        ("GT", [n(1)], "a > :0"),
        ("IN", [s("abc"), s("x")], "a IN (:0, :1)"),
        ("BETWEEN", [n(2), n(7)], "a BETWEEN :0 AND :1"),
        ("NULL", [], "attribute_not_exists(a)"),
        ("NOT_NULL", [], "attribute_exists(a)"),
        ("CONTAINS", [s("b")], "contains(a, :0)"),
        ("NOT_CONTAINS", [s("b")], "attribute_exists(a) AND NOT contains(a, :0)"),
        ("BEGINS_WITH", [s("ab")], "begins_with(a, :0)"),
    ],
)
def test_operator_is_the_expression_it_stands_for(
    operator: str, values: list[Item], text: str
) -> None:
    given = GivenValues("Expected", values)
    test = compare("a", operator, check_values(operator, values), given)
    placeholders: Values = {f":{number}": value for number, value in enumerate(values)}
    condition = Placeholders(None, placeholders or None).condition(text)

    older = type(condition)(test)

    for item in ITEMS:
        assert older.test(item, given.values) == condition.test(item, placeholders), item
    assert (older.attributes, older.nested) == (condition.attributes, condition.nested)


def test_same_parameters_with_other_values_are_compiled_once(router: Router) -> None:
    seen = []
    for value in ("1", "2"):
        expected = {"a": {"Value": {"N": value}}, "b": {"Exists": False}}
        router.ask("PutItem", {"TableName": "simple", "Item": KEY, "Expected": expected})
        assert isinstance(router.nodes.write_seen, Put)
        seen.append(router.nodes.write_seen)

    assert seen[0].condition is seen[1].condition
    assert [list(put.values.values()) for put in seen] == [[n(1)], [n(2)]]


@pytest.mark.parametrize(
    "expected",
    [
        {f"a{number}": {"Exists": False} for number in range(200)},
        {"a" * 300: {"Exists": False}},
    ],
    ids=["many", "long"],
)
def test_large_parameters_are_not_remembered(router: Router, expected: Body) -> None:
    seen = []
    for _ in range(2):
        router.ask("PutItem", {"TableName": "simple", "Item": KEY, "Expected": expected})
        assert isinstance(router.nodes.write_seen, Put)
        seen.append(router.nodes.write_seen.condition)

    assert seen[0] is not None
    assert seen[0] is not seen[1]


def test_updates_and_expectations_keep_their_values_apart(router: Router) -> None:
    router.ask(
        "UpdateItem",
        {
            "TableName": "simple",
            "Key": KEY,
            "AttributeUpdates": {"a": {"Value": n(1)}},
            "Expected": {"a": {"Value": n(2)}},
        },
    )

    command = router.nodes.write_seen
    assert isinstance(command, Update)
    assert command.update is not None
    assert command.condition is not None
    assert command.update.apply({}, command.values) == {"a": n(1)}
    assert command.condition.test({"a": n(2)}, command.values)


def test_key_conditions_and_a_filter_expression_keep_their_values_apart(router: Router) -> None:
    for year in ("1", "2", "3"):
        router.ask(
            "PutItem",
            {"TableName": "music", "Item": {"artist": s("x"), "year": n(year)}},
        )

    answer = router.ask(
        "Query",
        {
            "TableName": "music",
            "KeyConditions": {
                "artist": {"ComparisonOperator": "EQ", "AttributeValueList": [s("x")]},
                "year": {"ComparisonOperator": "GE", "AttributeValueList": [n("2.0")]},
            },
            "FilterExpression": "title = :0",
            "ExpressionAttributeValues": {":0": s("t")},
        },
    )

    query = router.nodes.query_seen
    assert answer["Count"] == 2
    assert query is not None
    assert query.filter is not None
    assert query.filter.test({"title": s("t")}, query.values)


@pytest.mark.parametrize(
    ("operation", "body"),
    [
        ("PutItem", {"Item": KEY, "Expected": None, "ConditionalOperator": None}),
        ("DeleteItem", {"Key": KEY, "Expected": None, "ConditionExpression": "a = id"}),
        ("UpdateItem", {"Key": KEY, "AttributeUpdates": None, "UpdateExpression": "SET a = id"}),
        ("GetItem", {"Key": KEY, "AttributesToGet": None, "ProjectionExpression": "a"}),
        (
            "Query",
            {
                "QueryFilter": None,
                "KeyConditions": None,
                "KeyConditionExpression": "id = :a",
                "ExpressionAttributeValues": {":a": s("a")},
            },
        ),
    ],
)
def test_null_is_a_parameter_not_given(router: Router, operation: str, body: Body) -> None:
    router.ask(operation, {"TableName": "simple"} | body)


def test_scan_looks_at_attributes_to_get_before_its_filter() -> None:
    body = {
        "ScanFilter": {"a": {"ComparisonOperator": "EQ"}},
        "AttributesToGet": ["a", "a"],
    }

    message = complaint(lambda: read_older(body, "ScanFilter"))

    assert message == (
        "One or more parameter values were invalid: Duplicate value in attribute name: a"
    )


def test_scan_filter_and_projection_are_read_together() -> None:
    body = {
        "ScanFilter": {
            "a": {"ComparisonOperator": "EQ", "AttributeValueList": [n("1.0")]},
            "b": {"ComparisonOperator": "NOT_NULL"},
        },
        "ConditionalOperator": "OR",
        "AttributesToGet": ["b.c"],
    }

    older = read_older(body, "ScanFilter")

    assert older.filter is not None
    assert older.projection is not None
    assert older.filter.test({"a": n(1)}, older.values)
    assert older.filter.test({"b": n(1)}, older.values)
    assert not older.filter.test({"a": n(2)}, older.values)
    assert older.projection.project({"b": n(1), "b.c": n(2)}) == {"b.c": n(2)}


@pytest.mark.parametrize(
    ("operation", "body", "parameter"),
    [
        (
            "PutItem",
            {"Item": KEY, "Expected": {name: {"Exists": False} for name in MANY}},
            "Expected",
        ),
        (
            "PutItem",
            {
                "Item": KEY,
                "Expected": {
                    "a": {
                        "ComparisonOperator": "IN",
                        "AttributeValueList": [s(name) for name in MANY],
                    }
                },
            },
            "AttributeValueList",
        ),
        (
            "UpdateItem",
            {"Key": KEY, "AttributeUpdates": {name: {"Action": "DELETE"} for name in MANY}},
            "AttributeUpdates",
        ),
        (
            "Query",
            {"KeyConditions": {name: {"ComparisonOperator": "NULL"} for name in MANY}},
            "KeyConditions",
        ),
        ("GetItem", {"Key": KEY, "AttributesToGet": MANY}, "AttributesToGet"),
    ],
)
def test_work_of_one_request_is_bounded(
    router: Router, operation: str, body: Body, parameter: str
) -> None:
    message = router.refusal(operation, {"TableName": "simple"} | body, ValidationError)

    assert message == (
        f"One or more parameter values were invalid: {parameter} has more than 10000 members"
    )
