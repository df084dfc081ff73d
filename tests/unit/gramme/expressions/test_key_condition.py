"""Which range of keys a key condition means, and which it cannot."""

from __future__ import annotations

import pytest

from gramme.expressions.key_condition import KeyRange
from gramme.expressions.placeholders import Placeholders
from gramme.model.item import Values
from gramme.model.table import KeyAttribute
from tests.unit.gramme.expressions.using import complaint, n, s

P = KeyAttribute("p", "S")
C = KeyAttribute("c", "N")
T = KeyAttribute("t", "S")
B = KeyAttribute("b", "B")
TWO_HASHES = (KeyAttribute("h1", "S"), KeyAttribute("h2", "N"))
TWO_RANGES = (KeyAttribute("r1", "S"), KeyAttribute("r2", "S"))
NOT_SUPPORTED = "Query key condition not supported"
VALUES: Values = {":p": s("x"), ":c": n(5), ":d": n(7), ":s": s("y")}


def key_range(
    text: str,
    hash_keys: tuple[KeyAttribute, ...] = (P,),
    range_keys: tuple[KeyAttribute, ...] = (C,),
    values: Values = VALUES,
) -> KeyRange:
    used = {name: value for name, value in values.items() if name in text} or None
    placeholders = Placeholders(None, used)
    condition = placeholders.key_condition(text)
    placeholders.finish()
    return condition.bind(values, hash_keys, range_keys)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("p = :p", KeyRange((s("x"),))),
        ("p = :p AND c = :c", KeyRange((s("x"),), (n(5),))),
        ("c = :c AND p = :p", KeyRange((s("x"),), (n(5),))),
        ("(p = :p) and (c < :c)", KeyRange((s("x"),), (), "<", (n(5),))),
        ("((p = :p) AND c <= :c)", KeyRange((s("x"),), (), "<=", (n(5),))),
        (":p = p AND :c < c", KeyRange((s("x"),), (), ">", (n(5),))),
        (":p = p AND :c >= c", KeyRange((s("x"),), (), "<=", (n(5),))),
        ("p = :p AND c BETWEEN :c AND :d", KeyRange((s("x"),), (), "BETWEEN", (n(5), n(7)))),
    ],
)
def test_a_key_condition_names_a_range(text: str, expected: KeyRange) -> None:
    assert key_range(text) == expected


def test_begins_with_works_on_text_and_bytes() -> None:
    text = "p = :p AND begins_with(t, :s)"
    assert key_range(text, (P,), (T,)) == KeyRange((s("x"),), (), "begins_with", (s("y"),))

    values: Values = {":p": s("x"), ":s": {"B": "AA=="}}
    found = key_range("p = :p AND begins_with(b, :s)", (P,), (B,), values)
    assert found.operands == ({"B": "AA=="},)


def test_names_are_resolved() -> None:
    placeholders = Placeholders({"#k": "p"}, {":p": s("x")})
    condition = placeholders.key_condition("#k = :p")

    assert condition.bind({":p": s("x")}, (P,), ()) == KeyRange((s("x"),))
    assert condition.attributes == {"p"}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("c = :c", "Query condition missed key schema element: p"),
        ("z = :p", "Query condition missed key schema element: p"),
        ("p = :p AND z = :c", "Query condition missed key schema element: c"),
        ("p > :p", NOT_SUPPORTED),
        ("begins_with(p, :p)", NOT_SUPPORTED),
        ("p BETWEEN :p AND :s AND c = :c", NOT_SUPPORTED),
        ("p = :p AND c = :c AND z = :s", "Conditions can be of length 1 or 2 only"),
        (
            "p = :c",
            (
                "One or more parameter values were invalid: Condition parameter type does not match "
                "schema type"
            ),
        ),
        (
            "p = :p AND c = :s",
            (
                "One or more parameter values were invalid: Condition parameter type does not match "
                "schema type"
            ),
        ),
    ],
)
def test_a_key_condition_fits_the_keys_of_the_table(text: str, message: str) -> None:
    assert complaint(lambda: key_range(text)) == message


def test_a_table_without_sort_key_takes_one_condition() -> None:
    assert complaint(lambda: key_range("p = :p AND c = :c", (P,), ())) == NOT_SUPPORTED
    assert complaint(lambda: key_range("y = :p AND z = :c", (P,), ())) == NOT_SUPPORTED


@pytest.mark.parametrize(
    ("text", "key"),
    [("p = :e", "p"), ("p = :p AND t = :e", "t"), ("p = :p AND begins_with(t, :e)", "t")],
)
def test_a_key_is_not_empty(text: str, key: str) -> None:
    values = {":p": s("x"), ":e": s("")}

    assert complaint(lambda: key_range(text, (P,), (T,), values)) == (
        "One or more parameter values are not valid. The AttributeValue for a key attribute "
        f"cannot contain an empty string value. Key: {key}"
    )


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("p = :p OR c = :c", "Invalid operator used in KeyConditionExpression: OR"),
        ("NOT p = :p", "Invalid operator used in KeyConditionExpression: NOT"),
        ("NOT NOT p = :p", "Invalid operator used in KeyConditionExpression: NOT"),
        ("p = :p AND c <> :c", "Invalid operator used in KeyConditionExpression: <>"),
        ("p IN (:p)", "Invalid operator used in KeyConditionExpression: IN"),
        (
            "attribute_exists(p)",
            "Invalid operator used in KeyConditionExpression: attribute_exists",
        ),
        ("contains(p, :p)", "Invalid operator used in KeyConditionExpression: contains"),
        ("size(p) = :c", "KeyConditionExpressions cannot contain nested operations"),
        ("p.q = :p", "KeyConditionExpressions cannot have conditions on nested attributes"),
        ("p[0] = :p", "KeyConditionExpressions cannot have conditions on nested attributes"),
        (
            "p = c",
            (
                "Invalid condition in KeyConditionExpression: Multiple attribute names used in one "
                "condition"
            ),
        ),
        (
            ":p = :s",
            "Invalid condition in KeyConditionExpression: No key attribute specified",
        ),
        (
            "begins_with(:p, p)",
            (
                "Invalid condition in KeyConditionExpression: begins_with operator must have the key "
                "attribute as its first operand"
            ),
        ),
        (
            ":c BETWEEN p AND c",
            (
                "Invalid condition in KeyConditionExpression: BETWEEN operator must have the key "
                "attribute as its first operand"
            ),
        ),
        (
            "p = :p AND c > :c AND c < :d",
            "KeyConditionExpressions must only contain one condition per key",
        ),
    ],
)
def test_a_key_condition_is_a_simple_one(text: str, message: str) -> None:
    assert complaint(lambda: key_range(text)) == f"Invalid KeyConditionExpression: {message}"


def test_its_faults_wait_for_the_other_expressions() -> None:
    placeholders = Placeholders(None, {":p": s("x")})
    placeholders.key_condition("p <> :p")

    message = complaint(lambda: placeholders.condition("", "FilterExpression"))

    assert message == "Invalid FilterExpression: The expression can not be empty;"


def test_begins_with_takes_no_number() -> None:
    assert complaint(lambda: key_range("p = :p AND begins_with(c, :c)")) == (
        "Invalid KeyConditionExpression: Incorrect operand type for operator or function; "
        "operator or function: begins_with, operand type: N"
    )


MANY: Values = {":h1": s("a"), ":h2": n(2), ":r1": s("c"), ":r2": s("d"), ":z": s("z")}
HASHES = "h2 = :h2 AND h1 = :h1"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", KeyRange((s("a"), n(2)))),
        (" AND r1 = :r1", KeyRange((s("a"), n(2)), (s("c"),))),
        (" AND r2 = :r2 AND r1 = :r1", KeyRange((s("a"), n(2)), (s("c"), s("d")))),
        (" AND r1 > :r1", KeyRange((s("a"), n(2)), (), ">", (s("c"),))),
        (
            " AND r1 = :r1 AND r2 BETWEEN :r2 AND :z",
            KeyRange((s("a"), n(2)), (s("c"),), "BETWEEN", (s("d"), s("z"))),
        ),
    ],
)
def test_keys_of_many_attributes_are_bound_in_schema_order(text: str, expected: KeyRange) -> None:
    assert key_range(HASHES + text, TWO_HASHES, TWO_RANGES, MANY) == expected


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("h1 = :h1", "Query condition missed key schema element: h2"),
        ("h1 = :h1 AND h2 > :h2", NOT_SUPPORTED),
        (HASHES + " AND r2 = :r2", "Query condition missed key schema element: r1"),
        (HASHES + " AND r1 > :r1 AND r2 = :r2", NOT_SUPPORTED),
    ],
)
def test_keys_of_many_attributes_leave_no_gap(text: str, message: str) -> None:
    assert complaint(lambda: key_range(text, TWO_HASHES, TWO_RANGES, MANY)) == message
