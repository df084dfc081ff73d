"""Global secondary indexes: what a change of an item means for an index, and how it gets there.

An index is a hidden table. Its row for an item is keyed by the index's own key followed by the item's, so two items with
equal index keys have two rows. A change sends at most a delete of the old row and an upsert of the new one, each with
the item's version.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Iterable
from typing import Any

from gramme.capacity import item_size
from gramme.codec.item import body_of, version_of
from gramme.codec.json import decode_item, encode_item
from gramme.codec.key import encode_attributes
from gramme.commands import IndexRow, IndexWrite
from gramme.model.change import Change
from gramme.model.item import Item
from gramme.model.table import Index, Table
from gramme.model.version import Version
from gramme.node.replica import Replica
from gramme.node.views import has_key, project
from gramme.partitions import TOKEN_BYTES, PartitionMap, token_bytes

# Delivers to the group that keeps the rows; returns when it has made them durable.
Send = Callable[[int, IndexWrite], Coroutine[Any, Any, None]]


class IndexReader:
    """Feeds one index from one group's changes, and from its items while the index is `filling`.

    Filling may send versions older than any change, so until it ends no watermark goes out and no tombstone goes.
    """

    def __init__(
        self,
        replica: Replica,
        index: Index,
        partitions: PartitionMap,
        seed: bytes,
        send: Send,
        *,
        filling: bool = False,
        has_sent: bool = True,
    ) -> None:
        """`has_sent` tells that this group may have fed the index before, and so have left tombstones there."""
        self.id = index.id
        self._replica = replica
        self._index = index
        self._partitions = partitions
        self._seed = seed
        self._send = send
        self._filling = filling
        self._passed = self._watermark = Version(0, 0)
        # Targets that may have been sent deletes since they last heard how far we have come.
        self._keeping_tombstones: set[int] = set()
        if has_sent:
            self._keeping_tombstones.update(part.group for part in partitions.partitions)

    async def deliver(self, changes: list[Change]) -> None:
        table = self._replica.settings.table
        await self.send(
            row for change in changes for row in index_rows(table, self._index, self._seed, change)
        )

    async def send(self, rows: Iterable[IndexRow]) -> None:
        """Returns when the rows are durable where they belong."""
        batches: dict[int, list[IndexRow]] = {}
        for row in rows:
            group = self._partitions.find(row.key[:TOKEN_BYTES]).group
            batches.setdefault(group, []).append(row)
            if row.body is None:
                self._keeping_tombstones.add(group)
        await self._send_all(batches)

    async def passed(self, position: Version) -> None:
        self._passed = position
        if self._filling:
            return
        self._watermark = position
        groups, self._keeping_tombstones = self._keeping_tombstones, set()
        await self._send_all({group: [] for group in groups})

    async def filled(self) -> None:
        """Told that no item will be sent again but for a change of it, even after a crash."""
        self._filling = False
        await self.passed(self._passed)

    def row_of(self, key: bytes, stored: bytes) -> IndexRow | None:
        """What the index has of an item, with the item's own version; None if it has nothing of it."""
        body = body_of(stored)
        item = decode_item(body)
        row_key = index_key(self._index, self._seed, item, key[TOKEN_BYTES:])
        if row_key is None:
            return None
        view = project(self._replica.settings.table, self._index, item)
        return _upsert(row_key, view, item, body, version_of(stored))

    async def _send_all(self, batches: dict[int, list[IndexRow]]) -> None:
        state = self._replica.state
        source = self._replica.settings.group
        writes = [
            (group, IndexWrite(source, state.epoch, state.term, rows, self._watermark))
            for group, rows in batches.items()
        ]
        if len(writes) == 1:
            await self._send(*writes[0])
        elif writes:
            async with asyncio.TaskGroup() as tasks:
                for group, write in writes:
                    tasks.create_task(self._send(group, write))


def index_rows(table: Table, index: Index, seed: bytes, change: Change) -> list[IndexRow]:
    """What `change` does to `index`."""
    old = None if change.old is None else decode_item(change.old)
    new = None if change.new is None else decode_item(change.new)
    base_key = change.key[TOKEN_BYTES:]
    old_key = None if old is None else index_key(index, seed, old, base_key)
    new_key = None if new is None else index_key(index, seed, new, base_key)
    rows = []
    if old_key is not None and old_key != new_key:
        rows.append(IndexRow(old_key, None, 0, change.version))
    if new is not None and change.new is not None and new_key is not None:
        view = project(table, index, new)
        if old is None or old_key != new_key or project(table, index, old) != view:
            rows.append(_upsert(new_key, view, new, change.new, change.version))
    return rows


def _upsert(row_key: bytes, view: Item, item: Item, body: bytes, version: Version) -> IndexRow:
    """A row that shows `view` of an item. All of an item is kept in the item's own bytes, `body`."""
    return IndexRow(row_key, body if view is item else encode_item(view), item_size(view), version)


def index_key(index: Index, seed: bytes, item: Item, base_key: bytes) -> bytes | None:
    """The key of the item's row in the index; None if the item is not indexed."""
    if not has_key(index, item):
        return None
    hashed = encode_attributes(index.hash, item)
    return token_bytes(seed, hashed) + hashed + encode_attributes(index.range, item) + base_key
