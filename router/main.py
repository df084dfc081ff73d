"""`gramme router`: the front of a cluster, for HTTP and for gramme.client. It needs no disk, and learns of the tables from the nodes."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from random import SystemRandom

from gramme.clock import SystemClock
from gramme.codec.news import News
from gramme.links.api import Identity
from gramme.links.dialler import Dialler
from gramme.links.security import Security
from gramme.links.services import STORAGE
from gramme.model.principal import Principal
from gramme.model.table import Table
from gramme.router.catalog import Catalog, entry_of
from gramme.router.gateway import Gateway, certificate_of, listening
from gramme.router.http.callers import verifier
from gramme.router.http.credentials import credentials_of
from gramme.router.http.dispatch import Dispatcher
from gramme.router.http.server import HttpServer
from gramme.router.operations.all import OPERATIONS
from gramme.router.operations.context import Context
from gramme.router.remote_nodes import RemoteNodes
from gramme.start import StartRefused, log_event, quiet_collector, stop_on_signal

STOP_GRACE_S = 10.0


@dataclass(frozen=True, slots=True)
class RouterOptions:
    """`nodes` are the addresses of the cluster's nodes, in the order of their numbers."""

    nodes: Sequence[str]
    identity: Identity
    security: Security
    host: str = "127.0.0.1"
    port: int = 8000
    partitions: int = 1
    credentials: str = ""
    insecure_bind: bool = False
    # No gateway if it is negative.
    gateway_port: int = -1
    gateway_certificate: str = ""
    gateway_key: str = ""
    # Whether those may ask whom the cluster knows, and nobody else.
    principals: bool = False


@dataclass(frozen=True, slots=True)
class Listening:
    """Where a router can be asked; `gateway` is empty if there is none."""

    endpoint: str
    gateway: str


async def run_router(options: RouterOptions) -> None:
    stop = stop_on_signal()
    log_event("connecting", role="router", nodes=list(options.nodes))
    async with running_router(options, stop) as at:
        if at is not None:
            facts = {"gateway": at.gateway} if at.gateway else {}
            log_event("started", role="router", endpoint=at.endpoint, **facts)
            quiet_collector()
            await stop.wait()
            log_event("stopping", role="router", endpoint=at.endpoint)
    log_event("stopped", role="router")


@asynccontextmanager
async def running_router(
    options: RouterOptions, stop: asyncio.Event
) -> AsyncIterator[Listening | None]:
    """Gives where it listens once a node has told of the tables, or nothing if it was stopped before. Raises StartRefused."""
    certificate = certificate_of(options.gateway_certificate, options.gateway_key)
    try:
        verified = verifier(
            options.credentials,
            options.host,
            insecure_bind=options.insecure_bind,
            principals=options.principals,
        )
    except OSError as error:
        raise StartRefused(f"cannot listen on {options.host}: {error.strerror}") from error
    tables = Tables()
    if verified is not None and options.principals:
        know = verified.replace_credentials
        tables.on_principals = lambda principals: know(credentials_of(principals))
    dialler = Dialler(STORAGE, options.identity, options.security, SystemRandom())
    nodes = RemoteNodes(SystemRandom(), tables)
    nodes.on_refused = tables.refuse
    nodes.dial(options.nodes, dialler)
    try:
        catalog = await tables.first(stop)
        if catalog is None:
            yield None
            return
        context = Context(
            catalog,
            nodes,
            SystemClock(),
            options.partitions,
            address=lambda: f"{options.host}:{http.port}",
        )
        http = HttpServer(
            Dispatcher(context, OPERATIONS, authenticate=verified.caller if verified else None)
        )
        try:
            await http.start(options.host, options.port)
        except OSError as error:
            raise StartRefused(
                f"cannot listen on {options.host}:{options.port}: {error.strerror}"
            ) from error
        try:
            endpoint = f"http://{options.host}:{http.port}"
            if options.gateway_port < 0:
                yield Listening(endpoint, "")
            else:
                gateway = Gateway(context, OPERATIONS, verified, certificate)
                async with listening(gateway, options.host, options.gateway_port):
                    yield Listening(endpoint, f"{options.host}:{gateway.port}")
        finally:
            await http.stop(STOP_GRACE_S)
    finally:
        nodes.close()
        await dialler.close()


class Tables:
    """Keeps a catalog as the news say; there is none before the first."""

    def __init__(self) -> None:
        self.catalog: Catalog | None = None
        # Told of all principals there are, whenever they have changed.
        self.on_principals: Callable[[Sequence[Principal]], None] = lambda principals: None
        self._known: dict[int, Table] = {}
        self._refusal = ""
        # There are news, or there will be none.
        self._first = asyncio.Event()

    def learn(self, news: News) -> None:
        if self.catalog is None:
            self.catalog = Catalog(news.seed)
        for id in news.gone:
            gone = self._known.pop(id, None)
            if gone is not None:
                self.catalog.drop(gone)
        for record in news.records:
            if self._known.get(record.table.id) != record.table:
                self.catalog.put(entry_of(record))
                self._known[record.table.id] = record.table
        if news.principals is not None:
            self.on_principals(news.principals)
        self._first.set()

    def refuse(self, why: str) -> None:
        """A router that serves already goes on: the nodes may be of another release soon."""
        self._refusal = why
        self._first.set()

    async def first(self, stop: asyncio.Event) -> Catalog | None:
        """The catalog, once there is one; None if the process is to stop before. Raises StartRefused."""
        waiting = [asyncio.ensure_future(event.wait()) for event in (self._first, stop)]
        await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
        for task in waiting:
            task.cancel()
        if self.catalog is None and not stop.is_set() and self._refusal:
            raise StartRefused(self._refusal)
        return self.catalog
