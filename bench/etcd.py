"""Three members of etcd on loopback, and puts into their leader by h2load.

h2load speaks HTTP/2 and nothing above it, which makes it the cheapest client there is: a gRPC call is a POST whose body
is a protobuf message behind five bytes. It sends the same body each time, so all puts are to one key. And it cannot see
gRPC's status, which comes in trailers: whether puts took effect is seen from etcd's revision, which each put raises
by one.
"""

import json
import re
import shutil
import signal
import subprocess
import time
import urllib.request
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bench import processes
from bench.load import Sample, children_cpu_seconds, percentile
from bench.servers import STOP_TIMEOUT_S, free_port

NAME = "etcd"
MEMBERS = 3
# As much as an item of the bench's table has as its key.
KEY = b"bench/p00000000/s00"
START_TIMEOUT_S = 60.0
POLL_INTERVAL_S = 0.05
ASK_TIMEOUT_S = 10.0
GRACE_S = 60.0
# The default of 2 GB would be reached by the versions of a long run.
QUOTA_BYTES = 8_000_000_000
PUT_PATH = "/etcdserverpb.KV/Put"
HEADERS = ("content-type: application/grpc", "te: trailers")
# Puts whose number is given, so that the revision has to rise by exactly as much.
EXACT_PUTS = 2000
EXACT_CONNECTIONS = 32


class NotInstalled(Exception):
    """Says what is missing."""


@dataclass(frozen=True, slots=True)
class Programs:
    etcd: str
    h2load: str


def installed() -> Programs:
    """Raises NotInstalled."""
    found = {name: shutil.which(name) for name in ("etcd", "h2load")}
    if missing := [name for name, path in found.items() if path is None]:
        raise NotInstalled(
            f"{' and '.join(missing)} not installed (Debian: etcd-server, nghttp2-client)"
        )
    return Programs(str(found["etcd"]), str(found["h2load"]))


def versions(programs: Programs) -> str:
    etcd = re.search(r"etcd Version: (\S+)", processes.output_of([programs.etcd, "--version"]))
    h2load = processes.output_of([programs.h2load, "--version"])
    return f"etcd {etcd.group(1) if etcd else 'unknown'}, {h2load}"


# What is sent


def put_body(key: bytes, value: bytes) -> bytes:
    """A gRPC message with a PutRequest: its key is field 1, its value field 2, and it is not compressed."""
    message = b"\x0a" + varint(len(key)) + key + b"\x12" + varint(len(value)) + value
    return b"\x00" + len(message).to_bytes(4, "big") + message


def varint(number: int) -> bytes:
    encoded = bytearray()
    while number > 0x7F:
        encoded.append(number & 0x7F | 0x80)
        number >>= 7
    encoded.append(number)
    return bytes(encoded)


# What h2load says


@dataclass(frozen=True, slots=True)
class Tally:
    """`started` requests of which `done` were answered, `good` of them with HTTP's status 200, in `seconds`."""

    seconds: float
    started: int
    done: int
    good: int


def tally_of(output: str) -> Tally:
    """Raises ValueError if h2load did not come to its end."""
    finished = re.search(r"^finished in ([\d.]+)(us|ms|s|m)\b", output, re.MULTILINE)
    requests = re.search(
        r"^requests: \d+ total, (\d+) started, (\d+) done, (\d+) succeeded", output, re.MULTILINE
    )
    if finished is None or requests is None:
        raise ValueError(f"h2load failed:\n{output}")
    unit = {"us": 1e-6, "ms": 1e-3, "s": 1.0, "m": 60.0}[finished.group(2)]
    return Tally(float(finished.group(1)) * unit, *(int(number) for number in requests.groups()))


def latencies_ms(log: str) -> list[float]:
    """In order, from h2load's log: each line has when a request began, its status and its microseconds."""
    return sorted(float(line.split("\t")[2]) / 1e3 for line in log.splitlines())


def complaint(tally: Tally, revisions: int) -> str:
    """Why a run of h2load is no run of puts; empty if each answered put has raised the revision by one.

    When time is up h2load leaves those that are not answered, one for each connection at most, and etcd may do them or not.
    """
    if tally.good != tally.done:
        return f"{tally.done - tally.good} answers with a status other than 200"
    if not tally.done <= revisions <= tally.started:
        return f"{tally.done} answers of {tally.started} puts, but {revisions} new revisions"
    return ""


# The members


class Etcd:
    """The members, each with its directory and log under `directory`. It is asked through its JSON gateway."""

    def __init__(self, programs: Programs, directory: Path, value: bytes) -> None:
        self.name = NAME
        self.programs = programs
        self._directory = directory
        self._processes: dict[str, subprocess.Popen[bytes]] = {}
        self._clients = {f"member-{number}": free_port() for number in range(1, MEMBERS + 1)}
        self._peers = {name: free_port() for name in self._clients}
        self._body = directory / "body"
        self.leader_changes = 0
        directory.mkdir(parents=True, exist_ok=True)
        self._body.write_bytes(put_body(KEY, value))

    def start(self) -> None:
        for name in self._clients:
            with (self._directory / f"{name}.log").open("ab") as log:
                self._processes[name] = subprocess.Popen(
                    self._command(name), stdin=subprocess.DEVNULL, stdout=log, stderr=log
                )
        deadline = time.monotonic() + START_TIMEOUT_S
        while not self._is_led():
            if time.monotonic() > deadline:
                raise RuntimeError(f"etcd has no leader; its logs are in {self._directory}")
            time.sleep(POLL_INTERVAL_S)

    def stop(self) -> None:
        for process in self._processes.values():
            process.send_signal(signal.SIGTERM)
        for process in self._processes.values():
            try:
                process.wait(STOP_TIMEOUT_S)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait(STOP_TIMEOUT_S)
        self._processes = {}

    def cpu_by_process(self) -> dict[str, float]:
        return {
            name: processes.cpu_seconds(process.pid) for name, process in self._processes.items()
        }

    def cpu_seconds(self) -> float:
        return sum(self.cpu_by_process().values())

    def leader(self) -> str:
        """Raises RuntimeError if there is none."""
        for name in self._clients:
            status = self._status(name)
            if status["leader"] == status["header"]["member_id"]:
                return name
        raise RuntimeError("etcd has no leader")

    def revision(self) -> int:
        """Of the leader, which has applied what it has answered."""
        return int(self._status(self.leader())["header"]["revision"])

    def check_puts(self) -> None:
        """Put some, whose number must be that of the new revisions. Raises RuntimeError."""
        options = ["-n", str(EXACT_PUTS), "-c", str(EXACT_CONNECTIONS)]
        self._load(self.leader(), options, exactly=EXACT_PUTS)

    def put(self, connections: int, seconds: float) -> Sample:
        log = self._directory / "latencies"
        log.unlink(missing_ok=True)
        leader = self.leader()
        cpu_before = children_cpu_seconds()
        duration = max(1, round(seconds))
        options = ["-D", str(duration), "-c", str(connections), f"--log-file={log}"]
        tally, reason = self._load(leader, options)
        client_cpu_s = children_cpu_seconds() - cpu_before
        self.leader_changes += self.leader() != leader
        ordered = latencies_ms(log.read_text()) or [0.0]
        return Sample(
            answers=tally.done,
            failures=1 if reason else 0,
            broken=0,
            reason=reason,
            # What h2load prints is rounded to hundredths.
            seconds=tally.seconds,
            p50_ms=percentile(ordered, 50),
            p99_ms=percentile(ordered, 99),
            max_ms=ordered[-1],
            client_cpu_s=client_cpu_s,
        )

    def _load(
        self, member: str, options: Sequence[str], exactly: int | None = None
    ) -> tuple[Tally, str]:
        """What h2load counted, and what is wrong with it."""
        before = self.revision()
        headers = [word for header in HEADERS for word in ("-H", header)]
        address = f"http://127.0.0.1:{self._clients[member]}{PUT_PATH}"
        ended = subprocess.run(
            [self.programs.h2load, "-m", "1", *options, *headers, "-d", str(self._body), address],
            capture_output=True,
            text=True,
            timeout=GRACE_S,
            check=False,
        )
        tally = tally_of(ended.stdout + ended.stderr)
        revisions = self.revision() - before
        reason = complaint(tally, revisions)
        if exactly is not None and (reason or (tally.done, revisions) != (exactly, exactly)):
            raise RuntimeError(
                f"{exactly} puts to etcd: {reason or f'{tally.done} answers, {revisions} revisions'}"
            )
        return tally, reason

    def _is_led(self) -> bool:
        try:
            return all(self._status(name).get("leader", "0") != "0" for name in self._clients)
        except OSError:
            for name, process in self._processes.items():
                if process.poll() is not None:
                    raise RuntimeError(f"etcd {name} ended; see {self._directory}") from None
            return False

    def _status(self, name: str) -> dict[str, Any]:
        """As etcd's gateway has it: numbers are strings, and what is 0 is left out."""
        request = urllib.request.Request(
            f"http://127.0.0.1:{self._clients[name]}/v3/maintenance/status", data=b"{}"
        )
        with urllib.request.urlopen(request, timeout=ASK_TIMEOUT_S) as answer:
            found: dict[str, Any] = json.loads(answer.read())
        return found

    def _command(self, name: str) -> list[str]:
        client = f"http://127.0.0.1:{self._clients[name]}"
        peer = f"http://127.0.0.1:{self._peers[name]}"
        everybody = (f"{other}=http://127.0.0.1:{port}" for other, port in self._peers.items())
        return [
            *(self.programs.etcd, "--name", name, "--data-dir", str(self._directory / name)),
            *("--listen-client-urls", client, "--advertise-client-urls", client),
            *("--listen-peer-urls", peer, "--initial-advertise-peer-urls", peer),
            *("--initial-cluster", ",".join(everybody)),
            *("--quota-backend-bytes", str(QUOTA_BYTES)),
        ]
