"""How large, deep and long an expression may be. What is beyond is refused, never a crash."""

from __future__ import annotations

import sys

import pytest

from gramme.expressions.condition import Condition
from gramme.expressions.parser import parse_condition, parse_projection, parse_update
from gramme.expressions.update import UpdateExpression
from tests.unit.gramme.expressions.using import complaint, n

TOO_MANY = "The expression contains too many operators; operator count: 301"


def test_4096_bytes_are_counted_before_names_are_put_in() -> None:
    parse_projection("a" * 4096)

    message = complaint(lambda: parse_projection("a" * 4097))

    assert message == (
        "Invalid ProjectionExpression: Expression size has exceeded the maximum allowed size; "
        "expression size: 4097"
    )


def test_the_size_limit_counts_bytes_not_characters() -> None:
    message = complaint(lambda: parse_projection("é" * 2049))

    assert message is not None and message.endswith("expression size: 4098")


def test_300_operators_are_allowed_and_functions_do_not_count() -> None:
    parse_condition(" AND ".join(["attribute_exists(a)"] * 150), "FilterExpression")
    parse_condition(" OR ".join(["a=:v"] * 150), "FilterExpression")
    parse_condition("NOT " + " OR ".join(["a=:v"] * 150), "FilterExpression")


@pytest.mark.parametrize(
    "text",
    [
        " OR ".join(["a=:v"] * 151),
        "a<b " + "or (a<b " * 454 + ")" * 454,
        "NOT " * 1000 + "a=:v",
    ],
    ids=["flat", "nested", "not"],
)
def test_more_than_300_operators_are_refused(text: str) -> None:
    message = complaint(lambda: parse_condition(text, "ConditionExpression"))

    assert message == f"Invalid ConditionExpression: {TOO_MANY}"


def test_in_takes_100_operands() -> None:
    choices = [f":{number}" for number in range(101)]
    parse_condition(f"a IN ({','.join(choices[:100])})", "FilterExpression")

    message = complaint(lambda: parse_condition(f"a IN ({','.join(choices)})", "FilterExpression"))

    assert message == (
        "Invalid FilterExpression: The IN operator is provided with too many operands; "
        "number of operands: 101"
    )


def test_a_path_has_at_most_32_levels() -> None:
    parse_projection(".".join("a" * 32))

    message = complaint(lambda: parse_projection(".".join("a" * 33)))

    assert message == (
        "Invalid ProjectionExpression: The document path has too many nesting levels; "
        "nesting levels: 33"
    )


@pytest.mark.parametrize("index", ["2147483648", "9" * 100])
def test_a_list_index_is_within_the_range_of_an_integer(index: str) -> None:
    parse_projection("a[2147483647]")

    message = complaint(lambda: parse_projection(f"a[{index}]"))

    assert message == (
        "Invalid ProjectionExpression: List index is not within the allowable range; "
        f"index: [{index}]"
    )


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("(" * 4096, 'Syntax error; token: "<EOF>", near: "("'),
        ("(" * 2046 + "a<b" + ")" * 2046, "The expression has redundant parentheses;"),
        ("a=" + "(" * 2000 + "b" + ")" * 2000, "The expression has redundant parentheses;"),
        ("a<" + "f(" * 1355 + "b" + ")" * 1355, "Invalid function name; function: f"),
        (
            "a<" + "size(" * 680 + "b" + ")" * 680,
            "The function is not allowed to be used this way in an expression; function: size",
        ),
    ],
    ids=["open", "groups", "operand", "unknown functions", "sizes"],
)
def test_deep_conditions_are_refused_without_exhausting_the_stack(text: str, fault: str) -> None:
    message = complaint(lambda: parse_condition(text, "ConditionExpression"))

    assert message == f"Invalid ConditionExpression: {fault}"


def test_a_deep_set_value_is_refused_without_exhausting_the_stack() -> None:
    message = complaint(lambda: parse_update("SET a=" + "(" * 2000 + "b" + ")" * 2000))

    assert message == "Invalid UpdateExpression: The expression has redundant parentheses;"


def with_stack_in_use(frames: int) -> int:
    """The recursion limit as it looks from below `frames` callers."""
    depth, frame = 0, sys._getframe()
    while frame is not None:
        depth, frame = depth + 1, frame.f_back  # type: ignore[assignment]
    return depth + sys.getrecursionlimit() - frames


@pytest.mark.parametrize(
    "text",
    [
        "(NOT " * 299 + "a=:v" + ")" * 299,
        "a=:v" + " OR (a=:v AND (a=:v" * 74 + "))" * 74,
    ],
    ids=["not", "or and and"],
)
def test_the_deepest_valid_conditions_work(text: str) -> None:
    before = sys.getrecursionlimit()
    sys.setrecursionlimit(with_stack_in_use(200))
    try:
        condition = Condition(parse_condition(text, "ConditionExpression").tree)

        assert condition.test({"a": n(2)}, {":v": n(1)}) is text.startswith("(NOT")
    finally:
        sys.setrecursionlimit(before)


def test_the_deepest_valid_update_works() -> None:
    text = "SET a=" + "if_not_exists(b," * 225 + ":v" + ")" * 225

    update = UpdateExpression(parse_update(text).tree)

    assert update.apply({}, {":v": n(1)}) == {"a": n(1)}
