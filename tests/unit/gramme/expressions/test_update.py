"""What an update makes of an item, and what it says it touched."""

from __future__ import annotations

import copy

import pytest

from gramme.expressions import tree
from gramme.expressions.placeholders import Placeholders
from gramme.expressions.update import UpdateExpression
from gramme.model.item import AttributeValue, Item, Values
from tests.unit.gramme.expressions.using import complaint, n, s, updated

BAD_PATH = "The document path provided in the update expression is invalid for update"
MISSING = "The provided expression refers to an attribute that does not exist in the item"
TYPE_MISMATCH = "Type mismatch for attribute to update"
WRONG_TYPE = "An operand in the update expression has an incorrect data type"


def numbers(*values: int) -> AttributeValue:
    return {"L": [n(value) for value in values]}


def an_update(text: str, values: Values | None = None) -> UpdateExpression:
    return Placeholders(None, values).update(text)


def test_set_puts_values_and_copies() -> None:
    item = {"a": n(1), "m": {"M": {"x": s("y")}}}

    new = updated("SET b = :v, c = a, d = m.x", item, {":v": s("new")})

    assert new == {**item, "b": s("new"), "c": n(1), "d": s("y")}


def test_right_hand_sides_read_the_old_item() -> None:
    item = {"a": n(1), "b": n(2)}

    assert updated("SET a = b, b = a", item) == {"a": n(2), "b": n(1)}
    assert updated("REMOVE a SET c = a", item) == {"b": n(2), "c": n(1)}
    assert updated("ADD a :v SET b = a", item, {":v": n(5)}) == {"a": n(6), "b": n(1)}


def test_nothing_given_is_changed() -> None:
    item: Item = {
        "a": {"M": {"b": {"L": [n(1), {"SS": ["x"]}]}}},
        "c": n(1),
        "d": {"SS": ["x", "y"]},
    }
    values: Values = {":v": n(9), ":s": {"SS": ["x"]}}
    before, values_before = copy.deepcopy(item), copy.deepcopy(values)

    updated("SET a.b[0] = :v, a.z = :v ADD c :v, a.b[1] :s DELETE d :s", item, values)

    assert item == before
    assert values == values_before


def test_what_is_not_touched_is_shared() -> None:
    item: Item = {"a": {"M": {"b": n(1), "c": {"M": {}}}}, "d": {"M": {}}}

    new = updated("SET a.b = :v", item, {":v": n(2)})

    assert new["d"] is item["d"]
    assert new["a"]["M"]["c"] is item["a"]["M"]["c"]


@pytest.mark.parametrize(
    ("text", "result"),
    [
        ("SET a = a + :v", 7),
        ("SET a = a - :v", 3),
        ("SET a = :v - a", -3),
        ("SET a = (a + a)", 10),
        ("SET a = if_not_exists(b, :v) + a", 7),
        ("SET a = if_not_exists(a, :v) + if_not_exists(b, :v)", 7),
        ("ADD a :v", 7),
        ("ADD b :v SET a = :v", 2),
    ],
)
def test_arithmetic(text: str, result: int) -> None:
    values = {":v": n(2)} if ":v" in text else None

    assert updated(text, {"a": n(5)}, values)["a"] == n(result)


def test_an_if_not_exists_looks_at_its_default_only_if_needed() -> None:
    item = {"a": n(1)}

    assert updated("SET b = if_not_exists(a, z)", item)["b"] == n(1)
    assert complaint(lambda: updated("SET b = if_not_exists(y, z)", item)) == MISSING
    assert updated("SET b = if_not_exists(x, if_not_exists(y, a))", item)["b"] == n(1)


def test_list_append_joins_in_the_order_given() -> None:
    item: Item = {"a": numbers(1, 2)}
    values = {":v": numbers(3)}

    assert updated("SET a = list_append(a, :v)", item, values)["a"] == numbers(1, 2, 3)
    assert updated("SET a = list_append(:v, a)", item, values)["a"] == numbers(3, 1, 2)
    assert updated("SET b = list_append(if_not_exists(b, :v), a)", item, values)["b"] == numbers(
        3, 1, 2
    )


@pytest.mark.parametrize(
    "text",
    ["SET a = z", "SET a = z + :v", "SET a = list_append(z, l)", "SET a = a + m.z"],
)
def test_reading_a_missing_attribute_fails(text: str) -> None:
    item: Item = {"a": n(1), "l": numbers(1), "m": {"M": {}}}
    values = {":v": n(1)} if ":v" in text else None

    assert complaint(lambda: updated(text, item, values)) == MISSING


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("SET a = t + :v", n(1)),
        ("SET a = t - :v", n(1)),
        ("SET a = list_append(t, :v)", numbers(1)),
        ("ADD t :v", n(1)),
        ("ADD ss :v", {"NS": ["1"]}),
        ("ADD ss :v", n(1)),
        ("ADD l :v", {"SS": ["a"]}),
        ("DELETE ss :v", {"NS": ["1"]}),
        ("DELETE t :v", {"SS": ["a"]}),
        ("DELETE m.t :v", {"SS": ["a"]}),
    ],
)
def test_a_stored_operand_of_the_wrong_type_fails(text: str, value: AttributeValue) -> None:
    item: Item = {"t": s("x"), "ss": {"SS": ["a"]}, "l": numbers(1), "m": {"M": {"t": s("x")}}}

    assert complaint(lambda: updated(text, item, {":v": value})) == WRONG_TYPE


def test_add_on_what_is_missing_starts_from_nothing() -> None:
    values = {":n": n(5), ":s": {"SS": ["x"]}}

    assert updated("ADD a :n, m.b :s", {"m": {"M": {}}}, values) == {
        "a": n(5),
        "m": {"M": {"b": {"SS": ["x"]}}},
    }


def test_add_to_a_set_keeps_each_member_once() -> None:
    item: Item = {"a": {"SS": ["x", "y"]}, "b": {"NS": ["1"]}, "c": {"BS": ["AA=="]}}
    values: Values = {":s": {"SS": ["y", "z"]}, ":n": {"NS": ["1", "2"]}, ":b": {"BS": ["/w=="]}}

    assert updated("ADD a :s, b :n, c :b", item, values) == {
        "a": {"SS": ["x", "y", "z"]},
        "b": {"NS": ["1", "2"]},
        "c": {"BS": ["AA==", "/w=="]},
    }


def test_delete_takes_members_away_and_an_emptied_set_with_them() -> None:
    item: Item = {
        "a": {"SS": ["x", "y", "z"]},
        "m": {"M": {"b": {"NS": ["1"]}}},
        "l": {"L": [{"SS": ["x"]}, n(1)]},
    }
    values: Values = {":s": {"SS": ["x", "q"]}, ":n": {"NS": ["1", "2"]}}

    assert updated("DELETE a :s, m.b :n, l[0] :s, nothing :s", item, values) == {
        "a": {"SS": ["y", "z"]},
        "m": {"M": {}},
        "l": numbers(1),
    }


def test_remove_leaves_empty_maps_and_lists() -> None:
    item: Item = {"a": n(1), "m": {"M": {"x": n(1)}}, "l": numbers(1)}

    assert updated("REMOVE a, m.x, l[0]", item) == {"m": {"M": {}}, "l": {"L": []}}


def test_remove_of_a_missing_leaf_is_ignored() -> None:
    item: Item = {"m": {"M": {"x": n(1)}}, "l": numbers(1)}

    assert updated("REMOVE a, m.y, l[7]", item) == item


@pytest.mark.parametrize(
    ("text", "result"),
    [
        ("SET l[1] = :v", [1, 9, 3, 4]),
        ("SET l[4] = :v", [1, 2, 3, 4, 9]),
        ("SET l[80] = :v, l[50] = :w", [1, 2, 3, 4, 8, 9]),
        ("REMOVE l[1]", [1, 3, 4]),
        ("REMOVE l[0], l[2]", [2, 4]),
        ("REMOVE l[0] SET l[2] = :v", [2, 9, 4]),
        ("SET l[2] = :v REMOVE l[0]", [2, 9, 4]),
        ("SET l[9] = :v REMOVE l[3], l[0]", [2, 3, 9]),
        ("ADD l[0] :v", [10, 2, 3, 4]),
        ("ADD l[9] :v", [1, 2, 3, 4, 9]),
    ],
)
def test_list_indexes_mean_the_old_positions(text: str, result: list[int]) -> None:
    values = {name: value for name, value in {":v": n(9), ":w": n(8)}.items() if name in text}

    assert updated(text, {"l": numbers(1, 2, 3, 4)}, values or None)["l"] == numbers(*result)


def test_an_update_reaches_deep_into_documents() -> None:
    item: Item = {"a": {"M": {"c": {"L": [s("hi"), {"M": {"x": numbers(3, 5, 7)}}]}}}}

    new = updated("SET a.c[1].#x[1] = :v REMOVE a.c[0]", item, {":v": n(9)}, {"#x": "x"})

    assert new == {"a": {"M": {"c": {"L": [{"M": {"x": numbers(3, 9, 7)}}]}}}}


@pytest.mark.parametrize(
    "text",
    [
        f"{clause} {path}{rest}"
        for clause, rest in [("SET", " = :v"), ("REMOVE", ""), ("ADD", " :v"), ("DELETE", " :v")]
        for path in ["z.a", "z[0]", "t.a", "t[0]", "m[0]", "l.a", "m.z.a", "l[9].a"]
    ],
)
def test_a_path_through_what_is_missing_or_no_document_fails(text: str) -> None:
    item: Item = {"t": s("x"), "m": {"M": {}}, "l": numbers(1)}
    values: Values | None = {":v": {"SS": ["a"]}} if ":v" in text else None

    assert complaint(lambda: updated(text, item, values)) == BAD_PATH


def test_number_overflow_fails_the_update() -> None:
    item = {"a": n("9" * 38)}

    message = complaint(lambda: updated("ADD a :v", item, {":v": n("0.1")}))

    assert message is not None and message.startswith("Number overflow")


@pytest.mark.parametrize(
    ("text", "creates"),
    [
        ("REMOVE a", False),
        ("DELETE a :v", False),
        ("REMOVE a.b DELETE c :v", False),
        ("SET a = :v", True),
        ("ADD a :v", True),
        ("REMOVE b SET a = :v", True),
    ],
)
def test_an_update_that_only_removes_creates_nothing(text: str, creates: bool) -> None:
    assert an_update(text, {":v": {"SS": ["a"]}}).creates is creates


def test_attributes_are_what_it_assigns_or_removes() -> None:
    update = an_update(
        "SET a.b = c, d[1] = :v REMOVE e ADD f :v DELETE g.h :v", {":v": {"SS": ["x"]}}
    )

    assert update.attributes == {"a", "d", "e", "f", "g"}


OLD: Item = {
    "k": s("key"),
    "a": {"M": {"b": s("dog"), "c": numbers(1, 2, 3)}},
    "d": s("cat"),
}


@pytest.mark.parametrize(
    ("text", "old", "new"),
    [
        ("SET d = :v", {"d": s("cat")}, {"d": n(9)}),
        ("SET e = :v", {}, {"e": n(9)}),
        ("SET d = :v, e = :v", {"d": s("cat")}, {"d": n(9), "e": n(9)}),
        ("REMOVE d", {"d": s("cat")}, {}),
        ("SET a.b = :v", {"a": {"M": {"b": s("dog")}}}, {"a": {"M": {"b": n(9)}}}),
        ("SET a.x = :v", {}, {"a": {"M": {"x": n(9)}}}),
        ("SET a.c[1] = :v", {"a": {"M": {"c": numbers(2)}}}, {"a": {"M": {"c": numbers(9)}}}),
        (
            "SET a.c[2] = :v, a.c[0] = :v, a.b = :v",
            {"a": {"M": {"b": s("dog"), "c": numbers(1, 3)}}},
            {"a": {"M": {"b": n(9), "c": numbers(9, 9)}}},
        ),
        ("SET a.c[100] = :v", {}, {}),
        ("REMOVE a.c[1]", {"a": {"M": {"c": numbers(2)}}}, {"a": {"M": {"c": numbers(3)}}}),
        ("REMOVE a.c[1], a.c[3]", {"a": {"M": {"c": numbers(2)}}}, {"a": {"M": {"c": numbers(3)}}}),
        ("REMOVE a.x", {}, {}),
    ],
)
def test_only_touched_paths_are_returned(text: str, old: Item, new: Item) -> None:
    values = {":v": n(9)} if ":v" in text else {}
    update = an_update(text, values or None)

    after = update.apply(OLD, values)

    assert update.updated_old(OLD, after) == old
    assert update.updated_new(OLD, after) == new


def test_a_new_item_returns_no_key() -> None:
    update = an_update("SET x = :v", {":v": n(1)})
    after = update.apply({"k": s("key")}, {":v": n(1)})

    assert update.updated_old({}, after) == {}
    assert update.updated_new({}, after) == {"x": n(1)}


@pytest.mark.parametrize(("older", "message"), [(False, WRONG_TYPE), (True, TYPE_MISMATCH)])
@pytest.mark.parametrize("action", [tree.Add, tree.Delete])
def test_a_mismatch_is_worded_as_the_update_was_written(
    action: type[tree.Add | tree.Delete], older: bool, message: str
) -> None:
    actions = (action(tree.Path(("a",)), tree.Value(":v")),)
    update = UpdateExpression(tree.Update(actions, older))

    assert complaint(lambda: update.apply({"a": n(1)}, {":v": {"SS": ["x"]}})) == message


def test_older_add_appends_to_a_list() -> None:
    action = tree.Add(tree.Path(("a",)), tree.Value(":v"))
    update = UpdateExpression(tree.Update((action,), older=True))

    after = update.apply({"a": numbers(1)}, {":v": numbers(1, 2)})

    assert after == {"a": numbers(1, 1, 2)}
