"""From a Key or an Item to the bytes its row is stored under, and the partition that keeps it.

A row of a table is `token | hash | range`. A row of a global index is `token | index hashes | index ranges | hash |
range`: the table's key at its end makes it unique. The token is drawn from the hash components alone, so that a
partition key's rows stand together. Values have been checked against the schema before they come here.
"""

from __future__ import annotations

from gramme.codec.key import encode_component
from gramme.model.item import Item
from gramme.model.keys import check_key
from gramme.partitions import token_bytes
from gramme.router.catalog import CatalogEntry, Place
from gramme.router.operations.context import Caller, Context
from gramme.router.operations.tables import find_table


def locate_key(
    context: Context, caller: Caller, table_name: str, key: Item
) -> tuple[CatalogEntry, Place]:
    """The table, and where in it a Key in normal form belongs. Raises if there is no such table or key.

    This is the long way. Operations try `Catalog.place` first, before they put the Key in its normal form.
    """
    entry = find_table(context, caller, table_name)
    check_key(entry.table, key)
    return entry, locate(context.catalog.seed, entry, key)


def locate(seed: bytes, entry: CatalogEntry, item: Item) -> Place:
    """The key of an item of the table, and the partition that owns it."""
    table = entry.table
    attribute = table.hash
    component = encode_component(attribute.type, item[attribute.name])
    token = token_bytes(seed, component)
    partition = entry.partitions.find(token)
    if table.range is None:
        return token + component, partition
    attribute = table.range
    return token + component + encode_component(attribute.type, item[attribute.name]), partition
