from __future__ import annotations

from base64 import b64encode

import pytest

from gramme.errors import ValidationError
from gramme.model.item import AttributeValue, Item
from gramme.model.keys import (
    check_index_keys,
    check_item_keys,
    check_key,
    check_updated_index_keys,
)
from gramme.model.table import Index, KeyAttribute, Table

INVALID = "One or more parameter values were invalid: "
NOT_VALID = "One or more parameter values are not valid. "
EMPTY_KEY = "The AttributeValue for a key attribute cannot contain an empty "
HASH_TOO_LONG = INVALID + "Size of hashkey has exceeded the maximum size limit of2048 bytes"
RANGE_TOO_LONG = (
    INVALID + "Aggregated size of all range keys has exceeded the size limit of 1024 bytes"
)

SIMPLE = Table(1, "0", "eu", "t", KeyAttribute("id", "S"), None)
COMPOSITE = Table(1, "0", "eu", "t", KeyAttribute("id", "S"), KeyAttribute("at", "B"))
INDEXED = Table(
    1,
    "0",
    "eu",
    "t",
    KeyAttribute("id", "S"),
    None,
    (Index(2, "by_x", (KeyAttribute("x", "S"),), (KeyAttribute("y", "N"),), "ALL"),),
)


def binary(size: int) -> AttributeValue:
    return {"B": b64encode(bytes(size)).decode()}


def refusal_of_put(table: Table, item: Item) -> str | None:
    with pytest.raises(ValidationError) as failure:
        check_item_keys(table, item)
    return failure.value.message


def refusal_of_key(table: Table, key: Item) -> str | None:
    with pytest.raises(ValidationError) as failure:
        check_key(table, key)
    return failure.value.message


def refusal_of_index(item: Item) -> str | None:
    with pytest.raises(ValidationError) as failure:
        check_index_keys(INDEXED, item)
    return failure.value.message


@pytest.mark.parametrize("size", [1, 256, 257, 2048])
def test_a_hash_key_may_have_2048_bytes(size: int) -> None:
    check_item_keys(SIMPLE, {"id": {"S": "a" * size}, "other": {"N": "1"}})
    check_key(SIMPLE, {"id": {"S": "a" * size}})


@pytest.mark.parametrize("size", [1, 256, 1024])
def test_a_range_key_may_have_1024_bytes(size: int) -> None:
    check_item_keys(COMPOSITE, {"id": {"S": "a"}, "at": binary(size)})
    check_key(COMPOSITE, {"id": {"S": "a"}, "at": binary(size)})


@pytest.mark.parametrize(
    ("item", "message"),
    [
        ({"at": binary(1)}, INVALID + "Missing the key id in the item"),
        ({"id": {"S": "a"}}, INVALID + "Missing the key at in the item"),
        ({"id": {"N": "1"}}, INVALID + "Type mismatch for key id expected: S actual: N"),
        ({"id": {"S": ""}}, f"{NOT_VALID}{EMPTY_KEY}string value. Key: id"),
        ({"id": {"S": "a"}, "at": {"B": ""}}, f"{NOT_VALID}{EMPTY_KEY}binary value. Key: at"),
        ({"id": {"S": "a" * 2049}}, HASH_TOO_LONG),
        ({"id": {"S": "é" * 1025}}, HASH_TOO_LONG),
        ({"id": {"S": "a"}, "at": binary(1025)}, RANGE_TOO_LONG),
    ],
)
def test_an_item_without_its_tables_key_is_refused(item: Item, message: str) -> None:
    assert refusal_of_put(COMPOSITE, item) == message


@pytest.mark.parametrize(
    "key",
    [
        {},
        {"other": {"S": "a"}},
        {"id": {"S": "a"}, "other": {"S": "a"}},
        {"id": {"N": "1"}},
        {"id": {"NULL": True}},
        {"id": {"M": {}}},
    ],
)
def test_a_key_that_is_not_the_tables_is_refused(key: Item) -> None:
    assert refusal_of_key(SIMPLE, key) == "The provided key element does not match the schema"


@pytest.mark.parametrize(
    ("key", "message"),
    [
        ({"id": {"S": "a"}}, "The provided key element does not match the schema"),
        (
            {"id": {"S": "a"}, "at": {"S": "a"}},
            "The provided key element does not match the schema",
        ),
        ({"id": {"S": ""}, "at": binary(1)}, f"{NOT_VALID}{EMPTY_KEY}string value. Key: id"),
        ({"id": {"S": "a" * 2049}, "at": binary(1)}, HASH_TOO_LONG),
        ({"id": {"S": "a"}, "at": binary(1025)}, RANGE_TOO_LONG),
    ],
)
def test_a_composite_key_is_checked_in_both_parts(key: Item, message: str) -> None:
    assert refusal_of_key(COMPOSITE, key) == message


def test_an_item_need_not_have_the_keys_of_an_index() -> None:
    check_index_keys(INDEXED, {"id": {"S": "a"}})
    check_index_keys(INDEXED, {"id": {"S": "a"}, "x": {"S": "x"}})
    check_index_keys(INDEXED, {"id": {"S": "a"}, "x": {"S": "x"}, "y": {"N": "1"}})


def test_an_index_key_of_another_type_is_refused() -> None:
    message = "Type mismatch for Index Key x Expected: S Actual: N IndexName: by_x"
    assert refusal_of_index({"x": {"N": "1"}}) == INVALID + message

    message = "Type mismatch for Index Key y Expected: N Actual: NULL IndexName: by_x"
    assert refusal_of_index({"y": {"NULL": True}}) == INVALID + message


def test_an_empty_index_key_is_refused() -> None:
    assert refusal_of_index({"x": {"S": ""}}) == (
        f"{NOT_VALID}A value specified for a secondary index key is not supported. "
        f"{EMPTY_KEY}string value. IndexName: by_x, IndexKey: x"
    )


def test_an_index_key_has_the_limits_of_a_table_key() -> None:
    check_index_keys(INDEXED, {"x": {"S": "a" * 2048}})

    message = "Size limit exceeded for Index Key x Actual Size: 2049 bytes Max Size: 2048 bytes"
    assert refusal_of_index({"x": {"S": "a" * 2049}}) == f"{INVALID}{message} IndexName: by_x"


def test_an_update_answers_only_for_the_index_keys_it_changes() -> None:
    before: Item = {"id": {"S": "a"}, "x": {"N": "1"}}
    check_updated_index_keys(INDEXED, before, before | {"other": {"S": "b"}})

    with pytest.raises(ValidationError, match="to unsupported type"):
        check_updated_index_keys(INDEXED, before, before | {"x": {"N": "2"}})
