"""What a projection shows of an item."""

from __future__ import annotations

import pytest

from gramme.expressions.placeholders import Placeholders
from gramme.model.item import Item
from tests.unit.gramme.expressions.using import n, projected, s

ITEM: Item = {
    "a": s("x"),
    "b": n(1),
    "m": {"M": {"x": {"M": {"y": n(1), "z": n(2)}}, "w": n(3)}},
    "l": {"L": [n(0), {"M": {"p": n(1), "q": n(2)}}, n(2)]},
    "x.y": n(7),
}


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("a", {"a": s("x")}),
        ("b, a, nothing", {"a": s("x"), "b": n(1)}),
        ("nothing", {}),
        ("m.x.y", {"m": {"M": {"x": {"M": {"y": n(1)}}}}}),
        ("m.x.y, m.w", {"m": {"M": {"x": {"M": {"y": n(1)}}, "w": n(3)}}}),
        ("l[2], l[0]", {"l": {"L": [n(0), n(2)]}}),
        ("l[1].q, a", {"l": {"L": [{"M": {"q": n(2)}}]}, "a": s("x")}),
        ("l[9]", {}),
        ("a.b, b[0], m[0], l.x", {}),
        ("m.x.nothing, m.w.x", {}),
    ],
)
def test_a_projection_keeps_what_it_names_in_its_place(text: str, shown: Item) -> None:
    assert projected(text, ITEM) == shown


def test_a_dot_in_a_name_is_no_path() -> None:
    assert projected("#n", ITEM, {"#n": "x.y"}) == {"x.y": n(7)}


def test_a_projection_knows_its_attributes_and_whether_it_goes_deeper() -> None:
    placeholders = Placeholders({"#n": "c"}, None)

    flat = placeholders.projection("a, #n")
    nested = placeholders.projection("a, b.c[1], b.d")

    assert flat.attributes == {"a", "c"}
    assert not flat.nested
    assert nested.attributes == {"a", "b"}
    assert nested.nested
