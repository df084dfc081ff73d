"""A request's names and values, and the expressions it uses them in.

One `Placeholders` is made per request whose expressions are not remembered by whoever calls. A text is parsed once,
compiled with the request's real names, and what depends on its values is left to check. When any check fails the
whole expression is checked again, slowly, to complain as DynamoDB would.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from typing import Final, Generic, TypeVar

from gramme.errors import ValidationError
from gramme.expressions import checks, tree
from gramme.expressions.condition import Condition
from gramme.expressions.key_condition import KeyCondition
from gramme.expressions.parser import (
    Parsed,
    parse_condition,
    parse_projection,
    parse_update,
)
from gramme.expressions.projection import Projection
from gramme.expressions.update import UpdateExpression
from gramme.model.item import Values
from gramme.model.values import LONG_NAME, NAME_SIZE_MAX

# The `#` or `:` included. What is valid is ASCII, so that characters are bytes.
PLACEHOLDER_BYTES_MAX: Final = 255

_NAME = re.compile(r"#[A-Za-z0-9_]+")
_VALUE = re.compile(r":[A-Za-z0-9_]+")

T = TypeVar("T", tree.Test, tree.Update, tree.Paths)
E = TypeVar("E")
Check = Callable[[Parsed[T], tree.Names], Iterator[checks.Check]]


class Bound(Generic[E]):
    """A compiled expression, and what to check of the values it is used with.

    `expression` is None if something is wrong with it whatever the values.
    """

    __slots__ = ("_values", "expression", "rules")

    def __init__(
        self, values: frozenset[str], found: Iterator[checks.Check], make: Callable[[], E]
    ) -> None:
        rules: list[checks.Rule] = []
        is_sound = True
        for check in found:
            if isinstance(check, str):
                # What follows a fixed fault may not even make sense.
                is_sound = False
                break
            if not isinstance(check, checks.Defined):
                rules.append(check)
        self.expression = make() if is_sound else None
        self.rules = tuple(rules)
        self._values = tuple(values)

    def accepts(self, values: Values) -> bool:
        for name in self._values:
            if name not in values:
                return False
        for rule in self.rules:  # noqa: SIM110 -- a generator would cost a frame.
            if rule(values) is not None:
                return False
        return True


class Placeholders:
    """`names` is ExpressionAttributeNames, `values` ExpressionAttributeValues.

    None is a parameter not given. After the last expression, `rules` are what all of them together ask of the values.
    """

    __slots__ = ("_key_condition", "_names", "_used", "_values", "rules")

    def __init__(self, names: Mapping[str, str] | None, values: Values | None) -> None:
        if names is not None:
            _check_names(names)
        if values is not None:
            _check_values(values)
        self._names: Mapping[str, str] = names or {}
        self._values: Values = values or {}
        self._used: list[Parsed[tree.Test] | Parsed[tree.Update] | Parsed[tree.Paths]] = []
        self._key_condition: KeyCondition | None = None
        self.rules: tuple[checks.Rule, ...] = ()

    def condition(self, text: str, parameter: str = "ConditionExpression") -> Condition:
        parsed = parse_condition(text, parameter)
        return self._use(parsed, bind_condition, checks.condition_checks)

    def update(self, text: str) -> UpdateExpression:
        return self._use(parse_update(text), bind_update, checks.update_checks)

    def projection(self, text: str) -> Projection:
        return self._use(parse_projection(text), bind_projection, checks.projection_checks)

    def key_condition(self, text: str) -> KeyCondition:
        parsed = parse_condition(text, "KeyConditionExpression")
        self._key_condition = self._use(parsed, bind_key_condition, checks.condition_checks)
        return self._key_condition

    def finish(self) -> None:
        """Complain of what no expression used. To be called after the last expression."""
        if not self._used:
            self._refuse_without_expressions()
        elif not self._is_all_in_one():
            used = [name for parsed in self._used for name in parsed.names]
            _check_unused("Names", self._names, used)
            used = [name for parsed in self._used for name in parsed.values]
            _check_unused("Values", self._values, used)
        if self._key_condition is not None and self._key_condition.fault is not None:
            raise ValidationError(f"Invalid KeyConditionExpression: {self._key_condition.fault}")

    def _is_all_in_one(self) -> bool:
        """Whether the first expression uses everything.

        What it uses is known to be given, so counting will do.
        """
        first = self._used[0]
        return len(first.names) == len(self._names) and len(first.values) == len(self._values)

    def _use(
        self,
        parsed: Parsed[T],
        bind: Callable[[Parsed[T], tuple[str | None, ...]], Bound[E]],
        check: Check[T],
    ) -> E:
        names = parsed.names
        bound = bind(parsed, tuple(map(self._names.get, names)) if names else ())
        expression = bound.expression
        if expression is None or not bound.accepts(self._values):
            raise self._complaint(parsed, check)
        self._used.append(parsed)
        self.rules += bound.rules
        return expression

    def _complaint(self, parsed: Parsed[T], check: Check[T]) -> ValidationError:
        for each in check(parsed, self._names):
            message = each if isinstance(each, str) else each(self._values)
            if message is not None:
                return ValidationError(f"Invalid {parsed.parameter}: {message}")
        raise AssertionError(f"nothing is wrong with {parsed.tree}")

    def _refuse_without_expressions(self) -> None:
        if self._names:
            raise ValidationError(
                "ExpressionAttributeNames can only be specified when using expressions"
            )
        if self._values:
            raise ValidationError(
                "ExpressionAttributeValues can only be specified when using expressions: "
                "ConditionExpression is null"
            )


def bind_condition(parsed: Parsed[tree.Test], key: tuple[str | None, ...]) -> Bound[Condition]:
    names = dict(zip(parsed.names, key, strict=True))
    found = checks.condition_checks(parsed, names)
    return Bound(parsed.values, found, lambda: Condition(tree.rename_test(parsed.tree, names)))


def bind_key_condition(
    parsed: Parsed[tree.Test], key: tuple[str | None, ...]
) -> Bound[KeyCondition]:
    names = dict(zip(parsed.names, key, strict=True))
    found = checks.condition_checks(parsed, names)
    return Bound(parsed.values, found, lambda: KeyCondition(tree.rename_test(parsed.tree, names)))


def bind_update(
    parsed: Parsed[tree.Update], key: tuple[str | None, ...]
) -> Bound[UpdateExpression]:
    names = dict(zip(parsed.names, key, strict=True))
    found = checks.update_checks(parsed, names)
    return Bound(
        parsed.values, found, lambda: UpdateExpression(tree.rename_update(parsed.tree, names))
    )


def bind_projection(parsed: Parsed[tree.Paths], key: tuple[str | None, ...]) -> Bound[Projection]:
    names = dict(zip(parsed.names, key, strict=True))
    found = checks.projection_checks(parsed, names)
    return Bound(parsed.values, found, lambda: Projection(tree.rename_paths(parsed.tree, names)))


def _check_names(names: Mapping[str, str]) -> None:
    if not names:
        raise ValidationError("ExpressionAttributeNames must not be empty")
    for key, name in names.items():
        _check_placeholder("Names", key, _NAME)
        if not name:
            raise ValidationError(
                "ExpressionAttributeNames contains invalid value: Empty attribute name for key "
                + key
            )
        if len(name.encode()) > NAME_SIZE_MAX:
            raise ValidationError(LONG_NAME)


def _check_values(values: Values) -> None:
    if not values:
        raise ValidationError("ExpressionAttributeValues must not be empty")
    for key in values:
        _check_placeholder("Values", key, _VALUE)


def _check_placeholder(kind: str, key: str, pattern: re.Pattern[str]) -> None:
    if len(key) > PLACEHOLDER_BYTES_MAX:
        raise ValidationError(
            f"ExpressionAttribute{kind} contains invalid key: "
            f'Key is longer than {PLACEHOLDER_BYTES_MAX} bytes; key: "{key}"'
        )
    if not pattern.fullmatch(key):
        raise ValidationError(
            f'ExpressionAttribute{kind} contains invalid key: Syntax error; key: "{key}"'
        )


def _check_unused(kind: str, given: Mapping[str, object], used: list[str]) -> None:
    unused = given.keys() - used
    if unused:
        keys = ", ".join(key for key in given if key in unused)
        raise ValidationError(
            f"Value provided in ExpressionAttribute{kind} unused in expressions: keys: {{{keys}}}"
        )
