"""KeyConditions: which keys a Query reads, from before there was KeyConditionExpression."""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache
from typing import Any, Final

from gramme.errors import ValidationError
from gramme.expressions import tree
from gramme.expressions.key_condition import KeyCondition
from gramme.expressions.parser import CACHE_SIZE
from gramme.model.item import AttributeValue, Values
from gramme.model.table import KeyAttribute
from gramme.router.operations.legacy.comparisons import read_comparison
from gramme.router.operations.legacy.values import GivenValues, is_small
from gramme.router.operations.table_key import INDEX_KEYS_MAX

# What no order of keys can answer.
_UNINDEXABLE: Final = frozenset({"NE", "IN", "NULL", "NOT_NULL", "CONTAINS", "NOT_CONTAINS"})
# A partition key and a sort key; of an index each may have as many parts as it has in a CreateTable.
_CONDITIONS_MAX: Final = 2
_INDEX_CONDITIONS_MAX: Final = 2 * INDEX_KEYS_MAX


class OlderKeyCondition(KeyCondition):
    """`unindexable` are the attributes asked for what no order of keys can answer.

    That is a fault only once the attribute is known to be a key, so it waits for the table.
    """

    __slots__ = ("_unindexable",)

    def __init__(self, test: tree.Test, unindexable: Iterable[str]) -> None:
        super().__init__(test)
        self._unindexable = frozenset(unindexable)
        self._conditions.update(dict.fromkeys(self._unindexable, ("", ())))

    def _operands(
        self, key: KeyAttribute, values: Values, index: str | None
    ) -> tuple[str, tuple[AttributeValue, ...]]:
        if key.name in self._unindexable:
            raise ValidationError("Attempted conditional constraint is not an indexable operation")
        return super()._operands(key, values, index)


def key_conditions(
    conditions: dict[str, Any], *, of_index: bool = False
) -> tuple[KeyCondition, Values]:
    """The key condition that KeyConditions make, and its values."""
    given = GivenValues("KeyConditions", conditions)
    tests = {name: read_comparison(name, each, given) for name, each in conditions.items()}
    if not 1 <= len(tests) <= (_INDEX_CONDITIONS_MAX if of_index else _CONDITIONS_MAX):
        raise ValidationError("Conditions can be of length 1 or 2 only")
    unindexable = tuple(
        name for name, each in conditions.items() if each["ComparisonOperator"] in _UNINDEXABLE
    )
    test = tree.And(tuple(test for name, test in tests.items() if name not in unindexable))
    make = _known if is_small(test) and not unindexable else OlderKeyCondition
    return make(test, unindexable), given.values


@lru_cache(CACHE_SIZE)
def _known(test: tree.Test, unindexable: tuple[str, ...]) -> KeyCondition:
    return OlderKeyCondition(test, unindexable)
