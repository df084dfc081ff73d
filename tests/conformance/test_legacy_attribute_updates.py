"""AttributeUpdates of UpdateItem."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from tests.conformance.tables import Gsi, Item, TableFactory, invalid, refusal, unique_name

if TYPE_CHECKING:
    from types_boto3_dynamodb import DynamoDBClient

INVALID = "One or more parameter values were invalid: "

BEFORE: Item = {
    "n": {"N": "5"},
    "s": {"S": "old"},
    "set": {"SS": ["a", "b"]},
    "list": {"L": [{"N": "1"}]},
}


def update(dynamodb: DynamoDBClient, table: str, pk: str, updates: Item, **changes: Any) -> Item:
    parameters: Item = {"TableName": table, "Key": {"pk": {"S": pk}}, "AttributeUpdates": updates}
    answer: Item = dict(dynamodb.update_item(**parameters, **changes))
    return answer


def get(dynamodb: DynamoDBClient, table: str, pk: str) -> Item | None:
    answer = dynamodb.get_item(TableName=table, Key={"pk": {"S": pk}}, ConsistentRead=True)
    item: Item | None = answer.get("Item")
    return item


def sorted_sets(item: Item) -> Item:
    return {
        name: {"SS": sorted(value["SS"])} if "SS" in value else value
        for name, value in item.items()
    }


@pytest.mark.parametrize(
    ("updates", "after"),
    [
        ({"s": {"Value": {"S": "new"}}}, {"s": {"S": "new"}}),
        ({"s": {"Action": "PUT", "Value": {"M": {}}}}, {"s": {"M": {}}}),
        ({"x": {"Action": "PUT", "Value": {"N": "1e1"}}}, {"x": {"N": "10"}}),
        ({"n": {"Action": "ADD", "Value": {"N": "-7"}}}, {"n": {"N": "-2"}}),
        ({"x": {"Action": "ADD", "Value": {"N": "3"}}}, {"x": {"N": "3"}}),
        (
            {"set": {"Action": "ADD", "Value": {"SS": ["b", "c"]}}},
            {"set": {"SS": ["a", "b", "c"]}},
        ),
        (
            {"list": {"Action": "ADD", "Value": {"L": [{"S": "x"}, {"N": "1"}]}}},
            {"list": {"L": [{"N": "1"}, {"S": "x"}, {"N": "1"}]}},
        ),
        ({"x": {"Action": "ADD", "Value": {"L": []}}}, {"x": {"L": []}}),
        ({"set": {"Action": "DELETE", "Value": {"SS": ["b", "z"]}}}, {"set": {"SS": ["a"]}}),
        ({"set": {"Action": "DELETE", "Value": {"SS": ["a", "b"]}}}, {"set": None}),
        ({"x": {"Action": "DELETE", "Value": {"SS": ["a"]}}}, {}),
        ({"s": {"Action": "DELETE"}, "x": {"Action": "DELETE"}}, {"s": None}),
        ({"a.b": {"Value": {"S": "x"}}}, {"a.b": {"S": "x"}}),
        ({}, {}),
    ],
)
def test_attributes_are_put_added_to_and_deleted(
    dynamodb: DynamoDBClient, table: str, pk: str, updates: Item, after: Item
) -> None:
    before = {"pk": {"S": pk}} | BEFORE
    dynamodb.put_item(TableName=table, Item=before)

    answer = update(dynamodb, table, pk, updates, ReturnValues="ALL_NEW")

    expected = {name: value for name, value in (before | after).items() if value is not None}
    assert sorted_sets(answer["Attributes"]) == expected
    assert sorted_sets(get(dynamodb, table, pk) or {}) == expected


@pytest.mark.parametrize(
    ("updates", "after"),
    [
        ({"s": {"Value": {"S": "x"}}}, {"s": {"S": "x"}}),
        ({"n": {"Action": "ADD", "Value": {"N": "1"}}}, {"n": {"N": "1"}}),
        ({}, {}),
        ({"s": {"Action": "DELETE"}}, None),
        ({"set": {"Action": "DELETE", "Value": {"SS": ["a"]}}}, None),
    ],
)
def test_missing_item_begins_as_its_key_unless_all_is_deleted(
    dynamodb: DynamoDBClient, table: str, pk: str, updates: Item, after: Item | None
) -> None:
    update(dynamodb, table, pk, updates)

    expected = None if after is None else {"pk": {"S": pk}} | after
    assert get(dynamodb, table, pk) == expected


@pytest.mark.parametrize(
    ("wanted", "expected"),
    [
        ("NONE", None),
        ("UPDATED_OLD", {"n": {"N": "5"}, "s": {"S": "old"}}),
        ("UPDATED_NEW", {"n": {"N": "6"}, "x": {"S": "new"}}),
        ("ALL_OLD", {"n": {"N": "5"}, "s": {"S": "old"}, "list": {"L": [{"N": "1"}]}}),
        ("ALL_NEW", {"n": {"N": "6"}, "x": {"S": "new"}, "list": {"L": [{"N": "1"}]}}),
    ],
)
def test_return_values_are_of_the_attributes_named(
    dynamodb: DynamoDBClient, table: str, pk: str, wanted: str, expected: Item | None
) -> None:
    key = {"pk": {"S": pk}}
    item = key | {name: BEFORE[name] for name in ("n", "s", "list")}
    dynamodb.put_item(TableName=table, Item=item)
    updates = {
        "n": {"Action": "ADD", "Value": {"N": "1"}},
        "s": {"Action": "DELETE"},
        "x": {"Value": {"S": "new"}},
    }

    answer = update(dynamodb, table, pk, updates, ReturnValues=wanted)

    if expected is not None and wanted.startswith("ALL"):
        expected = key | expected
    assert answer.get("Attributes") == expected


def test_update_happens_if_the_item_is_as_expected(
    dynamodb: DynamoDBClient, table: str, pk: str
) -> None:
    updates = {"n": {"Action": "ADD", "Value": {"N": "1"}}}
    update(dynamodb, table, pk, updates, Expected={"n": {"Exists": False}})

    code, _ = refusal(
        dynamodb.update_item,
        TableName=table,
        Key={"pk": {"S": pk}},
        AttributeUpdates=updates,
        Expected={"n": {"Exists": False}},
    )
    update(dynamodb, table, pk, updates, Expected={"n": {"Value": {"N": "1"}}})

    assert code == "ConditionalCheckFailedException"
    assert get(dynamodb, table, pk) == {"pk": {"S": pk}, "n": {"N": "2"}}


def test_expected_alone_guards_an_update_that_does_nothing(
    dynamodb: DynamoDBClient, table: str, pk: str
) -> None:
    code, _ = refusal(
        dynamodb.update_item,
        TableName=table,
        Key={"pk": {"S": pk}},
        Expected={"n": {"Value": {"N": "1"}}},
    )

    assert code == "ConditionalCheckFailedException"


@pytest.mark.parametrize(
    "updates",
    [
        {"s": {"Action": "ADD", "Value": {"N": "1"}}},
        {"n": {"Action": "ADD", "Value": {"NS": ["1"]}}},
        {"set": {"Action": "ADD", "Value": {"L": []}}},
        {"set": {"Action": "DELETE", "Value": {"NS": ["1"]}}},
        {"n": {"Action": "DELETE", "Value": {"NS": ["5"]}}},
    ],
)
def test_value_of_another_type_than_the_attribute_is_refused(
    dynamodb: DynamoDBClient, table: str, pk: str, updates: Item
) -> None:
    key = {"pk": {"S": pk}}
    dynamodb.put_item(TableName=table, Item=key | BEFORE)

    message = invalid(dynamodb.update_item, TableName=table, Key=key, AttributeUpdates=updates)

    assert message == "Type mismatch for attribute to update"


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({}, "Only DELETE action is allowed when no attribute value is specified"),
        ({"Action": "PUT"}, "Only DELETE action is allowed when no attribute value is specified"),
        ({"Action": "ADD"}, "Only DELETE action is allowed when no attribute value is specified"),
        (
            {"Action": "DELETE", "Value": {"S": "x"}},
            "DELETE action with value is not supported for the type S",
        ),
        (
            {"Action": "DELETE", "Value": {"L": []}},
            "DELETE action with value is not supported for the type L",
        ),
        ({"Action": "ADD", "Value": {"S": "x"}}, "ADD action is not supported for the type S"),
        ({"Action": "ADD", "Value": {"M": {}}}, "ADD action is not supported for the type M"),
        ({"Action": "ADD", "Value": {"SS": []}}, "An string set  may not be empty"),
    ],
)
def test_action_that_makes_no_sense_is_refused_before_the_table_is_looked_for(
    dynamodb: DynamoDBClient, change: Item, reason: str
) -> None:
    message = invalid(
        dynamodb.update_item,
        TableName=unique_name("none"),
        Key={"pk": {"S": "a"}},
        AttributeUpdates={"a": change},
        Expected={"a": {}},
    )

    assert message == INVALID + reason


def test_unknown_action_is_refused(dynamodb: DynamoDBClient) -> None:
    message = invalid(
        dynamodb.update_item,
        TableName=unique_name("none"),
        Key={"pk": {"S": "a"}},
        AttributeUpdates={"a": {"Action": "SET", "Value": {"S": "x"}}},
    )

    assert message == (
        "1 validation error detected: Value 'SET' at 'attributeUpdates.a.member.action' failed to "
        "satisfy constraint: Member must satisfy enum value set: [ADD, PUT, DELETE]"
    )


@pytest.mark.parametrize("change", [{"Value": {"S": "x"}}, {"Action": "DELETE"}])
def test_key_stays_as_it_is(dynamodb: DynamoDBClient, table: str, pk: str, change: Item) -> None:
    message = invalid(
        dynamodb.update_item,
        TableName=table,
        Key={"pk": {"S": pk}},
        AttributeUpdates={"n": {"Value": {"N": "1"}}, "pk": change},
    )

    assert message == INVALID + "Cannot update attribute pk. This attribute is part of the key"


def test_key_of_an_index_keeps_its_type(
    dynamodb: DynamoDBClient, tables: TableFactory, pk: str
) -> None:
    table = tables.create("pk:S", Gsi("by-n", "n:N"))

    message = invalid(
        dynamodb.update_item,
        TableName=table,
        Key={"pk": {"S": pk}},
        AttributeUpdates={"n": {"Value": {"S": "x"}}},
    )

    assert message == (
        INVALID + "Type mismatch for Index Key n Expected: N Actual: S IndexName: by-n"
    )


def test_mixing_with_expressions_is_refused(dynamodb: DynamoDBClient) -> None:
    message = invalid(
        dynamodb.update_item,
        TableName=unique_name("none"),
        Key={"pk": {"S": "a"}},
        AttributeUpdates={"a": {}},
        Expected={"a": {}},
        UpdateExpression="",
    )

    assert message == (
        "Can not use both expression and non-expression parameters in the same request: "
        "Non-expression parameters: {AttributeUpdates, Expected} "
        "Expression parameters: {UpdateExpression}"
    )


def test_an_attribute_to_update_has_a_name(dynamodb: DynamoDBClient, table: str, pk: str) -> None:
    updates = {"": {"Value": {"S": "a"}, "Action": "PUT"}}

    message = invalid(
        dynamodb.update_item, TableName=table, Key={"pk": {"S": pk}}, AttributeUpdates=updates
    )

    assert message == "Empty attribute name"
