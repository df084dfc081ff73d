"""`gramme cluster`: the processes of a whole cluster on one machine, in the foreground.

It starts nodes and routers as anybody could by hand, says what becomes of them, and stops them when it is stopped. What
ends by itself stays down until somebody runs its command again, so that failing can be practised here.
"""

from __future__ import annotations

import argparse
import asyncio
import shlex
import signal
import sys
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path

from gramme.cli.children import Child, EndedEarly, stop_all
from gramme.cli.cluster_directory import ClusterDirectory, Part
from gramme.cli.greeting import greet
from gramme.cli.parts import PARTITIONS_MAX
from gramme.cli.ports import LOOPBACK, NoFreePort, free_ports, is_free
from gramme.start import StartRefused, run_or_refuse, stop_on_signal

# Each is a process of some 60 MB, and all share the machine's disk.
NODES_MAX = 15
ROUTERS_MAX = 16
REPLICATIONS = (5, 3, 1)
GATEWAY_PORT = "--gateway-port"


def add_to(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    parser = commands.add_parser(
        "cluster",
        help="run a cluster of several processes on this machine",
        description="Run nodes and routers as processes of their own, and stop them when this one is stopped.",
    )
    option = parser.add_argument
    option("--nodes", type=int, metavar="N", help="default 3; those of a directory cannot change")
    option("--routers", type=int, default=1, metavar="N", help="default 1")
    option(
        "--port",
        type=int,
        default=8000,
        help="of the first router, default 8000; the others have the next ones. 0 takes free ones",
    )
    option(
        "--gateway-port",
        type=int,
        default=-1,
        metavar="PORT",
        help="of the first router for gramme.client, none unless given; otherwise as --port",
    )
    option("--data", metavar="DIR", default="cluster", help="of all its files, default ./cluster")
    option(
        "--replication",
        type=int,
        choices=sorted(REPLICATIONS),
        help="replicas of each partition, default 3 where there are as many nodes",
    )
    option("--partitions", type=int, default=1, metavar="N", help="of each new table, default 1")
    option("--credentials", default="", metavar="FILE", help="as in gramme serve")
    option("--principals", action="store_true", help="as in gramme router")
    option("--durability", choices=("flush", "os"), default="flush", help="as in gramme serve")
    option("--cache-mb", type=int, default=0, metavar="MB", help="of each node, as in gramme serve")
    option("--index-delay-ms", type=int, default=0, metavar="MS", help="as in gramme serve")
    parser.set_defaults(command=run_cluster)


def run_cluster(options: argparse.Namespace) -> int:
    run_or_refuse(lambda: _run(options))
    return 0


@dataclass(frozen=True, slots=True)
class Started:
    """A part as it is known beforehand, without a pid, and its process."""

    part: Part
    child: Child


async def _run(options: argparse.Namespace) -> None:
    _check(options)
    stop = stop_on_signal()
    if signal.getsignal(signal.SIGHUP) != signal.SIG_IGN:
        # The terminal is closed. Without this the processes would stay, in sessions of their own.
        asyncio.get_running_loop().add_signal_handler(signal.SIGHUP, stop.set)
    directory = ClusterDirectory.open(Path(options.data), options.nodes)
    try:
        parts = [*_nodes(options, directory), *_routers(options, directory)]
        _check_addresses(parts)
        router = next(part for part in parts if part.role == "router")

        def say_ready() -> None:
            endpoint = f"http://{router.address}"
            greet(
                endpoint,
                str(directory.path),
                options.credentials,
                gateway_of(router),
                principals=options.principals,
            )

        await Cluster(directory, parts, say_ready).run(stop)
    finally:
        directory.close()


def _check(options: argparse.Namespace) -> None:
    if options.nodes is not None and not 1 <= options.nodes <= NODES_MAX:
        raise StartRefused(f"nodes must be from 1 to {NODES_MAX}")
    if not 1 <= options.routers <= ROUTERS_MAX:
        raise StartRefused(f"routers must be from 1 to {ROUTERS_MAX}")
    for port in (options.port, max(options.gateway_port, 0)):
        if not 0 <= port <= 65536 - options.routers:
            raise StartRefused(f"port {port} is no port, or leaves none for all routers")
    if not 1 <= options.partitions <= PARTITIONS_MAX:
        raise StartRefused(f"partitions must be from 1 to {PARTITIONS_MAX}")
    if options.cache_mb < 0 or options.index_delay_ms < 0:
        raise StartRefused("--cache-mb and --index-delay-ms must not be negative")
    if options.credentials and options.principals:
        raise StartRefused("give --principals or --credentials, not both")


def _check_addresses(parts: Sequence[Part]) -> None:
    """Before anything is started: a router looks for its own port only once there are nodes to talk to."""
    for part in parts:
        if not is_free(int(part.address.rpartition(":")[2])):
            raise StartRefused(
                f"{part.name} cannot listen on {part.address}: it is taken, perhaps by a {part.role} of an earlier "
                "run that was started by hand"
            )


# What runs


def _nodes(options: argparse.Namespace, directory: ClusterDirectory) -> list[Part]:
    members = directory.members
    replication = options.replication or max(
        count for count in REPLICATIONS if count <= min(3, len(members))
    )
    if replication > len(members):
        raise StartRefused(
            f"{replication} replicas need as many nodes, and there are {len(members)}"
        )
    parts = []
    for number, address in enumerate(members, start=1):
        name = f"node-{number}"
        data = str(directory.data_of(name))
        command = [
            *_command("node", directory),
            *("--number", str(number), "--data", data, "--replication", str(replication)),
            *("--durability", options.durability, "--cache-mb", str(options.cache_mb)),
            *("--index-delay-ms", str(options.index_delay_ms)),
        ]
        parts.append(Part(name, "node", 0, address, data, command))
    return parts


def _routers(options: argparse.Namespace, directory: ClusterDirectory) -> list[Part]:
    ports = _ports(options.port, options.routers)
    gateways = _ports(options.gateway_port, options.routers)
    callers = ["--principals"] if options.principals else []
    if options.credentials:
        callers = ["--credentials", str(Path(options.credentials).absolute())]
    parts = []
    for number, (port, gateway) in enumerate(zip(ports, gateways, strict=True), start=1):
        command = [
            *_command("router", directory),
            *("--host", LOOPBACK, "--port", str(port), "--partitions", str(options.partitions)),
            *((GATEWAY_PORT, str(gateway)) if gateway > 0 else ()),
            *callers,
        ]
        parts.append(Part(f"router-{number}", "router", 0, f"{LOOPBACK}:{port}", "", command))
    return parts


def _ports(first: int, count: int) -> list[int]:
    """Those from `first` on, or free ones if it is 0, or none if it is negative."""
    if first < 0:
        return [first] * count
    try:
        return [first + number for number in range(count)] if first else free_ports(count)
    except NoFreePort as error:
        raise StartRefused(str(error)) from error


def gateway_of(router: Part) -> str:
    """Where it listens for gramme.client; empty if it does not."""
    if GATEWAY_PORT not in router.command:
        return ""
    return f"{LOOPBACK}:{router.command[router.command.index(GATEWAY_PORT) + 1]}"


def _command(role: str, directory: ClusterDirectory) -> list[str]:
    return [
        *(sys.executable, "-m", "gramme.cli.main", role),
        *("--members", ",".join(directory.members)),
        *("--secret-file", str(directory.secret_file)),
    ]


class Cluster:
    """Its processes, from their start to their end."""

    def __init__(
        self, directory: ClusterDirectory, parts: Sequence[Part], on_ready: Callable[[], None]
    ) -> None:
        self._directory = directory
        self._on_ready = on_ready
        self._started = [
            Started(part, Child(part.name, part.command, directory.log_of(part.name)))
            for part in parts
        ]
        self._awaited = len(parts)

    async def run(self, stop: asyncio.Event) -> None:
        """Raises StartRefused if one of the processes does not start; then none is left."""
        try:
            await self._start()
            async with asyncio.TaskGroup() as tasks:
                following = [tasks.create_task(self._follow(one)) for one in self._started]
                await stop.wait()
                for task in following:
                    task.cancel()
        finally:
            await self._stop()

    async def _start(self) -> None:
        for one in self._started:
            try:
                await one.child.start()
            except OSError as error:
                raise StartRefused(f"cannot start {one.part.name}: {error.strerror}") from error
        try:
            self._remember()
        except OSError as error:
            raise StartRefused(
                f"cannot write to {self._directory.path}: {error.strerror}"
            ) from error

    async def _follow(self, one: Started) -> None:
        """Say what becomes of a process."""
        part, child = one.part, one.child
        try:
            await child.serves()
        except EndedEarly as error:
            raise StartRefused(f"{part.name} did not start: {error}") from error
        where = f"   data {part.data}" if part.data else ""
        _say(part, "ready", f"{part.address:<15}   pid {child.pid}{where}")
        self._awaited -= 1
        if not self._awaited:
            self._on_ready()
        how = await child.ended()
        with suppress(OSError):
            # A full disk ends nodes, and then what they leave must still run.
            self._remember()
        _say(part, "ended", f"{how}; to bring it back: {shlex.join(part.command)}")

    async def _stop(self) -> None:
        """Routers first, so that what they were asked is answered."""
        began = [one for one in self._started if one.child.began]
        for role in ("router", "node"):
            await stop_all([one.child for one in began if one.part.role == role])
        if began:
            with suppress(OSError):
                self._remember()

    def _remember(self) -> None:
        self._directory.remember([replace(one.part, pid=one.child.pid) for one in self._started])


def _say(part: Part, state: str, facts: str) -> None:
    print(f"{part.name:<9} {state}   {facts}", flush=True)
