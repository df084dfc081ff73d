"""Table definitions and partition maps, kept fresh by what meta pushes.

A lookup never leaves the process: meta need not be up for a request to be routed.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from gramme.errors import ResourceNotFound
from gramme.model.keys import SHORT
from gramme.model.table import Table, TableRecord
from gramme.partitions import Partition, PartitionMap, token_hash

# The row a key is stored under, and the partition that keeps it.
Place = tuple[bytes, Partition]
# Takes a Key or an Item, unchecked, and whether it is a Key, which has nothing but the key attributes.
Placer = Callable[[dict[str, Any], bool], Place | None]


def _place_none(_item: dict[str, Any], _is_key: bool) -> None:
    return None


# Entries are compared by identity, so that what follows from one can be remembered for it.
@dataclass(frozen=True, slots=True, eq=False)
class CatalogEntry:
    """A table, its partitions, and the partitions of each of its indexes by index name.

    `place` is the short way to a row, for the usual key; the catalog fills it in.
    """

    table: Table
    partitions: PartitionMap
    index_partitions: dict[str, PartitionMap]
    place: Placer = _place_none


class Catalog:
    def __init__(self, seed: bytes) -> None:
        self.seed = seed
        self._tables: dict[tuple[str, str], dict[str, CatalogEntry]] = {}
        # Tables that can be described but not used yet. Apart, so that whoever uses a table need not ask.
        self._creating: dict[tuple[str, str], dict[str, CatalogEntry]] = {}

    def find(self, account: str, region: str, name: str) -> CatalogEntry:
        """Raises ResourceNotFound, in the words the data operations use."""
        try:
            return self._tables[account, region][name]
        except KeyError:
            raise ResourceNotFound from None

    def place(
        self, namespace: tuple[str, str], name: str, key: dict[str, Any]
    ) -> tuple[CatalogEntry, Place] | None:
        """Where a Key belongs, if table and key are of the usual kind; see `usual_placer`. Never raises.

        `namespace` is an account and a region.
        """
        tables = self._tables.get(namespace)
        entry = None if tables is None else tables.get(name)
        if entry is None:
            return None
        place = entry.place(key, True)
        return None if place is None else (entry, place)

    def names(self, account: str, region: str) -> list[str]:
        namespace = account, region
        return sorted((*self._tables.get(namespace, ()), *self._creating.get(namespace, ())))

    def find_described(self, account: str, region: str, name: str) -> CatalogEntry:
        """A table that may still be in creation. Raises ResourceNotFound, in the words of DescribeTable."""
        namespace = account, region
        for tables in (self._tables, self._creating):
            entry = tables.get(namespace, {}).get(name)
            if entry is not None:
                return entry
        raise ResourceNotFound(f"Requested resource not found: Table: {name} not found")

    def put(self, entry: CatalogEntry) -> None:
        table = entry.table
        namespace = table.account, table.region
        if table.status == "CREATING":
            self._creating.setdefault(namespace, {})[table.name] = entry
            return
        self._creating.get(namespace, {}).pop(table.name, None)
        entry = replace(entry, place=usual_placer(self.seed, table, entry.partitions))
        self._tables.setdefault(namespace, {})[table.name] = entry

    def drop(self, table: Table) -> None:
        for tables in (self._tables, self._creating):
            tables.get((table.account, table.region), {}).pop(table.name, None)


def entry_of(record: TableRecord) -> CatalogEntry:
    indexes = {name: PartitionMap(kept) for name, kept in record.index_partitions.items()}
    return CatalogEntry(record.table, PartitionMap(record.partitions), indexes)


def usual_placer(seed: bytes, table: Table, partitions: PartitionMap) -> Placer:
    """The function that places the usual key of a table: short strings without a zero byte.

    Such a key needs no normal form, no check beside those made here, and no escapes. The function answers None to
    anything else, mistakes included, and leaves it to `gramme.model` and `gramme.codec.key` to find out what it is.
    """
    hash_key, range_key = table.hash, table.range
    if hash_key.type != "S" or (range_key is not None and range_key.type != "S"):
        return _place_none
    hash_name = hash_key.name
    range_name = None if range_key is None else range_key.name
    attributes = 1 if range_key is None else 2
    fresh_hash = token_hash(seed).copy
    find = partitions.find
    # The last partition key, what its rows begin with, and where they are: the items of a batch often share one.
    last_text, last_prefix, partition = "", b"", partitions.partitions[0]

    def place(item: dict[str, Any], is_key: bool) -> Place | None:
        nonlocal last_text, last_prefix, partition
        if is_key and len(item) != attributes:
            return None
        value = item.get(hash_name)
        if type(value) is not dict or len(value) != 1:
            return None
        text = value.get("S")
        if text != last_text:
            if type(text) is not str or not 0 < len(text) <= SHORT or "\0" in text:
                return None
            component = text.encode() + b"\0\0"
            hashed = fresh_hash()
            hashed.update(component)
            token = hashed.digest()
            last_text, last_prefix, partition = text, token + component, find(token)
        elif not text:
            return None
        if range_name is None:
            return last_prefix, partition
        value = item.get(range_name)
        if type(value) is not dict or len(value) != 1:
            return None
        text = value.get("S")
        if type(text) is not str or not 0 < len(text) <= SHORT or "\0" in text:
            return None
        return last_prefix + text.encode() + b"\0\0", partition

    return place
