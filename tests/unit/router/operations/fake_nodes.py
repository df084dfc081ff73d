"""A storage node in a dictionary: what the operations need of one, without conditions, updates or disks."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

import orjson

from gramme.commands import (
    Administration,
    AlterTable,
    CreateTable,
    Delete,
    Found,
    Get,
    Page,
    Put,
    Query,
    Scan,
    Totals,
    Write,
    Written,
)
from gramme.errors import ResourceInUse, TableChanged, Throttling
from gramme.model.table import Table
from gramme.partitions import (
    TOKEN_BYTES,
    GroupId,
    Partition,
    PartitionMap,
    TableId,
    even_ranges,
)
from gramme.router.catalog import Catalog, CatalogEntry

Row = tuple[bytes, int]


@dataclass
class FakeNodes:
    """Keeps rows by hidden table and key, and what it was last asked, with the partition it was asked of."""

    catalog: Catalog
    rows: dict[int, dict[bytes, Row]] = field(default_factory=dict)
    get_seen: Get | None = None
    write_seen: Write | None = None
    query_seen: Query | None = None
    scans_seen: list[Scan] = field(default_factory=list)
    # Refuses writes of a batch from this one on.
    room: int | None = None
    created: int = 0
    altered: int = 0
    # What others do to a table between its being read and being altered.
    changes: list[Callable[[Table], Table]] = field(default_factory=list)

    async def get(self, partition: Partition, get: Get) -> Found:
        self.get_seen = get
        item, size = self._rows(partition).get(get.key, (None, 0))
        return Found(item, size)

    async def write(self, partition: Partition, write: Write) -> Written:
        self.write_seen = write
        rows = self._rows(partition)
        old, old_size = rows.get(write.key, (None, 0))
        if isinstance(write, Put):
            rows[write.key] = write.item, write.size
            return Written(old if write.return_old else None, old_size, write.size)
        if isinstance(write, Delete):
            rows.pop(write.key, None)
            return Written(old if write.return_old else None, old_size, 0)
        return Written(None, old_size, old_size)

    async def query(self, partition: Partition, query: Query) -> Page:
        self.query_seen = query
        rows = self._rows(partition)
        keys = sorted(key for key in rows if query.lower <= key < query.upper)
        if not query.forward:
            keys.reverse()
        if query.start in keys:
            keys = keys[keys.index(query.start) + 1 :]
        return _page(rows, keys, query)

    async def scan(self, partition: Partition, scan: Scan) -> Page:
        self.scans_seen.append(scan)
        rows = self._rows(partition)
        first, last = scan.first.to_bytes(TOKEN_BYTES), scan.last.to_bytes(TOKEN_BYTES)
        keys = sorted(key for key in rows if first <= key[:TOKEN_BYTES] <= last)
        if scan.start is not None:
            keys = [key for key in keys if key > scan.start]
        return _page(rows, keys, scan)

    async def write_all(
        self, writes: Sequence[tuple[Partition, Put | Delete]]
    ) -> list[Written | Throttling]:
        return [
            await self.write(partition, write)
            if self.room is None or position < self.room
            else Throttling("no room")
            for position, (partition, write) in enumerate(writes)
        ]

    async def administer(self, command: Administration) -> Table:
        if isinstance(command, CreateTable):
            return self.create(command.table, command.partitions)
        if isinstance(command, AlterTable):
            return self.alter(command)
        found = self.catalog.find_described(command.account, command.region, command.name)
        self.catalog.drop(found.table)
        return found.table

    def alter(self, command: AlterTable) -> Table:
        table = command.expected
        entry = self.catalog.find_described(table.account, table.region, table.name)
        if self.changes:
            # Somebody else was quicker.
            self.catalog.put(replace(entry, table=self.changes.pop()(entry.table)))
        entry = self.catalog.find_described(table.account, table.region, table.name)
        if entry.table != table:
            raise TableChanged("changed")
        self.altered += 1
        maps = dict(entry.index_partitions)
        for index in command.table.indexes:
            if index.name not in maps:
                self.created += 1
                maps[index.name] = self._map(self.created * 100, command.partitions)
        self.catalog.put(replace(entry, table=command.table, index_partitions=maps))
        return command.table

    async def totals(self, partitions: Sequence[Partition]) -> Totals:
        rows = [row for table in {found.table for found in partitions} for row in self._all(table)]
        return Totals(len(rows), sum(size for _, size in rows))

    def create(self, table: Table, partitions: int) -> Table:
        if table.name in self.catalog.names(table.account, table.region):
            raise ResourceInUse(f"Table already exists: {table.name}")
        self.created += 1
        number = self.created * 100
        maps = {
            index.name: self._map(number + position, partitions)
            for position, index in enumerate(table.indexes, start=1)
        }
        self.catalog.put(CatalogEntry(table, self._map(number, partitions), maps))
        return table

    def _map(self, number: int, partitions: int) -> PartitionMap:
        return PartitionMap(
            [
                Partition(GroupId(number * 100 + position), TableId(number), start, end, 1)
                for position, (start, end) in enumerate(even_ranges(partitions))
            ]
        )

    def _all(self, table: int) -> list[Row]:
        return list(self.rows.get(table, {}).values())

    def _rows(self, partition: Partition) -> dict[bytes, Row]:
        return self.rows.setdefault(partition.table, {})


def _page(rows: dict[bytes, Row], keys: list[bytes], query: Query | Scan) -> Page:
    page = keys[: query.limit]
    last_key = None
    if len(page) < len(keys) or len(page) == query.limit:
        last = orjson.loads(rows[page[-1]][0])
        last_key = orjson.dumps({name: last[name] for name in query.key_names})
    items = [] if query.count_only else [rows[key][0] for key in page]
    size = sum(rows[key][1] for key in page)
    return Page(items, len(page), len(page), size, last_key, size)
