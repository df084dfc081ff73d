"""Indexes added to and removed from a table of a running node, and what must be on disk then."""

from __future__ import annotations

import orjson
from msgspec.structs import replace

from gramme.codec.item import body_of, version_of
from gramme.codec.json import decode_item
from gramme.codec.key import encode_component
from gramme.commands import AlterTable, Delete, Put
from gramme.model.item import Item
from gramme.model.table import Index, KeyAttribute, Table, TableRecord
from gramme.model.version import Version
from gramme.node.engine.api import Engine, Family
from gramme.node.engine.keyspace import (
    backfill_key,
    cursor_key,
    decode_settings,
    group_range,
    log_range,
    settings_key,
    table_prefix,
    token_bound,
)
from gramme.node.tail.indexes import index_key
from gramme.node.views import project
from gramme.partitions import TOKEN_BYTES, TOKEN_SPACE, Partition, PartitionMap, token_bytes
from tests.unit.node.fixtures import an_item
from tests.unit.node.running import SEED, Running, until

BY_COLOUR = Index(0, "by-colour", (KeyAttribute("colour", "S"),), (), "KEYS_ONLY")
BY_SIZE = Index(0, "by-size", (KeyAttribute("size", "S"),), (), "ALL")

View = dict[bytes, tuple[Item, Version]]


def key_of(id: str) -> bytes:
    component = encode_component("S", {"S": id})
    return token_bytes(SEED, component) + component


def partition_of(made: Running, id: str) -> Partition:
    return PartitionMap(made.record.partitions).find(key_of(id)[:TOKEN_BYTES])


async def put(made: Running, id: str, **attributes: str) -> None:
    await put_item(made, an_item(id, **attributes))


async def put_item(made: Running, item: Item) -> None:
    id, body = item["id"]["S"], orjson.dumps(item)
    await made.node.write(partition_of(made, id), Put(key_of(id), body, len(body)))


async def delete(made: Running, id: str) -> None:
    await made.node.write(partition_of(made, id), Delete(key_of(id)))


async def add(made: Running, index: Index = BY_COLOUR, lasts_ms: int = 0) -> None:
    table = made.record.table
    settles_at_ms = made.clock.now_ms() + lasts_ms if lasts_ms else 0
    added = replace(index, phase="ALLOCATING", settles_at_ms=settles_at_ms, phase_lasts_ms=lasts_ms)
    after = replace(table, indexes=(*table.indexes, added))
    await made.node.administer(AlterTable(table, after, len(made.record.partitions)))


async def remove(made: Running, name: str, lasts_ms: int = 0) -> None:
    table = made.record.table
    settles_at_ms = made.clock.now_ms() + lasts_ms if lasts_ms else 0
    doomed = replace(index_of(table, name), phase="DELETING", settles_at_ms=settles_at_ms)
    await made.node.administer(AlterTable(table, table.with_index(doomed)))


def index_of(table: Table, name: str) -> Index:
    index = table.index(name)
    assert index is not None
    return index


async def settled(made: Running) -> None:
    await until(lambda: made.record.table.unsettled_index is None, "the index is settled")


async def equal(made: Running, name: str) -> None:
    """Wait until an index equals the projection of its base."""
    index = index_of(made.record.table, name)

    def is_equal() -> bool:
        actual = {key: item for key, (item, _) in view(made.engine, index.id).items()}
        return actual == expected(made.engine, made.record.table, index)

    await until(is_equal, f"{name} equals its base")


def view(engine: Engine, table_id: int) -> View:
    rows = engine.scan(Family.ITEM, token_bound(table_id, 0), token_bound(table_id, TOKEN_SPACE))
    prefix = len(table_prefix(table_id))
    return {
        key[prefix:]: (decode_item(body_of(stored)), version_of(stored)) for key, stored in rows
    }


def expected(engine: Engine, table: Table, index: Index) -> dict[bytes, Item]:
    found = {}
    for key, (item, _) in view(engine, table.id).items():
        row_key = index_key(index, SEED, item, key[TOKEN_BYTES:])
        if row_key is not None:
            found[row_key] = project(table, index, item)
    return found


def ids(engine: Engine, table_id: int) -> set[str]:
    return {item["id"]["S"] for item, _ in view(engine, table_id).values()}


def changes(engine: Engine, record: TableRecord) -> int:
    """How many changes the partitions of a table keep."""
    return sum(
        len(list(engine.scan(Family.CHANGE, *log_range(partition.group))))
        for partition in record.partitions
    )


def traces(engine: Engine, record: TableRecord, index: Index) -> list[str]:
    """What there still is of an index that `record` has, and that should be gone."""
    found = []
    lower, upper = token_bound(index.id, 0), token_bound(index.id, TOKEN_SPACE)
    for family in (Family.ITEM, Family.DEDUPE):
        if list(engine.scan(family, lower, upper)):
            found.append(f"rows in {family.name}")
    for partition in record.index_partitions[index.name]:
        if list(engine.scan(Family.RAFT, *group_range(partition.group))):
            found.append(f"group {partition.group}")
    for group in (partition.group for partition in record.partitions):
        raw = engine.get(Family.RAFT, settings_key(group))
        assert raw is not None
        if any(known.id == index.id for known in decode_settings(raw).table.indexes):
            found.append(f"settings of group {group}")
        if engine.get(Family.RAFT, cursor_key(group, index.id)) is not None:
            found.append(f"cursor in group {group}")
        if engine.get(Family.RAFT, backfill_key(group, index.id)) is not None:
            found.append(f"progress in group {group}")
    return found
