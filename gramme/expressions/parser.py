"""Text to tree, for all five kinds of expression, and every complaint that needs the text alone.

The parser is written by hand and never calls itself for a parenthesis: a condition keeps its open
groups on a list, so that thousands of them cannot exhaust the stack. Only function calls nest by
recursion, up to a bound.

DynamoDB reports a syntax error first, wherever it is, and only then the other faults, in an order
of its own: so faults are noted while parsing and the first in that order is raised at the end.
What depends on a request's names and values is checked elsewhere.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Generic, Literal, TypeVar, cast

from gramme.errors import ValidationError
from gramme.expressions import tree
from gramme.expressions.lexer import Cursor
from gramme.expressions.reserved import RESERVED

EXPRESSION_BYTES_MAX = 4096
OPERATORS_MAX = 300
IN_OPERANDS_MAX = 100
PATH_LEVELS_MAX = 32
LIST_INDEX_MAX = 2**31 - 1

# How deep function calls may nest. Nothing valid in a condition is deeper than two; an update can
# hold some two hundred nested if_not_exists in its 4096 bytes. Each level costs two frames of
# Python's thousand.
CALL_DEPTH_MAX = 230

# Parentheses around parentheses are refused anyway: this bounds only how long we look at them.
VALUE_DEPTH_MAX = 60

# Texts kept. An application has tens of expressions. Hostile ones can make each cost a hundred kilobytes.
CACHE_SIZE = 256

CONDITION_FUNCTIONS = {
    "attribute_exists": 1,
    "attribute_not_exists": 1,
    "attribute_type": 2,
    "begins_with": 2,
    "contains": 2,
    "size": 1,
}
UPDATE_FUNCTIONS = {"if_not_exists": 2, "list_append": 2}
NESTABLE = frozenset({"size", "if_not_exists"})
CONDITION_KEYWORDS = frozenset({"AND", "OR", "NOT", "BETWEEN", "IN"})
UPDATE_KEYWORDS = frozenset({"SET", "REMOVE", "ADD", "DELETE"})
COMPARATORS = frozenset({"=", "<>", "<", "<=", ">", ">="})

Fault = Literal["parentheses", "function", "misuse", "reserved", "section", "operators", "path"]
T = TypeVar("T", tree.Test, tree.Update, tree.Paths)


class Parsed(Generic[T]):
    """A tree and the placeholders in it, names in the order they are met. Compared by identity."""

    __slots__ = ("names", "parameter", "tree", "values")

    def __init__(self, parameter: str, root: T) -> None:
        self.parameter = parameter
        self.tree: T = root
        nodes = tree.walk(root)
        parts = [part for node in nodes if isinstance(node, tree.Path) for part in node.parts]
        names = [part for part in parts if isinstance(part, str) and part[0] == "#"]
        self.names: tuple[str, ...] = tuple(dict.fromkeys(names))
        self.values = frozenset(node.name for node in nodes if isinstance(node, tree.Value))


@lru_cache(CACHE_SIZE)
def parse_condition(text: str, parameter: str) -> Parsed[tree.Test]:
    """Parse a ConditionExpression, FilterExpression or KeyConditionExpression."""
    parser = Parser(text, parameter, CONDITION_KEYWORDS, CONDITION_FUNCTIONS)
    test = parser.condition()
    parser.complain(("parentheses", "function", "misuse", "reserved", "operators", "path"))
    return Parsed(parameter, test)


@lru_cache(CACHE_SIZE)
def parse_update(text: str) -> Parsed[tree.Update]:
    parser = Parser(text, "UpdateExpression", UPDATE_KEYWORDS, UPDATE_FUNCTIONS)
    update = parser.update()
    parser.complain(
        ("parentheses", "reserved", "function", "section", "misuse", "operators", "path")
    )
    return Parsed("UpdateExpression", update)


@lru_cache(CACHE_SIZE)
def parse_projection(text: str) -> Parsed[tree.Paths]:
    parser = Parser(text, "ProjectionExpression", frozenset(), {})
    paths = parser.paths()
    parser.complain(("reserved", "path"))
    return Parsed("ProjectionExpression", tree.Paths(tuple(paths)))


class Group:
    """An open parenthesis, or the whole: what OR joins, what AND joins, and NOTs yet to apply."""

    __slots__ = ("all_of", "any_of", "nots")

    def __init__(self) -> None:
        self.any_of: list[tree.Test] = []
        self.all_of: list[tree.Test] = []
        self.nots = 0

    def is_fresh(self) -> bool:
        return not (self.any_of or self.all_of or self.nots)

    def add(self, test: tree.Test) -> None:
        for _ in range(self.nots if self.nots < 2 else 2 - self.nots % 2):
            test = tree.Not(test)
        self.nots = 0
        self.all_of.append(test)

    def end_term(self) -> None:
        parts, self.all_of = self.all_of, []
        self.any_of.append(parts[0] if len(parts) == 1 else tree.And(tuple(parts)))

    def close(self) -> tree.Test:
        self.end_term()
        return self.any_of[0] if len(self.any_of) == 1 else tree.Or(tuple(self.any_of))


class Parser(Cursor):
    def __init__(
        self, text: str, parameter: str, keywords: frozenset[str], functions: dict[str, int]
    ) -> None:
        size = len(text.encode())
        if size > EXPRESSION_BYTES_MAX:
            raise ValidationError(
                f"Invalid {parameter}: Expression size has exceeded the maximum allowed size; "
                f"expression size: {size}"
            )
        super().__init__(text, parameter)
        if self.token.kind == "end":
            raise self.error("The expression can not be empty;")
        self.keywords = keywords
        self.functions = functions
        self.faults: dict[Fault, str] = {}
        self.operators = 0

    def note(self, fault: Fault, message: str) -> None:
        self.faults.setdefault(fault, message)

    def complain(self, order: Sequence[Fault]) -> None:
        """Raise the fault that comes first in `order`, if there is any."""
        if self.operators > OPERATORS_MAX:
            # DynamoDB counts no further than the first that is too many.
            text = "The expression contains too many operators; operator count: "
            self.note("operators", f"{text}{OPERATORS_MAX + 1}")
        for fault in order:
            if fault in self.faults:
                raise self.error(self.faults[fault])

    def note_parentheses(self) -> None:
        self.note("parentheses", "The expression has redundant parentheses;")

    def note_misuse(self, function: str) -> None:
        text = "The function is not allowed to be used this way in an expression; function: "
        self.note("misuse", text + function)

    def condition(self) -> tree.Test:
        outer: list[Group] = []
        group = Group()
        while True:
            while self.skip_keyword("NOT"):
                group.nots += 1
                self.operators += 1
            if self.skip("("):
                outer.append(group)
                group = Group()
                continue
            term: tree.Term = self.operand()
            in_parentheses = False
            while True:
                if self.at_comparison():
                    term, in_parentheses = self.comparison(term), False
                elif outer and self.at(")"):
                    term, group = self.close(term, group, in_parentheses), outer.pop()
                    in_parentheses = True
                else:
                    break
            group.add(self.as_test(term))
            if self.skip_keyword("AND"):
                self.operators += 1
            elif self.skip_keyword("OR"):
                self.operators += 1
                group.end_term()
            elif self.token.kind == "end" and not outer:
                return group.close()
            else:
                raise self.syntax_error()

    def close(self, term: tree.Term, group: Group, in_parentheses: bool) -> tree.Term:
        """End the group, whose last term is `term`. A group of a lone operand is an operand."""
        if not group.is_fresh():
            group.add(self.as_test(term))
            term = group.close()
        elif in_parentheses:
            self.note_parentheses()
        self.take()
        return term

    def as_test(self, term: tree.Term) -> tree.Test:
        if isinstance(term, tree.Path | tree.Value):
            raise self.syntax_error()
        if isinstance(term, tree.Call) and term.function == "size":
            self.note_misuse("size")
        return term

    def at_comparison(self) -> bool:
        if self.token.kind == "symbol":
            return self.token.text in COMPARATORS
        return self.at_keyword("BETWEEN") or self.at_keyword("IN")

    def comparison(self, left: tree.Term) -> tree.Test:
        """The rest of a comparison whose left side is `left`, up to its last operand."""
        if not isinstance(left, tree.Operand):
            raise self.syntax_error()
        self.operators += 1
        test: tree.Compare | tree.Between | tree.In
        token = self.take()
        if token.kind == "symbol":
            operator = cast(tree.Comparator, token.text)
            test = tree.Compare(operator, left, self.operand())
        elif token.text.upper() == "BETWEEN":
            lower = self.operand()
            if not self.skip_keyword("AND"):
                raise self.syntax_error()
            test = tree.Between(left, lower, self.operand())
        else:
            test = tree.In(left, self.arguments(0))
            if len(test.choices) > IN_OPERANDS_MAX:
                text = "The IN operator is provided with too many operands; number of operands: "
                self.note("operators", f"{text}{len(test.choices)}")
        for operand in tree.operands(test):
            if isinstance(operand, tree.Call) and operand.function != "size":
                self.note_misuse(operand.function)
        return test

    def operand(self, depth: int = 0) -> tree.Operand:
        opened = 0
        while self.skip("("):
            opened += 1
        if opened > 1:
            self.note_parentheses()
        operand = self.bare_operand(depth)
        for _ in range(opened):
            self.expect(")")
        return operand

    def bare_operand(self, depth: int) -> tree.Operand:
        if self.token.kind == ":":
            return tree.Value(self.take().text)
        following = self.following()
        if self.token.kind != "name" or following.kind != "symbol" or following.text != "(":
            return self.path()
        if self.token.text.upper() in self.keywords:
            raise self.syntax_error()
        return self.call(depth)

    def call(self, depth: int) -> tree.Call:
        function = self.take().text
        if depth >= CALL_DEPTH_MAX:
            self.note_misuse(function)
            self.complain(("parentheses", "function", "misuse"))
        self.check_function(function)
        arguments = self.arguments(depth + 1)
        for argument in arguments:
            if isinstance(argument, tree.Call) and argument.function not in NESTABLE:
                self.note_misuse(argument.function)
        return tree.Call(function, arguments)

    def check_function(self, function: str) -> None:
        if function in self.functions:
            return
        if function in UPDATE_FUNCTIONS:
            kind = "a condition"
        elif function in CONDITION_FUNCTIONS:
            kind = "an update"
        else:
            self.note("function", f"Invalid function name; function: {function}")
            return
        text = f"The function is not allowed in {kind} expression; function: {function}"
        self.note("function", text)

    def arguments(self, depth: int) -> tuple[tree.Operand, ...]:
        self.expect("(")
        found = [self.operand(depth)]
        while self.skip(","):
            found.append(self.operand(depth))
        self.expect(")")
        return tuple(found)

    def path(self) -> tree.Path:
        if self.token.text.upper() in self.keywords:
            raise self.syntax_error()
        parts: list[str | int] = [self.name()]
        while True:
            if self.skip("."):
                parts.append(self.name())
            elif self.skip("["):
                parts.append(self.index())
                self.expect("]")
            else:
                break
        if len(parts) > PATH_LEVELS_MAX:
            text = "The document path has too many nesting levels; nesting levels: "
            self.note("path", f"{text}{len(parts)}")
        return tree.Path(tuple(parts))

    def name(self) -> str:
        if self.token.kind not in ("name", "#"):
            raise self.syntax_error()
        name = self.take().text
        if name.upper() in RESERVED:
            self.note("reserved", f"Attribute name is a reserved keyword; reserved keyword: {name}")
        return name

    def index(self) -> int:
        if self.token.kind != "number":
            raise self.syntax_error()
        text = self.take().text
        if len(text) > 10 or int(text) > LIST_INDEX_MAX:
            self.note("path", f"List index is not within the allowable range; index: [{text}]")
            return 0
        return int(text)

    def paths(self) -> list[tree.Path]:
        found = [self.path()]
        while self.skip(","):
            found.append(self.path())
        if self.token.kind != "end":
            raise self.syntax_error()
        return found

    def update(self) -> tree.Update:
        actions: list[tree.Action] = []
        seen: set[str] = set()
        while self.token.kind != "end":
            section = self.token.text.upper()
            if self.token.kind != "name" or section not in UPDATE_KEYWORDS:
                raise self.syntax_error()
            if section in seen:
                text = f'The "{section}" section can only be used once in an update expression;'
                self.note("section", text)
            seen.add(section)
            self.take()
            actions.append(self.action(section))
            while self.skip(","):
                actions.append(self.action(section))
        return tree.Update(tuple(actions))

    def action(self, section: str) -> tree.Action:
        path = self.path()
        if section == "REMOVE":
            return tree.Remove(path)
        if section == "SET":
            self.expect("=")
            return tree.Set(path, self.value(0)[0])
        if self.token.kind != ":":
            raise self.syntax_error()
        value = tree.Value(self.take().text)
        return tree.Add(path, value) if section == "ADD" else tree.Delete(path, value)

    def value(self, depth: int) -> tuple[tree.Operand | tree.Arithmetic, bool]:
        """The right side of a SET, and whether it stands in parentheses."""
        left, in_parentheses = self.value_term(depth)
        if not (self.at("+") or self.at("-")):
            return left, in_parentheses
        if isinstance(left, tree.Arithmetic):
            raise self.syntax_error()
        operator = cast(Literal["+", "-"], self.take().text)
        self.operators += 1
        start = self.position
        right, _ = self.value_term(depth)
        if isinstance(right, tree.Arithmetic):
            raise self.syntax_error(start)
        return tree.Arithmetic(operator, left, right), False

    def value_term(self, depth: int) -> tuple[tree.Operand | tree.Arithmetic, bool]:
        if not self.skip("("):
            return self.bare_operand(0), False
        if depth >= VALUE_DEPTH_MAX:
            self.note_parentheses()
            self.complain(("parentheses",))
        inner, in_parentheses = self.value(depth + 1)
        if in_parentheses:
            self.note_parentheses()
        self.expect(")")
        return inner, True
