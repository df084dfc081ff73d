"""Tables and indexes, taken from state to state by where meta is led from."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

from msgspec.structs import replace

from gramme.commands import AlterTable, CreateTable, DeleteTable, Feed, GetFeed
from gramme.errors import ResourceNotFound
from gramme.model.table import IndexPhase, Table, TableRecord
from gramme.node.meta import Meta
from gramme.node.table_driver import TableDriver
from tests.support.in_process import Cluster, groups_of, on_cluster
from tests.unit.node.fixtures import BY_COLOUR, NOW_MS, PLAIN, Parts, parts, settle
from tests.unit.node.running import until

LASTS_MS = 1000
NAME = (PLAIN.account, PLAIN.region, PLAIN.name)


def test_group_without_a_quorum_holds_up_its_own_table_only() -> None:
    async def scenario(cluster: Cluster) -> None:
        for name in ("first", "second"):
            await cluster.create(replace(PLAIN, name=name))
        await silence(cluster, "first")

        await add_index(cluster, "first")
        await add_index(cluster, "second")

        await cluster.until(lambda: phase(cluster, "second") == "ACTIVE", "the index is there")
        assert phase(cluster, "first") == "ALLOCATING"

    on_cluster(scenario)


def test_whoever_leads_meta_next_goes_on() -> None:
    async def scenario(cluster: Cluster) -> None:
        await cluster.create(PLAIN)
        heard_again = await silence(cluster, "plain")
        await add_index(cluster, "plain")
        old = cluster.meta_leader()
        assert old is not None
        await asyncio.sleep(1)

        await cluster.crash(old)
        cluster.start(old)
        heard_again()

        await cluster.until(lambda: phase(cluster, "plain") == "ACTIVE", "the index is there")

    on_cluster(scenario)


def test_states_last_as_long_as_they_are_told_to_in_a_cluster_too() -> None:
    async def scenario(cluster: Cluster) -> None:
        async def lasts(state: str) -> None:
            await cluster.until(lambda: state_of(cluster) == state, f"the state is {state}")
            await asyncio.sleep(1)
            assert state_of(cluster) == state
            cluster.clock.advance(LASTS_MS)

        await cluster.router.administer(CreateTable(slow(PLAIN), 1))
        await lasts("CREATING")
        await cluster.until(lambda: state_of(cluster) == "ACTIVE", "the table is there")

        await add_index(cluster, PLAIN.name, LASTS_MS)
        await lasts("index ALLOCATING")
        await lasts("index BACKFILLING")
        await cluster.until(lambda: state_of(cluster) == "ACTIVE", "the index is there")

        settles_at_ms = cluster.clock.now_ms() + LASTS_MS
        await cluster.router.administer(DeleteTable(*NAME, settles_at_ms))
        await lasts("DELETING")
        await cluster.until(lambda: state_of(cluster) == "gone", "the table is gone")

    on_cluster(scenario)


class Driving:
    """A driver and the meta of a node by itself, whose groups answer as the test says."""

    def __init__(self, made: Parts) -> None:
        self.parts = made
        self.clock = made.clock
        self.meta = Meta(made.engine, made.commits)
        self.driver = TableDriver(made.clock, lambda: self.meta, lambda: True, self._ask)
        self.feed = Feed(False, False)
        self.asked: list[int] = []

    async def _ask(self, group: int, command: GetFeed) -> Feed:
        self.asked.append(group)
        return self.feed

    @property
    def record(self) -> TableRecord:
        [record] = self.meta.records()
        return record

    async def change(self, table: Table) -> None:
        async with self.meta.lock:
            await self.meta.administer(AlterTable(self.record.table, table))


class Unmoved:
    """Has no groups, and lets meta know what it has made durable."""

    async def follow(self, record: TableRecord) -> None: ...

    def close(self, groups: object, round: object) -> None: ...

    def drop(self, table: Table) -> None: ...


@asynccontextmanager
async def driving() -> AsyncIterator[Driving]:
    async with parts() as made, asyncio.TaskGroup() as tasks:
        driving = Driving(made)
        driving.meta.follower = Unmoved()
        running = tasks.create_task(driving.driver.run())
        yield driving
        running.cancel()


async def test_what_is_settled_is_not_looked_at() -> None:
    async with driving() as made:
        for number in range(3):
            await made.meta.administer(CreateTable(replace(PLAIN, name=str(number)), 1))

        assert list(made.meta.unsettled()) == []


async def test_groups_are_asked_only_when_a_phase_may_end() -> None:
    async with driving() as made:
        await made.meta.administer(CreateTable(PLAIN, 3))
        await made.change(with_index(made.record.table, LASTS_MS))
        made.driver.look()
        await settle()
        assert made.asked == []

        made.clock.advance(LASTS_MS)
        await until(lambda: bool(made.asked), "a group is asked")
        await settle()

        # One that has not come as far is enough.
        assert made.asked == [made.record.partitions[0].group]


async def test_progress_of_a_group_is_looked_at_at_once() -> None:
    async with driving() as made:
        await made.meta.administer(CreateTable(PLAIN, 3))
        await made.change(with_index(made.record.table))
        made.driver.look()
        await settle()
        groups = [partition.group for partition in made.record.partitions]
        assert made.asked == groups[:1]

        made.feed = Feed(known=True, filled=False)
        made.driver.look_at(made.record.table.indexes[0].id)
        await until(lambda: made.record.table.indexes[0].phase == "BACKFILLING", "it goes on")

        await settle()
        assert made.asked == [*groups[:1], *groups, *groups[:1]]


async def test_table_that_was_altered_meanwhile_is_looked_at_anew() -> None:
    async with driving() as made:
        await made.meta.administer(CreateTable(PLAIN, 1))
        await made.change(with_index(made.record.table))
        made.feed = Feed(known=True, filled=False)
        async with made.meta.lock:
            made.driver.look()
            await settle()
            assert made.asked
            tagged = replace(made.record.table, echo={"Tags": []})
            await made.meta.administer(AlterTable(made.record.table, tagged))

        await until(lambda: made.record.table.indexes[0].phase == "BACKFILLING", "it goes on")

        assert made.record.table.echo == {"Tags": []}


async def test_table_stays_as_it_has_settled() -> None:
    async with driving() as made:
        await made.meta.administer(CreateTable(slow(PLAIN), 1))
        made.driver.look()
        made.clock.advance(LASTS_MS)
        await until(lambda: made.record.table.status == "ACTIVE", "the table is there")

        again = Meta(made.parts.engine, made.parts.commits)

        assert [record.table.status for record in again.records()] == ["ACTIVE"]


async def silence(cluster: Cluster, name: str) -> Callable[[], None]:
    """Let the replicas of a table's groups not hear each other, until nobody leads. Returns what ends that."""
    entry = cluster.entry(name)
    assert entry is not None
    logs = [
        cluster.replica(number, group).consensus
        for group in groups_of(entry)
        for number in cluster.members
    ]
    sends = [log._send for log in logs]
    for log in logs:
        log._send = lambda node, group, message: None
    await cluster.until(lambda: not any(log.serving for log in logs), "nobody leads")

    def end() -> None:
        for log, send in zip(logs, sends, strict=True):
            log._send = send

    return end


def slow(table: Table) -> Table:
    return replace(table, status="CREATING", settles_at_ms=NOW_MS + LASTS_MS)


def with_index(table: Table, lasts_ms: int = 0, now_ms: int = NOW_MS) -> Table:
    index = replace(
        BY_COLOUR,
        id=0,
        phase="ALLOCATING",
        settles_at_ms=now_ms + lasts_ms if lasts_ms else 0,
        phase_lasts_ms=lasts_ms,
    )
    return replace(table, indexes=(index,))


async def add_index(cluster: Cluster, name: str, lasts_ms: int = 0) -> None:
    entry = cluster.entry(name)
    assert entry is not None
    altered = with_index(entry.table, lasts_ms, cluster.clock.now_ms())
    await cluster.router.administer(AlterTable(entry.table, altered))


def state_of(cluster: Cluster) -> str:
    """The state of the table, or of its index while that is the one to wait for."""
    assert cluster.tables.catalog is not None
    try:
        table = cluster.tables.catalog.find_described(*NAME).table
    except ResourceNotFound:
        return "gone"
    index = table.unsettled_index
    return table.status if index is None else f"index {index.phase}"


def phase(cluster: Cluster, name: str) -> IndexPhase | None:
    entry = cluster.entry(name)
    assert entry is not None
    index = entry.table.index(BY_COLOUR.name)
    return None if index is None else index.phase
