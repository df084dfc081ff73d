"""Whole nodes and routers as processes of one deterministic loop, on disks, clocks and a network that fail.

Each node is what `gramme node` is behind its sockets: it joins, hosts, elects, feeds indexes. A crash stops it between two steps,
and its disk keeps what was flushed. The ledger watches every write to every disk and every answer.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import Context
from dataclasses import dataclass, field
from random import Random

from gramme.codec.frame import Answer, Request
from gramme.codec.join import Welcome
from gramme.errors import SeamError
from gramme.links.api import Events, Identity, Link, NotYet, Refused
from gramme.links.limits import Limits
from gramme.node.cluster import ClusterNode, ClusterSettings
from gramme.node.consensus import Consensus
from gramme.node.joining import Joining, Unanswered, replica_of_meta, welcome
from gramme.node.main import JOIN_TIMEOUT_S
from gramme.node.members import Members
from gramme.node.raft.messages import Message
from gramme.node.service import Routers
from gramme.node.transport import Who
from gramme.router.main import Tables
from gramme.router.remote_nodes import RemoteNodes
from tests.support.cluster import SkewedClock
from tests.support.ledger import Violation
from tests.support.network import Event
from tests.support.processes import Process, ProcessLoop, ProcessNetwork
from tests.support.simulated_disk import Batch, Habits, SimulatedDisk
from tests.support.simulated_links import SimulatedLinks
from tests.support.streams import Streams
from tests.support.whole_ledger import WholeLedger

SEED = b"s" * 16
# A link that is lost is tried again as a real one is, but sooner: there is less time.
LIMITS = Limits(backoff_seconds_max=0.5)


@dataclass(frozen=True, slots=True)
class Shape:
    nodes: int = 3
    replication: int = 3
    routers: int = 1
    habits: Habits = field(default_factory=Habits)


class WatchedNode(ClusterNode):
    """A node whose answers, and what it hears, the ledger is told."""

    ledger: WholeLedger

    def heard(self, node: int, messages: list[tuple[int, Message]]) -> None:
        self.ledger.heard(messages)
        super().heard(node, messages)

    def asked(self, request: Request, answer: Callable[[Answer], None]) -> None:
        super().asked(request, self.ledger.answering(request, answer))


class Member:
    """One number of the cluster: its disk, and its process while it runs."""

    def __init__(self, cluster: WholeCluster, number: int) -> None:
        self.cluster = cluster
        self.number = number
        self.name = f"n{number}"
        self.directory = f"d{number}"
        self.clock = SkewedClock(cluster.loop)
        self.disk = self.new_disk()
        self.process: Process | None = None
        self.node: WatchedNode | None = None
        self.inside = False
        self._members: Members
        self._routers: Routers

    @property
    def up(self) -> bool:
        return self.process is not None

    def new_disk(self) -> SimulatedDisk:
        random = Random(f"{self.cluster.random.random()}/{self.number}")
        return SimulatedDisk(random, self.cluster.shape.habits)

    def start(self) -> None:
        cluster = self.cluster
        self.node, self.inside = None, False
        process = self.process = cluster.loop.process(self.name)
        cluster.network.processes[self.name] = process
        self.disk.on_write = self._wrote
        cluster.ledger.resumed(self)
        task = process.create_task(self._live(process))
        task.add_done_callback(lambda task: self._ended(process, task), context=cluster.context)

    def _wrote(self, batch: Batch) -> None:
        with self.cluster.checking():
            self.cluster.ledger.wrote_by(self, batch)

    def _ended(self, process: Process, task: asyncio.Task[None]) -> None:
        if not process.alive:
            return
        if self.disk.fails:
            # It had only begun: there is nothing yet that would end the process at once.
            self._failed("a flush failed")
        else:
            with self.cluster.checking():
                raise Violation(f"{self.name} ended by itself") from task.exception()

    async def _live(self, process: Process) -> None:
        cluster = self.cluster
        self._members = Members(
            self.disk, self.number, self.directory, cluster.addresses, self._disk_failed
        )
        identity = Identity("simulated", str(Who(self.number, self.directory)), "node", 1)
        links = SimulatedLinks(
            cluster.streams, identity, cluster.random, self._accept, LIMITS, self.name
        )
        await Joining(self.disk, self._members, self._ask, self._note).run()
        who = Who(self.number, self.directory, replica_of_meta(self.disk))
        links.identity = Identity("simulated", str(who), "node", 1)
        node = self.node = self._new_node()
        process.remains += [node, links]
        async with asyncio.TaskGroup() as tasks:
            self._routers = Routers(node, tasks)
            node.on_news = self._routers.tell_news
            ready = asyncio.Event()
            tasks.create_task(node.run(ready))
            await ready.wait()
            self.inside = True
            node.transport.dial(cluster.addresses, links)

    def _new_node(self) -> WatchedNode:
        cluster = self.cluster
        settings = ClusterSettings(
            self.number, cluster.addresses, SEED, self.directory, cluster.shape.replication
        )
        draw = cluster.random.randint
        node = WatchedNode(self.disk, self.clock, settings, draw, self._failed, self._note)
        node.ledger = cluster.ledger
        return node

    def _note(self, what: str) -> None:
        self.cluster.loop.trace(f"{self.name}: {what}")

    def _disk_failed(self, error: Exception) -> None:
        self._failed(f"a flush failed: {error!r}")

    def _failed(self, what: str) -> None:
        """Where a real process would end at once."""
        if not self.disk.fails:
            with self.cluster.checking():
                raise Violation(f"{self.name} ends: {what}")
        self.cluster.crash(self.number, torn=True)
        self.cluster.failed(self)

    # Its doors

    def _accept(self, link: Link, peer: Identity) -> Events:
        node = self.node
        if node is None or not self.inside:
            raise NotYet("this node is starting")
        if peer.role == "node":
            return node.transport.accept(link, peer)
        if not node.knows_meta:
            raise NotYet("this node is being given its copy of the tables")
        return self._routers.accept(link, peer)

    async def welcome(self, number: int, directory: str) -> Welcome:
        if self.node is None or not self.inside:
            return await welcome(self._members, number, directory)
        try:
            return await self.node.welcome(number, directory)
        except SeamError:
            return Welcome(known=False)

    async def _ask(self, number: int) -> Welcome:
        """A call of its own to another node."""
        answered: asyncio.Future[Welcome | Refused] = asyncio.get_running_loop().create_future()
        cluster, directory = self.cluster, self.directory
        other = cluster.members[number]

        def settle(answer: Welcome | Refused) -> None:
            if not answered.done():
                answered.set_result(answer)

        def answer() -> None:
            asyncio.get_running_loop().create_task(work())

        async def work() -> None:
            reply: Welcome | Refused
            try:
                reply = await other.welcome(self.number, directory)
            except Refused as refused:
                reply = refused
            cluster.carry(other.name, self.name, lambda: settle(reply))

        cluster.carry(self.name, other.name, answer)
        try:
            async with asyncio.timeout(JOIN_TIMEOUT_S):
                reply = await answered
        except TimeoutError as error:
            raise Unanswered("no answer came") from error
        if isinstance(reply, Refused):
            raise reply
        return reply


class Router:
    """A router from one start to the next."""

    def __init__(self, cluster: WholeCluster, name: str) -> None:
        self.name = name
        self.process = cluster.loop.process(name)
        self.tables = Tables()
        self.nodes = RemoteNodes(Random(f"{cluster.random.random()}/{name}"), self.tables)
        self._cluster = cluster
        cluster.network.processes[name] = self.process
        self.process.run(self._dial)

    def _dial(self) -> None:
        cluster = self._cluster
        identity = Identity("simulated", self.name, "router", 1)
        links = SimulatedLinks(cluster.streams, identity, cluster.random, None, LIMITS)
        self.process.remains += [links, self.nodes]
        self.nodes.dial(list(cluster.addresses.values()), links)


class WholeCluster:
    """`failed` is called when a node has ended because of its disk."""

    def __init__(
        self, loop: ProcessLoop, network: ProcessNetwork, random: Random, shape: Shape
    ) -> None:
        self.loop = loop
        self.network = network
        self.random = random
        self.shape = shape
        self.counts: Counter[str] = Counter()
        self.streams = Streams(network)
        self.context = Context()
        self.addresses = {number: f"n{number}" for number in range(1, shape.nodes + 1)}
        self.members = {number: Member(self, number) for number in self.addresses}
        self.ledger = WholeLedger(self.members)
        self.routers: dict[str, Router] = {}
        self.failed: Callable[[Member], None] = lambda member: None

    @contextmanager
    def checking(self) -> Iterator[None]:
        """What is found in the middle of a node's step ends the run, and is no business of the node."""
        try:
            yield
        except Violation as violation:
            self.loop.call_exception_handler({"message": "a check", "exception": violation})

    def start_all(self) -> None:
        for number in self.members:
            self.start(number)
        for number in range(1, self.shape.routers + 1):
            self.start_router(f"r{number}")

    def start_router(self, name: str) -> Router:
        router = self.routers[name] = Router(self, name)
        return router

    def crash_router(self, name: str) -> None:
        self.routers.pop(name).process.kill()
        self.network.crash(name)
        self.loop.trace(f"{name} crashes")

    def start(self, number: int) -> None:
        member = self.members[number]
        assert not member.up
        self.loop.trace(f"{member.name} starts")
        member.start()

    def crash(self, number: int, *, torn: bool) -> None:
        """Stop a node. With `torn` its disk happens to have some of what was not flushed."""
        member = self.members[number]
        process = member.process
        if process is None:
            return
        old = member.disk
        kept = self.random.randint(0, old.unflushed) if torn else 0
        self.loop.trace(f"{member.name} crashes, {kept} of {old.unflushed} writes are kept")
        process.kill()
        member.process, member.node, member.inside = None, None, False
        old.on_write = lambda batch: None
        member.disk = old.crash(kept)
        self.network.crash(member.name)

    def wipe(self, number: int) -> None:
        """Take a node's disk away. It comes back with another directory."""
        self.crash(number, torn=False)
        member = self.members[number]
        self.ledger.wipe(member)
        member.disk = member.new_disk()
        member.directory += "'"
        self.loop.trace(f"{member.name} is wiped")

    def stop_all(self) -> None:
        """Kill every process: the run is over."""
        for name in list(self.routers):
            self.crash_router(name)
        for number in self.members:
            self.crash(number, torn=False)

    def carry(self, source: str, target: str, event: Event) -> None:
        """Bring a call, or its answer, to another process, if there is a way."""
        network = self.network

        def arrive() -> None:
            if not network.is_cut(source, target):
                network.at(target, event)

        network.loop.call_later(network.delay_s(source, target), arrive)

    # What there is

    def logs(self, group: int) -> Iterator[tuple[Member, Consensus]]:
        for member in self.members.values():
            log = None if member.node is None else member.node.log_of(group)
            if log is not None:
                yield member, log

    def leader(self, group: int) -> tuple[Member, Consensus] | None:
        """The one that serves in the highest term."""
        serving = [found for found in self.logs(group) if found[1].serving]
        return max(serving, key=lambda found: found[1].raft.term, default=None)

    def check(self) -> None:
        """What is too much work to look at all the time."""
        for number, group in self.ledger.groups.items():
            if group.gone:
                continue
            for member, log in self.logs(number):
                self.ledger.check_rows(member, number)
                # To a replica that is gone things are said until its group has heard of that.
                if log.raft.ill_formed and not self.ledger.wiped:
                    raise Violation(f"group {number}: {member.name} was sent what no replica sends")
