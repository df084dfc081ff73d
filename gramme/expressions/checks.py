"""What is wrong with an expression, or with the names and values it is used with.

All of it is found before any item is read.

A check is either a message, for what is wrong whatever the values, or a function that looks at the
values and gives a message if they are wrong. DynamoDB takes the conditions of a
ConditionExpression one by one, and of each looks at placeholders, operand counts, distinct
operands, then types; of an UpdateExpression it looks at each of these for all actions at once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from gramme.expressions import tree
from gramme.expressions.parser import CONDITION_FUNCTIONS, UPDATE_FUNCTIONS, Parsed
from gramme.expressions.relations import ORDERED, SETS, less
from gramme.model.item import AttributeValue, Values

Rule = Callable[[Values], str | None]


class Defined:
    """The rule that a value is given at all."""

    def __init__(self, name: str) -> None:
        self.name = name

    def __call__(self, values: Values) -> str | None:
        if self.name in values:
            return None
        return (
            "An expression attribute value used in expression is not defined; "
            f"attribute value: {self.name}"
        )


Check = str | Rule

# In the order DynamoDB lists them.
TYPES = ("B", "NULL", "SS", "BOOL", "L", "BS", "N", "NS", "S", "M")

_FULL_NAMES = {
    "S": "STRING",
    "N": "NUMBER",
    "B": "BINARY",
    "SS": "STRING_SET",
    "NS": "NUMBER_SET",
    "BS": "BINARY_SET",
    "BOOL": "BOOLEAN",
    "NULL": "NULL",
    "L": "LIST",
    "M": "MAP",
}
_TEXTS = frozenset({"S", "B"})
_CONTAINERS = frozenset({"S", "B", "SS", "NS", "BS", "L"})
_MEASURED = frozenset({"S", "B", "SS", "NS", "BS", "L", "M"})
_NUMBER = frozenset({"N"})
_LIST = frozenset({"L"})
_ADDED = SETS | _NUMBER


def condition_checks(parsed: Parsed[tree.Test], names: tree.Names) -> Iterator[Check]:
    for leaf in tree.leaves(parsed.tree):
        nodes = tree.walk(leaf)
        yield from _undefined(nodes, names, paths=True, values=True)
        yield from _counts(nodes, CONDITION_FUNCTIONS)
        bound = tree.rename_test(leaf, names)
        assert isinstance(bound, tree.Leaf)
        yield from _distinct(bound)
        yield from _leaf_types(bound)


def update_checks(parsed: Parsed[tree.Update], names: tree.Names) -> Iterator[Check]:
    nodes = tree.walk(parsed.tree)
    yield from _undefined(nodes, names, paths=True)
    yield from _undefined(nodes, names, values=True)
    bound = tree.rename_update(parsed.tree, names)
    yield from overlaps([action.path for action in bound.actions])
    for action in bound.actions:
        if isinstance(action, tree.Add | tree.Delete):
            yield _action_type(action)
    for action in bound.actions:
        if isinstance(action, tree.Set):
            yield from _counts(tree.walk(action), UPDATE_FUNCTIONS)
            yield from _value_types(action.value)


def projection_checks(parsed: Parsed[tree.Paths], names: tree.Names) -> Iterator[Check]:
    yield from _undefined(tree.walk(parsed.tree), names, paths=True)
    bound = tree.rename_paths(parsed.tree, names)
    yield from overlaps(list(bound.paths))


def _undefined(
    nodes: list[tree.AnyNode], names: tree.Names, *, paths: bool = False, values: bool = False
) -> Iterator[Check]:
    for node in nodes:
        if paths and isinstance(node, tree.Path):
            for part in node.parts:
                if isinstance(part, str) and part[0] == "#" and names.get(part) is None:
                    yield (
                        "An expression attribute name used in the document path is not defined; "
                        f"attribute name: {part}"
                    )
        elif values and isinstance(node, tree.Value):
            yield Defined(node.name)


def _counts(nodes: list[tree.AnyNode], functions: dict[str, int]) -> Iterator[Check]:
    for node in nodes:
        if isinstance(node, tree.Call) and len(node.arguments) != functions[node.function]:
            yield (
                "Incorrect number of operands for operator or function; operator or function: "
                f"{node.function}, number of operands: {len(node.arguments)}"
            )


def _distinct(leaf: tree.Leaf) -> Iterator[Check]:
    first, *others = tree.operands(leaf)
    if isinstance(first, tree.Path) and first in others:
        yield (
            "The first operand must be distinct from the remaining operands for this operator or "
            f"function; operator: {tree.operator(leaf)}, first operand: {first}"
        )


class _Branch:
    """Where paths part: the first that came by, the one that ends here, and what lies below."""

    __slots__ = ("below", "end", "first")

    def __init__(self, first: tree.Path) -> None:
        self.first = first
        self.end: tree.Path | None = None
        self.below: dict[str | int, _Branch] = {}


def overlaps(paths: list[tree.Path]) -> Iterator[Check]:
    """Paths that lead through one another; then paths that take one thing for map and for list.

    In one pass over the paths: an update can have hundreds, and tens of thousands of pairs.
    """
    roots: dict[str | int, _Branch] = {}
    conflicts: list[Check] = []
    for path in paths:
        branch = roots.setdefault(path.parts[0], _Branch(path))
        for part in path.parts[1:]:
            other = next(iter(branch.below.items()), None)
            if branch.end is not None:
                yield _clash("overlap", branch.end, path)
            elif other is not None and isinstance(other[0], int) != isinstance(part, int):
                conflicts.append(_clash("conflict", other[1].first, path))
                break
            branch = branch.below.setdefault(part, _Branch(path))
        else:
            if branch.end is not None or branch.below:
                yield _clash("overlap", branch.first, path)
            branch.end = path
    yield from conflicts


def _clash(kind: str, one: tree.Path, other: tree.Path) -> str:
    return (
        f"Two document paths {kind} with each other; must remove or rewrite one of these paths; "
        f"path one: {one}, path two: {other}"
    )


# Types.


def _wrong_type(operator: str, kind: str) -> str:
    return (
        "Incorrect operand type for operator or function; operator or function: "
        f"{operator}, operand type: {kind}"
    )


def _type(operator: str, operand: tree.Operand, allowed: frozenset[str]) -> Iterator[Check]:
    """Refuse an operand known to be of another type: a value, or what a function returns."""
    if isinstance(operand, tree.Value):
        yield _value_type(operator, operand.name, allowed)
    elif isinstance(operand, tree.Call):
        returned = {"size": "N", "list_append": "L"}.get(operand.function)
        if returned is not None and returned not in allowed:
            yield _wrong_type(operator, returned)


def _value_type(operator: str, name: str, allowed: frozenset[str]) -> Rule:
    def check(values: Values) -> str | None:
        (kind,) = values[name]
        return None if kind in allowed else _wrong_type(operator, kind)

    return check


def _leaf_types(leaf: tree.Leaf) -> Iterator[Check]:
    for operand in tree.operands(leaf):
        if isinstance(operand, tree.Call):
            yield from _type(operand.function, operand.arguments[0], _MEASURED)
    match leaf:
        case tree.Compare(operator, left, right):
            if operator not in ("=", "<>"):
                yield from _type(operator, left, ORDERED)
                yield from _type(operator, right, ORDERED)
        case tree.Between(operand, lower, upper):
            for each in (operand, lower, upper):
                yield from _type("BETWEEN", each, ORDERED)
            if isinstance(lower, tree.Value) and isinstance(upper, tree.Value):
                yield _bounds(lower.name, upper.name)
        case tree.Call():
            yield from _call_types(leaf)


def _call_types(call: tree.Call) -> Iterator[Check]:
    first, *rest = call.arguments
    match call.function:
        case "attribute_exists" | "attribute_not_exists":
            if not isinstance(first, tree.Path):
                yield _needs_path(call.function)
        case "attribute_type":
            yield from _attribute_type(rest[0])
        case "begins_with":
            yield from _type("begins_with", first, _TEXTS)
            yield from _type("begins_with", rest[0], _TEXTS)
        case "contains":
            yield from _type("contains", first, _CONTAINERS)


def _needs_path(function: str) -> str:
    return f"Operator or function requires a document path; operator or function: {function}"


def _attribute_type(operand: tree.Operand) -> Iterator[Check]:
    if isinstance(operand, tree.Value):
        yield _value_type("attribute_type", operand.name, frozenset({"S"}))
        yield _type_name(operand.name)
    else:
        kind = "N" if isinstance(operand, tree.Call) else f"{{{','.join(TYPES)}}}"
        yield _wrong_type("attribute_type", kind)


def _type_name(name: str) -> Rule:
    def check(values: Values) -> str | None:
        given = values[name]["S"]
        if given in TYPES:
            return None
        valid = ",".join(TYPES)
        return f"Invalid attribute type name found; type: {given}, valid types: {{{valid}}}"

    return check


def _bounds(lower: str, upper: str) -> Rule:
    def check(values: Values) -> str | None:
        low, high = values[lower], values[upper]
        if low.keys() != high.keys():
            rule = "requires same data type for lower and upper bounds"
        elif less(high, low):
            rule = "requires upper bound to be greater than or equal to lower bound"
        else:
            return None
        return (
            f"The BETWEEN operator {rule}; lower bound operand: AttributeValue: {_shown(low)}, "
            f"upper bound operand: AttributeValue: {_shown(high)}"
        )

    return check


def _shown(value: AttributeValue) -> str:
    ((kind, content),) = value.items()
    return f"{{{kind}:{content}}}"


def _action_type(action: tree.Add | tree.Delete) -> Rule:
    operator, allowed = ("ADD", _ADDED) if isinstance(action, tree.Add) else ("DELETE", SETS)
    name = action.value.name

    def check(values: Values) -> str | None:
        (kind,) = values[name]
        if kind in allowed:
            return None
        return (
            f"Incorrect operand type for operator or function; operator: {operator}, "
            f"operand type: {_FULL_NAMES[kind]}"
        )

    return check


def _value_types(value: tree.Operand | tree.Arithmetic) -> Iterator[Check]:
    if isinstance(value, tree.Arithmetic):
        for operand in (value.left, value.right):
            yield from _value_types(operand)
            yield from _type(value.operator, operand, _NUMBER)
    elif isinstance(value, tree.Call):
        first, *rest = value.arguments
        for operand in value.arguments:
            yield from _value_types(operand)
        if value.function == "if_not_exists":
            if not isinstance(first, tree.Path):
                yield _needs_path("if_not_exists")
        else:
            for operand in (first, *rest):
                yield from _type("list_append", operand, _LIST)
