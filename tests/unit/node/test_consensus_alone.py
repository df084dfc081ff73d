"""What one replica of a group does with what its peers say."""

from __future__ import annotations

import asyncio

import pytest

from gramme.commands import Get
from gramme.model.version import Stamp, Version
from gramme.node.apply import item_row
from gramme.node.engine.api import Family, Operation
from gramme.node.engine.keyspace import log_entry_key, table_prefix
from gramme.node.group_log import encode_operations
from gramme.node.raft.messages import Entry, EntryKind
from gramme.node.raft.settings import Settings
from tests.unit.node.fixtures import a_put, key_of, settle
from tests.unit.node.lone import GROUP, Lone, lone


def an_entry(term: int, index: int, id: str = "") -> Entry:
    """An entry that puts an item with this id, if there is one."""
    operations: list[Operation] = []
    if id:
        put = a_put(id)
        key, version = table_prefix(GROUP) + put.key, Version(index, 0)
        operations.append(item_row(key, put.item, put.size, version, Stamp(index, 0)))
    return Entry(term, index, EntryKind.NORMAL, encode_operations(operations))


def indexes(made: Lone) -> list[int]:
    rows = made.engine.scan(Family.RAFT, log_entry_key(GROUP, 0), log_entry_key(GROUP, 1 << 32))
    return [int.from_bytes(key[-8:]) for key, _ in rows]


async def test_entries_are_applied_in_order_though_reads_are_confirmed_meanwhile(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    # One write makes an entry, and one entry is all that is applied at once.
    monkeypatch.setattr("gramme.node.proposals.ENTRY_BYTES_MAX", 1)
    async with lone(settings=Settings(committed_bytes_max=1)) as made:
        await made.lead()
        replica = made.replica
        writes = [asyncio.ensure_future(replica.write(a_put("a", n=n))) for n in "123"]
        reads = []
        for _ in range(3):
            reads.append(asyncio.ensure_future(replica.get(Get(key_of("a"), consistent=True))))
            await settle()

        made.receive(made.acknowledgement(), made.heartbeat())
        await settle()

        assert made.consensus.raft.applied_index == made.consensus.raft.log.last_index
        assert all(write.done() for write in writes)
        assert (await replica.get(Get(key_of("a")))).item == a_put("a", n="3").item
        made.receive(made.heartbeat())
        await asyncio.gather(*reads)
