"""Random updates and projections against an evaluator that shares nothing with the compiled one."""

from __future__ import annotations

from copy import deepcopy
from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from gramme.errors import ValidationError
from gramme.expressions.placeholders import Placeholders
from gramme.model.item import Values
from tests.support import expressions as reference
from tests.support.examples import examples
from tests.support.expressions import Action, Parts, Refused, Value
from tests.unit.gramme.expressions.using import projected

NAMES = st.sampled_from(["a", "b", "c"])
PARTS = st.one_of(NAMES, st.integers(0, 3))
DEEP_PATHS = st.builds(lambda first, rest: (first, *rest), NAMES, st.lists(PARTS, max_size=2))
# Most paths are not there in a small item, and an update of a place that is not there is refused.
PATHS = st.one_of(NAMES.map(lambda name: (name,)), NAMES.map(lambda name: (name,)), DEEP_PATHS)

NUMBER = st.sampled_from(["0", "1", "-2.5", "10", "99999999999999999999"]).map(lambda n: {"N": n})
STRING_SET = st.lists(st.sampled_from("xyz"), min_size=1, unique=True).map(lambda m: {"SS": m})
NUMBER_SET = st.lists(st.sampled_from("123"), min_size=1, unique=True).map(lambda m: {"NS": m})
FLAT = st.one_of(NUMBER, st.just({"S": "s"}), STRING_SET, NUMBER_SET, st.just({"NULL": True}))
VALUES = st.recursive(
    FLAT,
    lambda inner: st.one_of(
        st.lists(inner, max_size=3).map(lambda members: {"L": members}),
        st.dictionaries(NAMES, inner, max_size=3).map(lambda members: {"M": members}),
    ),
    max_leaves=6,
)
ITEMS = st.dictionaries(NAMES, VALUES, min_size=1)

LISTS = st.lists(FLAT, max_size=2).map(lambda members: {"L": members})
PATH_SIDE = st.tuples(st.just("path"), PATHS)


def side_of(values: st.SearchStrategy[Value]) -> st.SearchStrategy[tuple[Any, ...]]:
    """A value, a path, or a path with something in its stead."""
    value = st.tuples(st.just("value"), values)
    default = st.tuples(st.just("if_not_exists"), PATHS, st.one_of(value, PATH_SIDE))
    return st.one_of(value, PATH_SIDE, default)


SIDES = st.one_of(
    side_of(VALUES),
    st.tuples(st.just("list_append"), side_of(LISTS), side_of(LISTS)),
    st.tuples(st.sampled_from("+-"), side_of(NUMBER), side_of(NUMBER)),
)
ACTIONS = st.one_of(
    st.tuples(st.just("SET"), PATHS, SIDES),
    st.tuples(st.just("SET"), PATHS, SIDES),
    st.tuples(st.just("REMOVE"), PATHS),
    st.tuples(st.just("ADD"), PATHS, st.one_of(NUMBER, STRING_SET, NUMBER_SET)),
    st.tuples(st.just("DELETE"), PATHS, st.one_of(STRING_SET, NUMBER_SET)),
)


def same(value: Any) -> Any:
    """A value in which sets have no order."""
    if isinstance(value, dict):
        return {
            name: sorted(inner)
            if name in reference.SETS and isinstance(inner, list)
            else same(inner)
            for name, inner in value.items()
        }
    return [same(inner) for inner in value] if isinstance(value, list | tuple) else value


def apply(item: Value, actions: list[Action]) -> tuple[Value, Value, Value] | None:
    """What the compiled update makes of an item, and its UPDATED_OLD and UPDATED_NEW; None if it is refused."""
    values: Values = {}
    text = reference.written(actions, values)
    try:
        placeholders = Placeholders(None, values or None)
        update = placeholders.update(text)
        placeholders.finish()
        new = update.apply(item, values)
    except ValidationError:
        return None
    return new, update.updated_old(item, new), update.updated_new(item, new)


@given(ITEMS, st.lists(ACTIONS, min_size=1, max_size=4))
@settings(max_examples=examples(600), deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_compiled_updates_do_what_they_say(item: Value, actions: list[Action]) -> None:
    touched = [action[1] for action in actions]
    try:
        new = reference.update(deepcopy(item), actions)
    except Refused:
        expected = None
    else:
        expected = new, reference.project(item, touched), reference.project(new, touched)

    assert same(apply(item, actions)) == same(expected), reference.written(actions, {})


@given(ITEMS, st.lists(PATHS, min_size=1, max_size=4))
@settings(max_examples=examples(400), deadline=None)
def test_compiled_projections_show_what_they_name(item: Value, paths: list[Parts]) -> None:
    text = ", ".join(map(reference.written_path, paths))

    try:
        found: Value | None = projected(text, item)
    except ValidationError:
        found = None

    assert found == (None if reference.clash(paths) else reference.project(item, paths)), text
