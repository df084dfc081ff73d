"""`gramme node`: opens the data directory, joins the cluster, and serves until it is told to stop."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from random import SystemRandom

from gramme.clock import SystemClock
from gramme.codec.frame import BadFrame
from gramme.codec.join import Welcome, decode_welcome, encode_welcome
from gramme.codec.principals import decode_command, encode_outcome
from gramme.codec.status import encode_status
from gramme.errors import GrammeError, SeamError
from gramme.links.api import Events, Identity, Link, NotYet, Refused
from gramme.links.cluster import identity_of, seed_of
from gramme.links.dialler import Dialler
from gramme.links.inquiry import NoAnswer, inquire
from gramme.links.listener import Listener, ListenRefused
from gramme.links.security import Secret, Security, SecurityRefused, Tls
from gramme.links.services import JOIN, PEER, PRINCIPALS, STATUS, STORAGE
from gramme.node.cluster import ClusterNode, ClusterSettings
from gramme.node.engine.directory import DataDirectory, DirectoryRefused
from gramme.node.engine.rocks import RocksEngine
from gramme.node.joining import Joining, Unanswered, replica_of_meta, welcome
from gramme.node.members import Members
from gramme.node.opening import LONE_ADVICE, open_rocks
from gramme.node.service import Routers
from gramme.node.transport import Who, who_is
from gramme.start import StartRefused, end_process, log_event, quiet_collector, stop_on_signal

# Letting a node in takes meta an election's time at most, and an entry.
JOIN_TIMEOUT_S = 5.0


# What a node has lost the others still have.
DAMAGED_ADVICE = (
    "Move the directory away and start the node again: it begins with an empty one, and is given everything "
    "by the others"
)


@dataclass(frozen=True, slots=True)
class NodeOptions:
    """`members` are all nodes of the cluster, this one's included: number and host:port."""

    number: int
    members: Mapping[int, str]
    data: str
    secret: bytes
    tls: Tls | None = None
    replication: int = 3
    durability: str = "flush"
    cache_mb: int = 0
    index_delay_ms: int = 0
    accept_data_loss: bool = False

    def __post_init__(self) -> None:
        if self.number not in self.members:
            raise StartRefused(f"node {self.number} is not among the members of the cluster")
        if self.replication not in (1, 3, 5):
            raise StartRefused(f"replication must be 1, 3 or 5, not {self.replication}")
        if self.accept_data_loss and len(self.members) > 1:
            raise StartRefused(
                "with --accept-data-loss a node would vote without knowing what it promised before, and "
                "others could lose what was acknowledged. Only a cluster of one node takes it"
            )
        if self.replication > len(self.members):
            raise StartRefused(
                f"{self.replication} replicas need as many nodes, and there are {len(self.members)}"
            )


class StoppedEarly(Exception):
    """The node was told to stop before it had become part of its cluster."""


async def run_node(options: NodeOptions) -> None:
    stop = stop_on_signal()
    with suppress(StoppedEarly):
        async with running_node(options, stop) as address:
            log_event(
                "started", role="node", number=options.number, address=address, data=options.data
            )
            quiet_collector()
            await stop.wait()
            log_event("stopping", role="node", number=options.number)
    log_event("stopped", role="node", number=options.number)


@asynccontextmanager
async def running_node(
    options: NodeOptions, stop: asyncio.Event | None = None
) -> AsyncIterator[str]:
    """Gives the address it listens on. Raises StartRefused, and StoppedEarly if `stop` is set before it is part of a cluster."""
    seed = seed_of(options.secret)
    try:
        directory = DataDirectory.open(Path(options.data), seed)
    except DirectoryRefused as error:
        raise StartRefused(str(error)) from error
    try:
        if directory.seed != seed:
            raise StartRefused(
                f"data directory {options.data} is of another cluster, or of a server by itself: "
                "give the secret of its cluster, or another directory"
            )
        rocks = open_rocks(
            directory,
            flushes=options.durability == "flush",
            accept_data_loss=options.accept_data_loss,
            cache_mb=options.cache_mb,
            advice=DAMAGED_ADVICE if len(options.members) > 1 else LONE_ADVICE,
        )
        try:
            async with _connected(options, rocks, directory, stop or asyncio.Event()) as address:
                yield address
        finally:
            rocks.close()
    finally:
        directory.close()


@asynccontextmanager
async def _connected(
    options: NodeOptions, rocks: RocksEngine, directory: DataDirectory, stop: asyncio.Event
) -> AsyncIterator[str]:
    security = Security(_secret(options.secret), options.tls)
    identity = identity_of(options.secret, str(Who(options.number, directory.id)), "node")
    end = end_process(options.data)
    members = Members(
        rocks,
        options.number,
        directory.id,
        options.members,
        lambda error: end(f"writing to disk failed: {error}"),
    )
    doors = _Doors(identity, members, directory)
    listener = Listener(
        identity,
        security,
        {STORAGE: doors.accept_router, PEER: doors.accept_peer},
        answerers={
            STATUS: doors.describe,
            JOIN: doors.welcome,
            PRINCIPALS: doors.administer_principals,
        },
    )
    host, _, port = options.members[options.number].rpartition(":")
    try:
        bound = await listener.start(host, int(port))
    except ListenRefused as error:
        raise StartRefused(str(error)) from error
    try:
        await _join(options, rocks, members, identity, security, stop)
        who = Who(options.number, directory.id, replica_of_meta(rocks))
        listener.identity = identity = identity_of(options.secret, str(who), "node")
        node = _node(options, rocks, directory)
        async with _running(
            options, node, doors, Dialler(PEER, identity, security, SystemRandom())
        ):
            yield f"{host}:{bound}"
    finally:
        await listener.close()


@asynccontextmanager
async def _running(
    options: NodeOptions, node: ClusterNode, doors: _Doors, dialler: Dialler
) -> AsyncIterator[None]:
    async with asyncio.TaskGroup() as tasks:
        routers = Routers(node, tasks)
        node.on_news = routers.tell_news
        ready = asyncio.Event()
        running = tasks.create_task(node.run(ready))
        await ready.wait()
        doors.open(node, routers)
        node.transport.dial(options.members, dialler)
        try:
            yield
        finally:
            doors.close()
            await dialler.close()
            routers.stop()
            running.cancel()


async def _join(
    options: NodeOptions,
    rocks: RocksEngine,
    members: Members,
    identity: Identity,
    security: Security,
    stop: asyncio.Event,
) -> None:
    """Return when the node has its first rows. Raises StartRefused and StoppedEarly."""

    async def ask(number: int) -> Welcome:
        address = options.members[number]
        try:
            return decode_welcome(await inquire(JOIN, address, identity, security, JOIN_TIMEOUT_S))
        except BadFrame as error:
            raise Unanswered("its answer cannot be read") from error
        except NoAnswer as error:
            raise (Refused if error.refused else Unanswered)(str(error)) from error

    def say(what: str) -> None:
        log_event("waiting", role="node", number=options.number, what=what)

    joining = asyncio.ensure_future(Joining(rocks, members, ask, say).run())
    stopping = asyncio.ensure_future(stop.wait())
    try:
        await asyncio.wait([joining, stopping], return_when=asyncio.FIRST_COMPLETED)
        if not joining.done():
            raise StoppedEarly
        await joining
    except Refused as error:
        raise StartRefused(str(error)) from error
    finally:
        joining.cancel()
        stopping.cancel()


def _node(options: NodeOptions, rocks: RocksEngine, directory: DataDirectory) -> ClusterNode:
    return ClusterNode(
        rocks,
        SystemClock(),
        ClusterSettings(
            options.number,
            options.members,
            directory.seed,
            directory.id,
            options.replication,
            options.index_delay_ms,
        ),
        SystemRandom().randint,
        end_process(options.data),
        lambda what: log_event("note", role="node", number=options.number, what=what),
    )


class _Doors:
    """Lets in who may come in. While the node is starting that is nobody, but other nodes that start are answered."""

    def __init__(self, identity: Identity, members: Members, directory: DataDirectory) -> None:
        self._identity = identity
        self._members = members
        self._directory = directory
        self._release = version("grammedb")
        self._inside: tuple[ClusterNode, Routers] | None = None

    def open(self, node: ClusterNode, routers: Routers) -> None:
        self._inside = node, routers

    def close(self) -> None:
        self._inside = None

    def accept_peer(self, link: Link, peer: Identity) -> Events:
        node, _ = self._enter(peer)
        return node.transport.accept(link, peer)

    def accept_router(self, link: Link, peer: Identity) -> Events:
        node, routers = self._enter(peer)
        if not node.knows_meta:
            raise NotYet("this node is being given its copy of the tables")
        return routers.accept(link, peer)

    async def describe(self, peer: Identity, _: bytes) -> bytes:
        node = self._enter_for_a_person(peer)
        return encode_status(node.status(self._release, self._directory.size_bytes()))

    async def administer_principals(self, peer: Identity, question: bytes) -> bytes:
        node = self._enter_for_a_person(peer)
        try:
            return encode_outcome(await node.administer_principals(decode_command(question)))
        except BadFrame as error:
            raise Refused("this is no question about principals") from error
        except (GrammeError, SeamError) as error:
            return encode_outcome(error)

    async def welcome(self, peer: Identity, _: bytes) -> bytes:
        _same_cluster(self._identity, peer)
        who = who_is(peer)
        if self._inside is None:
            return encode_welcome(await welcome(self._members, who.number, who.directory))
        try:
            return encode_welcome(await self._inside[0].welcome(who.number, who.directory))
        except SeamError:
            # It asks again.
            return encode_welcome(Welcome(known=False))

    def _enter_for_a_person(self, peer: Identity) -> ClusterNode:
        """Who waits in front of a screen wants to know why there is no answer."""
        try:
            return self._enter(peer)[0]
        except NotYet as not_yet:
            raise Refused(str(not_yet)) from not_yet

    def _enter(self, peer: Identity) -> tuple[ClusterNode, Routers]:
        _same_cluster(self._identity, peer)
        if self._inside is None:
            raise NotYet("this node is starting")
        return self._inside


def _same_cluster(ours: Identity, theirs: Identity) -> None:
    if theirs.cluster != ours.cluster:
        raise Refused("this is a node of another cluster")
    if theirs.protocol != ours.protocol:
        raise Refused(f"this node speaks protocol {ours.protocol}, not {theirs.protocol}")


def _secret(content: bytes) -> Secret:
    try:
        return Secret(content)
    except SecurityRefused as error:
        raise StartRefused(str(error)) from error
