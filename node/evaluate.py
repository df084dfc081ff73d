"""Pure: whether a write is allowed, and what it produces.

From a table, the item as stored and a command comes an `Outcome`: the answer, and the item's new body if anything
changes. Nothing here knows where the current item came from or where the new one goes.
"""

from __future__ import annotations

import msgspec

from gramme.capacity import item_size
from gramme.codec.item import body_of, size_of
from gramme.codec.json import decode_item, encode_item
from gramme.commands import Delete, Put, Update, Write, Written
from gramme.errors import ConditionalCheckFailed, ValidationError
from gramme.expressions.condition import Condition
from gramme.expressions.equality import same_item
from gramme.model.item import Item, Values
from gramme.model.keys import check_index_keys
from gramme.model.table import Table
from gramme.model.values import ITEM_SIZE_MAX


class Outcome(msgspec.Struct, frozen=True, gc=False):
    """`effective` is False where the write leaves everything as it was; `new` is None for a delete."""

    effective: bool
    new: bytes | None
    size: int
    written: Written


def evaluate(table: Table, current: bytes | None, write: Write, *, watched: bool) -> Outcome:
    """Return what `write` does to `current`, a stored item.

    `watched` says that somebody reads the changes: only then is it worth finding out that a write of an equal item
    changes nothing. Raises ConditionalCheckFailed, and ValidationError for an update that does not fit the item.
    """
    if type(write) is Put:
        return evaluate_put(current, write, watched=watched)
    if type(write) is Update:
        return evaluate_update(table, current, write, watched=watched)
    assert type(write) is Delete
    return evaluate_delete(current, write)


def evaluate_put(current: bytes | None, put: Put, *, watched: bool) -> Outcome:
    if put.condition is not None:
        _check(put.condition, put.values, current, show=put.show_item_on_failure)
    if current is None:
        return Outcome(True, put.item, put.size, Written(None, 0, put.size))
    old = body_of(current)
    old_size = size_of(current)
    effective = not (watched and old_size == put.size and _equal(old, put.item))
    written = Written(old if put.return_old else None, old_size, put.size)
    return Outcome(effective, put.item, put.size, written)


def evaluate_delete(current: bytes | None, delete: Delete) -> Outcome:
    if delete.condition is not None:
        _check(delete.condition, delete.values, current, show=delete.show_item_on_failure)
    if current is None:
        return Outcome(False, None, 0, Written(None, 0, 0))
    old = body_of(current) if delete.return_old else None
    return Outcome(True, None, 0, Written(old, size_of(current), 0))


def evaluate_update(
    table: Table, current: bytes | None, update: Update, *, watched: bool
) -> Outcome:
    old = None if current is None else decode_item(body_of(current))
    if update.condition is not None and not update.condition.test(old, update.values):
        raise _failure(current, show=update.show_item_on_failure)
    expression = update.update
    if old is None and expression is not None and not expression.creates:
        # An update that only removes does not bring an item into being, though a bare update does.
        return Outcome(False, None, 0, Written(None, 0, 0))
    before = update.key_item if old is None else old
    after = before if expression is None else expression.apply(before, update.values)
    size = _checked_size(table, before, after)
    old_size = 0 if current is None else size_of(current)
    body = encode_item(after)
    attributes = _returned(update, current, old, after, body)
    changes_nothing = watched and old is not None and old_size == size and same_item(old, after)
    return Outcome(not changes_nothing, body, size, Written(attributes, old_size, size))


def _checked_size(table: Table, before: Item, item: Item) -> int:
    if table.indexes:
        _check_index_keys(table, before, item)
    size = item_size(item)
    if size > ITEM_SIZE_MAX:
        raise ValidationError("Item size to update has exceeded the maximum allowed size")
    return size


def _check_index_keys(table: Table, before: Item, after: Item) -> None:
    try:
        check_index_keys(table, after)
    except ValidationError:
        # An item from before an index was added may have what cannot be a key there. Only a change of that is refused.
        changed = {name: value for name, value in after.items() if before.get(name) != value}
        check_index_keys(table, changed)


def _returned(
    update: Update, current: bytes | None, old: Item | None, after: Item, body: bytes
) -> bytes | None:
    """The Attributes that ReturnValues asks for, as JSON."""
    match update.return_values:
        case "NONE":
            return None
        case "ALL_NEW":
            return body
        case "ALL_OLD":
            return None if current is None else body_of(current)
    if update.update is None:
        return None
    touched = (
        update.update.updated_old
        if update.return_values == "UPDATED_OLD"
        else update.update.updated_new
    )
    attributes = touched(old or {}, after)
    return encode_item(attributes) if attributes else None


def _check(condition: Condition, values: Values, current: bytes | None, *, show: bool) -> None:
    item = None if current is None else decode_item(body_of(current))
    if not condition.test(item, values):
        raise _failure(current, show=show)


def _failure(current: bytes | None, *, show: bool) -> ConditionalCheckFailed:
    return ConditionalCheckFailed(body_of(current) if show and current is not None else None)


def _equal(old: bytes, new: bytes) -> bool:
    return old == new or same_item(decode_item(old), decode_item(new))
