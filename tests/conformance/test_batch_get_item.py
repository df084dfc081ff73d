"""BatchGetItem: many items by their keys, up to 16 MB of them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from tests.conformance.tables import Item, TableFactory, invalid, refusal, unique_name

if TYPE_CHECKING:
    from types_boto3_dynamodb import DynamoDBClient

DUPLICATES = "Provided list of item keys contains duplicates"
NO_MATCH = "The provided key element does not match the schema"


def text(value: str) -> Item:
    return {"S": value}


def fill(dynamodb: DynamoDBClient, table: str, *items: Item) -> None:
    for item in items:
        dynamodb.put_item(TableName=table, Item=item)


def get(
    dynamodb: DynamoDBClient, table: str, keys: list[Item], **wishes: Any
) -> tuple[list[Item], Item]:
    """The table's items, in the order of their text, and the whole answer."""
    requests: Any = {table: {"Keys": keys, **wishes}}
    answer: Item = dict(dynamodb.batch_get_item(RequestItems=requests))
    return sorted(answer["Responses"][table], key=str), answer


def test_items_that_exist_are_returned(
    dynamodb: DynamoDBClient, table: str, composite: str, pk: str
) -> None:
    one: Item = {"pk": text(pk), "a": text("x")}
    other: Item = {"pk": text(pk), "sk": {"N": "7"}, "a": text("y")}
    fill(dynamodb, table, one)
    fill(dynamodb, composite, other)

    answer = dynamodb.batch_get_item(
        RequestItems={
            table: {"Keys": [{"pk": text(pk)}, {"pk": text(f"{pk}-missing")}]},
            composite: {"Keys": [{"pk": text(pk), "sk": {"N": "7.0"}}], "ConsistentRead": True},
        }
    )

    assert answer["Responses"] == {table: [one], composite: [other]}
    assert answer["UnprocessedKeys"] == {}
    assert "ConsumedCapacity" not in answer


def test_table_without_hits_is_an_empty_list(
    dynamodb: DynamoDBClient, table: str, composite: str, pk: str
) -> None:
    answer = dynamodb.batch_get_item(
        RequestItems={
            table: {"Keys": [{"pk": text(pk)}]},
            composite: {"Keys": [{"pk": text(pk), "sk": {"N": "1"}}]},
        }
    )

    assert answer["Responses"] == {table: [], composite: []}
    assert answer["UnprocessedKeys"] == {}


def test_projection_is_each_tables_own(
    dynamodb: DynamoDBClient, table: str, composite: str, pk: str
) -> None:
    fill(dynamodb, table, {"pk": text(pk), "a": text("x"), "name": text("y")})
    fill(dynamodb, composite, {"pk": text(pk), "sk": {"N": "1"}, "a": text("x")})

    answer = dynamodb.batch_get_item(
        RequestItems={
            table: {
                "Keys": [{"pk": text(pk)}],
                "ProjectionExpression": "#name",
                "ExpressionAttributeNames": {"#name": "name"},
            },
            composite: {
                "Keys": [{"pk": text(pk), "sk": {"N": "1"}}],
                "ProjectionExpression": "nothing",
            },
        }
    )

    assert answer["Responses"] == {table: [{"name": text("y")}], composite: [{}]}


def test_a_hundred_keys(dynamodb: DynamoDBClient, table: str, pk: str) -> None:
    keys = [{"pk": text(f"{pk}-{number}")} for number in range(100)]
    fill(dynamodb, table, *keys[::2])

    items, answer = get(dynamodb, table, keys, ConsistentRead=True)

    assert items == sorted(keys[::2], key=str)
    assert answer["UnprocessedKeys"] == {}


def test_two_spellings_of_a_number_are_answered_once(
    dynamodb: DynamoDBClient, composite: str, pk: str
) -> None:
    item = {"pk": text(pk), "sk": {"N": "1000"}}
    fill(dynamodb, composite, item)
    keys = [{"pk": text(pk), "sk": {"N": spelled}} for spelled in ("1000", "1e3")]

    items, _ = get(dynamodb, composite, keys)

    assert items == [item]


def test_beyond_sixteen_megabytes_keys_are_given_back(
    dynamodb: DynamoDBClient, tables: TableFactory
) -> None:
    table, other = tables.create("pk:S"), tables.create("pk:S")
    padding = text("x" * 400_000)
    keys = [{"pk": text(f"{number:02}")} for number in range(45)]
    fill(dynamodb, table, *({**key, "padding": padding, "n": {"N": "1"}} for key in keys))
    requests: dict[str, Any] = {
        table: {
            "Keys": keys,
            "ConsistentRead": True,
            "ProjectionExpression": "pk, #n",
            "ExpressionAttributeNames": {"#n": "n"},
        },
        other: {"Keys": [{"pk": text("a")}]},
    }

    answer = dynamodb.batch_get_item(RequestItems=requests, ReturnConsumedCapacity="TOTAL")

    seen = [item["pk"]["S"] for item in answer["Responses"][table]]
    left: Any = answer["UnprocessedKeys"][table]
    assert len(seen) == 41
    assert sorted(seen + [key["pk"]["S"] for key in left["Keys"]]) == [
        key["pk"]["S"] for key in keys
    ]
    assert {name: left[name] for name in left if name != "Keys"} == {
        name: requests[table][name] for name in requests[table] if name != "Keys"
    }
    units = {told["TableName"]: told["CapacityUnits"] for told in answer["ConsumedCapacity"]}
    assert units[table] == 41 * 98.0

    rest = dynamodb.batch_get_item(RequestItems=answer["UnprocessedKeys"])
    assert len(rest["Responses"][table]) == 4
    assert rest["UnprocessedKeys"] == {}


@pytest.mark.parametrize(("consistent", "units"), [(False, 2.0), (True, 4.0)])
def test_each_item_is_rounded_up_by_itself(
    dynamodb: DynamoDBClient, table: str, pk: str, consistent: bool, units: float
) -> None:
    fill(dynamodb, table, {"pk": text(pk), "a": text("x" * 4096)}, {"pk": text(f"{pk}-2")})
    keys = [{"pk": text(name)} for name in (pk, f"{pk}-2", f"{pk}-missing")]
    requests: Any = {table: {"Keys": keys, "ConsistentRead": consistent}}

    total = dynamodb.batch_get_item(RequestItems=requests, ReturnConsumedCapacity="TOTAL")
    indexes = dynamodb.batch_get_item(RequestItems=requests, ReturnConsumedCapacity="INDEXES")

    assert total["ConsumedCapacity"] == [{"TableName": table, "CapacityUnits": units}]
    assert indexes["ConsumedCapacity"] == [
        {"TableName": table, "CapacityUnits": units, "Table": {"CapacityUnits": units}}
    ]


def test_responses_are_named_as_the_tables_were(
    dynamodb: DynamoDBClient, table: str, pk: str
) -> None:
    arn = dynamodb.describe_table(TableName=table)["Table"]["TableArn"]
    fill(dynamodb, table, {"pk": text(pk)})

    answer = dynamodb.batch_get_item(RequestItems={arn: {"Keys": [{"pk": text(pk)}]}})

    assert answer["Responses"] == {arn: [{"pk": text(pk)}]}


def test_empty_request(dynamodb: DynamoDBClient) -> None:
    message = invalid(dynamodb.batch_get_item, RequestItems={})

    assert message == "The requestItems parameter is required for BatchGetItem"


@pytest.mark.parametrize(
    ("count", "constraint"),
    [
        (0, "Member must have length greater than or equal to 1"),
        (101, "Member must have length less than or equal to 100"),
    ],
)
def test_a_hundred_is_the_most_for_a_table(
    dynamodb: DynamoDBClient, count: int, constraint: str
) -> None:
    name = unique_name("missing")
    keys = [{"pk": text(str(number))} for number in range(count)]

    message = invalid(dynamodb.batch_get_item, RequestItems={name: {"Keys": keys}})

    assert message == (
        f"1 validation error detected: Value at 'RequestItems.{name}.member.Keys' "
        f"failed to satisfy constraint: {constraint}"
    )


def test_a_hundred_is_the_most_for_all_tables(dynamodb: DynamoDBClient) -> None:
    keys = [{"pk": text(str(number))} for number in range(51)]
    requests: Any = {unique_name("missing"): {"Keys": keys} for _ in range(2)}

    message = invalid(dynamodb.batch_get_item, RequestItems=requests)

    assert message == "Too many items requested for the BatchGetItem call"


@pytest.mark.parametrize(
    ("request_", "message"),
    [
        ({"Keys": [{"pk": text("a")}, {"pk": text("a")}]}, DUPLICATES),
        (
            {
                "Keys": [
                    {"pk": text("a"), "sk": {"N": "1"}},
                    {"sk": {"N": "1"}, "pk": text("a")},
                ]
            },
            DUPLICATES,
        ),
        (
            {"Keys": [{"pk": {}}, {"pk": {}}]},
            "Supplied AttributeValue is empty, must contain exactly one of the supported datatypes",
        ),
        (
            {"Keys": [{"pk": {"N": "b"}}]},
            "The parameter cannot be converted to a numeric value: b",
        ),
        (
            {"Keys": [{"pk": text("a")}, {"pk": text("a")}], "ProjectionExpression": ""},
            "Invalid ProjectionExpression: The expression can not be empty;",
        ),
        (
            {"Keys": [{}], "ExpressionAttributeNames": {"#a": "a"}},
            "ExpressionAttributeNames can only be specified when using expressions",
        ),
        (
            {"Keys": [{}], "AttributesToGet": ["a"], "ProjectionExpression": "a"},
            (
                "Can not use both expression and non-expression parameters in the same request: "
                "Non-expression parameters: {AttributesToGet} "
                "Expression parameters: {ProjectionExpression}"
            ),
        ),
    ],
)
def test_request_is_refused_even_without_a_table(
    dynamodb: DynamoDBClient, request_: Any, message: str
) -> None:
    refused = invalid(dynamodb.batch_get_item, RequestItems={unique_name("missing"): request_})

    assert refused == message


def test_expressions_do_not_mix_with_older_parameters_of_another_table(
    dynamodb: DynamoDBClient, table: str, composite: str, pk: str
) -> None:
    requests: Any = {
        table: {"Keys": [{"pk": text(pk)}], "AttributesToGet": ["a"]},
        composite: {"Keys": [{"pk": text(pk), "sk": {"N": "1"}}], "ProjectionExpression": "a"},
    }

    message = invalid(dynamodb.batch_get_item, RequestItems=requests)

    assert message == (
        "Can not use both expression and non-expression parameters in the same request: "
        "Non-expression parameters: {AttributesToGet} "
        "Expression parameters: {ProjectionExpression}"
    )


def test_missing_table_is_not_named(dynamodb: DynamoDBClient, table: str, pk: str) -> None:
    code, message = refusal(
        dynamodb.batch_get_item,
        RequestItems={
            table: {"Keys": [{"pk": text(pk)}]},
            unique_name("missing"): {"Keys": [{}]},
        },
    )

    assert code == "ResourceNotFoundException"
    assert message == "Requested resource not found"


@pytest.mark.parametrize(
    ("key", "message"),
    [
        ({}, NO_MATCH),
        ({"pk": text("a")}, NO_MATCH),
        ({"pk": text("a"), "sk": text("1")}, NO_MATCH),
        ({"pk": text("a"), "sk": {"N": "1"}, "other": text("x")}, NO_MATCH),
        (
            {"pk": text(""), "sk": {"N": "1"}},
            (
                "One or more parameter values are not valid. The AttributeValue for a key attribute "
                "cannot contain an empty string value. Key: pk"
            ),
        ),
    ],
)
def test_key_does_not_fit_the_schema(
    dynamodb: DynamoDBClient, composite: str, key: Item, message: str
) -> None:
    assert invalid(dynamodb.batch_get_item, RequestItems={composite: {"Keys": [key]}}) == message
