"""GetItem, PutItem, UpdateItem and DeleteItem: the commands they make, their answers and their refusals."""

from __future__ import annotations

import pytest

from gramme.codec.key import encode_component
from gramme.commands import Delete, Put, Update
from gramme.errors import GrammeError, ResourceNotFound, Serialization, ValidationError
from gramme.partitions import token_bytes
from tests.unit.router.operations.router import Body, Router

SONG = {"artist": {"S": "Django"}, "year": {"N": "1937"}, "title": {"S": "Minor Swing"}}
KEY = {"artist": {"S": "Django"}, "year": {"N": "1937"}}
WRITES = [
    ("PutItem", {"Item": SONG}),
    ("UpdateItem", {"Key": KEY}),
    ("DeleteItem", {"Key": KEY}),
]


def test_item_that_was_put_is_got(router: Router) -> None:
    router.ask("PutItem", {"TableName": "music", "Item": SONG})

    assert router.ask("GetItem", {"TableName": "music", "Key": KEY}) == {"Item": SONG}


def test_missing_item_is_an_empty_answer(router: Router) -> None:
    assert router.ask_raw("GetItem", {"TableName": "music", "Key": KEY}) == b"{}"


@pytest.mark.parametrize(
    ("table", "key", "kind"),
    [
        (["simple"], {"id": {"S": "a"}}, Serialization),
        ("simple", [], Serialization),
        ("simple", {"id": {"S": 1}}, Serialization),
        ("simple", {"id": {"S": ""}}, ValidationError),
        ("missing", {"id": {"S": 1}}, Serialization),
        ("missing", {"id": {}}, ValidationError),
        ("missing", {"id": {"S": "a"}}, ResourceNotFound),
        ("no name", {"id": {"S": "a"}}, ValidationError),
        (None, {"id": {"S": "a"}}, ValidationError),
    ],
    ids=str,
)
def test_get_finds_fault_with_the_key_before_it_looks_for_the_table(
    router: Router, table: object, key: object, kind: type[GrammeError]
) -> None:
    router.refusal("GetItem", {"TableName": table, "Key": key}, kind)


@pytest.mark.parametrize("values", [{}, {":a": {"S": "b"}}, [1]], ids=str)
def test_get_has_no_values_and_ignores_them(router: Router, values: object) -> None:
    get = {"TableName": "music", "Key": KEY, "ProjectionExpression": "title"}

    answer = router.ask("GetItem", get | {"ExpressionAttributeValues": values})

    assert answer == router.ask("GetItem", get)


def test_stored_bytes_are_sent_as_they_are(router: Router) -> None:
    router.ask("PutItem", {"TableName": "music", "Item": SONG})
    put = router.nodes.write_seen
    assert isinstance(put, Put)

    answer = router.ask_raw("GetItem", {"TableName": "music", "Key": KEY})

    assert answer == b'{"Item":' + put.item + b"}"


def test_row_key_is_token_hash_and_range(router: Router) -> None:
    router.ask("PutItem", {"TableName": "music", "Item": SONG})

    put = router.nodes.write_seen
    assert isinstance(put, Put)
    hash = encode_component("S", KEY["artist"])
    assert put.key == token_bytes(b"seed", hash) + hash + encode_component("N", KEY["year"])


def test_numbers_are_normalised_before_they_are_keys(router: Router) -> None:
    router.ask("PutItem", {"TableName": "music", "Item": SONG})

    found = router.ask("GetItem", {"TableName": "music", "Key": KEY | {"year": {"N": "+1.937e3"}}})

    assert found == {"Item": SONG}


def test_put_returns_what_it_replaced_if_asked(router: Router) -> None:
    put = {"TableName": "music", "Item": SONG}

    first = router.ask("PutItem", put | {"ReturnValues": "ALL_OLD"})
    silent = router.ask("PutItem", put)
    second = router.ask("PutItem", put | {"ReturnValues": "ALL_OLD"})

    assert first == {}
    assert silent == {}
    assert second == {"Attributes": SONG}


def test_delete_returns_what_was_there_if_asked(router: Router) -> None:
    router.ask("PutItem", {"TableName": "music", "Item": SONG})

    deleted = router.ask(
        "DeleteItem", {"TableName": "music", "Key": KEY, "ReturnValues": "ALL_OLD"}
    )

    assert deleted == {"Attributes": SONG}
    assert router.ask("GetItem", {"TableName": "music", "Key": KEY}) == {}


def test_table_is_found_by_its_arn(router: Router) -> None:
    arn = "arn:aws:dynamodb:us-east-1:000000000000:table/music"
    body = {"TableName": arn, "Item": SONG, "ReturnConsumedCapacity": "TOTAL"}

    answer = router.ask("PutItem", body)

    assert answer == {"ConsumedCapacity": {"TableName": arn, "CapacityUnits": 1.0}}
    assert router.ask("GetItem", {"TableName": "music", "Key": KEY}) == {"Item": SONG}


def test_update_carries_key_expressions_and_wishes(router: Router) -> None:
    router.ask(
        "UpdateItem",
        {
            "TableName": "music",
            "Key": KEY,
            "UpdateExpression": "SET #t = :t",
            "ConditionExpression": "attribute_exists(artist)",
            "ExpressionAttributeNames": {"#t": "title"},
            "ExpressionAttributeValues": {":t": {"N": "1.0"}},
            "ReturnValues": "UPDATED_NEW",
            "ReturnValuesOnConditionCheckFailure": "ALL_OLD",
        },
    )

    update = router.nodes.write_seen
    assert isinstance(update, Update)
    assert update.key_item == KEY
    assert update.update is not None
    assert update.condition is not None
    assert update.values == {":t": {"N": "1"}}
    assert update.return_values == "UPDATED_NEW"
    assert update.show_item_on_failure


def test_update_without_expression_is_an_upsert(router: Router) -> None:
    router.ask("UpdateItem", {"TableName": "music", "Key": KEY})

    update = router.nodes.write_seen
    assert isinstance(update, Update)
    assert update.update is None
    assert update.return_values == "NONE"


def test_delete_carries_its_condition(router: Router) -> None:
    router.ask(
        "DeleteItem",
        {
            "TableName": "music",
            "Key": KEY,
            "ConditionExpression": "title = :t",
            "ExpressionAttributeValues": {":t": {"S": "Nuages"}},
        },
    )

    delete = router.nodes.write_seen
    assert isinstance(delete, Delete)
    assert delete.condition is not None
    assert delete.values == {":t": {"S": "Nuages"}}
    assert not delete.show_item_on_failure


def test_get_carries_consistency_and_projection(router: Router) -> None:
    router.ask(
        "GetItem",
        {
            "TableName": "music",
            "Key": KEY,
            "ConsistentRead": True,
            "ProjectionExpression": "#t",
            "ExpressionAttributeNames": {"#t": "title"},
        },
    )

    get = router.nodes.get_seen
    assert get is not None
    assert get.consistent
    assert get.projection is not None


@pytest.mark.parametrize(("operation", "body"), [*WRITES, ("GetItem", {"Key": KEY})])
def test_missing_table_is_not_named(router: Router, operation: str, body: Body) -> None:
    message = router.refusal(operation, {"TableName": "none"} | body, ResourceNotFound)

    assert message == "Requested resource not found"


@pytest.mark.parametrize("operation", ["GetItem", "UpdateItem", "DeleteItem"])
@pytest.mark.parametrize(
    "key",
    [
        {"artist": {"S": "a"}},
        {"artist": {"S": "a"}, "year": {"S": "1"}},
        {"artist": {"S": "a"}, "year": {"N": "1"}, "title": {"S": "x"}},
        {"artist": {"S": "a"}, "title": {"S": "x"}},
    ],
    ids=["half", "wrong type", "too much", "wrong name"],
)
def test_key_must_fit_the_schema(router: Router, operation: str, key: Body) -> None:
    body = {"TableName": "music", "Key": key}

    message = router.refusal(operation, body, ValidationError)

    assert message == "The provided key element does not match the schema"


@pytest.mark.parametrize(
    ("operation", "body"), [write for write in WRITES if write[0] != "UpdateItem"]
)
def test_only_updates_return_new_values(router: Router, operation: str, body: Body) -> None:
    body = {"TableName": "none", "ReturnValues": "ALL_NEW"} | body

    message = router.refusal(operation, body, ValidationError)

    assert message == "ReturnValues can only be ALL_OLD or NONE"


@pytest.mark.parametrize(("operation", "body"), WRITES)
def test_styles_are_not_mixed(router: Router, operation: str, body: Body) -> None:
    body = {
        "TableName": "none",
        "Expected": {"title": {"Exists": False}},
        "ConditionExpression": "attribute_exists(a)",
    } | body

    message = router.refusal(operation, body, ValidationError)

    assert message == (
        "Can not use both expression and non-expression parameters in the same request: "
        "Non-expression parameters: {Expected} Expression parameters: {ConditionExpression}"
    )


@pytest.mark.parametrize(
    ("operation", "body", "message"),
    [
        (
            "PutItem",
            {"Item": SONG, "ExpressionAttributeValues": {":a": {"S": "x"}}},
            (
                "ExpressionAttributeValues can only be specified when using expressions: "
                "ConditionExpression is null"
            ),
        ),
        (
            "UpdateItem",
            {"Key": KEY, "ExpressionAttributeValues": {":a": {"S": "x"}}},
            (
                "ExpressionAttributeValues can only be specified when using expressions: "
                "UpdateExpression and ConditionExpression are null"
            ),
        ),
        (
            "GetItem",
            {"Key": KEY, "ExpressionAttributeNames": {"#a": "x"}},
            "ExpressionAttributeNames can only be specified when using expressions",
        ),
        (
            "UpdateItem",
            {"Key": KEY, "AttributeUpdates": {"title": {"Action": "ADD"}}},
            (
                "One or more parameter values were invalid: "
                "Only DELETE action is allowed when no attribute value is specified"
            ),
        ),
        (
            "GetItem",
            {"Key": KEY, "AttributesToGet": ["title", "title"]},
            "One or more parameter values were invalid: Duplicate value in attribute name: title",
        ),
        (
            "PutItem",
            {"Item": SONG | {"title": {"S": "x" * 409600}}},
            "Item size has exceeded the maximum allowed size",
        ),
        (
            "PutItem",
            {"Item": SONG, "ConditionExpression": ""},
            "Invalid ConditionExpression: The expression can not be empty;",
        ),
    ],
)
def test_mistakes_are_found_before_the_table_is_looked_for(
    router: Router, operation: str, body: Body, message: str
) -> None:
    body = {"TableName": "none"} | body

    assert router.refusal(operation, body, ValidationError) == message


@pytest.mark.parametrize(
    ("item", "message"),
    [
        (
            {"artist": {"S": "a"}},
            "One or more parameter values were invalid: Missing the key year in the item",
        ),
        (
            SONG | {"year": {"S": "1937"}},
            (
                "One or more parameter values were invalid: "
                "Type mismatch for key year expected: N actual: S"
            ),
        ),
        (
            SONG | {"genre": {"N": "1"}},
            (
                "One or more parameter values were invalid: "
                "Type mismatch for Index Key genre Expected: S Actual: N IndexName: by-genre"
            ),
        ),
    ],
)
def test_item_must_fit_the_schema(router: Router, item: Body, message: str) -> None:
    body = {"TableName": "music", "Item": item}

    assert router.refusal("PutItem", body, ValidationError) == message


@pytest.mark.parametrize("name", ["artist", "year"])
def test_keys_are_not_updated(router: Router, name: str) -> None:
    body = {
        "TableName": "music",
        "Key": KEY,
        "UpdateExpression": "SET #k = :v",
        "ExpressionAttributeNames": {"#k": name},
        "ExpressionAttributeValues": {":v": {"S": "x"}},
    }

    message = router.refusal("UpdateItem", body, ValidationError)

    assert message == (
        "One or more parameter values were invalid: "
        f"Cannot update attribute {name}. This attribute is part of the key"
    )


@pytest.mark.parametrize(
    ("detail", "consumed"),
    [
        ("NONE", None),
        ("TOTAL", {"TableName": "music", "CapacityUnits": 2.0}),
        (
            "INDEXES",
            {"TableName": "music", "CapacityUnits": 2.0, "Table": {"CapacityUnits": 2.0}},
        ),
    ],
)
def test_write_is_charged_for_the_larger_image(
    router: Router, detail: str, consumed: Body | None
) -> None:
    router.ask("PutItem", {"TableName": "music", "Item": SONG | {"title": {"S": "x" * 1024}}})

    answer = router.ask(
        "PutItem", {"TableName": "music", "Item": SONG, "ReturnConsumedCapacity": detail}
    )

    assert answer.get("ConsumedCapacity") == consumed


@pytest.mark.parametrize(("consistent", "units"), [(False, 1.0), (True, 2.0)])
def test_read_is_charged_by_four_kilobytes(router: Router, consistent: bool, units: float) -> None:
    router.ask("PutItem", {"TableName": "music", "Item": SONG | {"title": {"S": "x" * 4096}}})

    answer = router.ask(
        "GetItem",
        {
            "TableName": "music",
            "Key": KEY,
            "ConsistentRead": consistent,
            "ReturnConsumedCapacity": "TOTAL",
        },
    )

    assert answer["ConsumedCapacity"] == {"TableName": "music", "CapacityUnits": units}


@pytest.mark.parametrize(
    ("operation", "changes", "key"),
    [
        ("GetItem", {"ProjectionExpression": "artist.inner1"}, "Key: artist"),
        ("GetItem", {"ProjectionExpression": "genre[0]"}, "IndexKey: genre"),
        ("UpdateItem", {"UpdateExpression": "REMOVE genre[0]"}, "IndexKey: genre"),
    ],
)
def test_keys_have_no_insides(router: Router, operation: str, changes: Body, key: str) -> None:
    body = {"TableName": "music", "Key": KEY} | changes

    assert router.refusal(operation, body, ValidationError) == (
        "Key attributes must be scalars; "
        f"list random access '[]' and map lookup '.' are not allowed: {key}"
    )
