"""A cluster in one process: nodes and a router as they are, on engines in memory and a simulated network.

Everything runs on the deterministic loop, so that time is virtual and a run repeats itself. A flush takes a moment, and a node
that crashes loses what was not flushed.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Coroutine, Iterable
from contextlib import asynccontextmanager, suppress
from random import Random
from typing import Any

import orjson
from msgspec.structs import replace

from gramme.clock import VirtualClock
from gramme.codec.join import Welcome
from gramme.codec.json import decode_item
from gramme.commands import CreateTable, Delete, DeleteTable, Get, Put, Scan, Write, Written
from gramme.errors import ResourceNotFound, SeamError
from gramme.links.api import Events, Identity, Link
from gramme.links.limits import Limits
from gramme.model.item import Item
from gramme.model.table import Table
from gramme.node.cluster import ClusterNode, ClusterSettings
from gramme.node.engine.api import Family, Operation
from gramme.node.engine.memory import MemoryEngine
from gramme.node.hosted import Hosted
from gramme.node.joining import Joining, Unanswered, replica_of_meta
from gramme.node.members import Members
from gramme.node.service import Routers
from gramme.node.transport import Who
from gramme.partitions import Partition
from gramme.router.catalog import CatalogEntry
from gramme.router.main import Tables
from gramme.router.remote_nodes import RemoteNodes
from tests.support.deterministic import DeterministicLoop
from tests.support.network import Network
from tests.support.simulated_links import SimulatedLinks
from tests.support.streams import Streams

SEED = b"s" * 16
NOW_MS = 1_700_000_000_000
FLUSH_S = 0.001
WAIT_S = 60.0
# A minute of three nodes that have little to do.
STEPS_MAX = 1_000_000
POLL_S = 0.01
PAGE_BYTES = 1 << 20
ROUTER = "router"
FIRST_DIRECTORY = "disk"
# A link that is lost is tried again soon, so that tests say what they mean and not how long one waits.
LIMITS = Limits(backoff_seconds_max=0.1)

Scenario = Callable[["Cluster"], Coroutine[Any, Any, None]]


def on_cluster(
    scenario: Scenario,
    nodes: int = 3,
    replication: int = 3,
    seed: int = 1,
    index_delay_ms: int = 0,
) -> None:
    """Run `scenario` with a cluster that has a leader and a router that knows of it."""
    loop = DeterministicLoop(Random(f"{seed}/loop"), STEPS_MAX)

    async def run() -> None:
        cluster = Cluster(nodes, replication, seed, index_delay_ms)
        async with cluster.running():
            await scenario(cluster)
        assert cluster.failures == []

    loop.run(run())


class Disk(MemoryEngine):
    """`flushes` is cleared to hold all flushes up; `writes` has what was written since the start."""

    def __init__(self, rows: dict[Family, dict[bytes, bytes]] | None = None) -> None:
        super().__init__(rows)
        self.flushes = asyncio.Event()
        self.flushes.set()

    async def flush(self) -> None:
        covered = {family: dict(self._rows[family]) for family in Family}
        await asyncio.sleep(FLUSH_S)
        await self.flushes.wait()
        self._flushed = covered

    def write(self, operations: Iterable[Operation]) -> None:
        super().write(list(operations))

    def crash(self) -> Disk:
        return Disk(self._flushed)


class Process:
    """One node from a start to its stop or crash."""

    def __init__(self, cluster: Cluster, number: int, disk: Disk) -> None:
        self.number = number
        self.disk = disk
        self.cluster = cluster
        self.notes: list[str] = []
        self.directory = cluster.directories[number]
        # A node that was wiped has to be let in first.
        self.node: ClusterNode
        self.joined = self.directory == FIRST_DIRECTORY
        if self.joined:
            self.node = self._node()
        self.routers: Routers
        self.links: SimulatedLinks
        self.ready = asyncio.Event()

    @property
    def name(self) -> str:
        return self.cluster.members[self.number]

    def _node(self) -> ClusterNode:
        cluster = self.cluster
        return ClusterNode(
            self.disk,
            cluster.clock,
            ClusterSettings(
                self.number,
                cluster.members,
                SEED,
                self.directory,
                cluster.replication,
                cluster.index_delay_ms,
            ),
            Random(f"{cluster.seed}/{self.number}").randint,
            self._failed,
            self.notes.append,
        )

    async def _join(self) -> None:
        members = Members(
            self.disk,
            self.number,
            self.directory,
            self.cluster.members,
            lambda error: self._failed(f"writing to disk failed: {error}"),
        )
        await Joining(self.disk, members, self._ask, self.notes.append).run()
        self.node = self._node()
        self.joined = True

    async def _ask(self, number: int) -> Welcome:
        other = self.cluster.processes.get(number)
        if other is None or not other.joined:
            raise Unanswered("nobody is there")
        try:
            return await other.node.welcome(self.number, self.directory)
        except SeamError as error:
            raise Unanswered(str(error)) from error

    async def run(self) -> None:
        if not self.joined:
            await self._join()
        who = Who(self.number, self.directory, replica_of_meta(self.disk))
        identity = Identity("test", str(who), "node", 1)
        async with asyncio.TaskGroup() as tasks:
            self.routers = Routers(self.node, tasks)
            self.node.on_news = self.routers.tell_news
            self.links = SimulatedLinks(
                self.cluster.streams, identity, self.cluster.random, self._accept, LIMITS, self.name
            )
            try:
                async with asyncio.TaskGroup() as running:
                    running.create_task(self.node.run(self.ready))
                    await self.ready.wait()
                    self.node.transport.dial(self.cluster.members, self.links)
            finally:
                self.routers.stop()

    def _accept(self, link: Link, peer: Identity) -> Events:
        if peer.role == "node":
            return self.node.transport.accept(link, peer)
        return self.routers.accept(link, peer)

    def _failed(self, what: str) -> None:
        self.cluster.failures.append(f"node {self.number}: {what}")

    def hosted(self, group: int) -> Hosted | None:
        return self.node.hosted.get(group) if self.joined else None


class Cluster:
    def __init__(self, nodes: int, replication: int, seed: int, index_delay_ms: int = 0) -> None:
        self.seed = seed
        self.random = Random(seed)
        self.replication = replication
        self.index_delay_ms = index_delay_ms
        self.clock = VirtualClock(NOW_MS)
        self.network = Network(asyncio.get_running_loop(), self.random)
        self.streams = Streams(self.network)
        self.members = {number: f"{number}.disk" for number in range(1, nodes + 1)}
        self.directories = dict.fromkeys(self.members, FIRST_DIRECTORY)
        self.disks = {number: Disk() for number in self.members}
        self.processes: dict[int, Process] = {}
        self.failures: list[str] = []
        self.tables = Tables()
        self.router = RemoteNodes(self.random, self.tables)
        self._running: dict[int, asyncio.Task[None]] = {}

    @asynccontextmanager
    async def running(self) -> AsyncIterator[Cluster]:
        for number in self.members:
            self.start(number)
        self.dial(self.router, ROUTER)
        await self.until(lambda: self.meta_leader() is not None, "meta has a leader")
        await self.until(lambda: self.tables.catalog is not None, "the router has news")
        yield self
        for number in list(self._running):
            await self.stop(number)

    def dial(self, router: RemoteNodes, name: str) -> None:
        identity = Identity("test", name, "router", 1)
        links = SimulatedLinks(self.streams, identity, self.random, None, LIMITS)
        router.dial(list(self.members.values()), links)

    # Nodes

    def start(self, number: int) -> None:
        process = self.processes[number] = Process(self, number, self.disks[number])
        task = asyncio.get_running_loop().create_task(process.run())
        self._running[number] = task
        task.add_done_callback(lambda task: self._ended(number, task))

    def _ended(self, number: int, task: asyncio.Task[None]) -> None:
        if not task.cancelled() and (error := task.exception()) is not None:
            self.failures.append(f"node {number} has ended: {error!r}")

    async def stop(self, number: int) -> None:
        """End a node as a signal would. What it had written is still there."""
        self.network.crash(self.members[number])
        if self.processes[number].joined:
            self.processes[number].links.stop()
        task = self._running.pop(number)
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task
        del self.processes[number]

    async def crash(self, number: int) -> None:
        """End a node with all that it had not flushed."""
        self.disks[number] = self.disks[number].crash()
        await self.stop(number)

    def wipe(self, number: int) -> None:
        """Take everything away from a node that does not run."""
        assert number not in self.processes
        self.disks[number] = Disk()
        self.directories[number] += "'"

    def isolate(self, number: int) -> None:
        """Cut a node off from the other nodes, and not from the router."""
        others = [self.members[other] for other in self.members if other != number]
        for other in others:
            self.network.cut(self.network.between(self.members[number], other))

    def cut(self, one: str, other: str) -> None:
        self.network.cut(self.network.between(one, other))

    def heal(self) -> None:
        self.network.heal()

    def node(self, number: int) -> ClusterNode:
        return self.processes[number].node

    def meta_leader(self) -> int | None:
        """The number of the node that leads meta."""
        return next(
            (
                number
                for number, made in self.processes.items()
                if made.joined and made.node.leads_meta
            ),
            None,
        )

    def leader(self, group: int) -> int | None:
        """The number of the node whose replica of a group leads, of the newest term if there are two."""
        leading = [
            (hosted.consensus.raft.term, number)
            for number, made in self.processes.items()
            if (hosted := made.hosted(group)) is not None and hosted.consensus.serving
        ]
        return max(leading)[1] if leading else None

    def replica(self, number: int, group: int) -> Hosted:
        hosted = self.processes[number].hosted(group)
        assert hosted is not None, f"node {number} has no replica of group {group}"
        return hosted

    async def until(self, condition: Callable[[], object], what: str) -> None:
        loop = asyncio.get_running_loop()
        give_up_at = loop.time() + WAIT_S
        while not condition():
            assert not self.failures, self.failures
            assert loop.time() < give_up_at, f"not within {WAIT_S:g} s: {what}"
            await asyncio.sleep(POLL_S)

    # What a client does

    async def create(self, table: Table, partitions: int = 1) -> CatalogEntry:
        """Make a table whose groups all have leaders when this returns."""
        made = await self.router.administer(CreateTable(replace(table, id=0), partitions))
        entry = self.entry(made.name)
        assert entry is not None
        for group in groups_of(entry):
            await self.led(group)
        return entry

    async def led(self, group: int) -> int:
        await self.until(lambda: self.leader(group) is not None, f"group {group} has a leader")
        leader = self.leader(group)
        assert leader is not None
        return leader

    async def move(self, group: int, to: int) -> None:
        """Let the replica on a node lead."""
        while (leader := await self.led(group)) != to:
            log = self.replica(leader, group).consensus
            replica = self.replica(to, group).consensus.raft.replica
            if not log.raft.transferring:
                log.raft.transfer(replica)
                log.pump()
            await asyncio.sleep(POLL_S)

    async def drop(self, name: str) -> None:
        await self.router.administer(DeleteTable("0" * 12, "local", name))

    def entry(self, name: str) -> CatalogEntry | None:
        assert self.tables.catalog is not None
        try:
            return self.tables.catalog.find("0" * 12, "local", name)
        except ResourceNotFound:
            return None

    def place(self, name: str, id: str) -> tuple[bytes, Partition]:
        entry = self.entry(name)
        assert entry is not None
        place = entry.place({"id": {"S": id}}, True)
        assert place is not None
        return place

    def put(self, name: str, id: str, **attributes: str) -> Coroutine[Any, Any, Written]:
        return self.write(name, id, self.a_put(name, id, **attributes))

    def a_put(self, name: str, id: str, **attributes: str) -> Put:
        item = {"id": {"S": id}, **{key: {"S": value} for key, value in attributes.items()}}
        body = orjson.dumps(item)
        return Put(self.place(name, id)[0], body, len(body))

    def delete(self, name: str, id: str) -> Coroutine[Any, Any, Written]:
        return self.write(name, id, self.a_delete(name, id))

    def a_delete(self, name: str, id: str) -> Delete:
        return Delete(self.place(name, id)[0])

    async def write(self, name: str, id: str, write: Write) -> Written:
        return await self.router.write(self.place(name, id)[1], write)

    async def get(self, name: str, id: str, consistent: bool = True) -> Item | None:
        key, partition = self.place(name, id)
        found = await self.router.get(partition, Get(key, consistent))
        return None if found.item is None else decode_item(found.item)

    async def index_ids(self, name: str, index: str) -> set[str]:
        """Of the items that an index has rows of."""
        entry = self.entry(name)
        assert entry is not None
        found: set[str] = set()
        for part in entry.index_partitions[index].partitions:
            scan = Scan(part.start, part.last, ("id",), PAGE_BYTES, PAGE_BYTES)
            page = await self.router.scan(part, scan)
            found.update(decode_item(body)["id"]["S"] for body in page.items)
        return found


def groups_of(entry: CatalogEntry) -> list[int]:
    maps = [entry.partitions, *entry.index_partitions.values()]
    return [partition.group for map in maps for partition in map.partitions]
