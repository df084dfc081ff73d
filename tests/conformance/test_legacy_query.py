"""KeyConditions, QueryFilter, ConditionalOperator and AttributesToGet of Query."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from tests.conformance.tables import Gsi, Item, TableFactory, eventually, invalid, unique_name

if TYPE_CHECKING:
    from types_boto3_dynamodb import DynamoDBClient

INVALID = "One or more parameter values were invalid: "
ORDERED = ("S", "N", "B")
VALUES: Item = {
    "S": {"S": "a"},
    "N": {"N": "1"},
    "B": {"B": b"a"},
    "BOOL": {"BOOL": True},
    "NULL": {"NULL": True},
    "SS": {"SS": ["a"]},
    "NS": {"NS": ["1"]},
    "BS": {"BS": [b"a"]},
    "L": {"L": []},
    "M": {"M": {}},
}
# The types that the values of an operator may have.
ALLOWED = {
    **dict.fromkeys(("LE", "LT", "GE", "GT", "IN", "BETWEEN"), ORDERED),
    **dict.fromkeys(("CONTAINS", "NOT_CONTAINS"), (*ORDERED, "BOOL", "NULL")),
    "BEGINS_WITH": ("S", "B"),
}


def operator(name: str, *values: Item) -> Item:
    return {"ComparisonOperator": name, "AttributeValueList": list(values)}


@pytest.fixture(scope="module")
def songs(dynamodb: DynamoDBClient, tables: TableFactory) -> str:
    """A table whose partition `p` has the sort keys 1 to 6."""
    table = tables.create("pk:S sk:N", Gsi("by-tag", "tag:S sk:N", "INCLUDE", ("title",)))
    for number in range(1, 7):
        item = {
            "pk": {"S": "p"},
            "sk": {"N": str(number)},
            "tag": {"S": "even" if number % 2 == 0 else "odd"},
            "title": {"S": "abcdef"[number - 1] * 2},
        }
        dynamodb.put_item(TableName=table, Item=item)
    return table


def query(dynamodb: DynamoDBClient, table: str, sort: Item | None = None, **changes: Any) -> Item:
    conditions = {"pk": operator("EQ", {"S": "p"})}
    if sort is not None:
        conditions["sk"] = sort
    parameters: Item = {"TableName": table, "KeyConditions": conditions} | changes
    return dict(dynamodb.query(**parameters))


def numbers(answer: Item) -> list[int]:
    return [int(item["sk"]["N"]) for item in answer["Items"]]


@pytest.mark.parametrize(
    ("sort", "expected"),
    [
        (None, [1, 2, 3, 4, 5, 6]),
        (operator("EQ", {"N": "3.0"}), [3]),
        (operator("LT", {"N": "3"}), [1, 2]),
        (operator("LE", {"N": "3"}), [1, 2, 3]),
        (operator("GT", {"N": "3"}), [4, 5, 6]),
        (operator("GE", {"N": "3"}), [3, 4, 5, 6]),
        (operator("BETWEEN", {"N": "2"}, {"N": "4"}), [2, 3, 4]),
    ],
)
def test_key_conditions_name_a_range_of_sort_keys(
    dynamodb: DynamoDBClient, songs: str, sort: Item | None, expected: list[int]
) -> None:
    assert numbers(query(dynamodb, songs, sort)) == expected
    assert numbers(query(dynamodb, songs, sort, ScanIndexForward=False)) == expected[::-1]


def test_begins_with_names_the_keys_with_a_prefix(
    dynamodb: DynamoDBClient, tables: TableFactory
) -> None:
    table = tables.create("pk:S sk:S")
    for name in ("ab", "abc", "b"):
        dynamodb.put_item(TableName=table, Item={"pk": {"S": "p"}, "sk": {"S": name}})

    answer = query(dynamodb, table, operator("BEGINS_WITH", {"S": "ab"}))

    assert [item["sk"]["S"] for item in answer["Items"]] == ["ab", "abc"]


def test_pages_go_on_from_their_last_key(dynamodb: DynamoDBClient, songs: str) -> None:
    sort = operator("GT", {"N": "1"})
    first = query(dynamodb, songs, sort, Limit=2)

    second = query(dynamodb, songs, sort, ExclusiveStartKey=first["LastEvaluatedKey"])

    assert numbers(first) + numbers(second) == [2, 3, 4, 5, 6]


@pytest.mark.parametrize(
    ("filter", "conditional_operator", "expected"),
    [
        ({"tag": operator("EQ", {"S": "even"})}, None, [2, 4, 6]),
        ({"tag": operator("NE", {"S": "even"})}, None, [1, 3, 5]),
        ({"title": operator("CONTAINS", {"S": "c"})}, None, [3]),
        ({"title": operator("IN", {"S": "aa"}, {"S": "ff"})}, None, [1, 6]),
        ({"none": operator("NULL")}, None, [1, 2, 3, 4, 5, 6]),
        (
            {"tag": operator("EQ", {"S": "odd"}), "title": operator("GT", {"S": "b"})},
            None,
            [3, 5],
        ),
        (
            {"tag": operator("EQ", {"S": "odd"}), "title": operator("EQ", {"S": "bb"})},
            "OR",
            [1, 2, 3, 5],
        ),
        ({}, None, [1, 2, 3, 4, 5, 6]),
    ],
)
def test_query_filter_keeps_the_rows_that_pass(
    dynamodb: DynamoDBClient,
    songs: str,
    filter: Item,
    conditional_operator: str | None,
    expected: list[int],
) -> None:
    changes: Item = {"QueryFilter": filter}
    if conditional_operator is not None:
        changes["ConditionalOperator"] = conditional_operator

    answer = query(dynamodb, songs, None, **changes)

    assert numbers(answer) == expected
    assert (answer["Count"], answer["ScannedCount"]) == (len(expected), 6)


def test_attributes_to_get_are_all_that_is_got(dynamodb: DynamoDBClient, songs: str) -> None:
    answer = query(
        dynamodb,
        songs,
        operator("LE", {"N": "2"}),
        AttributesToGet=["title", "none"],
        Select="SPECIFIC_ATTRIBUTES",
        QueryFilter={"tag": operator("EQ", {"S": "odd"})},
    )

    assert answer["Items"] == [{"title": {"S": "aa"}}]


def test_key_conditions_go_with_other_expressions_than_their_own(
    dynamodb: DynamoDBClient, songs: str
) -> None:
    answer = query(
        dynamodb,
        songs,
        operator("LT", {"N": "4"}),
        FilterExpression="tag = :t",
        ProjectionExpression="sk",
        ExpressionAttributeValues={":t": {"S": "odd"}},
    )

    assert answer["Items"] == [{"sk": {"N": "1"}}, {"sk": {"N": "3"}}]


def test_index_is_queried_by_its_own_key(dynamodb: DynamoDBClient, songs: str) -> None:
    conditions = {"tag": operator("EQ", {"S": "even"}), "sk": operator("GT", {"N": "2"})}

    def read() -> list[int]:
        return numbers(query(dynamodb, songs, IndexName="by-tag", KeyConditions=conditions))

    eventually(read, [4, 6])


@pytest.mark.parametrize(
    ("conditions", "message"),
    [
        ({}, "Conditions can be of length 1 or 2 only"),
        (
            {name: operator("NULL") for name in ("pk", "sk", "x")},
            "Conditions can be of length 1 or 2 only",
        ),
        (
            {"pk": operator("EQ")},
            INVALID + "Invalid number of argument(s) for the EQ ComparisonOperator",
        ),
        (
            {"pk": {"ComparisonOperator": "EQ"}},
            INVALID + "Invalid number of argument(s) for the EQ ComparisonOperator",
        ),
        (
            {"pk": operator("IN", {"S": "b"}, {"N": "1"})},
            INVALID + "AttributeValues inside AttributeValueList must be of same type",
        ),
        (
            {"pk": operator("BETWEEN", {"S": "b"}, {"S": "a"})},
            (
                "The BETWEEN condition was provided a range where the lower bound "
                "is greater than the upper bound"
            ),
        ),
        (
            {"pk": operator("EQ", {"N": "x"}, {})},
            "The parameter cannot be converted to a numeric value: x",
        ),
    ],
)
def test_mistake_in_key_conditions_is_found_before_the_table_is_looked_for(
    dynamodb: DynamoDBClient, conditions: Item, message: str
) -> None:
    parameters: Item = {"TableName": unique_name("none"), "KeyConditions": conditions}

    assert invalid(dynamodb.query, **parameters) == message


@pytest.mark.parametrize("parameter", ["QueryFilter", "KeyConditions"])
@pytest.mark.parametrize("name", sorted(ALLOWED))
def test_operator_takes_values_of_its_types_only(
    dynamodb: DynamoDBClient, parameter: str, name: str
) -> None:
    count = 2 if name == "BETWEEN" else 1
    for kind in VALUES.keys() - ALLOWED[name]:
        condition = operator(name, *[VALUES[kind]] * count)
        parameters: Item = {"TableName": unique_name("none"), parameter: {"a": condition}}

        message = invalid(dynamodb.query, **parameters)

        assert message == (
            f"{INVALID}ComparisonOperator {name} is not valid for {kind} AttributeValue type"
        )


@pytest.mark.parametrize(
    ("conditions", "message"),
    [
        ({"sk": operator("EQ", {"N": "1"})}, "Query condition missed key schema element: pk"),
        (
            {"pk": operator("EQ", {"S": "p"}), "x": operator("EQ", {"N": "1"})},
            "Query condition missed key schema element: sk",
        ),
        ({"pk": operator("GT", {"S": "p"})}, "Query key condition not supported"),
        (
            {"pk": operator("EQ", {"N": "1"})},
            INVALID + "Condition parameter type does not match schema type",
        ),
        (
            {"pk": operator("EQ", {"S": "p"}), "sk": operator("BEGINS_WITH", {"S": "1"})},
            INVALID + "Condition parameter type does not match schema type",
        ),
        *(
            (
                {"pk": operator("EQ", {"S": "p"}), "sk": condition},
                "Attempted conditional constraint is not an indexable operation",
            )
            for condition in (
                operator("NE", {"N": "1"}),
                operator("IN", {"N": "1"}),
                operator("NULL"),
                operator("NOT_NULL"),
                operator("CONTAINS", {"N": "1"}),
                operator("NOT_CONTAINS", {"N": "1"}),
            )
        ),
        (
            {"pk": operator("NE", {"N": "1"})},
            "Attempted conditional constraint is not an indexable operation",
        ),
    ],
)
def test_key_conditions_must_fit_the_key(
    dynamodb: DynamoDBClient, songs: str, conditions: Item, message: str
) -> None:
    parameters: Item = {"TableName": songs, "KeyConditions": conditions}

    assert invalid(dynamodb.query, **parameters) == message


def test_hash_only_table_takes_one_condition(dynamodb: DynamoDBClient, table: str) -> None:
    conditions = {"pk": operator("EQ", {"S": "p"}), "x": operator("EQ", {"N": "1"})}
    parameters: Item = {"TableName": table, "KeyConditions": conditions}

    assert invalid(dynamodb.query, **parameters) == "Query key condition not supported"


@pytest.mark.parametrize("name", ["pk", "sk"])
def test_key_is_not_filtered_by(dynamodb: DynamoDBClient, songs: str, name: str) -> None:
    parameters: Item = {
        "TableName": songs,
        "KeyConditions": {"pk": operator("EQ", {"S": "p"})},
        "QueryFilter": {"tag": operator("NOT_NULL"), name: operator("NOT_NULL")},
    }

    assert invalid(dynamodb.query, **parameters) == (
        f"QueryFilter can only contain non-primary key attributes: Primary key attribute: {name}"
    )


def test_index_gives_only_what_is_projected_into_it(dynamodb: DynamoDBClient, songs: str) -> None:
    parameters: Item = {
        "TableName": songs,
        "IndexName": "by-tag",
        "KeyConditions": {"tag": operator("EQ", {"S": "even"})},
        "AttributesToGet": ["title", "other"],
    }

    assert invalid(dynamodb.query, **parameters) == (
        INVALID + "Global secondary index by-tag does not project [other]"
    )


BAD_FILTER = {"a": operator("EQ")}
BAD_COUNT = INVALID + "Invalid number of argument(s) for the EQ ComparisonOperator"


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        (
            {"AttributesToGet": ["a"], "Select": "COUNT"},
            (
                "1 validation error detected: Cannot specify the AttributesToGet "
                "when choosing to get only the Count"
            ),
        ),
        (
            {"AttributesToGet": ["a"], "Select": "ALL_ATTRIBUTES"},
            (
                "1 validation error detected: Cannot specify the AttributesToGet "
                "when choosing to get ALL_ATTRIBUTES"
            ),
        ),
        ({"QueryFilter": BAD_FILTER, "AttributesToGet": ["a", "a"]}, BAD_COUNT),
        (
            {"AttributesToGet": ["b", "a", "a"], "ExclusiveStartKey": {"a": {}}},
            INVALID + "Duplicate value in attribute name: a",
        ),
        (
            {"ExclusiveStartKey": {"a": {}}, "KeyConditions": BAD_FILTER},
            (
                "The provided starting key is invalid: Supplied AttributeValue is empty, "
                "must contain exactly one of the supported datatypes"
            ),
        ),
        (
            {"QueryFilter": {"a": operator("NULL")}},
            (
                "Either the KeyConditions or KeyConditionExpression parameter "
                "must be specified in the request."
            ),
        ),
        (
            {"FilterExpression": "", "KeyConditions": BAD_FILTER},
            "Invalid FilterExpression: The expression can not be empty;",
        ),
        (
            {"ConditionalOperator": "AND"},
            "ConditionalOperator cannot be used without Filter or Expected",
        ),
        (
            {"ConditionalOperator": "AND", "QueryFilter": BAD_FILTER},
            "ConditionalOperator can only be used when Filter or Expected has two or more elements",
        ),
        (
            {"KeyConditions": {}, "ExpressionAttributeValues": {":a": {"S": "x"}}},
            (
                "ExpressionAttributeValues can only be specified when using expressions: "
                "FilterExpression and KeyConditionExpression are null"
            ),
        ),
        (
            {
                "QueryFilter": {},
                "ConditionalOperator": "OR",
                "KeyConditions": {},
                "AttributesToGet": ["a"],
                "FilterExpression": "",
            },
            (
                "Can not use both expression and non-expression parameters in the same request: "
                "Non-expression parameters: {AttributesToGet, QueryFilter, ConditionalOperator} "
                "Expression parameters: {FilterExpression}"
            ),
        ),
        (
            {"KeyConditions": {}, "KeyConditionExpression": ""},
            (
                "Can not use both expression and non-expression parameters in the same request: "
                "Non-expression parameters: {KeyConditions} "
                "Expression parameters: {KeyConditionExpression}"
            ),
        ),
    ],
)
def test_mistakes_are_found_in_order(dynamodb: DynamoDBClient, changes: Item, message: str) -> None:
    parameters: Item = {"TableName": unique_name("none")} | changes

    assert invalid(dynamodb.query, **parameters) == message
