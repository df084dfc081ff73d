"""UpdateItem."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from botocore.exceptions import ClientError

from tests.conformance.tables import Gsi, Item, TableFactory, invalid, refusal, unique_name

if TYPE_CHECKING:
    from types_boto3_dynamodb import DynamoDBClient

INVALID = "One or more parameter values were invalid: "

# What each test of an expression begins with, beside its key.
BEFORE: Item = {
    "n": {"N": "5"},
    "s": {"S": "old"},
    "set": {"SS": ["a", "b"]},
    "list": {"L": [{"N": "0"}, {"N": "1"}, {"N": "2"}]},
    "map": {"M": {"x": {"N": "1"}, "y": {"N": "2"}}},
}
NAMES = {"#set": "set", "#list": "list", "#map": "map"}
VALUES: Item = {
    ":one": {"N": "1"},
    ":text": {"S": "new"},
    ":set": {"SS": ["b", "c"]},
    ":ab": {"SS": ["a", "b"]},
    ":list": {"L": [{"S": "z"}]},
}


@pytest.fixture(scope="session")
def indexed(tables: TableFactory) -> str:
    return tables.create("pk:S", Gsi("gsi", "g:S"))


def update(
    dynamodb: DynamoDBClient, table: str, pk: str, expression: str | None, **changes: Any
) -> Item:
    parameters: dict[str, Any] = {"TableName": table, "Key": {"pk": {"S": pk}}} | changes
    if expression is not None:
        parameters["UpdateExpression"] = expression
        texts = expression + parameters.get("ConditionExpression", "")
        words = set(texts.replace("[", " ").replace(".", " ").replace(",", " ").split())
        words |= set(texts.replace("(", " ").replace(")", " ").replace(",", " ").split())
        names = {name: NAMES[name] for name in NAMES if name in words}
        values = {name: VALUES[name] for name in VALUES if name in words}
        if names:
            parameters.setdefault("ExpressionAttributeNames", names)
        if values:
            parameters.setdefault("ExpressionAttributeValues", values)
    answer: Item = dict(dynamodb.update_item(**parameters))
    return answer


def get(dynamodb: DynamoDBClient, table: str, pk: str) -> Item | None:
    answer = dynamodb.get_item(TableName=table, Key={"pk": {"S": pk}}, ConsistentRead=True)
    item: Item | None = answer.get("Item")
    return item


def put_before(dynamodb: DynamoDBClient, table: str, pk: str) -> None:
    dynamodb.put_item(TableName=table, Item={"pk": {"S": pk}} | BEFORE)


@pytest.mark.parametrize(
    ("expression", "changed"),
    [
        ("SET s = :text", {"s": {"S": "new"}}),
        ("SET n = n + :one", {"n": {"N": "6"}}),
        ("SET n = n - :one", {"n": {"N": "4"}}),
        ("SET m = if_not_exists(m, :one)", {"m": {"N": "1"}}),
        ("SET n = if_not_exists(n, :one)", {"n": {"N": "5"}}),
        (
            "SET #list = list_append( #list , :list )",
            {"list": {"L": [*BEFORE["list"]["L"], {"S": "z"}]}},
        ),
        ("SET #list[1] = :one", {"list": BEFORE["list"]}),
        ("SET #list[9] = :one", {"list": {"L": [*BEFORE["list"]["L"], {"N": "1"}]}}),
        ("SET #map.z = :one", {"map": {"M": BEFORE["map"]["M"] | {"z": {"N": "1"}}}}),
        ("SET s = n, n = s", {"s": {"N": "5"}, "n": {"S": "old"}}),
        ("REMOVE s", {"s": None}),
        ("REMOVE #list[0]", {"list": {"L": [{"N": "1"}, {"N": "2"}]}}),
        ("REMOVE #map.x", {"map": {"M": {"y": {"N": "2"}}}}),
        ("REMOVE nothing", {}),
        ("ADD n :one", {"n": {"N": "6"}}),
        ("ADD m :one", {"m": {"N": "1"}}),
        ("DELETE #set :ab", {"set": None}),
        ("SET s = :text REMOVE n ADD m :one", {"s": {"S": "new"}, "n": None, "m": {"N": "1"}}),
    ],
)
def test_expression_changes_the_item(
    dynamodb: DynamoDBClient, table: str, pk: str, expression: str, changed: Item
) -> None:
    put_before(dynamodb, table, pk)

    update(dynamodb, table, pk, expression)

    after: Item = {"pk": {"S": pk}} | BEFORE | changed
    item = get(dynamodb, table, pk)
    assert item is not None
    for each in (item, after):
        if each.get("set"):
            each["set"] = {"SS": sorted(each["set"]["SS"])}
    assert item == {name: value for name, value in after.items() if value is not None}


@pytest.mark.parametrize(
    ("expression", "members"),
    [("ADD #set :set", ["a", "b", "c"]), ("DELETE #set :set", ["a"])],
)
def test_sets_grow_and_shrink(
    dynamodb: DynamoDBClient, table: str, pk: str, expression: str, members: list[str]
) -> None:
    put_before(dynamodb, table, pk)

    answer = update(dynamodb, table, pk, expression, ReturnValues="UPDATED_NEW")

    assert sorted(answer["Attributes"]["set"]["SS"]) == members


@pytest.mark.parametrize(
    ("wanted", "attributes"),
    [
        ("NONE", None),
        ("UPDATED_OLD", {"n": {"N": "5"}}),
        ("UPDATED_NEW", {"n": {"N": "6"}}),
        ("ALL_OLD", {"n": {"N": "5"}, "s": {"S": "old"}}),
        ("ALL_NEW", {"n": {"N": "6"}, "s": {"S": "old"}}),
    ],
)
def test_wanted_values_are_returned(
    dynamodb: DynamoDBClient, table: str, pk: str, wanted: str, attributes: Item | None
) -> None:
    key: Item = {"pk": {"S": pk}}
    dynamodb.put_item(TableName=table, Item=key | {"n": {"N": "5"}, "s": {"S": "old"}})

    answer = update(dynamodb, table, pk, "SET n = n + :one", ReturnValues=wanted)

    if attributes is not None and wanted.startswith("ALL"):
        attributes = key | attributes
    assert answer.get("Attributes") == attributes


def test_updated_values_keep_their_nesting(dynamodb: DynamoDBClient, table: str, pk: str) -> None:
    put_before(dynamodb, table, pk)

    answer = update(dynamodb, table, pk, "SET #map.x = :text", ReturnValues="UPDATED_NEW")

    assert answer["Attributes"] == {"map": {"M": {"x": {"S": "new"}}}}


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        (None, {}),
        ("SET s = :text", {"s": {"S": "new"}}),
        ("ADD n :one", {"n": {"N": "1"}}),
        ("REMOVE s", None),
    ],
)
def test_missing_item_begins_as_its_key(
    dynamodb: DynamoDBClient, table: str, pk: str, expression: str | None, expected: Item | None
) -> None:
    update(dynamodb, table, pk, expression)

    item = get(dynamodb, table, pk)
    assert item == (None if expected is None else {"pk": {"S": pk}} | expected)


def test_failed_condition_changes_nothing(dynamodb: DynamoDBClient, table: str, pk: str) -> None:
    code, message = refusal(
        dynamodb.update_item,
        TableName=table,
        Key={"pk": {"S": pk}},
        UpdateExpression="SET n = :one",
        ConditionExpression="attribute_exists(pk)",
        ExpressionAttributeValues={":one": {"N": "1"}},
    )

    assert code == "ConditionalCheckFailedException"
    assert message == "The conditional request failed"
    assert get(dynamodb, table, pk) is None


@pytest.mark.parametrize(
    ("expression", "message"),
    [
        (
            "SET absent = absent + :one",
            "The provided expression refers to an attribute that does not exist in the item",
        ),
        (
            "SET s = s + :one",
            "An operand in the update expression has an incorrect data type",
        ),
        (
            "SET nothing.deep = :one",
            "The document path provided in the update expression is invalid for update",
        ),
        (
            "ADD s :one",
            "An operand in the update expression has an incorrect data type",
        ),
    ],
)
def test_update_does_not_fit_the_item(
    dynamodb: DynamoDBClient, table: str, pk: str, expression: str, message: str
) -> None:
    put_before(dynamodb, table, pk)

    refused = invalid(
        dynamodb.update_item,
        TableName=table,
        Key={"pk": {"S": pk}},
        UpdateExpression=expression,
        ExpressionAttributeValues={":one": {"N": "1"}},
    )

    assert refused == message


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        (
            {"UpdateExpression": ""},
            "Invalid UpdateExpression: The expression can not be empty;",
        ),
        (
            {"UpdateExpression": "INVALID SYNTAX HERE"},
            'Invalid UpdateExpression: Syntax error; token: "INVALID", near: "INVALID SYNTAX"',
        ),
        (
            {"UpdateExpression": "SET a = :v"},
            (
                "Invalid UpdateExpression: An expression attribute value used in expression "
                "is not defined; attribute value: :v"
            ),
        ),
        (
            {
                "UpdateExpression": "SET a = :v",
                "ExpressionAttributeValues": {":v": {"S": "x"}, ":unused": {"S": "x"}},
            },
            "Value provided in ExpressionAttributeValues unused in expressions: keys: {:unused}",
        ),
        (
            {
                "UpdateExpression": "SET a = :v",
                "ExpressionAttributeValues": {":v": {"S": "x"}},
                "AttributeUpdates": {"a": {"Value": {"S": "x"}, "Action": "PUT"}},
            },
            (
                "Can not use both expression and non-expression parameters in the same request: "
                "Non-expression parameters: {AttributeUpdates} "
                "Expression parameters: {UpdateExpression}"
            ),
        ),
        (
            {"ExpressionAttributeValues": {":v": {"S": "x"}}},
            (
                "ExpressionAttributeValues can only be specified when using expressions: "
                "UpdateExpression and ConditionExpression are null"
            ),
        ),
        (
            {"ReturnValues": "X"},
            (
                "1 validation error detected: Value 'X' at 'returnValues' failed to satisfy "
                "constraint: Member must satisfy enum value set: "
                "[ALL_NEW, UPDATED_OLD, ALL_OLD, NONE, UPDATED_NEW]"
            ),
        ),
    ],
)
def test_update_is_refused_even_without_a_table(
    dynamodb: DynamoDBClient, changes: dict[str, Any], message: str
) -> None:
    parameters = {"TableName": unique_name("missing"), "Key": {"pk": {"S": "a"}}} | changes

    assert invalid(dynamodb.update_item, **parameters) == message


@pytest.mark.parametrize("name", ["pk", "sk"])
def test_keys_are_not_updated(dynamodb: DynamoDBClient, composite: str, name: str) -> None:
    message = invalid(
        dynamodb.update_item,
        TableName=composite,
        Key={"pk": {"S": "a"}, "sk": {"N": "1"}},
        UpdateExpression=f"SET {name} = :v",
        ExpressionAttributeValues={":v": {"S": "x"}},
    )

    assert message == (
        f"{INVALID}Cannot update attribute {name}. This attribute is part of the key"
    )


@pytest.mark.parametrize(
    "changes",
    [
        {"UpdateExpression": "SET g = :one"},
        {"UpdateExpression": "SET g = n + :one"},
        {"UpdateExpression": "SET x = g[1], g = :one"},
        {"UpdateExpression": "ADD g :one"},
        {"AttributeUpdates": {"g": {"Action": "PUT", "Value": {"N": "1"}}}},
    ],
)
def test_type_of_an_index_key_is_checked_before_the_condition(
    dynamodb: DynamoDBClient, indexed: str, changes: Item
) -> None:
    parameters: Item = {"TableName": indexed, "Key": {"pk": {"S": "a"}}} | changes
    if "UpdateExpression" in changes:
        parameters["ExpressionAttributeValues"] = {":one": {"N": "1"}}
        parameters["ConditionExpression"] = "attribute_exists(nothing)"

    message = invalid(dynamodb.update_item, **parameters)

    assert message == (
        f"{INVALID}Type mismatch for Index Key g Expected: S Actual: N IndexName: gsi"
    )


@pytest.mark.parametrize("expression", ["SET g.x = :one", "SET x = g[1]", "REMOVE g[0]"])
def test_key_of_an_index_is_a_scalar(
    dynamodb: DynamoDBClient, indexed: str, expression: str
) -> None:
    parameters: Item = {
        "TableName": indexed,
        "Key": {"pk": {"S": "a"}},
        "UpdateExpression": expression,
    }
    if ":one" in expression:
        parameters["ExpressionAttributeValues"] = {":one": {"N": "1"}}

    assert invalid(dynamodb.update_item, **parameters) == (
        "Key attributes must be scalars; list random access '[]' and map lookup '.' "
        "are not allowed: IndexKey: g"
    )


@pytest.mark.parametrize("expression", ["SET g = n", "SET g = if_not_exists(gone, n)"])
def test_type_of_an_index_key_may_be_known_only_by_the_item(
    dynamodb: DynamoDBClient, indexed: str, pk: str, expression: str
) -> None:
    key: Item = {"pk": {"S": pk}}
    dynamodb.put_item(TableName=indexed, Item=key | {"n": {"N": "1"}})

    message = invalid(dynamodb.update_item, TableName=indexed, Key=key, UpdateExpression=expression)

    assert message == (
        "The update expression attempted to update the secondary index key to unsupported type"
    )


def test_update_is_charged_for_the_larger_image(
    dynamodb: DynamoDBClient, table: str, pk: str
) -> None:
    dynamodb.put_item(TableName=table, Item={"pk": {"S": pk}, "s": {"S": "x" * 2048}})

    answer = update(dynamodb, table, pk, "SET s = :text", ReturnConsumedCapacity="TOTAL")

    assert answer["ConsumedCapacity"] == {"TableName": table, "CapacityUnits": 3.0}


def test_an_update_cannot_nest_deeper_than_a_put(dynamodb: DynamoDBClient, table: str) -> None:
    key: dict[str, Any] = {"pk": {"S": "deep"}}
    dynamodb.put_item(TableName=table, Item={**key, "m": {"M": {}}})

    with pytest.raises(ClientError, match="Nesting Levels have exceeded supported limits"):
        for _ in range(40):
            dynamodb.update_item(TableName=table, Key=key, UpdateExpression="SET m.x = m")
