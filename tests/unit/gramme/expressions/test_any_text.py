"""Whatever the text, an expression is either accepted or refused in words."""

from __future__ import annotations

from contextlib import suppress

from hypothesis import given, settings
from hypothesis import strategies as st

from gramme.errors import ValidationError
from gramme.expressions.placeholders import Placeholders
from gramme.model.item import Item, Values
from tests.unit.gramme.expressions.using import n, s

WORDS = """
    a b.c d[1] #n #x :v :w :x ( ) , = <> < >= + - . [ ] 7 ! AND OR NOT BETWEEN IN SET REMOVE ADD
    DELETE size( contains( attribute_exists( begins_with( attribute_type( if_not_exists(
    list_append( dog( status
"""
TEXTS = st.lists(st.sampled_from(WORDS.split()), max_size=12).map(" ".join) | st.text(max_size=20)
VALUES: Values = {":v": n(1), ":w": s("S"), ":x": {"SS": ["a"]}}
ITEM: Item = {"a": n(1), "b": {"M": {"c": s("x")}}, "d": {"L": [n(1), {"SS": ["a"]}]}}


@given(TEXTS)
@settings(max_examples=500, deadline=None)
def test_any_text_is_accepted_or_refused(text: str) -> None:
    with suppress(ValidationError):
        Placeholders({"#n": "n"}, VALUES).condition(text).test(ITEM, VALUES)
    with suppress(ValidationError):
        Placeholders({"#n": "n"}, VALUES).key_condition(text)
    with suppress(ValidationError):
        Placeholders({"#n": "n"}, None).projection(text).project(ITEM)


@given(st.sampled_from(["SET a =", "SET b.c =", "REMOVE", "ADD a", "DELETE d[1]"]), TEXTS)
@settings(max_examples=500, deadline=None)
def test_any_update_is_accepted_or_refused(start: str, text: str) -> None:
    with suppress(ValidationError):
        update = Placeholders({"#n": "n"}, VALUES).update(f"{start} {text}")
        new = update.apply(ITEM, VALUES)
        update.updated_old(ITEM, new)
        update.updated_new(ITEM, new)
