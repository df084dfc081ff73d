"""What is and is not an expression, and how a syntax error is told."""

from __future__ import annotations

import pytest

from gramme.expressions.parser import parse_condition, parse_projection, parse_update
from tests.unit.gramme.expressions.using import complaint

FILTER = "FilterExpression"


@pytest.mark.parametrize(
    ("text", "token", "near"),
    [
        ("a-b = :v", "-", "a-b"),
        ("a > 4", "4", "> 4"),
        ("things are not ok", "are", "things are not"),
        ("a", "<EOF>", "a"),
        (":v", "<EOF>", ":v"),
        ("NOT a", "<EOF>", "a"),
        ("(a)", "<EOF>", ")"),
        ("a AND b = :v", "AND", "a AND b"),
        ("a = :v = :w", "=", ":v = :w"),
        ("(a = :v) = :w", "=", ") = :w"),
        ("a = :v)", ")", ":v)"),
        ("(a = :v", "<EOF>", ":v"),
        ("(a = :v AND b) AND c = :v", ")", "b) AND"),
        ("size()", ")", "()"),
        ("a IN ()", ")", "()"),
        ("a IN :v", ":v", "IN :v"),
        ("a IN (:v,)", ")", ",)"),
        ("a > between", "between", "> between"),
        ("a..b = :v", ".", "..b"),
        ("a[b] = :v", "b", "[b]"),
        ("a[:v] = :v", ":v", "[:v]"),
        ("a[#b] = :v", "#b", "[#b]"),
        ("a[1.5] = :v", ".", "1.5"),
        ("a.:b = :v", ":b", ".:b ="),
        ("_a = :v", "_", "_a"),
        ("1a = :v", "1", "1a"),
        ("ü = :v", "ü", "ü ="),
        ("# = :v", "#", "# ="),
        ("a = :", ":", "= :"),
        ("size(a).b = :v", ".", ").b"),
        ('a = "x"', '"', '= "x'),
    ],
)
def test_condition_syntax_errors_quote_the_token_and_its_neighbours(
    text: str, token: str, near: str
) -> None:
    message = complaint(lambda: parse_condition(text, FILTER))

    assert message == f'Invalid FilterExpression: Syntax error; token: "{token}", near: "{near}"'


@pytest.mark.parametrize(
    ("text", "token", "near"),
    [
        ("INVALID SYNTAX HERE", "INVALID", "INVALID SYNTAX"),
        ("SET", "<EOF>", "SET"),
        ("SET a", "<EOF>", "a"),
        ("SET a = set", "set", "= set"),
        ("SET  REMOVE #a", "REMOVE", "SET  REMOVE #a"),
        ("SET _123 = :v", "_", "SET _123"),
        ("SET :a = :b", ":a", "SET :a ="),
        ("SET a = :v,", "<EOF>", ","),
        ("SET a = b / c", "/", "b / c"),
        ("SET a = b + c + d", "+", "c + d"),
        ("SET a = (b + c) + d", "+", ") + d"),
        ("SET a = b + (c + d)", "(", "+ (c"),
        ("SET a = if_not_exists(a, :v+:w)", "+", ":v+:w"),
        ("SET a = list_append(a, 0)", "0", ", 0)"),
        ("SET a[:v] = :w", ":v", "[:v]"),
        ("SET f(a) = b", "(", "f(a"),
        ("ADD a : b", ":", "a : b"),
        ("ADD a b", "b", "a b"),
        ("ADD a", "<EOF>", "a"),
        ("DELETE a = :v", "=", "a = :v"),
        ("REMOVE a b", "b", "a b"),
        ("REMOVE a = b", "=", "a = b"),
    ],
)
def test_update_syntax_errors_quote_the_token_and_its_neighbours(
    text: str, token: str, near: str
) -> None:
    message = complaint(lambda: parse_update(text))

    assert message == f'Invalid UpdateExpression: Syntax error; token: "{token}", near: "{near}"'


@pytest.mark.parametrize(
    ("text", "token", "near"),
    [("!!! INVALID !!!", "!", "!!"), ("a,", "<EOF>", ","), ("a b", "b", "a b")],
)
def test_projection_syntax_errors_quote_the_token_and_its_neighbours(
    text: str, token: str, near: str
) -> None:
    message = complaint(lambda: parse_projection(text))

    expected = f'Invalid ProjectionExpression: Syntax error; token: "{token}", near: "{near}"'
    assert message == expected


@pytest.mark.parametrize("text", ["", "  \t\n"])
def test_an_expression_is_not_empty(text: str) -> None:
    message = complaint(lambda: parse_condition(text, "KeyConditionExpression"))

    assert message == "Invalid KeyConditionExpression: The expression can not be empty;"


@pytest.mark.parametrize(
    "text",
    [
        "a=:v",
        "(a)=(:v)",
        "a between :v and :w aNd NOT b in (:v, c)",
        "attribute_exists (a.b[0].c)",
        "#1 = :_ AND #_a.b <> :9",
        "begins_with((a), (:v))",
    ],
)
def test_valid_conditions_parse(text: str) -> None:
    parse_condition(text, FILTER)


@pytest.mark.parametrize(
    "text",
    [
        "set a=:v",
        "SET a=(:v + b), b = ((c)-(d)) REMOVE c[1] add d :v Delete e :v",
        "SET a = if_not_exists(a, :v) + if_not_exists(b, if_not_exists(c, :w))",
        "SET a = list_append(if_not_exists(a, :v), :w)",
    ],
)
def test_valid_updates_parse(text: str) -> None:
    parse_update(text)
