"""The syntax tree of the expression language.

It is plain data: it can be compared, hashed and sent to another process.

A tree has two lives. As the parser makes it, a path's parts may be placeholders such as `#a`; as a
request binds it, every part is a real attribute name (which may itself begin with `#`) or a list
index. Values stay placeholders in both: they are looked up when the expression is evaluated.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal, cast

import msgspec

Comparator = Literal["=", "<>", "<", "<=", ">", ">="]
Parts = tuple[str | int, ...]


class Node(msgspec.Struct, frozen=True, tag=True, array_like=True):
    def children(self) -> tuple[AnyNode, ...]:
        """The nodes directly below, from left to right."""
        return ()


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

    def children(self) -> tuple[AnyNode, ...]:
        return self.arguments


class Arithmetic(Node, frozen=True):
    operator: Literal["+", "-"]
    left: Operand
    right: Operand

    def children(self) -> tuple[AnyNode, ...]:
        return (self.left, self.right)


class Compare(Node, frozen=True):
    operator: Comparator
    left: Operand
    right: Operand

    def children(self) -> tuple[AnyNode, ...]:
        return (self.left, self.right)


class Between(Node, frozen=True):
    operand: Operand
    lower: Operand
    upper: Operand

    def children(self) -> tuple[AnyNode, ...]:
        return (self.operand, self.lower, self.upper)


class In(Node, frozen=True):
    operand: Operand
    choices: tuple[Operand, ...]

    def children(self) -> tuple[AnyNode, ...]:
        return (self.operand, *self.choices)


class Not(Node, frozen=True):
    part: Test

    def children(self) -> tuple[AnyNode, ...]:
        return (self.part,)


class And(Node, frozen=True):
    parts: tuple[Test, ...]

    def children(self) -> tuple[AnyNode, ...]:
        return self.parts


class Or(Node, frozen=True):
    parts: tuple[Test, ...]

    def children(self) -> tuple[AnyNode, ...]:
        return self.parts


class Set(Node, frozen=True):
    path: Path
    value: Operand | Arithmetic

    def children(self) -> tuple[AnyNode, ...]:
        return (self.path, self.value)


class Remove(Node, frozen=True):
    path: Path

    def children(self) -> tuple[AnyNode, ...]:
        return (self.path,)


class Add(Node, frozen=True):
    path: Path
    value: Value

    def children(self) -> tuple[AnyNode, ...]:
        return (self.path, self.value)


class Delete(Node, frozen=True):
    path: Path
    value: Value

    def children(self) -> tuple[AnyNode, ...]:
        return (self.path, self.value)


Operand = Path | Value | Call
Test = Compare | Between | In | Not | And | Or | Call
Term = Operand | Test
Leaf = Compare | Between | In | Call
Action = Set | Remove | Add | Delete


class Update(Node, frozen=True):
    """`older` tells that it was written as AttributeUpdates, of which DynamoDB complains in other words."""

    actions: tuple[Action, ...]
    older: bool = False

    def children(self) -> tuple[AnyNode, ...]:
        return self.actions


class Paths(Node, frozen=True):
    """What a ProjectionExpression says."""

    paths: tuple[Path, ...]

    def children(self) -> tuple[AnyNode, ...]:
        return self.paths


AnyNode = Operand | Arithmetic | Test | Action | Update | Paths


def operands(node: Leaf) -> tuple[Operand, ...]:
    """What a condition without AND, OR and NOT compares or is given."""
    return cast(tuple[Operand, ...], node.children())


def operator(node: Leaf) -> str:
    """Its name in messages."""
    if isinstance(node, Compare):
        return node.operator
    if isinstance(node, Call):
        return node.function
    return "BETWEEN" if isinstance(node, Between) else "IN"


def leaves(test: Test) -> list[Leaf]:
    """The conditions that AND, OR and NOT join, from left to right."""
    found: list[Leaf] = []
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


def walk(root: AnyNode) -> list[AnyNode]:
    """Every node, each before those below it, from left to right."""
    found: list[AnyNode] = []
    waiting: list[AnyNode] = [root]
    while waiting:
        node = waiting.pop()
        found.append(node)
        waiting.extend(node.children()[::-1])
    return found


def top_level(root: AnyNode) -> frozenset[str]:
    """The attributes of the item itself that the tree mentions."""
    return frozenset(str(node.parts[0]) for node in walk(root) if isinstance(node, Path))


def is_nested(root: AnyNode) -> bool:
    """Whether any path goes into an attribute."""
    return any(isinstance(node, Path) and len(node.parts) > 1 for node in walk(root))


# What placeholders for names stand for.
Names = Mapping[str, str | None]


def rename_path(path: Path, names: Names) -> Path:
    return Path(tuple([_renamed(part, names) for part in path.parts]))


def _renamed(part: str | int, names: Names) -> str | int:
    return part if isinstance(part, int) else names.get(part) or part


def rename_operand(node: Operand, names: Names) -> Operand:
    if isinstance(node, Path):
        return rename_path(node, names)
    if isinstance(node, Call):
        return rename_call(node, names)
    return node


def rename_call(node: Call, names: Names) -> Call:
    return Call(node.function, tuple(rename_operand(each, names) for each in node.arguments))


def rename_value(node: Operand | Arithmetic, names: Names) -> Operand | Arithmetic:
    if isinstance(node, Arithmetic):
        left, right = rename_operand(node.left, names), rename_operand(node.right, names)
        return Arithmetic(node.operator, left, right)
    return rename_operand(node, names)


def rename_test(node: Test, names: Names) -> Test:
    if not names:
        return node
    match node:
        case And(parts):
            return And(tuple([rename_test(part, names) for part in parts]))
        case Or(parts):
            return Or(tuple([rename_test(part, names) for part in parts]))
        case Not(part):
            return Not(rename_test(part, names))
        case Call():
            return rename_call(node, names)
        case Compare(operator, left, right):
            return Compare(operator, rename_operand(left, names), rename_operand(right, names))
        case Between():
            return Between(*(rename_operand(each, names) for each in operands(node)))
        case In(operand, choices):
            renamed = tuple(rename_operand(each, names) for each in choices)
            return In(rename_operand(operand, names), renamed)


def rename_action(node: Action, names: Names) -> Action:
    path = rename_path(node.path, names)
    match node:
        case Set(_, value):
            return Set(path, rename_value(value, names))
        case Add(_, value):
            return Add(path, value)
        case Delete(_, value):
            return Delete(path, value)
        case Remove():
            return Remove(path)


def rename_update(node: Update, names: Names) -> Update:
    if not names:
        return node
    return Update(tuple(rename_action(action, names) for action in node.actions))


def rename_paths(node: Paths, names: Names) -> Paths:
    if not names:
        return node
    return Paths(tuple(rename_path(path, names) for path in node.paths))
