"""The comparison: every operation at every number of connections, each server in turn, in rounds.

All servers are up for the whole run and measured one after another within each cell, so that whatever
else the machine does falls on all of them alike. Results are medians over the rounds. One request
answered with an error voids the row.
"""

import time
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import median

from bench import installed
from bench.fill import fill
from bench.load import Cell, load, measure
from bench.options import Options
from bench.progress import Progress, say
from bench.servers import Kind, Server, settle
from bench.workloads import Dataset, Workload, workloads

DATASET = Dataset(items=10_000, data_bytes=1000)
STARTS = 5
IDLE_S = 1.0
WARM_UP_S = 1.0
QUIET_S = 0.2
QUIET_TIMEOUT_S = 30.0


@dataclass(frozen=True, slots=True)
class Row:
    """One server, one operation, one number of connections; `void` says why there is no result."""

    server: str
    operation: str
    connections: int
    per_second: float
    p50_ms: float
    p99_ms: float
    cpu_us: float
    client_busy: float
    others_busy: float
    void: str


@dataclass(frozen=True, slots=True)
class Footprint:
    server: str
    version: str
    note: str
    start_s: float
    idle_bytes: int
    filled_bytes: int
    peak_bytes: int


@dataclass(frozen=True, slots=True)
class Comparison:
    rows: Sequence[Row]
    footprints: Sequence[Footprint]

    def row(self, server: str, operation: str, connections: int) -> Row | None:
        """The row asked for, unless it is void or was not measured."""
        wanted = (server, operation, connections)
        for row in self.rows:
            if (row.server, row.operation, row.connections) == wanted and not row.void:
                return row
        return None

    def footprint(self, server: str) -> Footprint | None:
        return next((each for each in self.footprints if each.server == server), None)


def compare(options: Options, directory: Path) -> Comparison:
    kinds = contestants(options.peers)
    starts = start_times(kinds, directory)
    servers = [Server(kind, directory / kind.name) for kind in kinds]
    try:
        idle = {server.kind.name: start_and_idle(server) for server in servers}
        filled = {server.kind.name: prepare(server) for server in servers}
        rows = run_rounds(options, servers)
        footprints = [
            Footprint(
                server=server.kind.name,
                version=server.kind.version,
                note=server.kind.note,
                start_s=median(starts[server.kind.name]),
                idle_bytes=idle[server.kind.name],
                filled_bytes=filled[server.kind.name],
                peak_bytes=server.resident_bytes_peak(),
            )
            for server in servers
        ]
    finally:
        for server in servers:
            server.stop()
    return Comparison(rows, footprints)


def contestants(peers: Sequence[str]) -> list[Kind]:
    kinds = [installed.gramme(), installed.constant()]
    for name in peers:
        kind = installed.peer(name)
        if kind is None:
            say(f"{name} is not installed and left out")
        else:
            kinds.append(kind)
    return kinds


def start_times(kinds: Sequence[Kind], directory: Path) -> dict[str, list[float]]:
    """Seconds from exec to the first answer, on an empty directory each time."""
    times: dict[str, list[float]] = defaultdict(list)
    progress = Progress("start", STARTS * len(kinds))
    for attempt in range(STARTS):
        for kind in kinds:
            server = Server(kind, directory / f"start-{kind.name}-{attempt}")
            try:
                times[kind.name].append(server.start())
            finally:
                server.stop()
            progress.advance(note=kind.name)
    return times


def start_and_idle(server: Server) -> int:
    """Start a server on an empty directory; return what it holds resident before any table."""
    server.start()
    time.sleep(IDLE_S)
    return server.resident_bytes()


def prepare(server: Server) -> int:
    """Fill the table and warm every operation up; return the resident bytes then."""
    if server.kind.name == installed.CONSTANT:
        return server.resident_bytes()
    fill(server, DATASET)
    for workload in workloads(DATASET):
        load(server, workload, 16, WARM_UP_S, seed=0)
    settle(server, QUIET_S, QUIET_TIMEOUT_S)
    return server.resident_bytes()


def run_rounds(options: Options, servers: Sequence[Server]) -> list[Row]:
    chosen = [each for each in workloads(DATASET) if each.name in options.operations]
    plan = [
        (workload, connections, server)
        for workload in chosen
        for connections in options.connections
        for server in servers
        # The constant handler stands beside GetItem alone.
        if server.kind.name != installed.CONSTANT or workload.name == "GetItem"
    ]
    cells: dict[tuple[Workload, int, Server], list[Cell]] = defaultdict(list)
    progress = Progress("measure", options.rounds * len(plan))
    for number in range(options.rounds):
        for workload, connections, server in plan:
            cell = measure(server, workload, connections, options.seconds, seed=number + 1)
            settle(server, QUIET_S, QUIET_TIMEOUT_S)
            cells[workload, connections, server].append(cell)
            note = f"{server.kind.name} {workload.name} x{connections}"
            progress.advance(note=f"{note}: {cell.sample.good_per_second:,.0f}/s")
    return [
        row_of(server.kind.name, workload.name, connections, cells[workload, connections, server])
        for workload, connections, server in plan
    ]


def row_of(server: str, operation: str, connections: int, cells: Sequence[Cell]) -> Row:
    samples = [cell.sample for cell in cells]
    return Row(
        server=server,
        operation=operation,
        connections=connections,
        per_second=median(sample.good_per_second for sample in samples),
        p50_ms=median(sample.p50_ms for sample in samples),
        p99_ms=median(sample.p99_ms for sample in samples),
        cpu_us=median(cell.cpu_us_per_answer for cell in cells),
        client_busy=median(sample.client_cpu_s / sample.seconds for sample in samples),
        others_busy=median(cell.others_busy for cell in cells),
        void=next((sample.void for sample in samples if sample.void), ""),
    )


def as_data(comparison: Comparison) -> dict[str, object]:
    return {
        "rows": [asdict(row) for row in comparison.rows],
        "footprints": [asdict(footprint) for footprint in comparison.footprints],
    }
