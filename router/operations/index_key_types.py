"""What an UpdateItem gives to the keys of indexes, as far as the request alone tells: the type.

DynamoDB looks at this before it reads the item, so that a condition which fails does not hide the mistake. What depends
on the item is checked where the item is.
"""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

from gramme.expressions import tree
from gramme.expressions.parser import CACHE_SIZE
from gramme.expressions.update import UpdateExpression
from gramme.model.item import Values
from gramme.model.keys import wrong_index_key_type
from gramme.model.table import KeyAttribute
from gramme.router.catalog import CatalogEntry


class Given(NamedTuple):
    """That an action sets a key of an index."""

    index_name: str
    attribute: KeyAttribute
    action: tree.Action


def check_index_key_types(entry: CatalogEntry, update: UpdateExpression, values: Values) -> None:
    for given in _given(entry, update):
        type = _type(given.action, values)
        if type is not None and type != given.attribute.type:
            raise wrong_index_key_type(given.index_name, given.attribute, type)


# Most updates of most tables touch no key of an index, and cost this look-up.
@lru_cache(CACHE_SIZE)
def _given(entry: CatalogEntry, update: UpdateExpression) -> tuple[Given, ...]:
    """In the order of the indexes' names: DynamoDB tells of the first. The table's own key cannot be set at all."""
    own = {attribute.name for attribute in entry.table.keys}
    actions = {
        action.path.parts[0]: action
        for action in update.tree.actions
        if len(action.path.parts) == 1 and action.path.parts[0] not in own
    }
    found = [
        Given(index.name, attribute, actions[attribute.name])
        for index in entry.table.all_indexes
        for attribute in index.keys
        if attribute.name in actions
    ]
    return tuple(sorted(found, key=lambda given: given.index_name))


def _type(action: tree.Action, values: Values) -> str | None:
    """The type of what an action leaves, if the item has no say in it."""
    if isinstance(action, tree.Remove | tree.Delete):
        return None
    value = action.value
    if isinstance(value, tree.Value):
        (type,) = values[value.name]
        return type
    if isinstance(value, tree.Arithmetic):
        return "N"
    return "L" if isinstance(value, tree.Call) and value.function == "list_append" else None
