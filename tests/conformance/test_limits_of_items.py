"""The limits of keys and items, each at its edge: the most that goes, and the least that does not."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from tests.conformance.tables import Gsi, Item, TableFactory, invalid

if TYPE_CHECKING:
    from types_boto3_dynamodb import DynamoDBClient

INVALID = "One or more parameter values were invalid: "
HASH_TOO_LONG = f"{INVALID}Size of hashkey has exceeded the maximum size limit of2048 bytes"
RANGE_TOO_LONG = (
    f"{INVALID}Aggregated size of all range keys has exceeded the size limit of 1024 bytes"
)
ITEM_SIZE_MAX = 409_600
TOO_LARGE = "Item size has exceeded the maximum allowed size"
TOO_DEEP = (
    "Nesting Levels have exceeded supported limits: "
    "Attributes in the item have nested levels beyond supported limit"
)


@pytest.fixture(scope="session")
def text_keys(tables: TableFactory) -> str:
    return tables.create("pk:S sk:S", Gsi("gsi", "gh:S gr:S"))


@pytest.fixture(scope="session")
def short_key(tables: TableFactory) -> str:
    return tables.create("p:S")


@pytest.fixture(scope="session")
def binary_keys(tables: TableFactory) -> str:
    return tables.create("pk:B sk:B")


@pytest.mark.parametrize(
    ("hash", "range", "message"),
    [
        ("h" * 2048, "r" * 1024, None),
        ("é" * 1024, "é" * 512, None),
        ("h" * 2049, "r", HASH_TOO_LONG),
        ("é" * 1024 + "h", "r", HASH_TOO_LONG),
        ("h", "r" * 1025, RANGE_TOO_LONG),
        ("h", "é" * 512 + "r", RANGE_TOO_LONG),
    ],
    ids=["most", "most in bytes", "hash", "hash in bytes", "range", "range in bytes"],
)
@pytest.mark.parametrize(
    "operation", ["put", "get", "update", "delete", "batch write", "batch get"]
)
def test_key_has_at_most_2048_and_1024_bytes(
    dynamodb: DynamoDBClient,
    text_keys: str,
    hash: str,
    range: str,
    message: str | None,
    operation: str,
) -> None:
    key: Item = {"pk": {"S": hash}, "sk": {"S": range}}
    operations: dict[str, tuple[Any, Item]] = {
        "put": (dynamodb.put_item, {"TableName": text_keys, "Item": key}),
        "get": (dynamodb.get_item, {"TableName": text_keys, "Key": key}),
        "update": (dynamodb.update_item, {"TableName": text_keys, "Key": key}),
        "delete": (dynamodb.delete_item, {"TableName": text_keys, "Key": key}),
        "batch write": (
            dynamodb.batch_write_item,
            {"RequestItems": {text_keys: [{"PutRequest": {"Item": key}}]}},
        ),
        "batch get": (
            dynamodb.batch_get_item,
            {"RequestItems": {text_keys: {"Keys": [key]}}},
        ),
    }
    call, parameters = operations[operation]

    if message is None:
        call(**parameters)
    else:
        assert invalid(call, **parameters) == message


@pytest.mark.parametrize(
    ("hash", "range", "message"),
    [
        (b"h" * 2048, b"r" * 1024, None),
        (b"h" * 2049, b"r", HASH_TOO_LONG),
        (b"h", b"r" * 1025, RANGE_TOO_LONG),
    ],
    ids=["most", "hash", "range"],
)
def test_binary_key_is_measured_in_bytes_and_not_in_base64(
    dynamodb: DynamoDBClient, binary_keys: str, hash: bytes, range: bytes, message: str | None
) -> None:
    item: Item = {"pk": {"B": hash}, "sk": {"B": range}}
    if message is None:
        dynamodb.put_item(TableName=binary_keys, Item=item)
    else:
        assert invalid(dynamodb.put_item, TableName=binary_keys, Item=item) == message


@pytest.mark.parametrize(("name", "kind"), [("text", "string"), ("binary", "binary")])
@pytest.mark.parametrize("part", ["pk", "sk"])
def test_key_is_not_empty(
    dynamodb: DynamoDBClient, text_keys: str, binary_keys: str, name: str, kind: str, part: str
) -> None:
    table = text_keys if name == "text" else binary_keys
    full, empty = ({"S": "a"}, {"S": ""}) if name == "text" else ({"B": b"a"}, {"B": b""})
    key: Any = {"pk": full, "sk": full} | {part: empty}

    for message in (
        invalid(dynamodb.put_item, TableName=table, Item=key),
        invalid(dynamodb.get_item, TableName=table, Key=key),
        invalid(dynamodb.update_item, TableName=table, Key=key),
        invalid(dynamodb.delete_item, TableName=table, Key=key),
        invalid(dynamodb.batch_get_item, RequestItems={table: {"Keys": [key]}}),
        invalid(
            dynamodb.batch_write_item,
            RequestItems={table: [{"PutRequest": {"Item": key}}]},
        ),
    ):
        assert message == (
            "One or more parameter values are not valid. The AttributeValue for a key attribute "
            f"cannot contain an empty {kind} value. Key: {part}"
        )


NOT_VALID = "One or more parameter values are not valid. "
EMPTY = "The AttributeValue for a key attribute cannot contain an empty string value."
UPDATED = "The update expression attempted to update"


def too_long(attribute: str, size: int, most: int) -> str:
    return (
        f"{INVALID}Size limit exceeded for Index Key {attribute} "
        f"Actual Size: {size} bytes Max Size: {most} bytes IndexName: gsi"
    )


@pytest.mark.parametrize(
    ("changes", "put", "updated"),
    [
        ({"gh": {"S": "h" * 2048}, "gr": {"S": "r" * 1024}}, None, None),
        (
            {"gh": {"S": "h" * 2049}},
            too_long("gh", 2049, 2048),
            f"{UPDATED} the secondary index key beyond allowed size limits",
        ),
        (
            {"gh": {"S": "h"}, "gr": {"S": "é" * 513}},
            too_long("gr", 1026, 1024),
            f"{UPDATED} the secondary index key beyond allowed size limits",
        ),
        (
            {"gr": {"S": "r" * 1025}},
            too_long("gr", 1025, 1024),
            f"{UPDATED} the secondary index key beyond allowed size limits",
        ),
        (
            {"gh": {"NULL": True}},
            f"{INVALID}Type mismatch for Index Key gh Expected: S Actual: NULL IndexName: gsi",
            f"{INVALID}Type mismatch for Index Key gh Expected: S Actual: NULL IndexName: gsi",
        ),
        (
            {"gh": {"S": ""}},
            (
                f"{NOT_VALID}A value specified for a secondary index key is not supported. "
                f"{EMPTY} IndexName: gsi, IndexKey: gh"
            ),
            f"{NOT_VALID}{UPDATED} a secondary index key to a value that is not supported. {EMPTY}",
        ),
    ],
    ids=["most", "hash", "range in bytes", "range alone", "null", "empty"],
)
@pytest.mark.parametrize("operation", ["put", "update", "batch"])
def test_key_of_an_index_has_the_limits_of_a_key(
    dynamodb: DynamoDBClient,
    text_keys: str,
    pk: str,
    changes: Item,
    put: str | None,
    updated: str | None,
    operation: str,
) -> None:
    key: Item = {"pk": {"S": pk}, "sk": {"S": "a"}}
    call: Any
    if operation == "put":
        call, parameters = dynamodb.put_item, {"TableName": text_keys, "Item": key | changes}
    elif operation == "batch":
        call = dynamodb.batch_write_item
        parameters = {"RequestItems": {text_keys: [{"PutRequest": {"Item": key | changes}}]}}
    else:
        call = dynamodb.update_item
        parameters = {
            "TableName": text_keys,
            "Key": key,
            "UpdateExpression": "SET " + ", ".join(f"{name} = :{name}" for name in changes),
            "ExpressionAttributeValues": {f":{name}": changes[name] for name in changes},
        }
    message = updated if operation == "update" else put

    if message is None:
        call(**parameters)
    else:
        assert invalid(call, **parameters) == message


def test_first_index_by_name_is_told_of(dynamodb: DynamoDBClient, tables: TableFactory) -> None:
    name = tables.create("pk:S", Gsi("last", "g:S"), Gsi("first", "x:S g:S"))

    message = invalid(dynamodb.put_item, TableName=name, Item={"pk": {"S": "a"}, "g": {"N": "1"}})

    assert message == (
        f"{INVALID}Type mismatch for Index Key g Expected: S Actual: N IndexName: first"
    )


# Items.


def padded(pk: str, size: int) -> Item:
    """An item of `size` bytes."""
    item: Item = {"pk": {"S": pk}, "n": {"N": "-12.5"}, "l": {"L": [{"BOOL": True}]}}
    # 2 + the key, 1 + a minus, a byte for 12 and for 5 and one more, 1 + 3 + 1 + 1.
    used = 2 + len(pk) + 1 + 4 + 1 + 3 + 1 + 1
    return item | {"text": {"S": "x" * (size - used - len("text"))}}


@pytest.mark.parametrize("size", [ITEM_SIZE_MAX - 1, ITEM_SIZE_MAX, ITEM_SIZE_MAX + 1])
@pytest.mark.parametrize("operation", ["put", "batch"])
def test_item_has_at_most_400_kilobytes(
    dynamodb: DynamoDBClient, table: str, pk: str, operation: str, size: int
) -> None:
    item = padded(pk, size)
    operations: dict[str, tuple[Any, Item]] = {
        "put": (dynamodb.put_item, {"TableName": table, "Item": item}),
        "batch": (
            dynamodb.batch_write_item,
            {"RequestItems": {table: [{"PutRequest": {"Item": item}}]}},
        ),
    }
    call, parameters = operations[operation]

    if size <= ITEM_SIZE_MAX:
        call(**parameters)
    else:
        assert invalid(call, **parameters) == TOO_LARGE


# What an update costs beside the item it makes, whose key then does not count.
UPDATE, WRITING, CLEARING = 3, 19, 2


@pytest.mark.parametrize(
    ("expression", "cost", "key"),
    [
        ("SET rest = :rest", UPDATE + WRITING, "k"),
        ("SET rest = :rest REMOVE gone", UPDATE + WRITING + CLEARING, "k"),
        ("SET rest = :rest, n = :n", UPDATE + 2 * WRITING, "k"),
        ("SET rest = :rest ADD n :n", UPDATE + 2 * WRITING, "k"),
        # A long key outweighs what the actions cost, and the item's own size decides.
        ("SET rest = :rest", UPDATE + WRITING, "k" * 100),
    ],
)
@pytest.mark.parametrize("excess", [0, 1])
def test_updated_item_has_at_most_400_kilobytes(
    dynamodb: DynamoDBClient,
    short_key: str,
    expression: str,
    cost: int,
    key: str,
    excess: int,
) -> None:
    # No value of the request is near the limit; what they make together is.
    half: Item = {"p": {"S": key}, "half": {"S": "x" * 200_000}, "n": {"N": "1"}}
    used = 1 + len(key) + 4 + 200_000 + 1 + 2 + 4
    room = ITEM_SIZE_MAX - used - max(0, cost - 1 - len(key))
    dynamodb.put_item(TableName=short_key, Item=half)
    values: Item = {":rest": {"S": "x" * (room + excess)}}
    if ":n" in expression:
        values[":n"] = {"N": "2"}
    parameters: Item = {
        "TableName": short_key,
        "Key": {"p": {"S": key}},
        "UpdateExpression": expression,
        "ExpressionAttributeValues": values,
    }

    if excess:
        message = invalid(dynamodb.update_item, **parameters)
        assert message == "Item size to update has exceeded the maximum allowed size"
    else:
        dynamodb.update_item(**parameters)


def nested(levels: int, kind: str) -> Item:
    """A string in `levels` lists or maps."""
    value: Item = {"S": "bottom"}
    for _ in range(levels):
        value = {"L": [value]} if kind == "L" else {"M": {"k": value}}
    return value


@pytest.mark.parametrize("kind", ["L", "M"])
def test_value_nests_31_times_at_most(
    dynamodb: DynamoDBClient, table: str, pk: str, kind: str
) -> None:
    key: Item = {"pk": {"S": pk}}
    deep = key | {"deep": nested(31, kind)}
    dynamodb.put_item(TableName=table, Item=deep)

    stored = dynamodb.get_item(TableName=table, Key=key, ConsistentRead=True)["Item"]
    put = invalid(dynamodb.put_item, TableName=table, Item=key | {"deep": nested(32, kind)})
    update = invalid(
        dynamodb.update_item,
        TableName=table,
        Key=key,
        UpdateExpression="SET deep = :deep",
        ExpressionAttributeValues={":deep": nested(32, kind)},
    )

    assert stored == deep
    assert put == TOO_DEEP
    assert update == (f"ExpressionAttributeValues contains invalid value: {TOO_DEEP} for key :deep")


NAME = "é" * 32767 + "n"
TOO_LONG = "Attribute name is too large, must be less than 65536 bytes"


@pytest.mark.parametrize("is_nested", [False, True], ids=["top", "nested"])
def test_attribute_has_a_name_of_at_most_65535_bytes(
    dynamodb: DynamoDBClient, table: str, pk: str, is_nested: bool
) -> None:
    def item(name: str) -> Item:
        attribute: Item = {name: {"N": "1"}}
        return {"pk": {"S": pk}} | ({"m": {"M": attribute}} if is_nested else attribute)

    dynamodb.put_item(TableName=table, Item=item(NAME))

    assert invalid(dynamodb.put_item, TableName=table, Item=item(NAME + "n")) == TOO_LONG


def test_update_gives_no_attribute_a_longer_name(
    dynamodb: DynamoDBClient, table: str, pk: str
) -> None:
    parameters: Item = {
        "TableName": table,
        "Key": {"pk": {"S": pk}},
        "UpdateExpression": "SET #n = :v",
        "ExpressionAttributeValues": {":v": {"N": "1"}},
    }
    dynamodb.update_item(**parameters, ExpressionAttributeNames={"#n": NAME})

    message = invalid(
        dynamodb.update_item, **parameters, ExpressionAttributeNames={"#n": NAME + "n"}
    )

    assert TOO_LONG in message


def test_attribute_has_a_name(dynamodb: DynamoDBClient, table: str, pk: str) -> None:
    key: Item = {"pk": {"S": pk}}
    update: Any = {"": {"Action": "PUT", "Value": {"N": "1"}}}

    for message in (
        invalid(dynamodb.put_item, TableName=table, Item=key | {"": {"N": "1"}}),
        invalid(dynamodb.get_item, TableName=table, Key=key, AttributesToGet=[""]),
        invalid(dynamodb.update_item, TableName=table, Key=key, AttributeUpdates=update),
        invalid(
            dynamodb.get_item,
            TableName=table,
            Key=key,
            ProjectionExpression="#n",
            ExpressionAttributeNames={"#n": ""},
        ),
    ):
        assert "Empty attribute name" in message
