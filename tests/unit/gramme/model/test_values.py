from __future__ import annotations

from typing import Any

import pytest

from gramme.errors import Serialization, ValidationError
from gramme.model.item import AttributeValue
from gramme.model.values import (
    EMPTY,
    SEVERAL,
    TOO_DEEP,
    normalise_item,
    normalise_value,
    normalise_values,
)

MODEL = "com.amazonaws.dynamodb.v20120810.AttributeValue"
INVALID = "One or more parameter values were invalid: "


def nested(containers: int, kind: str = "M") -> AttributeValue:
    value: AttributeValue = {"S": "x"}
    for _ in range(containers):
        value = {"M": {"a": value}} if kind == "M" else {"L": [value]}
    return value


def test_an_item_is_put_in_normal_form_in_place() -> None:
    item: dict[str, Any] = {
        "n": {"N": "+1.50"},
        "set": {"NS": ["1e1", "2.0"]},
        "deep": {"M": {"l": {"L": [{"N": "007"}, {"B": "YQ=="}]}}},
        "flag": {"BOOL": False},
    }

    normalise_item(item)

    assert item == {
        "n": {"N": "1.5"},
        "set": {"NS": ["10", "2"]},
        "deep": {"M": {"l": {"L": [{"N": "7"}, {"B": "YQ=="}]}}},
        "flag": {"BOOL": False},
    }


@pytest.mark.parametrize(
    ("value", "size"),
    [
        ({"S": ""}, 0),
        ({"S": "abc"}, 3),
        ({"S": "é😀"}, 6),
        ({"N": "123"}, 3),
        ({"B": "YWI="}, 2),
        ({"BOOL": True}, 1),
        ({"NULL": True}, 1),
        ({"SS": ["a", "", "é"]}, 3),
        ({"NS": ["1", "-1"]}, 5),
        ({"BS": ["YQ==", ""]}, 1),
        ({"L": []}, 3),
        ({"L": [{"S": "a"}, {"NULL": True}]}, 7),
        ({"M": {}}, 3),
        ({"M": {"key": {"S": "a"}, "é": {"L": []}}}, 14),
    ],
    ids=lambda case: str(case) if isinstance(case, int) else next(iter(case)),
)
def test_a_value_has_the_size_dynamodb_counts(value: AttributeValue, size: int) -> None:
    assert normalise_value(value) == size


def test_an_item_counts_its_names_in_utf8() -> None:
    assert normalise_item({"é": {"S": "a"}, "bc": {"BOOL": True}}) == 2 + 1 + 2 + 1


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ({}, EMPTY),
        (None, EMPTY),
        ({"a": ""}, EMPTY),
        ({"S": None}, EMPTY),
        ({"M": {"a": {}}}, EMPTY),
        ({"M": {"a": None}}, EMPTY),
        ({"L": [{"a": {}}]}, EMPTY),
        ({"S": "a", "N": "1"}, SEVERAL),
        ({"S": "a", "N": "b"}, "The parameter cannot be converted to a numeric value: b"),
        ({"S": "a", "N": ""}, "The parameter cannot be converted to a numeric value"),
        ({"NULL": False}, INVALID + "Null attribute value types must have the value of true"),
        ({"SS": []}, INVALID + "An string set  may not be empty"),
        ({"NS": []}, INVALID + "An number set  may not be empty"),
        ({"BS": []}, INVALID + "Binary sets should not be empty"),
        ({"SS": ["a", "a"]}, INVALID + "Input collection [a, a] contains duplicates."),
        ({"NS": ["1", "1.0"]}, "Input collection contains duplicates"),
        (
            {"BS": ["Yg==", "Yg=="]},
            INVALID + "Input collection [Yg==, Yg==]of type BS contains duplicates.",
        ),
        ({"NS": ["1", "b"]}, "The parameter cannot be converted to a numeric value: b"),
    ],
)
def test_an_invalid_value_is_refused(value: Any, message: str) -> None:
    with pytest.raises(ValidationError) as failure:
        normalise_item({"a": value})

    assert failure.value.message == message


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ("23", "Unexpected value type in payload"),
        ([], f"Unrecognized collection type class {MODEL}"),
        ({"S": 23}, "NUMBER_VALUE cannot be converted to String"),
        ({"S": True}, "TRUE_VALUE cannot be converted to String"),
        ({"N": 34.56}, "DECIMAL_VALUE cannot be converted to String"),
        ({"N": 123}, "NUMBER_VALUE cannot be converted to String"),
        ({"S": []}, "Unrecognized collection type class java.lang.String"),
        ({"S": {}}, "Start of structure or map found where not expected"),
        ({"BOOL": "true"}, "Unexpected token received from parser"),
        ({"NULL": 1}, "NUMBER_VALUE cannot be converted to Boolean"),
        ({"SS": "a"}, "Unexpected field type"),
        ({"SS": {}}, "Start of structure or map found where not expected"),
        ({"SS": [1]}, "NUMBER_VALUE cannot be converted to String"),
        ({"NS": [1]}, "NUMBER_VALUE cannot be converted to String"),
        ({"BS": [1]}, "only base-64-encoded strings are convertible to bytes"),
        ({"L": 1}, "Unexpected field type"),
        ({"L": ["a"]}, "Unexpected value type in payload"),
        ({"M": "a"}, "Unexpected field type"),
        ({"M": []}, f"Unrecognized collection type java.util.Map<java.lang.String, {MODEL}>"),
        ({"M": {"a": "b"}}, "Unexpected value type in payload"),
    ],
)
def test_a_wrong_json_type_is_a_serialization_error(value: Any, message: str) -> None:
    with pytest.raises(Serialization) as failure:
        normalise_item({"a": value})

    assert failure.value.message == message


def test_members_unknown_to_dynamodb_are_dropped() -> None:
    item: dict[str, Any] = {"a": {"S": "x", "Z": 1, "N": None}}

    assert normalise_item(item) == 2
    assert item == {"a": {"S": "x"}}


@pytest.mark.parametrize("kind", ["M", "L"])
def test_a_value_may_have_31_containers_around_it(kind: str) -> None:
    normalise_value(nested(31, kind))

    with pytest.raises(ValidationError, match=TOO_DEEP):
        normalise_value(nested(32, kind))


def test_hostile_nesting_does_not_recurse() -> None:
    with pytest.raises(ValidationError, match=TOO_DEEP):
        normalise_item({"a": nested(100_000)})


def test_expression_values_name_the_key_at_fault() -> None:
    with pytest.raises(ValidationError) as failure:
        normalise_values({":a": {"S": "x"}, ":b": {"N": "b"}})

    assert failure.value.message == (
        "ExpressionAttributeValues contains invalid value: "
        "The parameter cannot be converted to a numeric value: b for key :b"
    )


def test_expression_values_are_put_in_normal_form() -> None:
    values: dict[str, Any] = {":a": {"N": "1e2"}}

    normalise_values(values)

    assert values == {":a": {"N": "100"}}


def test_a_name_may_not_be_longer_than_64_kb() -> None:
    normalise_item({"a" * 65535: {"S": ""}})

    with pytest.raises(ValidationError, match="Attribute name is too large"):
        normalise_item({"é" * 32768: {"S": ""}})


def test_of_a_list_larger_than_any_item_the_rest_is_not_looked_at() -> None:
    members: list[object] = [{"N": "1"}] * 300_000
    members.append("not even a value")

    with pytest.raises(ValidationError, match="Item size has exceeded the maximum allowed size"):
        normalise_item({"id": {"L": members}})
