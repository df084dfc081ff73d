"""A real server process: started, stopped, killed, paused, and its words kept for when a test fails."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Self

from tests.support.client import Client
from tests.support.waiting import Overdue, until

START_TIMEOUT_S = 30.0
STOP_TIMEOUT_S = 30.0
GATEWAY = re.compile(r"gramme\.client: (127\.0\.0\.1:\d+)")
ADDRESS = re.compile(r"http://127\.0\.0\.1:(\d+)")
ROOT = Path(__file__).resolve().parents[2]


class StartFailed(Exception):
    """The process ended before it listened."""

    def __init__(self, code: int, output: str, errors: str) -> None:
        self.code = code
        self.output = output
        self.errors = errors
        super().__init__(f"the server ended with {code}:\n{output}{errors}")


def command(data: Path | None, *options: str, port: int = 0) -> list[str]:
    where = ["--in-memory"] if data is None else ["--data", str(data)]
    return [
        *(sys.executable, "-m", "gramme.cli.main", "serve", "--port", str(port)),
        *where,
        *options,
    ]


class Server:
    """One server over one data directory; it may be started many times. Leaving the context kills it."""

    def __init__(
        self,
        data: Path | None,
        *options: str,
        environment: Mapping[str, str] | None = None,
        port: int = 0,
    ) -> None:
        self.command = command(data, *options, port=port)
        self.environment = dict(environment or {})
        self.port = 0
        self._process: subprocess.Popen[bytes] | None = None
        self._words = tempfile.TemporaryDirectory(prefix="gramme-words-")

    @property
    def pid(self) -> int:
        assert self._process is not None, "the server was never started"
        return self._process.pid

    @property
    def output(self) -> str:
        return self._read("output")

    @property
    def errors(self) -> str:
        return self._read("errors")

    def _read(self, name: str) -> str:
        path = Path(self._words.name, name)
        return path.read_text(errors="replace") if path.exists() else ""

    def start(self, timeout_s: float = START_TIMEOUT_S) -> Self:
        """Start the process and wait until it listens."""
        with (
            Path(self._words.name, "output").open("wb") as output,
            Path(self._words.name, "errors").open("wb") as errors,
        ):
            self._process = subprocess.Popen(
                self.command,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=errors,
                cwd=ROOT,
                env={**os.environ, "PYTHONUNBUFFERED": "1", **self.environment},
            )
        try:
            address = until(self._address, timeout_s, "the server listens")
        except Overdue:
            self.kill()
            raise
        self.port = int(address[1])
        return self

    def _address(self) -> re.Match[str] | None:
        code = self.exit_code()
        if code is not None:
            raise StartFailed(code, self.output, self.errors)
        return ADDRESS.search(self.output)

    def exit_code(self) -> int | None:
        return None if self._process is None else self._process.poll()

    def wait(self, timeout_s: float = STOP_TIMEOUT_S) -> int:
        """Wait for the process to end by itself."""
        assert self._process is not None, "the server was never started"
        return self._process.wait(timeout_s)

    def kill(self) -> None:
        """End it as `kill -9` does."""
        self.signal(signal.SIGKILL)
        self.wait()

    def stop(self) -> int:
        """Ask it to end, and return its exit code."""
        self.signal(signal.SIGTERM)
        return self.wait()

    def signal(self, number: signal.Signals) -> None:
        if self.exit_code() is None:
            os.kill(self.pid, number)

    @property
    def gateway(self) -> str:
        """Where it listens for gramme.client, if it was told to."""
        address = until(lambda: GATEWAY.search(self.output), START_TIMEOUT_S, "the gateway listens")
        return address[1]

    def client(self, timeout_s: float = 30.0) -> Client:
        return Client(self.port, timeout_s)

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(self, kind: object, error: object, trace: object) -> None:
        if self._process is not None and self.exit_code() is None:
            self.kill()
        if kind is not None:
            print(f"the server's last words:\n{self.output}{self.errors}")
        self._words.cleanup()
