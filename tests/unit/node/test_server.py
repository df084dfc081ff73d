"""A node through the life of a table: deletes that race with index work, with readers, and with a stop."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from gramme.clock import VirtualClock
from gramme.commands import CreateTable, DeleteTable
from gramme.errors import ResourceNotFound
from gramme.node.engine.keyspace import TableRecord
from gramme.node.server import Node, NodeSettings
from gramme.partitions import Partition
from tests.unit.node.fixtures import INDEXED, NOW_MS, GatedEngine, a_get, a_put, settle

DELETE = DeleteTable(INDEXED.account, INDEXED.region, INDEXED.name)


class Running:
    def __init__(self, node: Node, engine: GatedEngine, task: asyncio.Task[None]) -> None:
        self.node = node
        self.engine = engine
        self.task = task
        self.records: list[TableRecord] = []
        self.dropped: list[str] = []
        node.on_table = self.records.append
        node.on_drop = lambda table: self.dropped.append(table.name)

    async def create(self, partitions: int = 1) -> Partition:
        await self.node.administer(CreateTable(INDEXED, partitions))
        return self.records[-1].partitions[0]


@asynccontextmanager
async def running() -> AsyncIterator[Running]:
    engine = GatedEngine()
    failures: list[str] = []
    node = Node(engine, VirtualClock(NOW_MS), NodeSettings(b"s" * 16), failures.append)
    ready = asyncio.Event()
    async with asyncio.TaskGroup() as tasks:
        task = tasks.create_task(node.run(ready))
        await ready.wait()
        yield Running(node, engine, task)
        engine.gate.set()
        node.stop()
    assert failures == []


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
