"""Whether Gramme survives more clients than it can serve: 5 times as many, then back to normal.

First a sweep finds the peak of good answers per second, and the most connections that are all served
without an error. Then 5 times those connections ask at once, where an error is an allowed answer but
does not count. Then the load of the peak again, second by second, until it is served as before.
"""

import threading
import time
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import median
from typing import Self

from bench import installed
from bench.fill import fill
from bench.load import measure
from bench.options import Options
from bench.progress import Progress, say
from bench.report import Report, Table, Target, at_least, at_most, megabytes, milliseconds
from bench.servers import Server
from bench.workloads import Dataset, Workload, workloads

DATASET = Dataset(items=10_000, data_bytes=1000)
OPERATIONS = ("GetItem", "PutItem")
SWEEP = (16, 64, 256, 1024)
FACTOR = 5
GOODPUT_SHARE_MIN = 0.8
OVERLOAD_S = 15.0
NORMAL_SHARE = 0.9
RECOVERY_S_MAX = 10.0
PEAK_MB_MAX = 600
WATCH_INTERVAL_S = 0.25


@dataclass(frozen=True, slots=True)
class Step:
    """One phase of the run."""

    operation: str
    phase: str
    connections: int
    good_per_second: float
    errors: int
    p50_ms: float
    p99_ms: float
    resident_bytes_max: int
    others_busy: float


@dataclass(frozen=True, slots=True)
class Overload:
    """One operation's whole run; `recovery_s` is None when it never came back in time."""

    operation: str
    steps: Sequence[Step]
    goodput_share: float
    recovery_s: float | None


class MemoryWatch:
    """Keeps the largest resident size of a server while it is open."""

    def __init__(self, server: Server) -> None:
        self.largest_bytes = 0
        self._server = server
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._watch)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._thread.join()

    def _watch(self) -> None:
        while not self._over.wait(WATCH_INTERVAL_S):
            self.largest_bytes = max(self.largest_bytes, self._server.resident_bytes())


def run(options: Options, directory: Path, machine: dict[str, str]) -> Report:
    server = Server(installed.gramme(), directory / installed.GRAMME)
    try:
        server.start()
        fill(server, DATASET)
        chosen = [each for each in workloads(DATASET) if each.name in OPERATIONS]
        runs = [overload(server, each, options) for each in chosen]
        peak_bytes = server.resident_bytes_peak()
        time.sleep(RECOVERY_S_MAX)
        after_bytes = server.resident_bytes()
    finally:
        server.stop()
    return report_of(runs, peak_bytes, after_bytes, options, machine)


def overload(server: Server, workload: Workload, options: Options) -> Overload:
    steps = sweep(server, workload, options)
    goodput = clean_goodput(steps)
    if not goodput:
        raise RuntimeError(f"{workload.name} met errors at every number of connections")
    peak_connections = max(goodput, key=lambda connections: goodput[connections])
    peak = goodput[peak_connections]
    connections = FACTOR * max(goodput)
    say(f"{workload.name}: {connections} connections at once")
    burst = step(server, workload, "overload", connections, OVERLOAD_S)
    steps.append(burst)
    ended_at = time.monotonic()
    recovery_s = None
    while recovery_s is None and time.monotonic() - ended_at < RECOVERY_S_MAX:
        began_s = time.monotonic() - ended_at
        after = step(server, workload, "after", peak_connections, 1.0)
        steps.append(after)
        if not after.errors and after.good_per_second >= NORMAL_SHARE * peak:
            recovery_s = round(began_s, 2)
    return Overload(workload.name, steps, burst.good_per_second / peak, recovery_s)


def sweep(server: Server, workload: Workload, options: Options) -> list[Step]:
    progress = Progress(f"sweep {workload.name}", options.rounds * len(SWEEP))
    steps: list[Step] = []
    for _ in range(options.rounds):
        for connections in SWEEP:
            steps.append(step(server, workload, "sweep", connections, options.seconds))
            progress.advance(note=f"x{connections}: {steps[-1].good_per_second:,.0f}/s")
    return steps


def clean_goodput(steps: Sequence[Step]) -> dict[int, float]:
    """Good answers per second by connections, the median over rounds, where no round met an error."""
    by_connections: dict[int, list[Step]] = defaultdict(list)
    for each in steps:
        by_connections[each.connections].append(each)
    return {
        connections: median(each.good_per_second for each in found)
        for connections, found in by_connections.items()
        if not any(each.errors for each in found)
    }


def step(server: Server, workload: Workload, phase: str, connections: int, seconds: float) -> Step:
    with MemoryWatch(server) as watch:
        cell = measure(server, workload, connections, seconds, seed=connections)
    sample = cell.sample
    return Step(
        operation=workload.name,
        phase=phase,
        connections=connections,
        good_per_second=sample.good_per_second,
        errors=sample.failures + sample.broken,
        p50_ms=sample.p50_ms,
        p99_ms=sample.p99_ms,
        resident_bytes_max=watch.largest_bytes,
        others_busy=cell.others_busy,
    )


def targets(runs: Sequence[Overload], peak_bytes: int) -> list[Target]:
    found = [at_most("memory stays below 600 MB", peak_bytes / 1e6, PEAK_MB_MAX, " MB")]
    for each in runs:
        promise = f"{each.operation}: {FACTOR}x the connections keep 80 % of peak goodput"
        found.append(at_least(promise, 100 * each.goodput_share, 100 * GOODPUT_SHARE_MIN, " %"))
        promise = f"{each.operation}: back to normal within 10 s"
        if each.recovery_s is None:
            found.append(Target(promise, f"not within {RECOVERY_S_MAX:g} s", False))
        else:
            found.append(at_most(promise, each.recovery_s, RECOVERY_S_MAX, " s"))
    return found


def report_of(
    runs: Sequence[Overload],
    peak_bytes: int,
    after_bytes: int,
    options: Options,
    machine: dict[str, str],
) -> Report:
    rows = [
        (
            each.operation,
            each.phase,
            f"{each.connections:,}",
            f"{each.good_per_second:,.0f}",
            f"{each.errors:,}",
            milliseconds(each.p50_ms),
            milliseconds(each.p99_ms),
            megabytes(each.resident_bytes_max),
            f"{each.others_busy:.0%}",
        )
        for run_ in runs
        for each in run_.steps
    ]
    columns = (
        *("operation", "phase", "connections", "good per second", "errors"),
        *("p50 ms", "p99 ms", "memory", "others busy"),
    )
    return Report(
        name="overload",
        title="Gramme with too many clients",
        about=" ".join((__doc__ or "").split()),
        machine=machine,
        settings={
            "seconds": options.seconds,
            "rounds": options.rounds,
            "overload seconds": OVERLOAD_S,
        },
        targets=targets(runs, peak_bytes),
        tables=[Table("Phases", columns, rows)],
        data={
            "runs": [asdict(each) for each in runs],
            "peak_bytes": peak_bytes,
            "after_bytes": after_bytes,
        },
        notes=[f"Resident memory 10 s after the last request: {megabytes(after_bytes)}."],
    )
