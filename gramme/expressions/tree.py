"""The syntax tree of the expression language. Plain data: it can be compared, hashed and sent to another process.

A tree has two lives. As the parser makes it, a path's parts may be placeholders such as `#a`; as a request binds
it, every part is a real attribute name (which may itself begin with `#`) or a list index. Values stay placeholders
in both: they are looked up when the expression is evaluated.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

import msgspec

Comparator = Literal["=", "<>", "<", "<=", ">", ">="]
Parts = tuple[str | int, ...]


class Node(msgspec.Struct, frozen=True, tag=True):
    pass


class Path(Node, frozen=True):
    """`a.b[1]` is ("a", "b", 1)."""

    parts: Parts

    def __str__(self) -> str:
        """As DynamoDB shows a path in its messages: [a, b, [1]]."""
        shown = (f"[{part}]" if isinstance(part, int) else part for part in self.parts)
        return f"[{', '.join(shown)}]"


class Value(Node, frozen=True):
    """A placeholder for a value, its colon included."""

    name: str


class Call(Node, frozen=True):
    function: str
    arguments: tuple[Operand, ...]


class Arithmetic(Node, frozen=True):
    operator: Literal["+", "-"]
    left: Operand
    right: Operand


class Compare(Node, frozen=True):
    operator: Comparator
    left: Operand
    right: Operand


class Between(Node, frozen=True):
    operand: Operand
    lower: Operand
    upper: Operand


class In(Node, frozen=True):
    operand: Operand
    choices: tuple[Operand, ...]


class Not(Node, frozen=True):
    part: Test


class And(Node, frozen=True):
    parts: tuple[Test, ...]


class Or(Node, frozen=True):
    parts: tuple[Test, ...]


class Set(Node, frozen=True):
    path: Path
    value: Operand | Arithmetic


class Remove(Node, frozen=True):
    path: Path


class Add(Node, frozen=True):
    path: Path
    value: Value


class Delete(Node, frozen=True):
    path: Path
    value: Value


Operand = Path | Value | Call
Test = Compare | Between | In | Not | And | Or | Call
Term = Operand | Test
Action = Set | Remove | Add | Delete


class Update(Node, frozen=True):
    actions: tuple[Action, ...]


class Paths(Node, frozen=True):
    """What a ProjectionExpression says."""

    paths: tuple[Path, ...]


Tree = Test | Update | Paths
AnyNode = Operand | Arithmetic | Test | Action | Update | Paths


def operands(node: Compare | Between | In | Call) -> tuple[Operand, ...]:
    """What a condition without AND, OR and NOT compares or is given."""
    if isinstance(node, Compare):
        return (node.left, node.right)
    if isinstance(node, Between):
        return (node.operand, node.lower, node.upper)
    if isinstance(node, In):
        return (node.operand, *node.choices)
    return node.arguments


def operator(node: Compare | Between | In | Call) -> str:
    """Its name in messages."""
    if isinstance(node, Compare):
        return node.operator
    if isinstance(node, Call):
        return node.function
    return "BETWEEN" if isinstance(node, Between) else "IN"


def leaves(test: Test) -> list[Compare | Between | In | Call]:
    """The conditions that AND, OR and NOT join, from left to right."""
    found: list[Compare | Between | In | Call] = []
    waiting: list[Test] = [test]
    while waiting:
        node = waiting.pop()
        if isinstance(node, And | Or):
            waiting.extend(reversed(node.parts))
        elif isinstance(node, Not):
            waiting.append(node.part)
        else:
            found.append(node)
    return found


def children(node: AnyNode) -> tuple[AnyNode, ...]:
    """The nodes directly below, from left to right."""
    match node:
        case And(parts) | Or(parts):
            return parts
        case Not(part):
            return (part,)
        case Compare() | Between() | In() | Call():
            return operands(node)
        case Arithmetic(_, left, right):
            return (left, right)
        case Set(path, value) | Add(path, value) | Delete(path, value):
            return (path, value)
        case Remove(path):
            return (path,)
        case Update(actions):
            return actions
        case Paths(paths):
            return paths
        case _:
            return ()


def walk(root: AnyNode) -> list[AnyNode]:
    """Every node, each before those below it, from left to right."""
    found: list[AnyNode] = []
    waiting: list[AnyNode] = [root]
    while waiting:
        node = waiting.pop()
        found.append(node)
        waiting.extend(reversed(children(node)))
    return found


def top_level(root: AnyNode) -> frozenset[str]:
    """The attributes of the item itself that the tree mentions."""
    return frozenset(str(node.parts[0]) for node in walk(root) if isinstance(node, Path))


Rename = Callable[[str], str]


def rename_path(path: Path, rename: Rename) -> Path:
    return Path(tuple(rename(part) if isinstance(part, str) else part for part in path.parts))


def rename_operand(node: Operand, rename: Rename) -> Operand:
    if isinstance(node, Path):
        return rename_path(node, rename)
    if isinstance(node, Call):
        return rename_call(node, rename)
    return node


def rename_call(node: Call, rename: Rename) -> Call:
    return Call(node.function, tuple(rename_operand(each, rename) for each in node.arguments))


def rename_value(node: Operand | Arithmetic, rename: Rename) -> Operand | Arithmetic:
    if isinstance(node, Arithmetic):
        left, right = rename_operand(node.left, rename), rename_operand(node.right, rename)
        return Arithmetic(node.operator, left, right)
    return rename_operand(node, rename)


def rename_test(node: Test, rename: Rename) -> Test:
    match node:
        case And(parts):
            return And(tuple([rename_test(part, rename) for part in parts]))
        case Or(parts):
            return Or(tuple([rename_test(part, rename) for part in parts]))
        case Not(part):
            return Not(rename_test(part, rename))
        case Call():
            return rename_call(node, rename)
        case Compare(operator, left, right):
            return Compare(operator, rename_operand(left, rename), rename_operand(right, rename))
        case Between():
            return Between(*(rename_operand(each, rename) for each in operands(node)))
        case In(operand, choices):
            renamed = tuple(rename_operand(each, rename) for each in choices)
            return In(rename_operand(operand, rename), renamed)


def rename_action(node: Action, rename: Rename) -> Action:
    path = rename_path(node.path, rename)
    match node:
        case Set(_, value):
            return Set(path, rename_value(value, rename))
        case Add(_, value):
            return Add(path, value)
        case Delete(_, value):
            return Delete(path, value)
        case Remove():
            return Remove(path)


def rename_update(node: Update, rename: Rename) -> Update:
    return Update(tuple(rename_action(action, rename) for action in node.actions))


def rename_paths(node: Paths, rename: Rename) -> Paths:
    return Paths(tuple(rename_path(path, rename) for path in node.paths))
