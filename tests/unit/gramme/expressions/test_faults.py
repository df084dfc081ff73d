"""Faults that the text of an expression shows, other than of syntax."""

from __future__ import annotations

import pytest

from gramme.expressions.parser import parse_condition, parse_projection, parse_update
from gramme.expressions.reserved import RESERVED
from tests.unit.gramme.expressions.using import complaint

REDUNDANT = "The expression has redundant parentheses;"
MISUSED = "The function is not allowed to be used this way in an expression; function: "
RESERVED_NAME = "Attribute name is a reserved keyword; reserved keyword: "


def filter_fault(text: str) -> str:
    message = complaint(lambda: parse_condition(text, "FilterExpression"))
    assert message is not None
    return message.removeprefix("Invalid FilterExpression: ")


def update_fault(text: str) -> str:
    message = complaint(lambda: parse_update(text))
    assert message is not None
    return message.removeprefix("Invalid UpdateExpression: ")


def projection_fault(text: str) -> str:
    message = complaint(lambda: parse_projection(text))
    assert message is not None
    return message.removeprefix("Invalid ProjectionExpression: ")


@pytest.mark.parametrize(
    "text",
    [
        "((a = :v))",
        "a = ((:v))",
        "((a)) = :v",
        "a = :v AND ((b = :v OR c = :v))",
        "(a = :v) AND ((b = :v))",
        "contains(a, ((b)))",
        "(((a = :v) AND b = :v))",
    ],
)
def test_parentheses_around_parentheses_are_redundant(text: str) -> None:
    assert filter_fault(text) == REDUNDANT


@pytest.mark.parametrize(
    "text",
    [
        "((a = :v) AND b = :v)",
        "((a = :v) AND (b = :v))",
        "(NOT (a = :v))",
        "NOT (a = :v)",
        "(a = :v AND (b = :v))",
        "((a) = :v)",
        "(attribute_exists(a)) AND (b = :v)",
    ],
)
def test_other_parentheses_are_not_redundant(text: str) -> None:
    parse_condition(text, "FilterExpression")


def test_a_set_value_in_double_parentheses_is_redundant() -> None:
    assert update_fault("SET a = ((b))") == REDUNDANT


@pytest.mark.parametrize("name", ["dog", "Attribute_exists", "SIZE"])
def test_function_names_are_case_sensitive_and_known(name: str) -> None:
    assert filter_fault(f"{name}(a) = :v") == f"Invalid function name; function: {name}"


def test_update_functions_are_not_allowed_in_conditions() -> None:
    expected = "The function is not allowed in a condition expression; function: if_not_exists"
    assert filter_fault("if_not_exists(a, b) = :v") == expected


def test_condition_functions_are_not_allowed_in_updates() -> None:
    expected = "The function is not allowed in an update expression; function: size"
    assert update_fault("SET a = size(b)") == expected


@pytest.mark.parametrize(
    ("text", "function"),
    [
        ("size(a)", "size"),
        ("size(a) AND b = :v", "size"),
        ("attribute_exists(a) < :v", "attribute_exists"),
        (":v = contains(a, b)", "contains"),
        ("a BETWEEN b AND attribute_exists(c)", "attribute_exists"),
        ("a IN (b, begins_with(c, d))", "begins_with"),
        ("size(contains(a, b)) > :v", "contains"),
    ],
)
def test_boolean_functions_stand_alone_and_size_does_not(text: str, function: str) -> None:
    assert filter_fault(text) == MISUSED + function


def test_list_append_does_not_nest() -> None:
    assert update_fault("SET a = list_append(list_append(b, c), d)") == MISUSED + "list_append"


@pytest.mark.parametrize("word", ["status", "Name", "VIEWS", "and", "set"])
def test_reserved_words_are_refused_in_any_case(word: str) -> None:
    assert projection_fault(f"a, {word}") == RESERVED_NAME + word
    assert projection_fault(f"a.{word}") == RESERVED_NAME + word


def test_reserved_words_are_refused_in_conditions_and_updates() -> None:
    assert filter_fault("status = :v") == RESERVED_NAME + "status"
    assert update_fault("SET status = :v") == RESERVED_NAME + "status"
    assert update_fault("REMOVE a.year") == RESERVED_NAME + "year"


def test_there_are_573_reserved_words() -> None:
    assert len(RESERVED) == 573


@pytest.mark.parametrize("section", ["SET", "REMOVE", "ADD", "DELETE"])
def test_a_section_is_used_once(section: str) -> None:
    action = {
        "SET": "set {} = :v",
        "REMOVE": "remove {}",
        "ADD": "add {} :v",
        "DELETE": "delete {} :v",
    }
    other = "remove x" if section != "REMOVE" else "set x = :v"

    fault = update_fault(f"{action[section].format('a')} {other} {action[section].format('b')}")

    assert fault == f'The "{section}" section can only be used once in an update expression;'


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("status = ((a)) AND dog(b) = :v AND size(c)", REDUNDANT),
        ("status = :v AND dog(b) = :v AND size(c)", "Invalid function name; function: dog"),
        ("status = :v AND size(c)", MISUSED + "size"),
    ],
)
def test_faults_of_a_condition_are_told_in_dynamodbs_order(text: str, fault: str) -> None:
    assert filter_fault(text) == fault


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("SET a = dog(b) SET status = :v", RESERVED_NAME + "status"),
        ("SET a = dog(b) SET c = :v", "Invalid function name; function: dog"),
    ],
)
def test_faults_of_an_update_are_told_in_dynamodbs_order(text: str, fault: str) -> None:
    assert update_fault(text) == fault
