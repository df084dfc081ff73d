"""Names and values of a request: well formed, all used, and each expression made once."""

from __future__ import annotations

import pytest

from gramme.expressions.placeholders import Placeholders
from tests.unit.gramme.expressions.using import complaint, n


def test_names_and_values_are_not_empty() -> None:
    assert complaint(lambda: Placeholders({}, None)) == "ExpressionAttributeNames must not be empty"
    assert (
        complaint(lambda: Placeholders(None, {})) == "ExpressionAttributeValues must not be empty"
    )
    assert complaint(lambda: Placeholders({}, {})) == "ExpressionAttributeNames must not be empty"


@pytest.mark.parametrize("key", ["a", "#", "#a-b", ":a", "#é", "", "#a b"])
def test_a_name_placeholder_is_well_formed(key: str) -> None:
    message = complaint(lambda: Placeholders({key: "a"}, None))

    assert message == f'ExpressionAttributeNames contains invalid key: Syntax error; key: "{key}"'


@pytest.mark.parametrize("key", ["a", ":", ":a-b", "#a", ":a\n"])
def test_a_value_placeholder_is_well_formed(key: str) -> None:
    message = complaint(lambda: Placeholders(None, {key: n(1)}))

    assert message == f'ExpressionAttributeValues contains invalid key: Syntax error; key: "{key}"'


def test_a_well_formed_name_is_no_well_formed_value() -> None:
    Placeholders({"#both": "a"}, {":both": n(1)})

    assert complaint(lambda: Placeholders({":both": "a"}, None)) is not None
    assert complaint(lambda: Placeholders(None, {"#both": n(1)})) is not None


def test_a_name_stands_for_something() -> None:
    assert complaint(lambda: Placeholders({"#a": ""}, None)) == (
        "ExpressionAttributeNames contains invalid value: Empty attribute name for key #a"
    )


def test_unused_names_and_values_are_refused() -> None:
    def use(names: dict[str, str], *values: str) -> str | None:
        placeholders = Placeholders(names, {value: n(1) for value in values})
        placeholders.update("SET #a = :a")
        placeholders.condition("#b = :b")
        return complaint(placeholders.finish)

    assert use({"#a": "a", "#x": "x", "#b": "b", "#y": "y"}, ":a", ":b", ":z") == (
        "Value provided in ExpressionAttributeNames unused in expressions: keys: {#x, #y}"
    )
    assert use({"#a": "a", "#b": "b"}, ":a", ":b", ":z") == (
        "Value provided in ExpressionAttributeValues unused in expressions: keys: {:z}"
    )


def test_one_placeholder_may_serve_many_expressions() -> None:
    placeholders = Placeholders({"#a": "a"}, {":v": n(1)})

    placeholders.condition("#a = :v AND #a < :v")
    placeholders.update("SET #a = :v")
    placeholders.finish()


def test_placeholders_without_any_expression_are_refused() -> None:
    assert complaint(Placeholders({"#a": "a"}, None).finish) == (
        "ExpressionAttributeNames can only be specified when using expressions"
    )
    assert complaint(Placeholders(None, {":a": n(1)}).finish) == (
        "ExpressionAttributeValues can only be specified when using expressions: "
        "ConditionExpression is null"
    )


def test_values_are_checked_each_time_an_expression_is_used() -> None:
    text = "each_time < :v"
    Placeholders(None, {":v": n(1)}).condition(text)

    assert complaint(lambda: Placeholders(None, {":v": {"BOOL": True}}).condition(text)) is not None
    assert complaint(lambda: Placeholders(None, None).condition(text)) is not None
    Placeholders(None, {":v": n(1)}).condition(text)


def test_a_complaint_names_the_parameter() -> None:
    placeholders = Placeholders(None, None)

    assert complaint(lambda: placeholders.condition("#a = b", "FilterExpression")) == (
        "Invalid FilterExpression: An expression attribute name used in the document path is not "
        "defined; attribute name: #a"
    )
    assert complaint(lambda: placeholders.condition("#a = b")) == (
        "Invalid ConditionExpression: An expression attribute name used in the document path is "
        "not defined; attribute name: #a"
    )
