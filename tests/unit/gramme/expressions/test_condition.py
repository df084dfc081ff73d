"""When a condition holds."""

from __future__ import annotations

import pytest

from gramme.expressions.placeholders import Placeholders
from gramme.model.item import AttributeValue
from tests.unit.gramme.expressions.using import holds, n, s

NULL: AttributeValue = {"NULL": True}
TRUE: AttributeValue = {"BOOL": True}

# "aGk=" is "hi", "/w==" is one byte 255, "AA==" one byte 0.
HI: AttributeValue = {"B": "aGk="}


@pytest.mark.parametrize("operator", ["=", "<", "<=", ">", ">="])
def test_comparison_with_a_missing_attribute_is_false(operator: str) -> None:
    assert not holds(f"a {operator} :v", {}, {":v": n(1)})
    assert not holds(f":v {operator} a", {}, {":v": n(1)})
    assert not holds(f"a {operator} b", {})
    assert not holds(f"a {operator} b", None)


def test_missing_attributes_are_unequal_even_to_one_another() -> None:
    assert holds("a <> :v", {}, {":v": n(1)})
    assert holds("a <> b", {})
    assert holds("a <> b", None)
    assert not holds("a BETWEEN b AND c", {})
    assert not holds("a IN (b)", {})


@pytest.mark.parametrize(
    ("left", "right"),
    [
        (n("1.5"), n("1.5")),
        ({"SS": ["a", "b"]}, {"SS": ["b", "a"]}),
        ({"NS": ["1", "2"]}, {"NS": ["2", "1"]}),
        (
            {"L": [{"M": {"x": {"BS": ["AA==", "/w=="]}}}]},
            {"L": [{"M": {"x": {"BS": ["/w==", "AA=="]}}}]},
        ),
        ({"M": {"a": n(1), "b": s("x")}}, {"M": {"b": s("x"), "a": n(1)}}),
        (NULL, NULL),
    ],
    ids=["number", "string set", "number set", "nested set", "map", "null"],
)
def test_equality_ignores_the_order_of_sets_and_maps(
    left: AttributeValue, right: AttributeValue
) -> None:
    assert holds("a = :v", {"a": left}, {":v": right})
    assert not holds("a <> :v", {"a": left}, {":v": right})


@pytest.mark.parametrize(
    ("left", "right"),
    [
        (n(1), s("1")),
        ({"SS": ["1"]}, {"NS": ["1"]}),
        ({"SS": ["a"]}, {"SS": ["a", "b"]}),
        ({"L": [n(1), n(2)]}, {"L": [n(2), n(1)]}),
        ({"L": []}, {"M": {}}),
        ({"M": {"a": n(1)}}, {"M": {"b": n(1)}}),
        (
            n("100000000000000000000000000000000000001"),
            n("100000000000000000000000000000000000002"),
        ),
    ],
)
def test_different_values_are_unequal(left: AttributeValue, right: AttributeValue) -> None:
    assert not holds("a = :v", {"a": left}, {":v": right})
    assert holds("a <> :v", {"a": left}, {":v": right})


@pytest.mark.parametrize(
    ("smaller", "larger"),
    [
        (n(9), n(10)),
        (n(-10), n(-9)),
        (n("-0.5"), n("0.25")),
        (n("1" + "0" * 37), n("1" + "0" * 36 + "1")),
        (s("Z"), s("a")),
        (s("a"), s("ab")),
        (s("\uffff"), s("\U00010000")),
        ({"B": "AA=="}, {"B": "/w=="}),
    ],
    ids=["digits", "negative", "fraction", "38 digits", "case", "prefix", "utf-8 order", "bytes"],
)
def test_numbers_text_and_bytes_have_an_order(
    smaller: AttributeValue, larger: AttributeValue
) -> None:
    item, values = {"a": smaller}, {":v": larger}

    assert holds("a < :v", item, values)
    assert holds("a <= :v", item, values)
    assert holds(":v > a", item, values)
    assert holds(":v >= a", item, values)
    assert not holds("a > :v", item, values)
    assert not holds("a >= :v", item, values)
    assert not holds("a < b", {"a": smaller, "b": smaller})
    assert holds("a <= b AND a >= b", {"a": smaller, "b": smaller})


@pytest.mark.parametrize("stored", [s("5"), TRUE, NULL, {"L": [n(5)]}, {"NS": ["5"]}])
@pytest.mark.parametrize("test", ["a < :v", "a >= :v", ":v <= a", "a BETWEEN :v AND :w"])
def test_a_stored_value_of_the_wrong_type_makes_an_ordering_false(
    stored: AttributeValue, test: str
) -> None:
    values = {":v": n(5), ":w": n(6)} if ":w" in test else {":v": n(5)}

    assert not holds(test, {"a": stored}, values)


@pytest.mark.parametrize("operator", ["<", "<=", ">", ">="])
def test_stored_values_without_order_compare_false_even_if_equal(operator: str) -> None:
    assert not holds(f"a {operator} b", {"a": TRUE, "b": TRUE})
    assert not holds(f"a {operator} b", {"a": {"L": []}, "b": {"L": []}})


def test_between_includes_its_bounds() -> None:
    values = {":low": n(1), ":high": n(3)}

    found = [holds("a between :low and :high", {"a": n(number)}, values) for number in range(5)]

    assert found == [False, True, True, True, False]


def test_between_with_an_attribute_as_a_bound_is_false_if_reversed_or_mixed() -> None:
    item = {"a": n(2), "low": n(3), "word": s("x")}

    assert not holds("a BETWEEN low AND :high", item, {":high": n(1)})
    assert not holds("a BETWEEN :low AND word", item, {":low": n(1)})
    assert holds("a BETWEEN b AND c", {"a": n(2), "b": n(1), "c": n(2)})


def test_in_compares_with_each_choice_whatever_its_type() -> None:
    values = {":x": s("x"), ":y": {"SS": ["b", "a"]}}

    assert holds("a IN (:x, :y)", {"a": {"SS": ["a", "b"]}}, values)
    assert holds("a IN (:x, :y, b)", {"a": n(1), "b": n(1)}, values)
    assert not holds("a IN (:x, :y)", {"a": n(1)}, values)


def test_keywords_are_the_same_in_any_case_and_bind_not_before_and_before_or() -> None:
    values = {":t": n(1), ":f": n(0)}
    item = {"a": n(1)}

    assert holds("a = :t oR a = :t aNd a = :f", item, values)
    assert not holds("(a = :t OR a = :t) AND a = :f", item, values)
    assert not holds("nOt a = :t AND a = :f", item, values)
    assert holds("NOT (a = :t AND a = :f)", item, values)
    assert holds("NOT NOT NOT NOT a = :t", item, {":t": n(1)})
    assert not holds("NOT NOT NOT a = :t", item, {":t": n(1)})


def test_attribute_exists_follows_paths() -> None:
    item = {"a": {"M": {"b": {"L": [n(1), NULL]}}}}

    assert holds("attribute_exists(a)", item)
    assert holds("attribute_exists(a.b[1])", item)
    assert holds("attribute_not_exists(a.b[2])", item)
    assert holds("attribute_not_exists(a.c)", item)
    assert holds("attribute_not_exists(a[0])", item)
    assert holds("attribute_not_exists(a.b.c)", item)
    assert holds("attribute_not_exists(z) AND attribute_not_exists(z.y)", None)


@pytest.mark.parametrize(
    ("kind", "value"),
    [
        ("S", "x"),
        ("N", "1"),
        ("B", "AA=="),
        ("SS", ["x"]),
        ("NS", ["1"]),
        ("BS", ["AA=="]),
        ("L", []),
        ("M", {}),
        ("BOOL", False),
        ("NULL", True),
    ],
)
def test_attribute_type_names_the_type(kind: str, value: object) -> None:
    other = "S" if kind != "S" else "N"

    assert holds("attribute_type(a, :t)", {"a": {kind: value}}, {":t": s(kind)})
    assert not holds("attribute_type(a, :t)", {"a": {kind: value}}, {":t": s(other)})
    assert not holds("attribute_type(a, :t)", {}, {":t": s(kind)})
    assert holds("attribute_type(:v, :t)", {}, {":v": {kind: value}, ":t": s(kind)})


def test_begins_with_works_on_text_and_bytes_in_either_place() -> None:
    assert holds("begins_with(a, :v)", {"a": s("hello")}, {":v": s("hell")})
    assert holds("begins_with(a, :v)", {"a": s("hello")}, {":v": s("")})
    assert not holds("begins_with(a, :v)", {"a": s("hello")}, {":v": s("ello")})
    assert holds("begins_with(a, :v)", {"a": HI}, {":v": {"B": "aA=="}})
    assert not holds("begins_with(a, :v)", {"a": HI}, {":v": s("h")})
    assert holds("begins_with(:v, a)", {"a": s("he")}, {":v": s("hello")})
    assert not holds("begins_with(a, :v)", {"a": n(12)}, {":v": s("1")})
    assert not holds("begins_with(a, b)", {"a": s("x")})


@pytest.mark.parametrize(
    ("container", "wanted"),
    [
        (s("hello"), s("ell")),
        (HI, {"B": "aQ=="}),
        ({"SS": ["a", "b"]}, s("b")),
        ({"NS": ["1", "2.5"]}, n("2.5")),
        ({"BS": ["aGk="]}, HI),
        ({"L": [n(1), {"SS": ["a", "b"]}]}, {"SS": ["b", "a"]}),
        ({"L": [{"M": {"x": n(1)}}]}, {"M": {"x": n(1)}}),
    ],
    ids=["text", "bytes", "strings", "numbers", "binaries", "list", "list of maps"],
)
def test_contains_finds_parts_and_members(
    container: AttributeValue, wanted: AttributeValue
) -> None:
    assert holds("contains(a, :v)", {"a": container}, {":v": wanted})
    assert holds("contains(a, b)", {"a": container, "b": wanted})


@pytest.mark.parametrize(
    ("container", "wanted"),
    [
        (s("hello"), n(1)),
        (s("5"), n(5)),
        ({"SS": ["1"]}, n(1)),
        ({"L": [s("hello")]}, s("ell")),
        (n(12), n(1)),
        ({"M": {"a": n(1)}}, s("a")),
        (HI, {"SS": ["x"]}),
        (TRUE, TRUE),
    ],
)
def test_contains_is_false_for_what_does_not_fit(
    container: AttributeValue, wanted: AttributeValue
) -> None:
    assert not holds("contains(a, :v)", {"a": container}, {":v": wanted})


@pytest.mark.parametrize(
    ("value", "size"),
    [
        (s("hello"), 5),
        (s("é𝄞"), 3),
        (s(""), 0),
        (HI, 2),
        ({"SS": ["a", "b"]}, 2),
        ({"NS": ["1"]}, 1),
        ({"BS": ["AA==", "/w=="]}, 2),
        ({"L": [n(1), n(2), n(3)]}, 3),
        ({"M": {"x": n(1)}}, 1),
    ],
)
def test_size_counts_code_units_bytes_or_members(value: AttributeValue, size: int) -> None:
    assert holds("size(a) = :n", {"a": value}, {":n": n(size)})
    assert holds("size(:v) = :n", {}, {":v": value, ":n": n(size)})
    assert holds(
        "size(a) < :n AND :m < size(a)", {"a": value}, {":n": n(size + 1), ":m": n(size - 1)}
    )
    assert holds("size(a) = b", {"a": value, "b": n(size)})


@pytest.mark.parametrize("value", [n(5), TRUE, NULL])
def test_size_of_what_has_none_makes_the_condition_false(value: AttributeValue) -> None:
    assert not holds("size(a) = :n", {"a": value}, {":n": n(1)})
    assert not holds("size(a) >= :n", {"a": value}, {":n": n(0)})
    assert not holds("size(absent) >= :n", {"a": value}, {":n": n(0)})


def test_size_compared_with_another_type_is_false() -> None:
    assert not holds("size(a) = :v", {"a": s("x")}, {":v": s("1")})


def test_names_stand_for_any_attribute_name() -> None:
    names = {"#a": "and", "#b": "x.y", "#c": "#a"}
    item = {"and": {"M": {"x.y": n(1)}}, "#a": n(2)}

    assert holds("#a.#b = :v AND #c = :w", item, {":v": n(1), ":w": n(2)}, names)


def test_attributes_are_the_top_level_names() -> None:
    placeholders = Placeholders({"#c": "see"}, {":v": n(1)})

    condition = placeholders.condition("a.b[1] = :v OR NOT size(#c.d) IN (e, f.g)")

    assert condition.attributes == {"a", "see", "e", "f"}
