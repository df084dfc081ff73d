from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gramme.errors import GrammeError, Serialization, ValidationError
from gramme.router.validation.explain import explain
from gramme.router.validation.generated import OPERATIONS
from gramme.router.validation.interpreter import compile_shape, validate
from gramme.router.validation.measured import members_of, shape_of

MODEL = "com.amazonaws.dynamodb.v20120810"
NAME_PATTERN = "Member must satisfy regular expression pattern: [a-zA-Z0-9_.-]+"
KEY = {"id": {"S": "a"}}
PUT = {"TableName": "abc", "Item": KEY}


def refusal(operation: str, body: dict[str, Any]) -> str | None:
    with pytest.raises(ValidationError) as failure:
        validate(operation, body)
    return failure.value.message


def faults(*texts: str) -> str:
    noun = "error" if len(texts) == 1 else "errors"
    joined = "; ".join(text.replace(": ", " failed to satisfy constraint: ", 1) for text in texts)
    return f"{len(texts)} validation {noun} detected: {joined}"


@pytest.mark.parametrize(
    ("operation", "body"),
    [
        ("GetItem", {"TableName": "abc", "Key": KEY, "ConsistentRead": True}),
        ("GetItem", {"TableName": "a", "Key": {}, "Unknown": [1]}),
        ("GetItem", {"TableName": "arn:aws:dynamodb:eu:1:table/" + "a" * 255, "Key": KEY}),
        ("PutItem", PUT | {"ReturnValues": None, "ExpressionAttributeNames": {"#a": "a"}}),
        ("Query", {"TableName": "abc", "Limit": 1, "Select": "COUNT"}),
        ("Scan", {"TableName": "abc", "TotalSegments": 1_000_000, "Segment": 0}),
        ("BatchGetItem", {"RequestItems": {"abc": {"Keys": [KEY] * 100}}}),
        ("BatchWriteItem", {"RequestItems": {"abc": [{"PutRequest": {"Item": KEY}}] * 25}}),
        ("TransactWriteItems", {"TransactItems": [{"Put": PUT}], "ClientRequestToken": "a"}),
        ("ListTables", {}),
        ("DescribeLimits", {}),
        ("NoSuchOperation", {"a": 1}),
        ("GetRecords", {"ShardIterator": "a"}),
    ],
)
def test_a_request_of_its_operations_shape_passes(operation: str, body: dict[str, Any]) -> None:
    validate(operation, body)


def test_what_is_missing_is_named() -> None:
    assert refusal("PutItem", {}) == faults(
        "Value null at 'tableName': Member must not be null",
        "Value null at 'item': Member must not be null",
    )
    assert refusal("PutItem", {"TableName": None, "Item": {}}) == faults(
        "Value null at 'tableName': Member must not be null"
    )


def test_operations_on_tables_say_it_otherwise() -> None:
    for operation in ("CreateTable", "DescribeTable", "DeleteTable", "UpdateTable"):
        assert refusal(operation, {}) == (
            "The parameter 'TableName' is required but was not present in the request"
        )


@pytest.mark.parametrize(
    ("operation", "name", "fault"),
    [
        ("PutItem", "", "Member must have length greater than or equal to 1"),
        ("CreateTable", "ab", "Member must have length greater than or equal to 3"),
        ("PutItem", "a" * 256, "Member must have length less than or equal to 255"),
        ("PutItem", "bad table!@#", NAME_PATTERN),
        ("DeleteItem", "x!", NAME_PATTERN),
        ("GetItem", "arn:" + "a" * 1021, "Member must have length less than or equal to 1024"),
    ],
)
def test_a_bad_table_name_is_told_of_alone(operation: str, name: str, fault: str) -> None:
    body = {"TableName": name, "ReturnConsumedCapacity": "INVALID"}

    assert refusal(operation, body) == faults(f"Value '{name}' at 'tableName': {fault}")


def test_writes_tell_of_all_mistakes_at_once() -> None:
    bad = {
        "ReturnValues": "hi",
        "ReturnConsumedCapacity": "hi",
        "ReturnItemCollectionMetrics": "hi",
    }

    assert refusal("PutItem", PUT | bad) == faults(
        "Value 'hi' at 'returnConsumedCapacity': "
        "Member must satisfy enum value set: [INDEXES, TOTAL, NONE]",
        "Value 'hi' at 'returnValues': Member must satisfy enum value set: "
        "[ALL_NEW, UPDATED_OLD, ALL_OLD, NONE, UPDATED_NEW]",
        "Value 'hi' at 'returnItemCollectionMetrics': "
        "Member must satisfy enum value set: [SIZE, NONE]",
    )


def test_operations_differ_in_how_they_tell_of_a_range() -> None:
    body = {"TableName": "abc", "Limit": 0}
    bound = "Member must have value greater than or equal to 1"

    assert refusal("Scan", body) == faults(f"Value '0' at 'limit': {bound}")
    assert refusal("Query", body) == faults(f"Value at 'Limit': {bound}")


def test_query_still_shows_a_bad_enum() -> None:
    assert refusal("Query", {"TableName": "abc", "Select": "X"}) == faults(
        "Value 'X' at 'select': Member must satisfy enum value set: "
        "[SPECIFIC_ATTRIBUTES, COUNT, ALL_ATTRIBUTES, ALL_PROJECTED_ATTRIBUTES]"
    )


def test_a_fault_inside_is_given_by_its_path() -> None:
    table = {
        "TableName": "abc",
        "KeySchema": [{"AttributeName": "pk", "KeyType": "INVALID"}],
        "AttributeDefinitions": [{"AttributeName": "pk"}],
    }

    assert refusal("CreateTable", table) == faults(
        "Value null at 'attributeDefinitions.1.member.attributeType': Member must not be null",
        "Value 'INVALID' at 'keySchema.1.member.keyType': "
        "Member must satisfy enum value set: [HASH, RANGE]",
    )


def test_a_tables_key_has_at_most_two_attributes() -> None:
    element = {"AttributeName": "pk", "KeyType": "HASH"}
    table = {"TableName": "abc", "KeySchema": [element] * 3, "AttributeDefinitions": []}

    shown = ", ".join(["KeySchemaElement(attributeName=pk, keyType=HASH)"] * 3)
    assert refusal("CreateTable", table) == faults(
        f"Value '[{shown}]' at 'keySchema': Member must have length less than or equal to 2"
    )


def test_a_batch_of_nothing_is_refused() -> None:
    for operation in ("BatchGetItem", "BatchWriteItem"):
        assert refusal(operation, {"RequestItems": {}}) == (
            f"The requestItems parameter is required for {operation}"
        )


def test_a_batch_that_is_too_large_is_refused() -> None:
    assert refusal("BatchGetItem", {"RequestItems": {"abc": {"Keys": [KEY] * 101}}}) == faults(
        "Value at 'RequestItems.abc.member.Keys': Member must have length less than or equal to 100"
    )

    writes = [{"PutRequest": {"Item": KEY}}] * 26
    shown = ", ".join(["WriteRequest(putRequest=PutRequest(item={id=AttributeValue(s=a)}))"] * 26)
    assert refusal("BatchWriteItem", {"RequestItems": {"abc": writes}}) == faults(
        f"Value '{{abc=[{shown}]}}' at 'requestItems': Map value must satisfy constraint: "
        "[Member must have length less than or equal to 25, "
        "Member must have length greater than or equal to 1]"
    )


def test_an_empty_transaction_is_refused() -> None:
    assert refusal("TransactWriteItems", {"TransactItems": []}) == faults(
        "Value '[]' at 'transactItems': Member must have length greater than or equal to 1"
    )


def test_members_and_keys_that_break_a_constraint_are_told_of_together() -> None:
    message = refusal("GetItem", {"TableName": "abc", "Key": KEY, "AttributesToGet": ["a" * 65536]})
    assert message is not None
    assert message.endswith(
        "Member must satisfy constraint: [Member must have length less than or equal to 65535]"
    )

    message = refusal("BatchWriteItem", {"RequestItems": {"a;": [{"PutRequest": {"Item": KEY}}]}})
    assert message is not None
    assert "at 'requestItems' failed to satisfy constraint: Map keys must satisfy" in message


def test_null_in_a_list_or_map_is_refused() -> None:
    assert refusal("TransactGetItems", {"TransactItems": [None]}) == faults(
        "Value null at 'transactItems.1.member': Member must not be null"
    )
    assert refusal("PutItem", PUT | {"ExpressionAttributeNames": {"#a": None}}) == faults(
        "Value null at 'expressionAttributeNames.#a.member': Member must not be null"
    )


def test_no_more_than_ten_mistakes_are_told() -> None:
    message = refusal("TransactGetItems", {"TransactItems": [{}] * 50})

    assert message is not None and message.startswith("10 validation errors detected: ")


@pytest.mark.parametrize(
    ("member", "value", "message"),
    [
        ("TableName", 23, "NUMBER_VALUE cannot be converted to String"),
        ("TableName", 34.56, "DECIMAL_VALUE cannot be converted to String"),
        ("TableName", False, "FALSE_VALUE cannot be converted to String"),
        ("TableName", [], "Unrecognized collection type class java.lang.String"),
        ("TableName", {}, "Start of structure or map found where not expected"),
        ("ReturnValues", ["NONE"], "Unrecognized collection type class java.lang.String"),
        ("Limit", "23", "STRING_VALUE cannot be converted to Integer"),
        ("Limit", True, "TRUE_VALUE cannot be converted to Integer"),
        ("ConsistentRead", "true", "Unexpected token received from parser"),
        ("ConsistentRead", 1, "NUMBER_VALUE cannot be converted to Boolean"),
        ("ExclusiveStartKey", "a", "Unexpected field type"),
        (
            "ExclusiveStartKey",
            [],
            f"Unrecognized collection type java.util.Map<java.lang.String, {MODEL}.AttributeValue>",
        ),
        ("ExclusiveStartKey", {"a": {"S": 1}}, "NUMBER_VALUE cannot be converted to String"),
        ("AttributesToGet", "a", "Unexpected field type"),
        ("AttributesToGet", {}, "Start of structure or map found where not expected"),
        ("AttributesToGet", [1], "NUMBER_VALUE cannot be converted to String"),
        ("ScanFilter", {"a": "b"}, "Unexpected value type in payload"),
        ("ScanFilter", {"a": []}, f"Unrecognized collection type class {MODEL}.Condition"),
        (
            "ExpressionAttributeNames",
            [],
            "Unrecognized collection type java.util.Map<java.lang.String, java.lang.String>",
        ),
    ],
)
def test_a_wrong_json_type_comes_before_all_else(member: str, value: Any, message: str) -> None:
    operation = "PutItem" if member == "ReturnValues" else "Scan"

    with pytest.raises(Serialization) as failure:
        validate(operation, {"TableName": "!", member: value})

    assert failure.value.message == message


def test_a_hostile_request_is_refused_without_recursion() -> None:
    deep: dict[str, Any] = {"S": 1}
    for _ in range(100_000):
        deep = {"M": {"a": deep}}

    with pytest.raises(Serialization, match="NUMBER_VALUE"):
        validate("PutItem", {"TableName": "!", "Item": {"a": deep}})
    with pytest.raises(ValidationError):
        validate("BatchWriteItem", {"RequestItems": {"!": [{"PutRequest": {"Item": {"a": {}}}}]}})


def test_what_nobody_has_looked_at_is_shown_as_it_can_be() -> None:
    schema = [{"AttributeName": "a", "KeyType": "HASH"}] * 2
    odd = [{"AttributeName": {}, "KeyType": []}, [], "text"]

    with pytest.raises(ValidationError) as failure:
        validate("CreateTable", {"TableName": "abc", "KeySchema": schema + odd})

    assert failure.value.message is not None
    assert "KeySchemaElement(attributeName=..., keyType=...), ..., text]'" in failure.value.message


def test_what_is_shown_of_a_huge_request_is_bounded() -> None:
    deep: dict[str, Any] = {"S": "x"}
    for _ in range(10_000):
        deep = {"L": [deep]}
    writes = [{"PutRequest": {"Item": {"a" * 1000: deep}}}] * 5000

    message = refusal("BatchWriteItem", {"RequestItems": {"abc": writes}})

    assert message is not None and len(message) < 40_000


SCALARS = st.one_of(
    st.none(), st.booleans(), st.integers(-2, 2), st.floats(0, 1), st.text(max_size=3)
)
JSON = st.recursive(
    SCALARS,
    lambda inner: st.one_of(
        st.lists(inner, max_size=2), st.dictionaries(st.text(max_size=2), inner, max_size=2)
    ),
    max_leaves=3,
)


def values_of(name: str) -> st.SearchStrategy[Any]:
    """Values that more or less fit a shape. Attribute values do: only the slow half looks into them."""
    shape = shape_of(name)
    if name == "AttributeValue":
        return st.one_of(st.just({"S": "x"}), SCALARS)
    match shape["type"]:
        case "structure":
            members = {member: values_of(of) for member, of in members_of(name).items()}
            fitting: st.SearchStrategy[Any] = st.fixed_dictionaries({}, optional=members)
        case "list":
            fitting = st.lists(values_of(shape["member"]), max_size=2)
        case "map" if shape["value"] == "AttributeValue":
            return st.one_of(st.just({"abc": {"S": "x"}}), SCALARS)
        case "map":
            keys = st.sampled_from(["abc", ""])
            fitting = st.dictionaries(keys, values_of(shape["value"]), max_size=2)
        case "string":
            fitting = st.sampled_from([*shape.get("enum", []), "abc", ""])
        case "boolean":
            fitting = st.booleans()
        case _:
            fitting = st.integers(-1, 101)
    return st.one_of(fitting, fitting, fitting, JSON)


@pytest.mark.parametrize(
    "operation",
    ["PutItem", "Query", "BatchWriteItem", "BatchGetItem", "CreateTable", "UpdateTable"],
)
def test_the_fast_half_and_the_slow_half_agree(operation: str) -> None:
    check = compile_shape(OPERATIONS[operation])

    @given(body=values_of(OPERATIONS[operation]).filter(lambda body: type(body) is dict))
    def agree(body: dict[str, Any]) -> None:
        try:
            explain(operation, body)
        except GrammeError:
            assert not check(body)
        else:
            assert check(body)

    agree()
