"""`gramme node`: opens the data directory, joins the cluster, and serves until it is told to stop."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from random import SystemRandom

from gramme.clock import SystemClock
from gramme.codec.status import encode_status
from gramme.links.api import Events, Identity, Link, Refused
from gramme.links.cluster import identity_of, seed_of
from gramme.links.dialler import Dialler
from gramme.links.listener import Listener, ListenRefused
from gramme.links.security import Secret, Security, SecurityRefused, Tls
from gramme.links.services import PEER, STORAGE
from gramme.node.cluster import ClusterNode, ClusterSettings
from gramme.node.engine.directory import DataDirectory, DirectoryRefused
from gramme.node.opening import open_rocks
from gramme.node.service import Routers
from gramme.start import StartRefused, end_process, log_event, quiet_collector, stop_on_signal


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
        if self.replication > len(self.members):
            raise StartRefused(
                f"{self.replication} replicas need as many nodes, and there are {len(self.members)}"
            )


async def run_node(options: NodeOptions) -> None:
    stop = stop_on_signal()
    async with running_node(options) as address:
        log_event("started", role="node", number=options.number, address=address, data=options.data)
        quiet_collector()
        await stop.wait()
        log_event("stopping", role="node", number=options.number)
    log_event("stopped", role="node", number=options.number)


@asynccontextmanager
async def running_node(options: NodeOptions) -> AsyncIterator[str]:
    """Gives the address it listens on. Raises StartRefused."""
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
        )
        try:
            node = ClusterNode(
                rocks,
                SystemClock(),
                ClusterSettings(
                    options.number,
                    options.members,
                    seed,
                    options.replication,
                    options.index_delay_ms,
                ),
                SystemRandom().randint,
                end_process(options.data),
                lambda what: log_event("note", role="node", number=options.number, what=what),
            )
            async with _connected(options, node, directory) as address:
                yield address
        finally:
            rocks.close()
    finally:
        directory.close()


@asynccontextmanager
async def _connected(
    options: NodeOptions, node: ClusterNode, directory: DataDirectory
) -> AsyncIterator[str]:
    security = Security(_secret(options.secret), options.tls)
    identity = identity_of(options.secret, f"{options.number}.{directory.id}", "node")
    dialler = Dialler(PEER, identity, security, SystemRandom())
    async with asyncio.TaskGroup() as tasks:
        routers = Routers(node, tasks)
        node.on_news = routers.tell_news

        def accept_peer(link: Link, peer: Identity) -> Events:
            _same_cluster(identity, peer)
            return node.transport.accept(link, peer)

        def accept_router(link: Link, peer: Identity) -> Events:
            _same_cluster(identity, peer)
            return routers.accept(link, peer)

        release = version("grammedb")

        def describe(peer: Identity) -> bytes:
            _same_cluster(identity, peer)
            return encode_status(node.status(release, directory.size_bytes()))

        accept = {STORAGE: accept_router, PEER: accept_peer}
        listener = Listener(identity, security, accept, describe=describe)
        host, _, port = options.members[options.number].rpartition(":")
        try:
            bound = await listener.start(host, int(port))
        except ListenRefused as error:
            raise StartRefused(str(error)) from error
        ready = asyncio.Event()
        running = tasks.create_task(node.run(ready))
        await ready.wait()
        node.transport.dial(options.members, dialler)
        try:
            yield f"{host}:{bound}"
        finally:
            await dialler.close()
            await listener.close()
            routers.stop()
            running.cancel()


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
