"""The servers under test: how each is started, awaited, watched and stopped."""

import signal
import socket
import subprocess
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from bench import processes
from bench.wire import Address, Answer, Client, request_bytes

ROOT = Path(__file__).resolve().parent.parent
START_TIMEOUT_S = 180.0
STOP_TIMEOUT_S = 30.0
POLL_INTERVAL_S = 0.002
LOG_TAIL_BYTES = 2000
IDLE_CPU_SHARE = 0.1

LIST_TABLES = request_bytes("ListTables", "{}")


@dataclass(frozen=True, slots=True)
class Kind:
    """A server that can be started: its command line for a port and a data directory, and where that is run."""

    name: str
    note: str
    version: str
    command: Callable[[int, Path], list[str]]
    directory: Path = ROOT


class Server:
    """One server process with its own directory and port; it can be started again after a kill."""

    def __init__(self, kind: Kind, directory: Path) -> None:
        self.kind = kind
        self.address = Address("127.0.0.1", free_port())
        self._data = directory / "data"
        self._log = directory / "log"
        self._process: subprocess.Popen[bytes] | None = None
        directory.mkdir(parents=True, exist_ok=True)

    def start(
        self, probe: bytes = LIST_TABLES, accepts: Callable[[Answer], bool] | None = None
    ) -> float:
        """Start the process; return the seconds until it answers `probe` acceptably."""
        accepts = accepts or is_an_answer
        command = self.kind.command(self.address.port, self._data)
        started_at = time.monotonic()
        with self._log.open("ab") as log:
            self._process = subprocess.Popen(
                command, cwd=self.kind.directory, stdin=subprocess.DEVNULL, stdout=log, stderr=log
            )
        while not self._answers(probe, accepts):
            if self._process.poll() is not None:
                raise RuntimeError(f"{self.kind.name} ended at once:\n{self._log_tail()}")
            if time.monotonic() - started_at > START_TIMEOUT_S:
                self.kill()
                raise RuntimeError(f"{self.kind.name} never answered:\n{self._log_tail()}")
            time.sleep(POLL_INTERVAL_S)
        return time.monotonic() - started_at

    def stop(self) -> None:
        """Ask the process to end, and insist if it does not."""
        if self._process is None:
            return
        self._process.terminate()
        try:
            self._process.wait(STOP_TIMEOUT_S)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait(STOP_TIMEOUT_S)
        self._process = None

    def kill(self) -> None:
        """End the process as a power cut would, as far as a process can tell."""
        assert self._process is not None
        self._process.send_signal(signal.SIGKILL)
        self._process.wait(STOP_TIMEOUT_S)
        self._process = None

    def cpu_seconds(self) -> float:
        return processes.cpu_seconds(self._pid)

    def resident_bytes(self) -> int:
        return processes.resident_bytes(self._pid)

    def resident_bytes_peak(self) -> int:
        return processes.resident_bytes_peak(self._pid)

    @property
    def _pid(self) -> int:
        if self._process is None or self._process.poll() is not None:
            raise RuntimeError(f"{self.kind.name} is not running:\n{self._log_tail()}")
        return self._process.pid

    def _answers(self, probe: bytes, accepts: Callable[[Answer], bool]) -> bool:
        client = Client(self.address)
        try:
            return accepts(client.send(probe))
        except OSError:
            return False
        finally:
            client.close()

    def _log_tail(self) -> str:
        return self._log.read_bytes()[-LOG_TAIL_BYTES:].decode(errors="replace")


def is_an_answer(answer: Answer) -> bool:
    return answer.status < 500


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
    return port


class HasCpuTime(Protocol):
    def cpu_seconds(self) -> float: ...


def settle(server: HasCpuTime, quiet_s: float, timeout_s: float) -> float:
    """Wait until the server has used next to no CPU for `quiet_s`; return the seconds it took.

    A server may still work after its client has gone: on requests that nobody waits for any more, or on
    compactions. Neither may be charged to the next measurement.
    """
    started_at = time.monotonic()
    while time.monotonic() - started_at < timeout_s:
        before = server.cpu_seconds()
        time.sleep(quiet_s)
        if server.cpu_seconds() - before <= IDLE_CPU_SHARE * quiet_s:
            break
    return time.monotonic() - started_at
