"""Load on one server for some seconds: throughput, latencies and errors, by one closed-loop client.

wrk with a script where it is installed, since it costs a few microseconds a request; else our own loop
(bench/epoll.py), which costs more but asks and checks the same. Every answer is checked: status 200, and
a body of at least the size that the items asked for must have.
"""

import json
import os
import random
import resource
import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from bench.epoll import ClosedLoop
from bench.processes import machine_cpu_seconds, output_of
from bench.servers import Server
from bench.wire import Answer
from bench.workloads import Workload
from bench.wrk import MARK, script

WRK = shutil.which("wrk")
WRK_TIMEOUT_S = 20
WRK_GRACE_S = 60.0


@dataclass(frozen=True, slots=True)
class Sample:
    """What the client saw in one cell: answers, of them failures, and broken connections."""

    answers: int
    failures: int
    broken: int
    reason: str
    seconds: float
    p50_ms: float
    p99_ms: float
    max_ms: float
    client_cpu_s: float

    @property
    def good_per_second(self) -> float:
        return (self.answers - self.failures) / self.seconds

    @property
    def void(self) -> str:
        """Why this sample says nothing; empty when every request was answered well."""
        bad = self.failures + self.broken
        return f"{bad} errors: {self.reason}" if bad else "" if self.answers else "no answer"


@dataclass(frozen=True, slots=True)
class Cell:
    """A sample, and what it cost the server."""

    sample: Sample
    server_cpu_s: float
    others_cpu_s: float
    resident_bytes: int

    @property
    def cpu_us_per_answer(self) -> float:
        return 1e6 * self.server_cpu_s / max(1, self.sample.answers)

    @property
    def others_busy(self) -> float:
        """The share of the machine that neither server nor client used: a shared machine's noise."""
        return max(0.0, self.others_cpu_s) / self.sample.seconds / (os.cpu_count() or 1)


def generator_name() -> str:
    if WRK is None:
        return "bench/epoll.py"
    return " ".join(output_of([WRK, "-v"]).split()[:2])


def measure(
    server: Server, workload: Workload, connections: int, seconds: float, seed: int
) -> Cell:
    """Load `server` with `workload`, and charge it the CPU it used meanwhile."""
    before, machine_before = server.cpu_seconds(), machine_cpu_seconds()
    sample = load(server, workload, connections, seconds, seed)
    server_cpu_s = server.cpu_seconds() - before
    others_cpu_s = machine_cpu_seconds() - machine_before - server_cpu_s - sample.client_cpu_s
    return Cell(sample, server_cpu_s, others_cpu_s, server.resident_bytes())


def load(server: Server, workload: Workload, connections: int, seconds: float, seed: int) -> Sample:
    if WRK is None:
        return load_by_epoll(server, workload, connections, seconds, seed)
    return load_by_wrk(WRK, server, workload, connections, seconds, seed)


def load_by_wrk(
    wrk: str, server: Server, workload: Workload, connections: int, seconds: float, seed: int
) -> Sample:
    with tempfile.TemporaryDirectory() as directory:
        path = Path(directory) / "workload.lua"
        path.write_text(script(workload, seed))
        options = ["-t", "1", "-c", str(connections), "-d", f"{max(1, round(seconds))}s"]
        options += ["--timeout", f"{WRK_TIMEOUT_S}s", "-s", str(path), server.address.url]
        cpu_before = children_cpu_seconds()
        ended = subprocess.run(
            [wrk, *options],
            capture_output=True,
            text=True,
            timeout=seconds + WRK_GRACE_S,
            check=False,
        )
        client_cpu_s = children_cpu_seconds() - cpu_before
    for line in ended.stdout.splitlines():
        if line.startswith(MARK):
            return sample_of_wrk(json.loads(line.removeprefix(MARK)), client_cpu_s)
    raise RuntimeError(f"wrk failed:\n{ended.stdout}{ended.stderr}")


def sample_of_wrk(said: dict[str, float | str], client_cpu_s: float) -> Sample:
    broken = sum(int(said[kind]) for kind in ("connect", "read", "write", "timeout"))
    reason = str(said["reason"]) or (f"{broken} broken connections" if broken else "")
    return Sample(
        answers=int(said["answers"]),
        failures=int(said["failures"]),
        broken=broken,
        reason=reason,
        seconds=float(said["duration_us"]) / 1e6,
        p50_ms=float(said["p50_us"]) / 1e3,
        p99_ms=float(said["p99_us"]) / 1e3,
        max_ms=float(said["max_us"]) / 1e3,
        client_cpu_s=client_cpu_s,
    )


def load_by_epoll(
    server: Server, workload: Workload, connections: int, seconds: float, seed: int
) -> Sample:
    chance = random.Random(seed)
    deadline = time.perf_counter() + seconds

    def requests() -> Iterator[bytes]:
        while time.perf_counter() < deadline:
            yield workload.request(chance)

    def complaint(answer: Answer) -> str | None:
        if answer.status == 200 and len(answer.body) >= workload.answer_bytes_min:
            return None
        return f"{answer.status} {answer.body[:200].decode(errors='replace')}"

    cpu_before = time.process_time()
    tally = ClosedLoop(server.address, connections, requests(), complaint).run()
    client_cpu_s = time.process_time() - cpu_before
    latencies = sorted(tally.latencies_s) or [0.0]
    return Sample(
        answers=tally.answers,
        failures=tally.failures,
        broken=tally.broken,
        reason=tally.reason,
        seconds=tally.seconds,
        p50_ms=1e3 * percentile(latencies, 50),
        p99_ms=1e3 * percentile(latencies, 99),
        max_ms=1e3 * latencies[-1],
        client_cpu_s=client_cpu_s,
    )


def percentile(ordered: list[float], percent: float) -> float:
    return ordered[min(len(ordered) - 1, int(len(ordered) * percent / 100))]


def children_cpu_seconds() -> float:
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime
