"""A real cluster: `gramme cluster` with its processes, each of which can be killed and brought back."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
from contextlib import suppress
from pathlib import Path
from typing import IO, Any, Self

from tests.support.client import Client
from tests.support.server import GATEWAY, ROOT, StartFailed
from tests.support.waiting import until

START_TIMEOUT_S = 30.0
STOP_TIMEOUT_S = 30.0
COMMAND_TIMEOUT_S = 30.0
ENDPOINT = re.compile(r"listening on http://127\.0\.0\.1:(\d+)")

GRAMME = (sys.executable, "-m", "gramme.cli.main")
# Elsewhere than in the tree it is this tree's code all the same.
ENVIRONMENT = {**os.environ, "PYTHONPATH": str(ROOT), "PYTHONUNBUFFERED": "1"}


def gramme(*arguments: str, cwd: Path | None = None) -> subprocess.CompletedProcess[str]:
    """A command that ends by itself."""
    return subprocess.run(
        [*GRAMME, *arguments],
        check=False,
        capture_output=True,
        text=True,
        timeout=COMMAND_TIMEOUT_S,
        cwd=cwd or ROOT,
        env=ENVIRONMENT,
    )


class Cluster:
    """Leaving the context stops it, and kills what was brought back by hand."""

    def __init__(self, path: Path, *options: str, cwd: Path = ROOT) -> None:
        self.path = path
        self.port = 0
        self._command = [*GRAMME, "cluster", "--data", str(path), "--port", "0", *options]
        self._cwd = cwd
        self._words = path.with_name(f"{path.name}.words")
        self._process: subprocess.Popen[bytes] | None = None
        # What runs in the place of a part that was killed.
        self._by_hand: dict[str, subprocess.Popen[bytes]] = {}

    @property
    def output(self) -> str:
        return self._words.read_text(errors="replace")

    @property
    def pid(self) -> int:
        assert self._process is not None, "the cluster was never started"
        return self._process.pid

    def start(self) -> Self:
        self._process = _spawn(self._command, self._words, "wb", self._cwd)
        found = until(self._endpoint, START_TIMEOUT_S, "the cluster listens")
        self.port = int(found[1])
        return self

    def _endpoint(self) -> re.Match[str] | None:
        assert self._process is not None
        code = self._process.poll()
        if code is not None:
            raise StartFailed(code, self.output, "")
        return ENDPOINT.search(self.output)

    def stop(self, number: signal.Signals = signal.SIGTERM) -> int:
        """Ask it to end, and return its exit code. What was brought back by hand is killed."""
        assert self._process is not None
        self._process.send_signal(number)
        try:
            return self._process.wait(STOP_TIMEOUT_S)
        finally:
            for process in self._by_hand.values():
                process.kill()
                process.wait()
            self._by_hand.clear()

    def parts(self) -> list[dict[str, Any]]:
        parts: list[dict[str, Any]] = json.loads((self.path / "cluster.json").read_text())
        return parts

    def part(self, name: str) -> dict[str, Any]:
        return next(part for part in self.parts() if part["name"] == name)

    def pid_of(self, name: str) -> int:
        by_hand = self._by_hand.get(name)
        pid: int = self.part(name)["pid"] if by_hand is None else by_hand.pid
        assert pid, f"{name} does not run"
        return pid

    def kill(self, name: str) -> None:
        """As kill -9 does."""
        os.kill(self.pid_of(name), signal.SIGKILL)
        by_hand = self._by_hand.pop(name, None)
        if by_hand is not None:
            by_hand.wait()
            return
        until(lambda: not self.part(name)["pid"], STOP_TIMEOUT_S, f"{name} is seen to be gone")

    def bring_back(self, name: str) -> None:
        """Run its own command again, and wait until it serves."""
        log = self.path / f"{name}.by-hand.log"
        process = self._by_hand[name] = _spawn(self.part(name)["command"], log, "wb", self._cwd)

        def serves() -> bool:
            assert process.poll() is None, log.read_text()
            return '"event": "started"' in log.read_text()

        until(serves, START_TIMEOUT_S, f"{name} serves again")

    def client(self, timeout_s: float = 30.0) -> Client:
        return Client(self.port, timeout_s)

    @property
    def gateway(self) -> str:
        """Where its first router listens for gramme.client, if it was told to."""
        address = until(lambda: GATEWAY.search(self.output), START_TIMEOUT_S, "the gateway listens")
        return address[1]

    def status(self) -> dict[str, Any]:
        """What `gramme admin status` says, whatever it thinks of it."""
        done = gramme("admin", "status", "--cluster", str(self.path), "--json")
        assert done.returncode in (0, 1), done.stderr
        status: dict[str, Any] = json.loads(done.stdout)
        return status

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(self, kind: object, error: object, trace: object) -> None:
        if self._process is not None and self._process.poll() is None:
            with suppress(subprocess.TimeoutExpired):
                self.stop()
            if self._process.poll() is None:
                self._process.kill()
        if kind is not None:
            print(f"the cluster's last words:\n{self.output}")


def _spawn(command: list[str], words: Path, mode: str, cwd: Path) -> subprocess.Popen[bytes]:
    file: IO[Any]
    with words.open(mode) as file:
        return subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=file,
            stderr=subprocess.STDOUT,
            cwd=cwd,
            env=ENVIRONMENT,
        )
