"""A node: batches of writes, and the life of a table, whose end races with work, readers and a stop."""

from __future__ import annotations

import asyncio

import orjson
import pytest
from msgspec.structs import replace

from gramme.capacity import item_size
from gramme.commands import AlterTable, CreateTable, DeleteTable, Put, Totals, Written
from gramme.errors import ResourceNotFound, TableChanged, Throttling, ValidationError
from gramme.model.table import KeyAttribute, LocalIndex
from gramme.node.engine.api import Family
from gramme.node.server import SLICE_BYTES_PROPOSED
from gramme.partitions import TOKEN_BYTES
from tests.unit.node.fixtures import INDEXED, NOW_MS, a_delete, a_get, a_put, settle
from tests.unit.node.running import running

DELETE = DeleteTable(INDEXED.account, INDEXED.region, INDEXED.name)
WITH_LOCAL = replace(
    INDEXED,
    name="with-local",
    range=KeyAttribute("sort", "S"),
    local_indexes=(LocalIndex(0, "local", KeyAttribute("colour", "S"), "KEYS_ONLY"),),
)


async def test_a_table_deleted_while_its_index_is_fed_harms_nothing() -> None:
    async with running() as made:
        for _ in range(20):
            partition = await made.create(partitions=4)
            for n in range(8):
                await made.node.write(partition, a_put(str(n), colour=str(n)))
            await made.node.administer(DELETE)

        assert not made.task.done()


async def test_that_a_table_is_gone_is_said_only_when_it_is_durable() -> None:
    async with running() as made:
        partition = await made.create()
        await made.node.write(partition, a_put("a"))
        await settle(50)
        made.engine.gate.clear()
        deleting = asyncio.ensure_future(made.node.administer(DELETE))
        await settle()
        reading = asyncio.ensure_future(made.node.get(partition, a_get("a")))
        await settle()
        assert not reading.done()
        assert made.dropped == []

        made.engine.gate.set()

        with pytest.raises(ResourceNotFound):
            await reading
        await deleting
        assert made.dropped == [INDEXED.name]


async def test_a_table_created_during_a_stop_does_not_hold_it_up() -> None:
    async with running() as made:
        made.engine.gate.clear()
        creating = asyncio.ensure_future(made.node.administer(CreateTable(INDEXED, 1)))
        await settle()

        made.node.stop()
        made.engine.gate.set()
        await creating
        await made.task

        assert made.records == []


async def test_writes_of_a_batch_share_one_flush() -> None:
    async with running() as made:
        partition = await made.create()
        await settle(50)
        flushes = made.engine.flushes

        answers = await made.node.write_all(
            [(partition, a_put(str(number))) for number in range(24)] + [(partition, a_delete("x"))]
        )

        assert made.engine.flushes == flushes + 1
        assert all(isinstance(answer, Written) for answer in answers)
        assert (await made.node.get(partition, a_get("23"))).item is not None


async def test_a_batch_is_answered_when_it_is_durable() -> None:
    async with running() as made:
        partition = await made.create()
        made.engine.gate.clear()
        batch = asyncio.ensure_future(
            made.node.write_all([(partition, a_put("a")), (partition, a_put("b"))])
        )
        await settle()
        assert not batch.done()

        made.engine.gate.set()

        assert len(await batch) == 2


async def test_a_large_batch_lets_others_run() -> None:
    async with running() as made:
        partition = await made.create()
        await settle(50)
        large = a_put("a", text="x" * SLICE_BYTES_PROPOSED)
        made.engine.gate.clear()
        batch = asyncio.ensure_future(
            made.node.write_all([(partition, large), (partition, a_put("b"))])
        )
        deleting = asyncio.ensure_future(made.node.administer(DELETE))
        await settle()

        # The delete came between the two writes.
        made.engine.gate.set()

        with pytest.raises(ResourceNotFound):
            await batch
        await deleting


async def test_a_batch_tells_which_writes_there_was_no_room_for(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("gramme.node.commit.PROPOSED_BYTES_MAX", 100)
    monkeypatch.setattr("gramme.node.server.SLICE_BYTES_PROPOSED", 100)
    async with running() as made:
        partition = await made.create()
        await settle(50)

        made.engine.gate.clear()
        batch = asyncio.ensure_future(
            made.node.write_all(
                [(partition, a_put(name, text="x" * 100)) for name in ("a", "b", "c")]
            )
        )
        await settle()
        made.engine.gate.set()
        answers = await batch

        assert [isinstance(answer, Throttling) for answer in answers] == [False, True, True]
        assert (await made.node.get(partition, a_get("a"))).item is not None
        assert (await made.node.get(partition, a_get("b"))).item is None


async def test_a_table_is_altered_only_from_what_it_is() -> None:
    async with running() as made:
        await made.create()
        table = made.records[-1].table
        protected = replace(table, deletion_protection=True)

        await made.node.administer(AlterTable(table, protected))

        assert made.records[-1].table == protected
        with pytest.raises(TableChanged):
            await made.node.administer(AlterTable(table, replace(table, echo={"Tags": []})))
        assert made.records[-1].table == protected


async def test_what_a_group_works_by_is_never_altered_from_outside() -> None:
    async with running() as made:
        await made.create()
        table = made.records[-1].table

        with pytest.raises(AssertionError):
            await made.node.administer(AlterTable(table, replace(table, indexes=())))


async def test_a_protected_table_is_not_deleted() -> None:
    async with running() as made:
        partition = await made.create()
        table = made.records[-1].table
        await made.node.administer(AlterTable(table, replace(table, deletion_protection=True)))

        with pytest.raises(ValidationError):
            await made.node.administer(DELETE)

        await made.node.write(partition, a_put("a"))


async def test_totals_count_what_is_flushed() -> None:
    async with running() as made:
        partition = await made.create()
        written = a_put("a")
        await made.node.write(partition, written)
        made.engine.gate.clear()
        writing = asyncio.ensure_future(made.node.write(partition, a_put("b")))
        await settle()

        assert await made.node.totals([partition]) == Totals(1, written.size)

        made.engine.gate.set()
        await writing
        assert await made.node.totals([partition]) == Totals(2, 2 * written.size)


async def test_local_indexes_are_counted_over_partitions_and_go_with_their_table() -> None:
    async with running() as made:
        await made.node.administer(CreateTable(WITH_LOCAL, 2))
        record = made.records[-1]
        for partition in record.partitions:
            token = partition.start.to_bytes(TOKEN_BYTES)
            for sort in ("a", "b"):
                item = {"id": {"S": "p"}, "sort": {"S": sort}, "colour": {"S": "red"}}
                key = token + b"p\0\0" + sort.encode() + b"\0\0"
                await made.node.write(partition, Put(key, orjson.dumps(item), 100))
        row = item_size({"id": {"S": "p"}, "sort": {"S": "a"}, "colour": {"S": "red"}})

        totals = await made.node.totals(record.partitions)
        assert totals.local == (Totals(4, 4 * row),)
        assert len(list(made.engine.scan(Family.LSI, b"", b"\xff"))) == 4
        ids = [record.table.id, *(index.id for index in record.table.all_indexes)]
        assert len(set(ids)) == len(ids)

        await made.node.administer(replace(DELETE, name=WITH_LOCAL.name))

        assert list(made.engine.scan(Family.LSI, b"", b"\xff")) == []


async def test_a_stop_does_not_wait_for_a_table_that_is_doomed() -> None:
    async with running() as made:
        await made.create()
        await made.node.administer(replace(DELETE, settles_at_ms=NOW_MS + 1_000_000))

        made.node.stop()
        await made.task

        assert made.records[-1].table.status == "DELETING"
        assert made.dropped == []
