"""Table definitions and partition maps, kept fresh by what meta pushes.

A lookup never leaves the process: meta need not be up for a request to be routed.
"""

from __future__ import annotations

from dataclasses import dataclass

from gramme.errors import ResourceNotFound
from gramme.model.table import Table
from gramme.partitions import PartitionMap


@dataclass(frozen=True, slots=True)
class CatalogEntry:
    """A table, its partitions, and the partitions of each of its indexes by index name."""

    table: Table
    partitions: PartitionMap
    index_partitions: dict[str, PartitionMap]


class Catalog:
    def __init__(self, seed: bytes) -> None:
        self.seed = seed
        self._tables: dict[tuple[str, str], dict[str, CatalogEntry]] = {}

    def find(self, account: str, region: str, name: str) -> CatalogEntry:
        """Raises ResourceNotFound, in the words the data operations use."""
        try:
            return self._tables[account, region][name]
        except KeyError:
            raise ResourceNotFound from None

    def names(self, account: str, region: str) -> list[str]:
        return sorted(self._tables.get((account, region), ()))

    def put(self, entry: CatalogEntry) -> None:
        table = entry.table
        self._tables.setdefault((table.account, table.region), {})[table.name] = entry

    def drop(self, table: Table) -> None:
        self._tables.get((table.account, table.region), {}).pop(table.name, None)
