"""A tree goes to another process and comes back the same."""

from __future__ import annotations

import msgspec
import pytest

from gramme.expressions import tree
from gramme.expressions.condition import Condition
from gramme.expressions.parser import parse_condition, parse_projection, parse_update
from gramme.expressions.placeholders import Placeholders
from tests.unit.gramme.expressions.using import n


@pytest.mark.parametrize(
    "text",
    [
        "a.b[1] = :v AND (size(c) > :w OR NOT d IN (:v, e)) AND begins_with(f, :v)",
        "a BETWEEN :v AND :w OR attribute_exists(b)",
        "(NOT " * 299 + "a=b" + ")" * 299,
    ],
)
def test_a_condition_can_be_sent(text: str) -> None:
    test = parse_condition(text, "ConditionExpression").tree

    sent = msgspec.msgpack.encode(test)

    assert msgspec.msgpack.decode(sent, type=tree.Test) == test


def test_updates_and_projections_can_be_sent() -> None:
    update = parse_update(
        "SET a = if_not_exists(b, :c) - :d, e[1] = f REMOVE g ADD h :i DELETE j :k"
    ).tree
    paths = parse_projection("a, b.c[1]").tree

    assert msgspec.json.decode(msgspec.json.encode(update), type=tree.Update) == update
    assert msgspec.json.decode(msgspec.json.encode(paths), type=tree.Paths) == paths


def test_the_tree_of_a_condition_has_real_names_and_makes_the_same_condition() -> None:
    condition = Placeholders({"#a": "#odd"}, {":v": n(1)}).condition("#a = :v")

    again = Condition(condition.tree)

    assert again.test({"#odd": n(1)}, {":v": n(1)})
    assert again.attributes == {"#odd"}


def test_a_path_is_shown_as_dynamodb_shows_it() -> None:
    assert str(tree.Path(("a", "b", 1, "c"))) == "[a, b, [1], c]"
