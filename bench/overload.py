"""Whether Gramme survives more clients than it can serve: 5 times as many, then back to normal.

First a sweep finds the peak of good answers per second and the most connections that still get 80 % of
it without an error. Then 5 times those connections ask at once, where an error is an allowed answer but
does not count. Then the load of the peak again, second by second, until it is served as before.
"""

import threading
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Self

from bench import installed
from bench.fill import fill
from bench.load import Sample, load
from bench.options import Options
from bench.progress import Progress, say
from bench.report import Report, Table, Target, at_least, at_most, megabytes, milliseconds
from bench.servers import Server
from bench.workloads import Dataset, Workload, workloads

DATASET = Dataset(items=10_000, data_bytes=1000)
OPERATIONS = ("GetItem", "PutItem")
SWEEP = (16, 64, 256, 1024)
FACTOR = 5
SERVED_SHARE = 0.8
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
        runs = [overload(server, each, options.seconds) for each in chosen]
        peak_bytes = server.resident_bytes_peak()
        time.sleep(RECOVERY_S_MAX)
        after_bytes = server.resident_bytes()
    finally:
        server.stop()
    return report_of(runs, peak_bytes, after_bytes, options, machine)


def overload(server: Server, workload: Workload, seconds: float) -> Overload:
    progress = Progress(f"sweep {workload.name}", len(SWEEP))
    steps: list[Step] = []
    for connections in SWEEP:
        steps.append(step(server, workload, "sweep", connections, seconds))
        progress.advance(note=f"x{connections}: {steps[-1].good_per_second:,.0f}/s")
    clean = [each for each in steps if not each.errors]
    if not clean:
        raise RuntimeError(f"{workload.name} met errors at every number of connections")
    peak = max(clean, key=lambda each: each.good_per_second)
    enough = SERVED_SHARE * peak.good_per_second
    served = max(each.connections for each in clean if each.good_per_second >= enough)
    say(f"{workload.name}: {FACTOR * served} connections at once")
    burst = step(server, workload, "overload", FACTOR * served, OVERLOAD_S)
    steps.append(burst)
    ended_at = time.monotonic()
    recovery_s = None
    while recovery_s is None and time.monotonic() - ended_at < RECOVERY_S_MAX:
        began_s = time.monotonic() - ended_at
        after = step(server, workload, "after", peak.connections, 1.0)
        steps.append(after)
        if not after.errors and after.good_per_second >= NORMAL_SHARE * peak.good_per_second:
            recovery_s = began_s
    share = burst.good_per_second / peak.good_per_second
    return Overload(workload.name, steps, share, recovery_s)


def step(server: Server, workload: Workload, phase: str, connections: int, seconds: float) -> Step:
    with MemoryWatch(server) as watch:
        sample: Sample = load(server, workload, connections, seconds, seed=connections)
    return Step(
        operation=workload.name,
        phase=phase,
        connections=connections,
        good_per_second=sample.good_per_second,
        errors=sample.failures + sample.broken,
        p50_ms=sample.p50_ms,
        p99_ms=sample.p99_ms,
        resident_bytes_max=watch.largest_bytes,
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
        )
        for run_ in runs
        for each in run_.steps
    ]
    columns = (
        *("operation", "phase", "connections", "good per second", "errors"),
        *("p50 ms", "p99 ms", "memory"),
    )
    return Report(
        name="overload",
        title="Gramme with too many clients",
        about=" ".join((__doc__ or "").split()),
        machine=machine,
        settings={"seconds": options.seconds, "overload seconds": OVERLOAD_S},
        targets=targets(runs, peak_bytes),
        tables=[Table("Phases", columns, rows)],
        data={
            "runs": [asdict(each) for each in runs],
            "peak_bytes": peak_bytes,
            "after_bytes": after_bytes,
        },
        notes=[f"Resident memory 10 s after the last request: {megabytes(after_bytes)}."],
    )
