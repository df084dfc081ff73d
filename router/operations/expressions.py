"""The expressions of a request, parsed with the names and values that the request gives them."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Any, Generic, TypeVar

import msgspec

from gramme.errors import ValidationError
from gramme.expressions import tree
from gramme.expressions.checks import Rule
from gramme.expressions.condition import Condition
from gramme.expressions.parser import CACHE_SIZE
from gramme.expressions.placeholders import Placeholders
from gramme.expressions.projection import Projection
from gramme.expressions.update import UpdateExpression
from gramme.model.item import Values
from gramme.model.table import Table
from gramme.model.values import normalise_values
from gramme.router.operations.legacy.expected import expected_condition

Expression = Condition | Projection | UpdateExpression

_NOT_SCALAR = (
    "Key attributes must be scalars; list random access '[]' and map lookup '.' are not allowed"
)


E = TypeVar("E")

# A request with more or longer names than this is read anew each time.
_NAMES_MAX = 32
_NAME_LENGTH_MAX = 255


class Known(msgspec.Struct, Generic[E], frozen=True):
    """Expressions found good, and what they ask of values: their names, None if there are none, and the rules."""

    expressions: E
    value_names: frozenset[str] | None
    rules: tuple[Rule, ...]

    def accepts(self, values: Values) -> bool:
        for rule in self.rules:  # noqa: SIM110 (a generator would cost more)
            if rule(values) is not None:
                return False
        return True


class ExpressionReader(Generic[E]):
    """Reads all the expressions of one operation's requests.

    The usual request has the texts and names of an earlier one and differs in its values. It costs a look-up, and the
    checks of its values; everything else, whatever is wrong included, is read by `read`. `parameters` are the request's
    members that `read` looks at; without `has_values` the operation has no ExpressionAttributeValues, and ignores them.
    """

    __slots__ = ("_has_values", "_known", "_parameters", "_read")

    def __init__(
        self,
        parameters: tuple[str, ...],
        read: Callable[[Placeholders, dict[str, Any]], E],
        *,
        has_values: bool = True,
    ) -> None:
        self._parameters = parameters
        self._read = read
        self._has_values = has_values
        self._known: dict[tuple[object, ...], Known[E]] = {}

    def read(self, body: dict[str, Any]) -> E:
        names = body.get("ExpressionAttributeNames")
        values = body.get("ExpressionAttributeValues") if self._has_values else None
        texts = tuple(map(body.get, self._parameters))
        key = texts if names is None else (texts, *names.items())
        known = self._known.get(key)
        if known is not None:
            if values is None:
                if known.value_names is None:
                    return known.expressions
            elif values.keys() == known.value_names:
                normalise_values(values)
                if known.accepts(values):
                    return known.expressions
        return self._read_anew(body, key, names, values)

    def _read_anew(
        self,
        body: dict[str, Any],
        key: tuple[object, ...],
        names: dict[str, str] | None,
        values: Values | None,
    ) -> E:
        # Names and values are checked before any expression is read.
        placeholders = Placeholders(names, values)
        if values is not None:
            normalise_values(values)
        expressions = self._read(placeholders, body)
        placeholders.finish()
        if names is None or _are_few(names):
            if len(self._known) >= CACHE_SIZE:
                self._known.clear()
            value_names = None if values is None else frozenset(values)
            self._known[key] = Known(expressions, value_names, placeholders.rules)
        return expressions


def _are_few(names: dict[str, str]) -> bool:
    return len(names) <= _NAMES_MAX and all(
        len(name) <= _NAME_LENGTH_MAX for name in names.values()
    )


def _read_condition(placeholders: Placeholders, body: dict[str, Any]) -> Condition:
    return placeholders.condition(body["ConditionExpression"], "ConditionExpression")


_CONDITIONS = ExpressionReader(("ConditionExpression",), _read_condition)


def read_condition(body: dict[str, Any]) -> tuple[Condition | None, Values]:
    """The condition of a request that has no other expression, and its values."""
    if body.get("ConditionExpression") is None:
        return expected_condition(body)
    return _CONDITIONS.read(body), body.get("ExpressionAttributeValues") or {}


def check_scalar_keys(table: Table, expression: Expression | None) -> None:
    """Keys have no insides, so no path may go into one."""
    if expression is None or not expression.nested:
        return
    entered = _entered(expression)
    if not entered:
        return
    for attribute in table.keys:
        if attribute.name in entered:
            raise ValidationError(f"{_NOT_SCALAR}: Key: {attribute.name}")
    for index in table.all_indexes:
        for attribute in index.keys:
            if attribute.name in entered:
                raise ValidationError(f"{_NOT_SCALAR}: IndexKey: {attribute.name}")


# Expressions are themselves cached, so a text that is used again finds its answer here by identity.
@lru_cache(CACHE_SIZE)
def _entered(expression: Expression) -> frozenset[str]:
    """The attributes that a path of the expression goes into."""
    return frozenset(
        str(node.parts[0])
        for node in tree.walk(expression.tree)
        if isinstance(node, tree.Path) and len(node.parts) > 1
    )
