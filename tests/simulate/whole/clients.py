"""Clients of whole clusters: they live in a router's process, and die with it.

Items have a value `v` that no other write has, so that every answer tells of one write; counters have beside it a number to
which each of their writes adds one; and some items have an attribute by which the index knows them.
"""

from __future__ import annotations

import asyncio
from collections import Counter, defaultdict
from contextlib import suppress
from random import Random
from typing import Any

import orjson

from gramme.commands import (
    CreateTable,
    Delete,
    DeleteTable,
    Found,
    Get,
    Put,
    Update,
    Write,
    Written,
)
from gramme.errors import (
    ConditionalCheckFailed,
    InternalServerError,
    ResourceInUse,
    ResourceNotFound,
    Throttling,
)
from gramme.expressions.placeholders import Placeholders
from gramme.model.table import Index, KeyAttribute, Table
from gramme.partitions import Partition
from gramme.router.catalog import CatalogEntry
from tests.simulate.clients import ABSENT, EQUAL, UPDATE
from tests.simulate.report import OPERATIONS
from tests.simulate.whole.plan import WholePlan
from tests.support.ledger import value_in
from tests.support.operations import Action, Done, Read, Recorder, Refused, Saw, Swap
from tests.support.operations import Write as Written_
from tests.support.whole_cluster import Router, WholeCluster

ACCOUNT, REGION = "0" * 12, "local"
ITEMS, PASSING = "items", "passing"
BY_GROUP = "by-group"
INDEX_GROUPS = ("a", "b", None)
COUNT = Placeholders(None, {":v": {"S": ""}, ":one": {"N": "1"}}).update("SET v = :v ADD n :one")
# Between two attempts to make a table, or to find it.
AGAIN_S = 0.2
PASSING_OPERATIONS = 8
STORM_PERIOD_S = 20.0
# Where the faults left too little time for that, clients go on after them.
OPERATIONS_MIN = 510

TABLE = Table(
    0,
    ACCOUNT,
    REGION,
    ITEMS,
    KeyAttribute("id", "S"),
    None,
    (Index(0, BY_GROUP, (KeyAttribute("g", "S"),), (), "ALL"),),
)
PASSING_TABLE = Table(0, ACCOUNT, REGION, PASSING, KeyAttribute("id", "S"), None)


class Clients:
    """Everything that is asked in a run, and the history that comes of it."""

    def __init__(self, cluster: WholeCluster, plan: WholePlan, random: Random) -> None:
        self.recorder = Recorder()
        # Of each counter, how many additions were answered, and of how many nobody knows.
        self.added: Counter[str] = Counter()
        self.perhaps_added: Counter[str] = Counter()
        self._until = float("inf")
        self._cluster = cluster
        self._plan = plan
        self._random = random
        self._values = 0
        self._born = 0
        self._generation = 0
        # What was last heard of a key: a condition that names it has a good chance to hold.
        self._heard: dict[str, str | None] = {}
        self._tasks: dict[str, list[asyncio.Task[None]]] = defaultdict(list)

    def begin(self, router: Router) -> None:
        """Let a router have clients: the first one those that make tables come and go, too."""
        routers = self._cluster.shape.routers
        tasks = self._tasks[router.name] = []
        works = [self._run(router) for _ in range(self._plan.clients // routers)]
        if router.name == "r1" and self._plan.passing:
            works.append(self._make_tables(router))
        for work in works:
            task = router.process.create_task(work)
            task.add_done_callback(self._ended, context=self._cluster.context)
            tasks.append(task)

    def _ended(self, task: asyncio.Task[None]) -> None:
        if not task.cancelled() and (error := task.exception()) is not None:
            self._cluster.loop.call_exception_handler(
                {"message": "a client ended", "exception": error}
            )

    def end_at(self, until: float) -> None:
        self._until = until

    @property
    def at_work(self) -> bool:
        return not all(task.done() for tasks in self._tasks.values() for task in tasks)

    @property
    def _operations(self) -> int:
        return sum(self._cluster.counts[kind] for kind in OPERATIONS)

    async def create(self, router: Router) -> CatalogEntry:
        """Make the table that all clients use."""
        return await self._create(router, TABLE, self._plan.partitions)

    async def _run(self, router: Router) -> None:
        self._born += 1
        name, random = f"c{self._born}", self._random
        await asyncio.sleep(random.uniform(0, 1))
        while self._cluster.loop.time() < self._until or self._operations < OPERATIONS_MIN:
            entry = self.entry(router, ITEMS)
            if entry is None:
                await asyncio.sleep(AGAIN_S)
                continue
            id = self._any_id()
            if random.random() < 0.35:
                await self.read(name, router, entry, id, strong=random.random() < 0.7)
            else:
                await self._write(name, router, entry, id)
            await asyncio.sleep(self._pause_s())

    def _any_id(self) -> str:
        if self._random.random() < 0.2:
            return f"n{self._random.randrange(self._plan.counters)}"
        return f"k{self._random.randrange(self._plan.keys)}"

    def _pause_s(self) -> float:
        """Now and then everybody asks at once, without a pause."""
        if self._cluster.loop.time() % STORM_PERIOD_S < self._plan.storm_s:
            return self._random.choice([0.0, 0.01])
        return self._random.uniform(0, 2) * self._plan.think_s

    # Tables

    def entry(self, router: Router, name: str) -> CatalogEntry | None:
        """None as long as this router knows of no such table."""
        try:
            catalog = router.tables.catalog
            return None if catalog is None else catalog.find(ACCOUNT, REGION, name)
        except ResourceNotFound:
            return None

    async def _create(self, router: Router, table: Table, partitions: int) -> CatalogEntry:
        while True:
            # It may have been made by an attempt of which nobody heard.
            with suppress(InternalServerError, ResourceInUse):
                await router.nodes.administer(CreateTable(table, partitions))
            entry = self.entry(router, table.name)
            if entry is not None:
                return entry
            await asyncio.sleep(AGAIN_S)

    async def _make_tables(self, router: Router) -> None:
        """Let a table come and go. What was in it before must not be there again."""
        self._born += 1
        name, loop = f"c{self._born}", self._cluster.loop
        await asyncio.sleep(self._random.uniform(0, 3))
        await self._drop(router)
        while loop.time() < self._until:
            entry = await self._create(router, PASSING_TABLE, 1)
            self._generation += 1
            self._cluster.counts["tables"] += 1
            for _ in range(PASSING_OPERATIONS):
                if self._random.random() < 0.5:
                    await self.read(name, router, entry, "p", strong=True)
                else:
                    await self._write(name, router, entry, "p")
                await asyncio.sleep(self._random.uniform(0, 0.5))
            await self._drop(router)

    async def _drop(self, router: Router) -> None:
        while True:
            try:
                await router.nodes.administer(DeleteTable(ACCOUNT, REGION, PASSING))
            except ResourceNotFound:
                pass
            except InternalServerError:
                await asyncio.sleep(AGAIN_S)
                continue
            if self.entry(router, PASSING) is None:
                return
            await asyncio.sleep(AGAIN_S)

    # What they ask

    def _action(self, key: bytes, id: str, known: str) -> tuple[Action, Write]:
        if id.startswith("n"):
            return self._count(key, id)
        acts = [self._put, self._update, self._delete, self._new, self._swap, self._drop_known]
        act = self._random.choices(acts, [20, 10, 8, 12, 18, 6])[0]
        return act(key, id, self._heard.get(known))

    def _count(self, key: bytes, id: str) -> tuple[Action, Write]:
        value = self._value()
        values = {":v": {"S": value}, ":one": {"N": "1"}}
        return Written_(value), Update(key, {"id": {"S": id}}, COUNT, values=values)

    def _put(self, key: bytes, id: str, heard: str | None) -> tuple[Action, Write]:
        value, body = self._body(id)
        return Written_(value), Put(key, body, len(body))

    def _update(self, key: bytes, id: str, heard: str | None) -> tuple[Action, Write]:
        value = self._value()
        update = Update(key, {"id": {"S": id}}, UPDATE, values={":v": {"S": value}})
        return Written_(value), update

    def _delete(self, key: bytes, id: str, heard: str | None) -> tuple[Action, Write]:
        return Written_(None), Delete(key)

    def _new(self, key: bytes, id: str, heard: str | None) -> tuple[Action, Write]:
        value, body = self._body(id)
        return Swap(None, value), Put(key, body, len(body), ABSENT, show_item_on_failure=True)

    def _swap(self, key: bytes, id: str, heard: str | None) -> tuple[Action, Write]:
        if heard is None:
            return self._new(key, id, None)
        value, body = self._body(id)
        values = {":v": {"S": heard}}
        put = Put(key, body, len(body), EQUAL, values, show_item_on_failure=True)
        return Swap(heard, value), put

    def _drop_known(self, key: bytes, id: str, heard: str | None) -> tuple[Action, Write]:
        if heard is None:
            return self._delete(key, id, None)
        values = {":v": {"S": heard}}
        return Swap(heard, None), Delete(key, EQUAL, values, show_item_on_failure=True)

    def _value(self) -> str:
        self._values += 1
        return f"v{self._values}"

    def _body(self, id: str) -> tuple[str, bytes]:
        value = self._value()
        item: dict[str, Any] = {"id": {"S": id}, "v": {"S": value}}
        group = self._random.choice(INDEX_GROUPS)
        if group is not None:
            item["g"] = {"S": group}
        if self._plan.padding_bytes:
            item["p"] = {"S": "p" * self._random.randrange(self._plan.padding_bytes)}
        return value, orjson.dumps(item)

    # What they are told

    async def read(
        self, name: str, router: Router, entry: CatalogEntry, id: str, *, strong: bool
    ) -> bool:
        """Returns whether there was an answer."""
        counts = self._cluster.counts
        key, partition = _place(entry, id)
        known = self._known(entry, id)
        number = self.recorder.asked(name, known, Read()) if strong else None
        try:
            found: Found = await router.nodes.get(partition, Get(key, strong))
        except (InternalServerError, ResourceNotFound, Throttling) as error:
            counts["reads without answer"] += 1
            if number is not None:
                self.recorder.undone(number)
            self._cluster.loop.trace(f"{name} {known} read: {type(error).__name__}")
            return False
        value = value_in(found.item)
        if number is not None:
            self.recorder.answered(number, Saw(value))
            self._heard[known] = value
        counts["strong reads" if strong else "eventual reads"] += 1
        kind = "strong" if strong else "eventual"
        self._cluster.loop.trace(f"{name} {known} {kind}: {value}")
        return True

    async def stored(self, router: Router, entry: CatalogEntry, id: str) -> bytes | None:
        """An item as it is stored."""
        key, partition = _place(entry, id)
        return (await router.nodes.get(partition, Get(key, True))).item

    async def _write(self, name: str, router: Router, entry: CatalogEntry, id: str) -> None:
        counts = self._cluster.counts
        key, partition = _place(entry, id)
        known = self._known(entry, id)
        action, write = self._action(key, id, known)
        assert not isinstance(action, Read)
        number = self.recorder.asked(name, known, action)
        self.perhaps_added[id] += 1
        result: object
        try:
            result = await router.nodes.write(partition, write)
        except (
            ConditionalCheckFailed,
            InternalServerError,
            ResourceNotFound,
            Throttling,
        ) as error:
            result = error
        if isinstance(result, Written):
            self.recorder.answered(number, Done())
            assert action.value is None or isinstance(action.value, str)
            self._heard[known] = action.value
            self.perhaps_added[id] -= 1
            self.added[id] += 1
            counts["writes"] += 1
        elif isinstance(result, ConditionalCheckFailed):
            met = value_in(result.item)
            self.recorder.answered(number, Refused(met))
            self._heard[known] = met
            counts["conditions that failed"] += 1
        elif isinstance(result, Throttling):
            self.recorder.undone(number)
            self.perhaps_added[id] -= 1
            counts["writes refused"] += 1
        else:
            counts["unknown"] += 1
        self._cluster.loop.trace(f"{name} {known} {action}: {type(result).__name__}")

    def _known(self, entry: CatalogEntry, id: str) -> str:
        """The key of a history: a table that is made again begins anew."""
        return f"{entry.table.id}/{id}"


def _place(entry: CatalogEntry, id: str) -> tuple[bytes, Partition]:
    place = entry.place({"id": {"S": id}}, True)
    assert place is not None
    return place
