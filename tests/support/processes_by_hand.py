"""The processes of a cluster, each started by its own command line: to be killed, paused, wiped and brought back one by one.

`gramme cluster` gives all processes the same addresses. Here whoever starts them says by which address one reaches another,
so that something can stand between two of them.
"""

from __future__ import annotations

import asyncio
import secrets
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Self

from gramme.cli.ports import LOOPBACK, free_ports
from gramme.cli.status import ClusterStatus, put_together
from gramme.codec.status import NodeStatus, decode_status
from gramme.links.cluster import identity_of
from gramme.links.inquiry import NoAnswer, inquire
from gramme.links.security import Secret, Security
from gramme.links.services import STATUS
from tests.support.client import Client
from tests.support.cluster_processes import ENVIRONMENT, GRAMME, START_TIMEOUT_S, STOP_TIMEOUT_S
from tests.support.server import ROOT
from tests.support.waiting import until

STATUS_TIMEOUT_S = 1.0
# Runs a command in its place that is killed when its parent is gone, which only Linux offers: prctl's PR_SET_PDEATHSIG.
WITH_ITS_PARENT = (
    *(sys.executable, "-c"),
    "import ctypes, os, sys; ctypes.CDLL(None).prctl(1, 9); os.execv(sys.argv[1], sys.argv[1:])",
)

# By which address a process, given by its name, reaches a node, given by its number and its own address.
Way = Callable[[str, int, str], str]


def directly(_name: str, _number: int, address: str) -> str:
    return address


class ByHand:
    """Leaving the context ends all of them. `options` are given to each command."""

    def __init__(
        self,
        path: Path,
        *,
        nodes: int = 3,
        routers: int = 1,
        partitions: int = 1,
        way: Way = directly,
        options: Sequence[str] = (),
    ) -> None:
        path.mkdir()
        self.path = path
        self.secret = secrets.token_hex(16).encode()
        self.secret_file = path / "secret"
        self.secret_file.write_bytes(self.secret)
        ports = free_ports(nodes + routers)
        self.members = [f"{LOOPBACK}:{port}" for port in ports[:nodes]]
        self.nodes = [f"node-{number}" for number in range(1, nodes + 1)]
        self.routers = dict(
            zip(
                [f"router-{number}" for number in range(1, routers + 1)], ports[nodes:], strict=True
            )
        )
        self.commands: dict[str, list[str]] = {}
        replication = str(3 if nodes >= 3 else 1)
        for number, name in enumerate(self.nodes, start=1):
            self.commands[name] = [
                *(*GRAMME, "node", *self._shared(name, way), *options, "--number", str(number)),
                *("--data", str(path / name), "--replication", replication, "--cache-mb", "16"),
            ]
        for name, port in self.routers.items():
            self.commands[name] = [
                *(*GRAMME, "router", *self._shared(name, way), *options),
                *("--port", str(port), "--partitions", str(partitions)),
            ]
        self._running: dict[str, subprocess.Popen[bytes]] = {}

    def _shared(self, name: str, way: Way) -> list[str]:
        members = [
            address if name == f"node-{number}" else way(name, number, address)
            for number, address in enumerate(self.members, start=1)
        ]
        return ["--members", ",".join(members), "--secret-file", str(self.secret_file)]

    def data(self, name: str) -> Path:
        return self.path / name

    def words(self, name: str) -> str:
        """What a process has said since it was started last."""
        return self._log(name).read_text(errors="replace")

    def _log(self, name: str) -> Path:
        return self.path / f"{name}.log"

    def start(self, *names: str) -> None:
        """Start these, all without names, and wait until they serve."""
        names = names or tuple(self.commands)
        for name in names:
            self.spawn(name)
        for name in names:
            self.await_serving(name)

    def spawn(self, name: str) -> subprocess.Popen[bytes]:
        with self._log(name).open("wb") as log:
            process = self._running[name] = subprocess.Popen(
                [*(WITH_ITS_PARENT if sys.platform == "linux" else ()), *self.commands[name]],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                cwd=ROOT,
                env=ENVIRONMENT,
            )
        return process

    def await_serving(self, name: str) -> None:
        def serves() -> bool:
            assert self._running[name].poll() is None, f"{name} ended: {self.words(name)}"
            return '"event": "started"' in self.words(name)

        until(serves, START_TIMEOUT_S, f"{name} serves")

    def kill(self, *names: str) -> None:
        """As kill -9 does, all of them at once."""
        for name in names:
            self._running[name].send_signal(signal.SIGKILL)
        for name in names:
            self._running.pop(name).wait()

    def pause(self, name: str) -> None:
        self._running[name].send_signal(signal.SIGSTOP)

    def resume(self, name: str) -> None:
        self._running[name].send_signal(signal.SIGCONT)

    def wipe(self, name: str) -> None:
        """Take away the data of a node that does not run."""
        assert name not in self._running
        shutil.rmtree(self.data(name))

    def stop(self) -> None:
        """Ask all of them to end, routers first, and kill who does not."""
        for names in (self.routers, self.nodes):
            running = [self._running.pop(name) for name in names if name in self._running]
            for process in running:
                process.send_signal(signal.SIGCONT)
                process.terminate()
            for process in running:
                with suppress(subprocess.TimeoutExpired):
                    process.wait(STOP_TIMEOUT_S)
                process.kill()
                process.wait()

    def client(self, router: str = "router-1", timeout_s: float = 30.0) -> Client:
        return Client(self.routers[router], timeout_s)

    def status(self) -> ClusterStatus:
        """What `gramme admin status` shows. The nodes are asked directly, whatever stands between processes."""

        async def ask(address: str) -> NodeStatus | str:
            identity = identity_of(self.secret, "", "admin")
            security = Security(Secret(self.secret), None)
            try:
                return decode_status(
                    await inquire(STATUS, address, identity, security, STATUS_TIMEOUT_S)
                )
            except NoAnswer as error:
                return str(error)

        async def ask_all() -> ClusterStatus:
            answers = await asyncio.gather(*map(ask, self.members))
            return put_together(self.members, dict(enumerate(answers, start=1)))

        return asyncio.run(ask_all())

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: object, error: object, trace: object) -> None:
        for process in self._running.values():
            process.kill()
        for process in self._running.values():
            process.wait()
        self._running.clear()
