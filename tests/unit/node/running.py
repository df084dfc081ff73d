"""A whole node on an engine in memory, and what the tests ask of it again and again."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

from gramme.clock import VirtualClock
from gramme.commands import CreateTable
from gramme.model.table import Table, TableRecord
from gramme.node.server import Node, NodeSettings
from gramme.partitions import Partition
from tests.unit.node.fixtures import INDEXED, NOW_MS, GatedEngine

SEED = b"s" * 16
TIMEOUT_S = 10.0


class Running:
    def __init__(self, node: Node, engine: GatedEngine, clock: VirtualClock) -> None:
        self.node = node
        self.engine = engine
        self.clock = clock
        self.task: asyncio.Task[None]
        self.records: list[TableRecord] = []
        self.dropped: list[str] = []
        node.on_table = self.records.append
        node.on_drop = lambda table: self.dropped.append(table.name)

    @property
    def record(self) -> TableRecord:
        """The table as it was last told of."""
        return self.records[-1]

    async def create(self, partitions: int = 1, table: Table = INDEXED) -> Partition:
        await self.node.administer(CreateTable(table, partitions))
        return self.record.partitions[0]


@asynccontextmanager
async def running(
    engine: GatedEngine | None = None, index_delay_ms: int = 0
) -> AsyncIterator[Running]:
    """A node until the end of the block, started on what `engine` holds."""
    engine = engine or GatedEngine()
    clock = VirtualClock(NOW_MS)
    failures: list[str] = []
    node = Node(engine, clock, NodeSettings(SEED, index_delay_ms), failures.append)
    made = Running(node, engine, clock)
    ready = asyncio.Event()
    async with asyncio.TaskGroup() as tasks:
        made.task = tasks.create_task(node.run(ready))
        await ready.wait()
        yield made
        engine.gate.set()
        node.stop()
    assert failures == []


async def until(condition: Callable[[], bool], what: str) -> None:
    try:
        async with asyncio.timeout(TIMEOUT_S):
            while not condition():
                await asyncio.sleep(0.001)
    except TimeoutError:
        raise AssertionError(f"not within {TIMEOUT_S:g} s: {what}") from None
