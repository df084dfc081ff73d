"""Where the values of the older parameters go, and the trees made of them that are worth keeping.

An expression names its values by placeholders. The older parameters have their values in place, so each is given a
placeholder here. The same parameters with other values then make the same tree, which is compiled once.
"""

from __future__ import annotations

from collections.abc import Callable, Sized
from functools import lru_cache
from typing import Final, TypeVar

from gramme.errors import ValidationError
from gramme.expressions import tree
from gramme.expressions.condition import Condition
from gramme.expressions.parser import CACHE_SIZE
from gramme.expressions.projection import Projection
from gramme.expressions.update import UpdateExpression
from gramme.model.item import AttributeValue, Values
from gramme.model.values import INVALID

T = TypeVar("T", tree.Test, tree.Update, tree.Paths)
E = TypeVar("E")

# How many attributes, or values, one parameter may have. DynamoDB has no such limit in its model; a body of 16 MB
# could hold a million, and would keep the event loop busy for seconds.
MEMBERS_MAX: Final = 10_000
# A tree with more or longer nodes than this is compiled anew each time: requests must not fill the memory.
_NODES_MAX = 128
_NAME_LENGTH_MAX = 255


class GivenValues:
    """Collects the values of one older parameter, which has `members`."""

    __slots__ = ("_parameter", "values")

    def __init__(self, parameter: str, members: Sized) -> None:
        check_count(parameter, len(members))
        self._parameter = parameter
        self.values: Values = {}

    def add(self, value: AttributeValue) -> tree.Value:
        check_count(self._parameter, len(self.values) + 1)
        # Nobody can write a dot in a placeholder of ExpressionAttributeValues, so these never meet.
        name = f":{self._parameter}.{len(self.values)}"
        self.values[name] = value
        return tree.Value(name)


def check_count(parameter: str, count: int) -> None:
    if count > MEMBERS_MAX:
        raise ValidationError(f"{INVALID}{parameter} has more than {MEMBERS_MAX} members")


def compile_condition(test: tree.Test) -> Condition:
    return _compile(test, _known_condition, Condition)


def compile_update(update: tree.Update) -> UpdateExpression:
    return _compile(update, _known_update, UpdateExpression)


def compile_projection(paths: tree.Paths) -> Projection:
    return _compile(paths, _known_projection, Projection)


def is_small(root: tree.AnyNode) -> bool:
    nodes = tree.walk(root)
    return len(nodes) <= _NODES_MAX and all(
        len(str(node.parts[0])) <= _NAME_LENGTH_MAX for node in nodes if isinstance(node, tree.Path)
    )


def _compile(root: T, known: Callable[[T], E], make: Callable[[T], E]) -> E:
    return known(root) if is_small(root) else make(root)


@lru_cache(CACHE_SIZE)
def _known_condition(test: tree.Test) -> Condition:
    return Condition(test)


@lru_cache(CACHE_SIZE)
def _known_update(update: tree.Update) -> UpdateExpression:
    return UpdateExpression(update)


@lru_cache(CACHE_SIZE)
def _known_projection(paths: tree.Paths) -> Projection:
    return Projection(paths)
