"""A condition or filter, ready to use: its tree compiled to closures, once.

Each closure takes the item and the request's values. A comparison with something that is missing,
or of the wrong type, is not an error here but false (`<>` true): what can be refused before an
item is read was refused there.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import assert_never

from gramme.expressions import relations, tree
from gramme.expressions.equality import equal
from gramme.expressions.paths import getter
from gramme.model.item import AttributeValue, Item, Values

Test = Callable[[Item, Values], bool]
Read = Callable[[Item, Values], AttributeValue | None]
Relation = Callable[[AttributeValue, AttributeValue], bool]


class Condition:
    """`attributes` are the top-level attributes it mentions, `nested` tells whether a path goes into one.

    `test` tells whether the condition holds for an item. None is no item, which is as good as an
    empty one. `encoded` is the tree as bytes, once somebody has sent it.
    """

    __slots__ = ("attributes", "encoded", "nested", "test", "tree")

    def __init__(self, test: tree.Test) -> None:
        self.tree = test
        self.encoded: bytes | None = None
        self.attributes = tree.top_level(test)
        self.nested = tree.is_nested(test)
        holds = compile_test(test)
        # A closure in a slot and not a method: one call less each time.
        self.test: Callable[[Item | None, Values], bool] = lambda item, values: holds(
            {} if item is None else item, values
        )


def compile_test(test: tree.Test) -> Test:
    match test:
        case tree.And(parts):
            return _all_of([compile_test(part) for part in parts])
        case tree.Or(parts):
            return _any_of([compile_test(part) for part in parts])
        case tree.Not(part):
            inner = compile_test(part)
            return lambda item, values: not inner(item, values)
        case tree.Compare(operator, left, right):
            return _compare(operator, left, right)
        case tree.Between(operand, lower, upper):
            return _between(read(operand), read(lower), read(upper))
        case tree.In(operand, choices):
            return _in(read(operand), [read(choice) for choice in choices])
        case tree.Call():
            return _call(test)
        case _:
            assert_never(test)


def read(operand: tree.Operand) -> Read:
    """Return a function that finds an operand's value, or None."""
    match operand:
        case tree.Value(name):
            return lambda item, values: values[name]
        case tree.Path(parts):
            get = getter(parts)
            return lambda item, values: get(item)
        case tree.Call(_, (argument,)):
            return _size(read(argument))
        case _:
            raise AssertionError(operand)


def _all_of(parts: list[Test]) -> Test:
    if len(parts) == 2:
        first, second = parts
        return lambda item, values: first(item, values) and second(item, values)

    def test(item: Item, values: Values) -> bool:
        for part in parts:  # noqa: SIM110 -- a generator would cost a frame.
            if not part(item, values):
                return False
        return True

    return test


def _any_of(parts: list[Test]) -> Test:
    def test(item: Item, values: Values) -> bool:
        for part in parts:  # noqa: SIM110 -- a generator would cost a frame.
            if part(item, values):
                return True
        return False

    return test


_RELATIONS: dict[str, Relation] = {
    "=": equal,
    "<": relations.less,
    "<=": relations.not_greater,
    ">": lambda left, right: relations.less(right, left),
    ">=": lambda left, right: relations.not_greater(right, left),
}


def _compare(operator: str, left: tree.Operand, right: tree.Operand) -> Test:
    if operator == "<>":
        same = _compare("=", left, right)
        return lambda item, values: not same(item, values)
    relation = _RELATIONS[operator]
    match left, right:
        case tree.Path((str(attribute),)), tree.Value(name):
            return _compare_attribute(attribute, name, relation)
    read_left, read_right = read(left), read(right)

    def test(item: Item, values: Values) -> bool:
        one = read_left(item, values)
        if one is None:
            return False
        other = read_right(item, values)
        return other is not None and relation(one, other)

    return test


def _compare_attribute(attribute: str, name: str, relation: Relation) -> Test:
    """The comparison nearly everybody writes: `attribute = :value`."""

    def test(item: Item, values: Values) -> bool:
        found = item.get(attribute)
        return found is not None and relation(found, values[name])

    return test


def _between(read_operand: Read, read_lower: Read, read_upper: Read) -> Test:
    not_greater = relations.not_greater

    def test(item: Item, values: Values) -> bool:
        operand = read_operand(item, values)
        lower = read_lower(item, values)
        upper = read_upper(item, values)
        if operand is None or lower is None or upper is None:
            return False
        return not_greater(lower, operand) and not_greater(operand, upper)

    return test


def _in(read_operand: Read, read_choices: list[Read]) -> Test:
    def test(item: Item, values: Values) -> bool:
        operand = read_operand(item, values)
        if operand is None:
            return False
        for read_choice in read_choices:
            choice = read_choice(item, values)
            if choice is not None and equal(operand, choice):
                return True
        return False

    return test


def _call(call: tree.Call) -> Test:
    match call:
        case tree.Call("attribute_exists", (tree.Path(parts),)):
            return _exists(parts)
        case tree.Call("attribute_not_exists", (tree.Path(parts),)):
            return _missing(parts)
        case tree.Call("attribute_type", (operand, tree.Value(name))):
            return _has_type(read(operand), name)
        case tree.Call("begins_with", (left, right)):
            return _relate(read(left), read(right), relations.begins_with)
        case tree.Call("contains", (left, right)):
            return _relate(read(left), read(right), relations.contains)
        case _:
            raise AssertionError(call)


def _exists(parts: tree.Parts) -> Test:
    if len(parts) == 1:
        attribute = parts[0]
        return lambda item, values: attribute in item
    get = getter(parts)
    return lambda item, values: get(item) is not None


def _missing(parts: tree.Parts) -> Test:
    if len(parts) == 1:
        attribute = parts[0]
        return lambda item, values: attribute not in item
    get = getter(parts)
    return lambda item, values: get(item) is None


def _has_type(read_operand: Read, name: str) -> Test:
    def test(item: Item, values: Values) -> bool:
        operand = read_operand(item, values)
        return operand is not None and values[name]["S"] in operand

    return test


def _relate(read_left: Read, read_right: Read, relation: Relation) -> Test:
    def test(item: Item, values: Values) -> bool:
        left, right = read_left(item, values), read_right(item, values)
        return left is not None and right is not None and relation(left, right)

    return test


def _size(read_argument: Read) -> Read:
    size = relations.size

    def measure(item: Item, values: Values) -> AttributeValue | None:
        argument = read_argument(item, values)
        return None if argument is None else size(argument)

    return measure
