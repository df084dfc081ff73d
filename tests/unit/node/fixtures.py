"""A node's parts without disk or network, and a flush that ends when the test says so."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager

import orjson

from gramme.clock import VirtualClock
from gramme.commands import (
    PAGE_SIZE_MAX,
    PAGE_STORED_BYTES_MAX,
    Delete,
    Get,
    Put,
    Query,
    Scan,
)
from gramme.model.item import Item
from gramme.model.table import Index, KeyAttribute, Table
from gramme.node.commit import CommitLoop
from gramme.node.engine.api import Family, Operation
from gramme.node.engine.keyspace import ReplicaSettings, ReplicaState
from gramme.node.engine.memory import MemoryEngine
from gramme.node.replica import Replica
from gramme.node.table_records import EMPTY_STATE
from gramme.partitions import TOKEN_SPACE

NOW_MS = 1_700_000_000_000
BY_COLOUR = Index(
    2, "by-colour", (KeyAttribute("colour", "S"),), (), "INCLUDE", non_key_attributes=("n",)
)
PLAIN = Table(1, "0" * 12, "local", "plain", KeyAttribute("id", "S"), None)
INDEXED = Table(1, "0" * 12, "local", "indexed", KeyAttribute("id", "S"), None, (BY_COLOUR,))


class GatedEngine(MemoryEngine):
    """Its flushes wait for the gate, and it counts them and remembers the writes."""

    def __init__(self, rows: dict[Family, dict[bytes, bytes]] | None = None) -> None:
        super().__init__(rows)
        self.gate = asyncio.Event()
        self.gate.set()
        self.flushes = 0
        self.writes: list[list[Operation]] = []

    def write(self, operations: Iterable[Operation]) -> None:
        batch = list(operations)
        self.writes.append(batch)
        super().write(batch)

    async def flush(self) -> None:
        self.flushes += 1
        await self.gate.wait()
        await super().flush()


class Parts:
    def __init__(self, engine: GatedEngine) -> None:
        self.engine = engine
        self.clock = VirtualClock(NOW_MS)
        self.failures: list[str] = []
        self.commits = CommitLoop(engine, self.failures.append)

    def replica(
        self, table: Table = PLAIN, index: str | None = None, state: ReplicaState = EMPTY_STATE
    ) -> Replica:
        settings = ReplicaSettings(10, table, index, 0, TOKEN_SPACE - 1, log_id=10)
        return Replica(self.engine, self.commits, self.clock, settings, state)


@asynccontextmanager
async def parts(engine: GatedEngine | None = None) -> AsyncIterator[Parts]:
    made = Parts(engine or GatedEngine())
    async with asyncio.TaskGroup() as tasks:
        loop = tasks.create_task(made.commits.run())
        yield made
        made.engine.gate.set()
        loop.cancel()


async def settle(turns: int = 20) -> None:
    """Let everything run that can run."""
    for _ in range(turns):
        await asyncio.sleep(0)


def key_of(id: str) -> bytes:
    return b"\0" * 8 + id.encode() + b"\0\0"


def an_item(id: str, **attributes: str) -> Item:
    return {"id": {"S": id}, **{name: {"S": value} for name, value in attributes.items()}}


def a_put(id: str, **attributes: str) -> Put:
    body = orjson.dumps(an_item(id, **attributes))
    return Put(key_of(id), body, len(body))


def a_delete(id: str) -> Delete:
    return Delete(key_of(id))


def a_get(id: str) -> Get:
    return Get(key_of(id))


def a_query() -> Query:
    return Query(b"\0" * 8, b"\0" * 7 + b"\1", ("id",))


def a_scan(first: int = 0, last: int = TOKEN_SPACE - 1, start: bytes | None = None) -> Scan:
    return Scan(first, last, ("id",), PAGE_SIZE_MAX, PAGE_STORED_BYTES_MAX, start)
