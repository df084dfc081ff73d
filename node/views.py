"""Pure: what an index keeps of an item, and what a write of the item costs there.

An index keeps a view: the keys, its own and the table's, and what it projects. An item that lacks a part of the index's key
has no view. DynamoDB charges an index for a write only if the view changes.
"""

from __future__ import annotations

from gramme.capacity import item_size, write_units
from gramme.codec.json import decode_item
from gramme.commands import IndexUnits
from gramme.expressions.equality import same_item
from gramme.model.item import Item
from gramme.model.keys import HASH_SIZE_MAX, RANGE_SIZE_MAX, can_be_key
from gramme.model.table import Index, LocalIndex, Table


def project(table: Table, index: Index | LocalIndex, item: Item) -> Item:
    """The part of an item that an index keeps, if it keeps it at all."""
    if index.projection == "ALL":
        return item
    names = [key.name for key in (*table.keys, *index.keys)]
    names.extend(index.non_key_attributes)
    return {name: item[name] for name in dict.fromkeys(names) if name in item}


def has_key(index: Index | LocalIndex, item: Item) -> bool:
    """Whether an item has all of the index's key, and so is in the index.

    It may have a part of it that cannot be a key, if it is older than the index.
    """
    hashes = len(index.hash) if isinstance(index, Index) else 0
    for position, attribute in enumerate(index.keys):
        value = item.get(attribute.name)
        size_max = HASH_SIZE_MAX if position < hashes else RANGE_SIZE_MAX
        if value is None or not can_be_key(attribute, value, size_max):
            return False
    return True


def index_units(table: Table, old: bytes | None, new: bytes | None) -> IndexUnits:
    """The write units of each index that a write changes. `old` and `new` are JSON bytes of the item."""
    before = None if old is None else decode_item(old)
    after = None if new is None else decode_item(new)
    in_global = {index.name: _units(table, index, before, after) for index in table.indexes}
    in_local = {index.name: _units(table, index, before, after) for index in table.local_indexes}
    return IndexUnits(_changed(in_global), _changed(in_local))


def _changed(units: dict[str, float]) -> dict[str, float]:
    return {name: used for name, used in units.items() if used}


def _units(table: Table, index: Index | LocalIndex, old: Item | None, new: Item | None) -> float:
    before = _view(table, index, old)
    after = _view(table, index, new)
    if before is None or after is None:
        view = after if before is None else before
        return 0.0 if view is None else write_units(item_size(view))
    if any(before[key.name] != after[key.name] for key in index.keys):
        # The row moves: one is deleted, another is put.
        return write_units(item_size(before)) + write_units(item_size(after))
    if same_item(before, after):
        return 0.0
    return write_units(max(item_size(before), item_size(after)))


def _view(table: Table, index: Index | LocalIndex, item: Item | None) -> Item | None:
    return None if item is None or not has_key(index, item) else project(table, index, item)
