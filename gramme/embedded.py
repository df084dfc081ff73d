"""A whole server inside one process: a router and a node joined by function calls.

This is a cluster of one, not an emulator of a cluster: the same router, replica, commit loop and disk format. It
also holds what `gramme serve` can be told, from its command line, the environment and a file.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import shutil
import socket
import tempfile
import threading
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any

from gramme.clock import Clock, SystemClock, VirtualClock
from gramme.node.engine.api import Engine
from gramme.node.engine.directory import IN_MEMORY_MARK, DataDirectory, DirectoryRefused
from gramme.node.engine.failpoints import FailingEngine, parse_failpoints
from gramme.node.opening import open_rocks
from gramme.node.server import Node, NodeSettings
from gramme.open_files import allowed
from gramme.router.catalog import Catalog, entry_of
from gramme.router.http.callers import verifier
from gramme.router.http.dispatch import Dispatcher
from gramme.router.http.limits import Limits
from gramme.router.http.server import HttpServer
from gramme.router.http.verifier import Verifier
from gramme.router.operations.all import OPERATIONS
from gramme.router.operations.context import Context
from gramme.start import StartRefused, end_process, run

ENVIRONMENT_PREFIX = "GRAMME_"
PARTITIONS_MAX = 256
CACHE_MB_MAX = 1 << 20
DELAY_MAX_MS = 86_400_000
STOP_GRACE_S = 10.0
_IN_MEMORY_PREFIX = "gramme-"


@dataclass(frozen=True, slots=True)
class Settings:
    """What a server can be told. Every name is also `GRAMME_<NAME>` and a key of the settings file."""

    host: str = "127.0.0.1"
    port: int = 8000
    data: str = "./data"
    in_memory: bool = False
    durability: str = "flush"
    partitions: int = 1
    clock: str = "system"
    index_delay_ms: int = 0
    cache_mb: int = 0
    table_delay_ms: int = 0
    accept_data_loss: bool = False
    credentials: str = ""
    insecure_bind: bool = False
    # None if negative.
    gateway_port: int = -1
    gateway_certificate: str = ""
    gateway_key: str = ""
    failpoints: str = ""

    def __post_init__(self) -> None:
        _choice("durability", self.durability, ("flush", "os"))
        _choice("clock", self.clock, ("system", "virtual"))
        _within("port", self.port, 0, 65535)
        _within("gateway_port", self.gateway_port, -1, 65535)
        _within("partitions", self.partitions, 1, PARTITIONS_MAX)
        _within("cache_mb", self.cache_mb, 0, CACHE_MB_MAX)
        _within("index_delay_ms", self.index_delay_ms, 0, DELAY_MAX_MS)
        _within("table_delay_ms", self.table_delay_ms, 0, DELAY_MAX_MS)
        try:
            parse_failpoints(self.failpoints)
        except ValueError as error:
            raise StartRefused(str(error)) from error

    @classmethod
    def load(
        cls, flags: Mapping[str, Any], environment: Mapping[str, str], file: Mapping[str, Any]
    ) -> Settings:
        """Flags before environment before file before defaults. Raises StartRefused."""
        known = {setting.name: type(setting.default) for setting in fields(cls)}
        unknown = sorted(set(file) - set(known))
        if unknown:
            raise StartRefused(f"the settings file has an unknown setting: {unknown[0]}")
        found: dict[str, Any] = {}
        for name, kind in known.items():
            from_environment = environment.get(ENVIRONMENT_PREFIX + name.upper())
            if flags.get(name) is not None:
                found[name] = flags[name]
            elif from_environment is not None:
                found[name] = _parse(name, from_environment, kind)
            elif name in file:
                if type(file[name]) is not kind:
                    raise StartRefused(
                        f"{name} in the settings file must be of type {kind.__name__}"
                    )
                found[name] = file[name]
        return cls(**found)


class Server:
    """A running server; made by `running`."""

    def __init__(
        self, http: HttpServer, clock: Clock, settings: Settings, gateway_port: int = 0
    ) -> None:
        self._http = http
        self._gateway_port = gateway_port
        self._clock = clock
        self.settings = settings

    @property
    def endpoint(self) -> str:
        return f"http://{_shown_host(self.settings.host)}:{self._http.port}"

    @property
    def clock(self) -> VirtualClock:
        """What this server goes by, to be moved by a test. Raises RuntimeError if that is the system's clock."""
        if isinstance(self._clock, VirtualClock):
            return self._clock
        raise RuntimeError('only serving(clock="virtual") has a clock that can be moved')

    @property
    def gateway(self) -> str:
        """Where `gramme.client` connects; empty if that was not asked for."""
        host = _shown_host(self.settings.host)
        return f"{host}:{self._gateway_port}" if self._gateway_port else ""


@contextlib.asynccontextmanager
async def running(settings: Settings) -> AsyncIterator[Server]:
    """Start a server, and stop it cleanly at the end. Raises StartRefused."""
    try:
        verified = verifier(
            settings.credentials, settings.host, insecure_bind=settings.insecure_bind
        )
    except OSError as error:
        raise _unheard(settings, error) from error
    with _open_engine(settings) as (engine, directory):
        clock, seed = _clock(settings, directory), directory.seed
        node = Node(
            engine,
            clock,
            NodeSettings(seed, settings.index_delay_ms),
            end_process("memory" if settings.in_memory else settings.data),
        )
        catalog = Catalog(seed)
        node.on_table = lambda record: catalog.put(entry_of(record))
        node.on_drop = catalog.drop
        context = Context(
            catalog,
            node,
            clock,
            settings.partitions,
            settings.table_delay_ms,
            lambda: f"{_shown_host(settings.host)}:{http.port}",
        )
        http = HttpServer(
            Dispatcher(context, OPERATIONS, authenticate=verified.caller if verified else None),
            _limits(settings),
        )
        async with asyncio.TaskGroup() as tasks:
            ready = asyncio.Event()
            tasks.create_task(node.run(ready))
            await ready.wait()
            try:
                await _listen(http, settings)
                async with _gateway(context, verified, settings) as gateway_port:
                    yield Server(http, clock, settings, gateway_port)
            finally:
                await http.stop(STOP_GRACE_S)
                node.stop()


@contextlib.contextmanager
def serving(**overrides: Any) -> Iterator[Server]:
    """A server in a thread of this process, for tests: in memory and on a free port unless told otherwise."""
    settings = replace(Settings(in_memory=True, port=0), **overrides)
    started: list[Server] = []
    failed: list[BaseException] = []
    ready = threading.Event()
    stop: list[Callable[[], object]] = []

    async def main() -> None:
        over = asyncio.Event()
        loop = asyncio.get_running_loop()
        async with running(settings) as server:
            stop.append(lambda: loop.call_soon_threadsafe(over.set))
            started.append(server)
            ready.set()
            await over.wait()

    def thread_main() -> None:
        try:
            run(main)
        except BaseException as error:  # noqa: BLE001 (handed to the caller)
            failed.append(error)
        finally:
            ready.set()

    thread = threading.Thread(target=thread_main, name="gramme")
    thread.start()
    ready.wait()
    try:
        if failed:
            raise failed[0]
        yield started[0]
    finally:
        for call in stop:
            call()
        thread.join()


def _unheard(settings: Settings, error: OSError) -> StartRefused:
    reason = error.strerror or str(error)
    if error.errno and not isinstance(error, socket.gaierror):
        # The event loop's own words would repeat the address.
        reason = os.strerror(error.errno)
    return StartRefused(f"cannot listen on {settings.host}:{settings.port}: {reason}")


def _shown_host(host: str) -> str:
    """A listening address as a client on this machine would write it."""
    return "127.0.0.1" if host in ("0.0.0.0", "") else f"[{host}]" if ":" in host else host


async def _listen(http: HttpServer, settings: Settings) -> None:
    try:
        await http.start(settings.host, settings.port)
    except OSError as error:
        raise _unheard(settings, error) from error


@contextlib.asynccontextmanager
async def _gateway(
    context: Context, verified: Verifier | None, settings: Settings
) -> AsyncIterator[int]:
    """The port that it listens on, 0 if it is not wanted."""
    if settings.gateway_port < 0:
        yield 0
        return
    # gRPC takes a while to load.
    from gramme.router.gateway import Gateway, certificate_of, listening

    certificate = certificate_of(settings.gateway_certificate, settings.gateway_key)
    gateway = Gateway(context, OPERATIONS, verified, certificate)
    async with listening(gateway, settings.host, settings.gateway_port):
        yield gateway.port


@contextlib.contextmanager
def _open_engine(settings: Settings) -> Iterator[tuple[Engine, DataDirectory]]:
    with _data_path(settings) as path:
        try:
            directory = DataDirectory.open(path)
        except DirectoryRefused as error:
            raise StartRefused(str(error)) from error
        try:
            rocks = open_rocks(
                directory,
                flushes=settings.durability == "flush" and not settings.in_memory,
                accept_data_loss=settings.accept_data_loss,
                cache_mb=settings.cache_mb,
            )
            failpoints = parse_failpoints(settings.failpoints)
            try:
                yield FailingEngine(rocks, failpoints) if failpoints else rocks, directory
            finally:
                rocks.close()
        finally:
            directory.close()


def _limits(settings: Settings) -> Limits:
    usual, files = Limits(), allowed()
    connections = files.connections - (files.streams if settings.gateway_port >= 0 else 0)
    return replace(usual, connections_max=min(usual.connections_max, connections))


@contextlib.contextmanager
def _data_path(settings: Settings) -> Iterator[Path]:
    if not settings.in_memory:
        yield Path(settings.data)
        return
    shared = Path("/dev/shm")
    parent = shared if os.access(shared, os.W_OK) else Path(tempfile.gettempdir())
    _sweep(parent)
    path = Path(tempfile.mkdtemp(prefix=_IN_MEMORY_PREFIX, dir=parent))
    (path / IN_MEMORY_MARK).touch()
    try:
        yield path
    finally:
        shutil.rmtree(path, ignore_errors=True)


def _sweep(parent: Path) -> None:
    """Remove what in-memory servers that were killed have left behind: marked directories without an owner."""
    for path in parent.glob(f"{_IN_MEMORY_PREFIX}*/{IN_MEMORY_MARK}"):
        try:
            DataDirectory.open(path.parent).close()
        except DirectoryRefused:
            continue
        shutil.rmtree(path.parent, ignore_errors=True)


def _clock(settings: Settings, directory: DataDirectory) -> Clock:
    system = SystemClock()
    if settings.clock == "system":
        return system
    # What the directory holds may be from a time that its last clock was moved to.
    return VirtualClock(max(system.now_ms(), directory.moved_to_ms()), directory.keep_moved_to)


def _parse(name: str, text: str, kind: type) -> Any:
    variable = ENVIRONMENT_PREFIX + name.upper()
    if kind is bool:
        if text.lower() in ("1", "true", "yes", "on"):
            return True
        if text.lower() in ("0", "false", "no", "off", ""):
            return False
        raise StartRefused(f"{variable} must be true or false, not {text!r}")
    try:
        return kind(text)
    except ValueError:
        raise StartRefused(f"{variable} must be a number, not {text!r}") from None


def _choice(name: str, value: str, allowed: tuple[str, ...]) -> None:
    if value not in allowed:
        raise StartRefused(f"{name} must be one of {', '.join(allowed)}, not {value!r}")


def _within(name: str, value: int, smallest: int, largest: int) -> None:
    if not smallest <= value <= largest:
        raise StartRefused(f"{name} must be from {smallest} to {largest}, not {value}")
