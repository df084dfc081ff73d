"""An expression goes to another process and means the same there, and is compiled once."""

from __future__ import annotations

import sys
from contextlib import suppress
from random import Random

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gramme.codec.trees import (
    TREE_BYTES_KEPT_MAX,
    BadTree,
    decode_condition,
    decode_projection,
    decode_update,
    encode_expression,
)
from gramme.errors import ValidationError
from gramme.expressions import tree
from gramme.expressions.condition import Condition
from gramme.expressions.parser import parse_condition, parse_update
from gramme.expressions.placeholders import Placeholders
from gramme.expressions.projection import Projection
from gramme.expressions.update import UpdateExpression
from gramme.model.item import Item, Values
from tests.support.examples import examples
from tests.unit.gramme.codec.drawn import Drawn
from tests.unit.gramme.expressions.test_limits import with_stack_in_use
from tests.unit.gramme.expressions.using import n

SEEDS = st.integers(0, 2**32)
A, V = tree.Path(("a",)), tree.Value(":v")


def applied(update: UpdateExpression, item: Item, values: Values) -> Item | str | None:
    """What the update makes of the item, or why it does not."""
    try:
        return update.apply(item, values)
    except ValidationError as error:
        return error.message


@given(SEEDS)
@settings(max_examples=examples(200), deadline=None)
def test_a_condition_means_the_same_where_it_arrives(seed: int) -> None:
    drawn = Drawn(seed)
    condition, values = drawn.condition()

    received = decode_condition(encode_expression(condition))

    assert (received.tree, received.nested) == (condition.tree, condition.nested)
    assert received.attributes == condition.attributes
    for item in (None, *drawn.items()):
        assert received.test(item, values) is condition.test(item, values)


@given(SEEDS)
@settings(max_examples=examples(200), deadline=None)
def test_an_update_does_the_same_where_it_arrives(seed: int) -> None:
    drawn = Drawn(seed)
    update, values = drawn.update()

    received = decode_update(encode_expression(update))

    assert (received.tree, received.attributes) == (update.tree, update.attributes)
    assert (received.creates, received.size_cost) == (update.creates, update.size_cost)
    for item in drawn.items():
        new = applied(update, item, values)
        assert applied(received, item, values) == new
        if isinstance(new, dict):
            assert received.updated_old(item, new) == update.updated_old(item, new)
            assert received.updated_new(item, new) == update.updated_new(item, new)


@given(SEEDS)
@settings(max_examples=examples(100), deadline=None)
def test_a_projection_shows_the_same_where_it_arrives(seed: int) -> None:
    drawn = Drawn(seed)
    projection = drawn.projection()

    received = decode_projection(encode_expression(projection))

    assert (received.tree, received.nested) == (projection.tree, projection.nested)
    for item in drawn.items():
        assert received.project(item) == projection.project(item)


# Once


def test_an_expression_is_encoded_once() -> None:
    condition = Placeholders(None, {":v": n(1)}).condition("a = :v")

    assert encode_expression(condition) is encode_expression(condition)


def test_an_expression_is_compiled_once() -> None:
    condition, update, projection = (
        Condition(tree.Compare("=", A, V)),
        UpdateExpression(tree.Update((tree.Add(A, V),))),
        Projection(tree.Paths((A,))),
    )

    for expression, decode in (
        (condition, decode_condition),
        (update, decode_update),
        (projection, decode_projection),
    ):
        first, again = (bytes(bytearray(encode_expression(expression))) for _ in range(2))
        assert first is not again
        assert decode(first) is decode(again)


def test_a_large_expression_is_not_kept() -> None:
    names = tuple(tree.Path((f"a{number}",)) for number in range(TREE_BYTES_KEPT_MAX // 8))
    encoded = encode_expression(Projection(tree.Paths(names)))

    assert decode_projection(encoded) is not decode_projection(encoded)


# Limits


@pytest.mark.parametrize(
    "text",
    [
        "(NOT " * 299 + "a=:v" + ")" * 299,
        "a=:v" + " OR (a=:v AND (a=:v" * 74 + "))" * 74,
    ],
    ids=["not", "or and and"],
)
def test_the_deepest_valid_conditions_arrive(text: str) -> None:
    test = parse_condition(text, "ConditionExpression").tree
    before = sys.getrecursionlimit()
    sys.setrecursionlimit(with_stack_in_use(200))
    try:
        assert decode_condition(encode_expression(Condition(test))).tree == test
    finally:
        sys.setrecursionlimit(before)


def test_the_deepest_valid_update_arrives() -> None:
    text = "SET a=" + "if_not_exists(b," * 225 + ":v" + ")" * 225
    update = parse_update(text).tree

    assert decode_update(encode_expression(UpdateExpression(update))).tree == update


def nested(depth: int) -> tree.Test:
    test: tree.Test = tree.Compare("=", A, V)
    for _ in range(depth):
        test = tree.Not(test)
    return test


@pytest.mark.parametrize(
    "encoded",
    [
        msgspec.msgpack.encode(nested(320)),
        b"\x92\xa3Not" * 1_000 + b"\xc0",
        b"\x92\xa3Not" * 1_000_000 + b"\xc0",
        b"\x91" * 1_000_000,
    ],
    ids=["just", "more", "far", "arrays"],
)
def test_what_is_too_deep_is_refused(encoded: bytes) -> None:
    with pytest.raises(BadTree):
        decode_condition(encoded)


# What nobody of ours would send


@pytest.mark.parametrize(
    "test",
    [
        A,
        V,
        tree.Call("size", (A,)),
        tree.Call("system", (A,)),
        tree.Call("attribute_exists", (V,)),
        tree.Call("attribute_exists", ()),
        tree.Call("attribute_exists", (A, A)),
        tree.Call("attribute_type", (A, A)),
        tree.Call("contains", (A,)),
        tree.Not(tree.Call("if_not_exists", (A, V))),
        tree.Compare("=", tree.Call("contains", (A, V)), V),
        tree.Compare("=", tree.Call("size", (A, A)), V),
        tree.Compare("=", tree.Call("size", (tree.Call("system", (A,)),)), V),
        tree.Compare("~", A, V),  # type: ignore[arg-type]
        tree.Compare("=", tree.Path(()), V),
        tree.Compare("=", tree.Path((1, "a")), V),
        tree.Compare("=", tree.Path(("a", -1)), V),
        tree.Compare("=", tree.Path(("a",) * 33), V),
        tree.Compare("=", tree.Path((None,)), V),  # type: ignore[arg-type]
        tree.Update(()),
        None,
    ],
    ids=repr,
)
def test_a_condition_that_could_not_be_used_is_refused(test: tree.Test) -> None:
    with pytest.raises(BadTree):
        decode_condition(msgspec.msgpack.encode(test))


@pytest.mark.parametrize(
    "actions",
    [
        (tree.Remove(A), tree.Remove(A)),
        (tree.Remove(A), tree.Remove(tree.Path(("a", "b")))),
        (tree.Remove(tree.Path(("a", "b"))), tree.Remove(tree.Path(("a", 1)))),
        (tree.Set(A, tree.Call("size", (A,))),),
        (tree.Set(A, tree.Call("if_not_exists", (V, V))),),
        (tree.Set(A, tree.Call("list_append", (V,))),),
        (tree.Set(A, tree.Arithmetic("*", V, V)),),  # type: ignore[arg-type]
        (tree.Set(A, tree.Arithmetic("+", tree.Call("size", (A,)), V)),),
        (tree.Add(A, A),),  # type: ignore[arg-type]
        (tree.Set(V, V),),  # type: ignore[arg-type]
        (tree.Remove(tree.Path(())),),
    ],
    ids=repr,
)
def test_an_update_that_could_not_be_used_is_refused(actions: tuple[tree.Action, ...]) -> None:
    with pytest.raises(BadTree):
        decode_update(msgspec.msgpack.encode(tree.Update(actions)))


@pytest.mark.parametrize(
    "paths", [(A, A), (A, tree.Path(("a", "b"))), (tree.Path((0,)),)], ids=repr
)
def test_a_projection_that_could_not_be_used_is_refused(paths: tuple[tree.Path, ...]) -> None:
    with pytest.raises(BadTree):
        decode_projection(msgspec.msgpack.encode(tree.Paths(paths)))


@pytest.mark.parametrize("encoded", [None, 1, "a", [], {"a": 1}, b""], ids=repr)
def test_what_is_no_tree_is_refused(encoded: object) -> None:
    for decode in (decode_condition, decode_update, decode_projection):
        with pytest.raises(BadTree):
            decode(encoded)


def damaged(random: Random, encoded: bytes) -> bytes:
    """The same with a few bytes changed, lost, or repeated."""
    data = bytearray(encoded)
    for _ in range(random.randint(1, 3)):
        at = random.randrange(len(data) + 1)
        match random.randrange(4):
            case 0:
                data[at:] = b""
            case 1:
                data[at : at + random.randint(1, 4)] = b""
            case 2:
                data[at:at] = data[at : at + random.randint(1, 9)]
            case _:
                data[at : at + 1] = random.randbytes(1)
    return bytes(data)


@given(SEEDS)
@settings(max_examples=examples(300), deadline=None)
def test_a_damaged_tree_is_refused_or_can_be_used(seed: int) -> None:
    drawn = Drawn(seed)
    condition, values = drawn.condition()
    update, operands = drawn.update()

    for item in (drawn.accepted(drawn.item), {}):
        with suppress(BadTree):
            received = decode_condition(damaged(drawn.random, encode_expression(condition)))
            try_condition(received, item, values)
        with suppress(BadTree, ValidationError):
            changed = decode_update(damaged(drawn.random, encode_expression(update)))
            if value_names(changed.tree) <= operands.keys():
                changed.updated_new(item, changed.apply(item, operands))
        with suppress(BadTree):
            encoded = damaged(drawn.random, encode_expression(drawn.projection()))
            decode_projection(encoded).project(item)


def try_condition(condition: Condition, item: Item, values: Values) -> None:
    # Only the sender knows whether a value suits its function.
    calls = {node.function for node in tree.walk(condition.tree) if isinstance(node, tree.Call)}
    if "attribute_type" not in calls and value_names(condition.tree) <= values.keys():
        condition.test(item, values)


def value_names(root: tree.AnyNode) -> set[str]:
    return {node.name for node in tree.walk(root) if isinstance(node, tree.Value)}
