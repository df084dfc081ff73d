"""What is refused because of a request's names and values, before any item is read."""

from __future__ import annotations

import pytest

from gramme.expressions.placeholders import Placeholders
from gramme.model.item import AttributeValue, Values
from tests.unit.gramme.expressions.using import complaint, n, s

TYPE = "Incorrect operand type for operator or function; operator or function: "
SAMPLES: dict[str, AttributeValue] = {
    "S": s("a"),
    "N": n(1),
    "B": {"B": "AA=="},
    "SS": {"SS": ["a"]},
    "NS": {"NS": ["1"]},
    "BS": {"BS": ["AA=="]},
    "L": {"L": []},
    "M": {"M": {}},
    "BOOL": {"BOOL": True},
    "NULL": {"NULL": True},
}


def filter_complaint(
    text: str, values: Values | None = None, names: dict[str, str] | None = None
) -> str:
    placeholders = Placeholders(names, values)
    message = complaint(lambda: placeholders.condition(text, "FilterExpression"))
    assert message is not None
    return message.removeprefix("Invalid FilterExpression: ")


def update_complaint(
    text: str, values: Values | None = None, names: dict[str, str] | None = None
) -> str:
    placeholders = Placeholders(names, values)
    message = complaint(lambda: placeholders.update(text))
    assert message is not None
    return message.removeprefix("Invalid UpdateExpression: ")


def accepts(text: str, values: Values) -> None:
    Placeholders(None, values).condition(text)


@pytest.mark.parametrize("operator", ["<", "<=", ">", ">="])
@pytest.mark.parametrize("kind", ["BOOL", "NULL", "SS", "NS", "BS", "L", "M"])
def test_a_value_without_order_is_refused_in_an_ordering(operator: str, kind: str) -> None:
    values = {":v": SAMPLES[kind]}

    assert filter_complaint(f"a {operator} :v", values) == f"{TYPE}{operator}, operand type: {kind}"
    assert filter_complaint(f":v {operator} a", values) == f"{TYPE}{operator}, operand type: {kind}"


@pytest.mark.parametrize("kind", SAMPLES)
def test_any_value_may_be_compared_for_equality(kind: str) -> None:
    accepts("a = :v AND b <> :v AND c IN (:v)", {":v": SAMPLES[kind]})


@pytest.mark.parametrize("kind", ["N", "BOOL", "NULL", "SS", "NS", "BS", "L", "M"])
def test_begins_with_takes_text_or_bytes_only(kind: str) -> None:
    values = {":v": SAMPLES[kind]}

    expected = f"{TYPE}begins_with, operand type: {kind}"
    assert filter_complaint("begins_with(a, :v)", values) == expected
    assert filter_complaint("begins_with(:v, a)", values) == expected


@pytest.mark.parametrize("kind", ["N", "BOOL", "NULL"])
def test_size_of_a_value_without_size_is_refused(kind: str) -> None:
    message = filter_complaint("size(:v) > a", {":v": SAMPLES[kind]})

    assert message == f"{TYPE}size, operand type: {kind}"


@pytest.mark.parametrize(
    ("text", "function"),
    [
        ("size(size(a)) > b", "size"),
        ("begins_with(a, size(b))", "begins_with"),
        ("attribute_type(a, size(b))", "attribute_type"),
        ("contains(size(a), b)", "contains"),
    ],
)
def test_size_is_a_number_where_none_is_taken(text: str, function: str) -> None:
    assert filter_complaint(text) == f"{TYPE}{function}, operand type: N"


@pytest.mark.parametrize("kind", ["N", "M", "BOOL", "NULL"])
def test_contains_looks_only_into_what_can_contain(kind: str) -> None:
    message = filter_complaint("contains(:v, a)", {":v": SAMPLES[kind]})

    assert message == f"{TYPE}contains, operand type: {kind}"


@pytest.mark.parametrize("kind", SAMPLES)
def test_contains_looks_for_anything(kind: str) -> None:
    accepts("contains(a, :v)", {":v": SAMPLES[kind]})


def test_attribute_type_takes_a_value_that_names_a_type() -> None:
    types = "{B,NULL,SS,BOOL,L,BS,N,NS,S,M}"

    assert filter_complaint("attribute_type(a, b)") == (
        f"{TYPE}attribute_type, operand type: {types}"
    )
    assert filter_complaint("attribute_type(a, :t)", {":t": n(1)}) == (
        f"{TYPE}attribute_type, operand type: N"
    )
    assert filter_complaint("attribute_type(a, :t)", {":t": s("DOG")}) == (
        f"Invalid attribute type name found; type: DOG, valid types: {types}"
    )


@pytest.mark.parametrize("function", ["attribute_exists", "attribute_not_exists"])
def test_existence_is_asked_of_a_path(function: str) -> None:
    message = filter_complaint(f"{function}(:v)", {":v": s("a")})

    assert message == (
        f"Operator or function requires a document path; operator or function: {function}"
    )


def test_bounds_that_are_values_are_in_order_and_of_one_type() -> None:
    text = "a BETWEEN :low AND :high"

    assert filter_complaint(text, {":low": n(2), ":high": n(1)}) == (
        "The BETWEEN operator requires upper bound to be greater than or equal to lower bound; "
        "lower bound operand: AttributeValue: {N:2}, upper bound operand: AttributeValue: {N:1}"
    )
    assert filter_complaint(text, {":low": n(1), ":high": s("a")}) == (
        "The BETWEEN operator requires same data type for lower and upper bounds; "
        "lower bound operand: AttributeValue: {N:1}, upper bound operand: AttributeValue: {S:a}"
    )
    assert filter_complaint(text, {":low": {"BOOL": True}, ":high": {"BOOL": True}}) == (
        f"{TYPE}BETWEEN, operand type: BOOL"
    )
    accepts(text, {":low": n(1), ":high": n(1)})
    accepts("a BETWEEN b AND :high", {":high": n(1)})


@pytest.mark.parametrize(
    ("text", "operator", "path"),
    [
        ("a = a", "=", "[a]"),
        ("#a <> a", "<>", "[a]"),
        ("contains(x.y[1].a, x.y[1].#a)", "contains", "[x, y, [1], a]"),
        ("begins_with(a, a)", "begins_with", "[a]"),
        ("a IN (:v, a)", "IN", "[a]"),
    ],
)
def test_an_operand_is_not_compared_with_itself(text: str, operator: str, path: str) -> None:
    message = filter_complaint(text, {":v": n(1)}, {"#a": "a"})

    assert message == (
        "The first operand must be distinct from the remaining operands for this operator or "
        f"function; operator: {operator}, first operand: {path}"
    )


@pytest.mark.parametrize(
    ("text", "function", "count"),
    [
        ("attribute_exists(a, b)", "attribute_exists", 2),
        ("attribute_type(a)", "attribute_type", 1),
        ("begins_with(a, size(b), c)", "begins_with", 3),
        ("size(a, b) > c", "size", 2),
    ],
)
def test_functions_take_their_number_of_operands(text: str, function: str, count: int) -> None:
    assert filter_complaint(text) == (
        "Incorrect number of operands for operator or function; operator or function: "
        f"{function}, number of operands: {count}"
    )


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("#a = :v AND b < :w", "name used in the document path is not defined; attribute name: #a"),
        ("b < :w AND #a = :v", "value used in expression is not defined; attribute value: :w"),
        ("begins_with(:w, #a, #b)", "value used in expression is not defined; attribute value: :w"),
        ("a.#b[1].#c = :w", "name used in the document path is not defined; attribute name: #b"),
    ],
)
def test_conditions_are_checked_one_by_one_from_the_left(text: str, what: str) -> None:
    message = filter_complaint(text, {":v": n(1)}, {"#z": "z"})

    assert message == f"An expression attribute {what}"


def test_a_bad_type_on_the_left_comes_before_an_undefined_value_on_the_right() -> None:
    message = filter_complaint("a < :v AND b = :w", {":v": {"BOOL": True}})

    assert message == f"{TYPE}<, operand type: BOOL"


def test_an_undefined_name_in_an_update_comes_before_an_undefined_value() -> None:
    assert update_complaint("SET a = :v, #b = :v") == (
        "An expression attribute name used in the document path is not defined; attribute name: #b"
    )
    assert update_complaint("SET a = :v") == (
        "An expression attribute value used in expression is not defined; attribute value: :v"
    )


@pytest.mark.parametrize(
    ("text", "one", "two"),
    [
        ("SET a = :v, a = :w", "[a]", "[a]"),
        ("SET a = :v REMOVE a", "[a]", "[a]"),
        ("SET a.b = :v, a = :w", "[a, b]", "[a]"),
        ("SET a = :v, a[1].b = :w", "[a]", "[a, [1], b]"),
        ("SET a = :v, #a = :w", "[a]", "[a]"),
        ("SET d[1] = :v, d.b = :w, c[1].a = :w, c = :v", "[c, [1], a]", "[c]"),
        ("ADD #b :n SET b.c = :v", "[b]", "[b, c]"),
    ],
)
def test_paths_of_an_update_do_not_overlap(text: str, one: str, two: str) -> None:
    message = update_complaint(text, {":v": n(1), ":w": n(2), ":n": n(3)}, {"#a": "a", "#b": "b"})

    assert message == (
        "Two document paths overlap with each other; must remove or rewrite one of these paths; "
        f"path one: {one}, path two: {two}"
    )


def test_a_path_is_not_taken_for_a_map_and_for_a_list() -> None:
    assert update_complaint("REMOVE a.b SET a[1] = :v", {":v": n(1)}) == (
        "Two document paths conflict with each other; must remove or rewrite one of these paths; "
        "path one: [a, b], path two: [a, [1]]"
    )


@pytest.mark.parametrize(
    ("operator", "kind", "shown"),
    [
        ("ADD", "S", "STRING"),
        ("ADD", "B", "BINARY"),
        ("ADD", "BOOL", "BOOLEAN"),
        ("ADD", "NULL", "NULL"),
        ("ADD", "L", "LIST"),
        ("ADD", "M", "MAP"),
        ("DELETE", "N", "NUMBER"),
        ("DELETE", "S", "STRING"),
        ("DELETE", "L", "LIST"),
    ],
)
def test_add_takes_numbers_and_sets_and_delete_sets(operator: str, kind: str, shown: str) -> None:
    message = update_complaint(f"{operator} a.b :v", {":v": SAMPLES[kind]})

    assert message == (
        f"Incorrect operand type for operator or function; operator: {operator}, "
        f"operand type: {shown}"
    )


@pytest.mark.parametrize(
    ("text", "function", "kind"),
    [
        ("SET a = list_append(a, :v)", "list_append", "S"),
        ("SET a = list_append(:v, a)", "list_append", "SS"),
        ("SET a = a + :v", "+", "S"),
        ("SET a = :v - a", "-", "L"),
        ("SET a = if_not_exists(a, :n) - :v", "-", "B"),
    ],
)
def test_set_values_have_types_that_fit(text: str, function: str, kind: str) -> None:
    values = {":v": SAMPLES[kind]} | ({":n": n(1)} if ":n" in text else {})

    assert update_complaint(text, values) == f"{TYPE}{function}, operand type: {kind}"


def test_what_list_append_returns_is_not_a_number() -> None:
    assert update_complaint("SET a = list_append(a, b) + c") == f"{TYPE}+, operand type: L"


@pytest.mark.parametrize("first", [":v", "if_not_exists(a, b)"])
def test_if_not_exists_asks_for_a_path(first: str) -> None:
    message = update_complaint(f"SET a = if_not_exists({first}, c)", {":v": n(1)})

    assert message == (
        "Operator or function requires a document path; operator or function: if_not_exists"
    )


def test_update_functions_take_two_operands() -> None:
    assert update_complaint("SET a = if_not_exists(b)") == (
        "Incorrect number of operands for operator or function; operator or function: "
        "if_not_exists, number of operands: 1"
    )


def test_add_is_checked_before_the_functions_of_set() -> None:
    message = update_complaint(
        "SET a = list_append(:v, b), c = if_not_exists(a) ADD d :v", {":v": s("a")}
    )

    assert message.endswith("operator: ADD, operand type: STRING")


@pytest.mark.parametrize("text", ["a, a", "a.b, a", "a[1], a[1].b", "#a, a"])
def test_paths_of_a_projection_do_not_overlap(text: str) -> None:
    message = complaint(lambda: Placeholders({"#a": "a"}, None).projection(text))

    assert message is not None
    assert message.startswith("Invalid ProjectionExpression: Two document paths overlap")


@pytest.mark.parametrize("text", ["a.b, a[1]", "a.b[1], a.b.c"])
def test_paths_of_a_projection_do_not_conflict(text: str) -> None:
    message = complaint(lambda: Placeholders(None, None).projection(text))

    assert message is not None
    assert message.startswith("Invalid ProjectionExpression: Two document paths conflict")
