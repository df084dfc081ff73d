"""Expressions seen before are remembered, and a request is judged no differently for it."""

from __future__ import annotations

from typing import Any

import pytest

from gramme.errors import ValidationError
from gramme.expressions.condition import Condition
from gramme.expressions.placeholders import Placeholders
from gramme.router.operations.expressions import ExpressionReader

TEXT = "#n > :low AND size(:low) < :high"
NAMES = {"#n": "name"}
VALUES = {":low": {"S": "1"}, ":high": {"N": "2"}}


def a_reader() -> ExpressionReader[Condition]:
    return ExpressionReader(
        ("ConditionExpression",),
        lambda placeholders, body: placeholders.condition(body["ConditionExpression"]),
    )


def a_body(**members: Any) -> dict[str, Any]:
    return {
        "ConditionExpression": TEXT,
        "ExpressionAttributeNames": dict(NAMES),
        "ExpressionAttributeValues": {name: dict(value) for name, value in VALUES.items()},
    } | members


def refusal(reader: ExpressionReader[Condition], body: dict[str, Any]) -> str | None:
    with pytest.raises(ValidationError) as failure:
        reader.read(body)
    return failure.value.message


def test_same_texts_and_names_are_read_once() -> None:
    reads = []

    def read(placeholders: Placeholders, body: dict[str, Any]) -> Condition:
        reads.append(body)
        return placeholders.condition(body["ConditionExpression"])

    reader = ExpressionReader(("ConditionExpression",), read)

    conditions = [reader.read(a_body()) for _ in range(3)]

    assert len(reads) == 1
    assert conditions[0] is conditions[1] is conditions[2]


def test_other_names_are_another_expression() -> None:
    reader = a_reader()

    one = reader.read(a_body())
    other = reader.read(a_body(ExpressionAttributeNames={"#n": "title"}))

    assert one.attributes == {"name"}
    assert other.attributes == {"title"}


def test_values_of_a_known_expression_are_put_in_normal_form() -> None:
    reader = a_reader()
    reader.read(a_body())
    body = a_body(ExpressionAttributeValues={":low": {"S": "1"}, ":high": {"N": "+2.0"}})

    reader.read(body)

    assert body["ExpressionAttributeValues"][":high"] == {"N": "2"}


@pytest.mark.parametrize(
    "members",
    [
        {"ExpressionAttributeValues": {}},
        {"ExpressionAttributeValues": None},
        {"ExpressionAttributeValues": {":low": {"S": "1"}}},
        {"ExpressionAttributeValues": {**VALUES, ":more": {"S": "1"}}},
        {"ExpressionAttributeValues": {**VALUES, "more": {"S": "1"}}},
        {"ExpressionAttributeValues": {":low": {"N": "1"}, ":high": {"N": "2"}}},
        {"ExpressionAttributeValues": {":low": {"S": "1"}, ":high": {"N": "x"}}},
        {"ExpressionAttributeValues": {":low": {"BOOL": True}, ":high": {"N": "2"}}},
        {"ExpressionAttributeNames": None},
        {"ExpressionAttributeNames": {}},
        {"ExpressionAttributeNames": {**NAMES, "#more": "more"}},
        {"ExpressionAttributeNames": {"#n": ""}},
    ],
    ids=str,
)
def test_known_expression_is_refused_in_the_words_it_would_be_refused_in_at_first(
    members: dict[str, Any],
) -> None:
    reader = a_reader()
    reader.read(a_body())

    message = refusal(reader, a_body(**members))

    assert message == refusal(a_reader(), a_body(**members))
    assert message


def test_expression_without_values_is_known_without_values() -> None:
    reader = a_reader()
    body = {"ConditionExpression": "attribute_exists(id)"}
    reader.read(dict(body))

    reader.read(dict(body))

    assert refusal(reader, body | {"ExpressionAttributeValues": {}}) == (
        "ExpressionAttributeValues must not be empty"
    )
