"""Conditions, updates and projections as bytes: what is sent of them is the tree, and the receiver compiles it again.

An expression keeps its bytes once they have been made. A receiver keeps what it compiled, by the bytes, so that the same
expression costs it a look-up; what is too large is compiled each time, because requests must not fill the memory.

The sender has checked its expressions against all the rules of DynamoDB. What comes in is checked again for what would
make compiling or using it fail: its shape, its depth, and paths that are in each other's way.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import lru_cache
from typing import Final, TypeVar

import msgspec

from gramme.codec.untrusted import UNREADABLE, decode_untrusted
from gramme.expressions import checks, tree
from gramme.expressions.condition import Condition
from gramme.expressions.parser import PATH_LEVELS_MAX
from gramme.expressions.projection import Projection
from gramme.expressions.update import UpdateExpression

Expression = Condition | UpdateExpression | Projection
T = TypeVar("T", tree.Test, tree.Update, tree.Paths)
E = TypeVar("E")

# The deepest tree the parser makes has 300 operators in one another, and an operand.
TREE_DEPTH_MAX: Final = 320
# Expressions of each kind that are kept. Applications have tens; a node may serve many. One of the largest that are
# kept, some fifty nodes, takes about twenty kilobytes as closures.
TREES_KEPT: Final = 1_024
TREE_BYTES_KEPT_MAX: Final = 2_048

# The kinds of arguments that the functions of an expression take.
_Shapes = dict[str, tuple[type[tree.Node] | tuple[type[tree.Node], ...], ...]]
_OPERAND = (tree.Path, tree.Value, tree.Call)
_TESTS: Final[_Shapes] = {
    "attribute_exists": (tree.Path,),
    "attribute_not_exists": (tree.Path,),
    "attribute_type": (_OPERAND, tree.Value),
    "begins_with": (_OPERAND, _OPERAND),
    "contains": (_OPERAND, _OPERAND),
}
_MEASURES: Final[_Shapes] = {"size": (_OPERAND,)}
_RIGHT_SIDES: Final[_Shapes] = {
    "if_not_exists": (tree.Path, _OPERAND),
    "list_append": (_OPERAND, _OPERAND),
}


class BadTree(ValueError):
    """The bytes are not those of an expression, or of none that could be used."""


_encoder = msgspec.msgpack.Encoder()
_tests: msgspec.msgpack.Decoder[tree.Test] = msgspec.msgpack.Decoder(tree.Test)
_updates = msgspec.msgpack.Decoder(tree.Update)
_paths = msgspec.msgpack.Decoder(tree.Paths)


def encode_expression(expression: Expression) -> bytes:
    encoded = expression.encoded
    if encoded is None:
        encoded = expression.encoded = _encoder.encode(expression.tree)
    return encoded


def decode_condition(encoded: object) -> Condition:
    """Raises BadTree, as the others do."""
    return _found(encoded, _known_condition, _condition)


def decode_update(encoded: object) -> UpdateExpression:
    return _found(encoded, _known_update, _update)


def decode_projection(encoded: object) -> Projection:
    return _found(encoded, _known_projection, _projection)


def _found(encoded: object, known: Callable[[bytes], E], make: Callable[[bytes], E]) -> E:
    if type(encoded) is not bytes:
        raise BadTree("a tree is bytes")
    return known(encoded) if len(encoded) <= TREE_BYTES_KEPT_MAX else make(encoded)


def _condition(encoded: bytes) -> Condition:
    return _made(encoded, _tests, _check_test, Condition)


def _update(encoded: bytes) -> UpdateExpression:
    return _made(encoded, _updates, _check_update, UpdateExpression)


def _projection(encoded: bytes) -> Projection:
    return _made(encoded, _paths, _check_paths, Projection)


_known_condition = lru_cache(TREES_KEPT)(_condition)
_known_update = lru_cache(TREES_KEPT)(_update)
_known_projection = lru_cache(TREES_KEPT)(_projection)


def _made(
    encoded: bytes,
    decoder: msgspec.msgpack.Decoder[T],
    check: Callable[[T], None],
    make: Callable[[T], E],
) -> E:
    try:
        root = decode_untrusted(decoder, encoded)
        _check_depth(root)
        check(root)
        return make(root)
    except UNREADABLE as error:
        raise BadTree(str(error)) from error


def _check_depth(root: tree.AnyNode) -> None:
    waiting = [(root, 1)]
    while waiting:
        node, depth = waiting.pop()
        if depth > TREE_DEPTH_MAX:
            raise BadTree("the tree is too deep")
        waiting += [(child, depth + 1) for child in node.children()]


def _check_test(test: tree.Test) -> None:
    for leaf in tree.leaves(test):
        if isinstance(leaf, tree.Call):
            _check_call(leaf, _TESTS)
        for operand in tree.operands(leaf):
            _check_below(operand, _MEASURES)


def _check_update(update: tree.Update) -> None:
    for action in update.actions:
        _check_below(action, _RIGHT_SIDES)
    _check_apart([action.path for action in update.actions])


def _check_paths(paths: tree.Paths) -> None:
    _check_below(paths, {})
    _check_apart(paths.paths)


def _check_below(root: tree.AnyNode, shapes: _Shapes) -> None:
    for node in tree.walk(root):
        if isinstance(node, tree.Path):
            _check_path(node)
        elif isinstance(node, tree.Call):
            _check_call(node, shapes)


def _check_call(call: tree.Call, shapes: _Shapes) -> None:
    shape, arguments = shapes.get(call.function), call.arguments
    if shape is None or len(shape) != len(arguments) or not all(map(isinstance, arguments, shape)):
        raise BadTree(f"a function that cannot be called so: {call.function}")


def _check_path(path: tree.Path) -> None:
    parts = path.parts
    if not parts or not isinstance(parts[0], str) or len(parts) > PATH_LEVELS_MAX:
        raise BadTree("a path that leads nowhere")
    for part in parts:
        if isinstance(part, int) and part < 0:
            raise BadTree("a path with an index below 0")


def _check_apart(paths: Iterable[tree.Path]) -> None:
    for clash in checks.overlaps(list(paths)):
        raise BadTree(str(clash))
