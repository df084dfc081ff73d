"""Three replicas of everything on one machine: puts beside etcd's, and strong reads beside eventual ones.

Gramme is `gramme cluster` with 3 nodes and a router, once with tables of one partition and once with four, asked by wrk through the
router; etcd has 3 members, whose leader is asked by h2load. Both flush every put on a majority before they answer. All are
up for the whole run and loaded in turn, in rounds, and figures are medians over the rounds.
"""

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median

from bench import etcd
from bench.cluster import Cluster, Counts
from bench.compare import DATASET, QUIET_S, QUIET_TIMEOUT_S, WARM_UP_S
from bench.fill import fill
from bench.load import Cell, Sample
from bench.options import Options
from bench.processes import machine_cpu_seconds
from bench.progress import Progress, say
from bench.servers import settle
from bench.workloads import data_for, point_read, workloads

PARTITIONS = (1, 4)
PUT_CONNECTIONS = (32, 128)
READ_CONNECTIONS = 128
PUT = "PutItem"
STRONG = "GetItem, strong"
EVENTUAL = "GetItem, eventual"

Contestant = Cluster | etcd.Etcd


@dataclass(frozen=True, slots=True)
class Part:
    """One measurement of one contestant: beside the cell, the CPU of each process, and what they counted meanwhile."""

    cell: Cell
    cpu_s: Mapping[str, float]
    counts: Counts | None


@dataclass(frozen=True, slots=True)
class Row:
    """Medians over the rounds, the CPU in microseconds per answer; `void` says why there is no result."""

    contestant: str
    operation: str
    connections: int
    per_second: float
    per_second_least: float
    per_second_most: float
    p50_ms: float
    p99_ms: float
    cpu_us: Mapping[str, float]
    # Null where it is not known, or makes no sense.
    rounds_per_read: float | None
    puts_per_entry: float | None
    client_busy: float
    others_busy: float
    void: str

    @property
    def cpu_us_total(self) -> float:
        return sum(self.cpu_us.values())


@dataclass(frozen=True, slots=True)
class Result:
    rows: Sequence[Row]
    contestants: Sequence[str]
    versions: str
    etcd_missing: str
    leader_changes: int

    def row(self, contestant: str, operation: str, connections: int) -> Row | None:
        """The row asked for, unless it is void or was not measured."""
        wanted = (contestant, operation, connections)
        for row in self.rows:
            if (row.contestant, row.operation, row.connections) == wanted and not row.void:
                return row
        return None


def measure_all(options: Options, directory: Path) -> Result:
    clusters = [Cluster(partitions, directory / f"p{partitions}") for partitions in PARTITIONS]
    peer, missing = find_etcd(directory)
    contestants: list[Contestant] = [*clusters, *([peer] if peer else [])]
    try:
        for contestant in contestants:
            contestant.start()
        for cluster in clusters:
            prepare(cluster)
        if peer:
            peer.check_puts()
            peer.put(READ_CONNECTIONS, WARM_UP_S)
        for contestant in contestants:
            settle(contestant, QUIET_S, QUIET_TIMEOUT_S)
        rows = run_rounds(options, clusters, peer)
    finally:
        for contestant in contestants:
            contestant.stop()
    return Result(
        rows,
        [each.name for each in contestants],
        versions(clusters[0], peer),
        missing,
        peer.leader_changes if peer else 0,
    )


def find_etcd(directory: Path) -> tuple[etcd.Etcd | None, str]:
    """etcd if it can be measured here, else why not."""
    try:
        programs = etcd.installed()
    except etcd.NotInstalled as error:
        say(f"{error}: Gramme is measured alone")
        return None, str(error)
    value = data_for(0, DATASET.data_bytes).encode("ascii")
    return etcd.Etcd(programs, directory / etcd.NAME, value), ""


def versions(cluster: Cluster, peer: etcd.Etcd | None) -> str:
    own = f"gramme {cluster.server.kind.version}"
    return f"{own}, {etcd.versions(peer.programs)}" if peer else own


def prepare(cluster: Cluster) -> None:
    fill(cluster.server, DATASET)
    for load in loads(cluster).values():
        load(READ_CONNECTIONS, WARM_UP_S, 0)


Load = Callable[[int, float, int], Sample]


def loads(contestant: Contestant) -> dict[str, Load]:
    """What can be asked of a contestant, with how many connections, for how many seconds, with which seed."""
    if isinstance(contestant, etcd.Etcd):
        return {PUT: lambda connections, seconds, _: contestant.put(connections, seconds)}
    asked = {
        PUT: next(each for each in workloads(DATASET) if each.name == PUT),
        STRONG: point_read(DATASET, consistent=True),
        EVENTUAL: point_read(DATASET, consistent=False),
    }

    def load_of(operation: str) -> Load:
        return lambda connections, seconds, seed: contestant.load(
            asked[operation], connections, seconds, seed
        )

    return {operation: load_of(operation) for operation in asked}


def run_rounds(options: Options, clusters: Sequence[Cluster], peer: etcd.Etcd | None) -> list[Row]:
    writers: list[Contestant] = [*clusters, *([peer] if peer else [])]
    plan: list[tuple[str, int, Contestant]] = [
        *((PUT, connections, each) for connections in PUT_CONNECTIONS for each in writers),
        *((read, READ_CONNECTIONS, each) for each in clusters for read in (STRONG, EVENTUAL)),
    ]
    parts: dict[tuple[str, int, str], list[Part]] = defaultdict(list)
    progress = Progress("replicated", options.rounds * len(plan))
    for number in range(options.rounds):
        for operation, connections, contestant in plan:
            part = measure(contestant, operation, connections, options.seconds, seed=number + 1)
            settle(contestant, QUIET_S, QUIET_TIMEOUT_S)
            parts[operation, connections, contestant.name].append(part)
            rate = part.cell.sample.good_per_second
            progress.advance(note=f"{contestant.name} {operation} x{connections}: {rate:,.0f}/s")
    return [
        row_of(each.name, operation, connections, parts[operation, connections, each.name])
        for operation, connections, each in plan
    ]


def measure(
    contestant: Contestant, operation: str, connections: int, seconds: float, seed: int
) -> Part:
    began = contestant.counts() if isinstance(contestant, Cluster) else None
    before, machine_before = contestant.cpu_by_process(), machine_cpu_seconds()
    sample = loads(contestant)[operation](connections, seconds, seed)
    after, machine_after = contestant.cpu_by_process(), machine_cpu_seconds()
    used = {name: after[name] - before[name] for name in after}
    total = sum(used.values())
    others_cpu_s = machine_after - machine_before - total - sample.client_cpu_s
    counts = None
    if isinstance(contestant, Cluster) and began is not None:
        ended = contestant.counts()
        counts = Counts(ended.read_rounds - began.read_rounds, ended.entries - began.entries)
    return Part(Cell(sample, total, others_cpu_s, 0), used, counts)


def row_of(contestant: str, operation: str, connections: int, parts: Sequence[Part]) -> Row:
    samples = [part.cell.sample for part in parts]
    rates = [sample.good_per_second for sample in samples]
    return Row(
        contestant=contestant,
        operation=operation,
        connections=connections,
        per_second=median(rates),
        per_second_least=min(rates),
        per_second_most=max(rates),
        p50_ms=median(sample.p50_ms for sample in samples),
        p99_ms=median(sample.p99_ms for sample in samples),
        cpu_us={
            name: median(
                1e6 * part.cpu_s[name] / max(1, part.cell.sample.answers) for part in parts
            )
            for name in parts[0].cpu_s
        },
        rounds_per_read=rounds_per_read(parts) if operation == STRONG else None,
        puts_per_entry=puts_per_entry(parts) if operation == PUT else None,
        client_busy=median(sample.client_cpu_s / sample.seconds for sample in samples),
        others_busy=median(part.cell.others_busy for part in parts),
        void=next((sample.void for sample in samples if sample.void), ""),
    )


def rounds_per_read(parts: Sequence[Part]) -> float | None:
    counted = [
        part.counts.read_rounds / max(1, part.cell.sample.answers) for part in parts if part.counts
    ]
    return median(counted) if counted else None


def puts_per_entry(parts: Sequence[Part]) -> float | None:
    """How many puts share an entry, and with it a flush and a round of messages."""
    counted = [
        part.cell.sample.answers / max(1, part.counts.entries) for part in parts if part.counts
    ]
    return median(counted) if counted else None
