"""Whether size costs: one Gramme with 10 thousand items and one with millions, alive at the same time.

The large one is killed with SIGKILL right after it was filled, and timed until it answers GetItem with an
item again. Then every item of it is read once, as by a server that has been up for a while; both get the
same load in turn, and the CPU they use per operation is compared. At the end it is killed once more,
with the measured writes in its log.
"""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import median

from bench import installed
from bench.fill import fill, read_all
from bench.load import Cell, measure
from bench.options import Options
from bench.progress import Progress, say
from bench.report import Report, Table, Target, at_most, megabytes, milliseconds
from bench.servers import Server, settle
from bench.wire import Answer, request_bytes
from bench.workloads import (
    ITEMS_PER_PARTITION_KEY,
    PARTITION_KEY,
    SORT_KEY,
    TABLE,
    Dataset,
    workloads,
)

DATA_BYTES = 60
SMALL_ITEMS = 10_000
CONNECTIONS = 64
CPU_RATIO_MAX = 1.25
RESTART_S_MAX = 3.0
COMPACTION_QUIET_S = 3.0
COMPACTION_TIMEOUT_S = 300.0
QUIET_S = 0.2
QUIET_TIMEOUT_S = 10.0


@dataclass(frozen=True, slots=True)
class Size:
    """One table size under one operation."""

    operation: str
    items: int
    per_second: float
    p50_ms: float
    p99_ms: float
    cpu_us: float
    others_busy: float
    void: str


@dataclass(frozen=True, slots=True)
class Scale:
    sizes: Sequence[Size]
    fill_s: float
    restart_s: float
    restart_after_writes_s: float
    settle_s: float
    small_peak_bytes: int
    large_peak_bytes: int


def run(options: Options, directory: Path, machine: dict[str, str]) -> Report:
    small, large = Dataset(SMALL_ITEMS, DATA_BYTES), Dataset(options.items, DATA_BYTES)
    kind = installed.gramme()
    servers = {size: Server(kind, directory / str(size.items)) for size in (small, large)}
    try:
        for server in servers.values():
            server.start()
        fill(servers[small], small)
        fill_s = fill(servers[large], large)
        restart_s = killed_and_restarted(servers[large], large)
        say(f"killed and restarted: first item after {restart_s:.2f} s; waiting until idle")
        settle_s = settle(servers[large], COMPACTION_QUIET_S, COMPACTION_TIMEOUT_S)
        for dataset, server in servers.items():
            read_all(server, dataset)
        sizes = run_rounds(options, servers)
        large_peak_bytes = servers[large].resident_bytes_peak()
        scale = Scale(
            sizes=sizes,
            fill_s=fill_s,
            restart_s=restart_s,
            restart_after_writes_s=killed_and_restarted(servers[large], large),
            settle_s=settle_s,
            small_peak_bytes=servers[small].resident_bytes_peak(),
            large_peak_bytes=large_peak_bytes,
        )
    finally:
        for server in servers.values():
            server.stop()
    return report_of(scale, options, machine)


def killed_and_restarted(server: Server, dataset: Dataset) -> float:
    """Kill the server; return the seconds from its start to a GetItem that finds the last item."""
    number = dataset.items - 1
    partition = PARTITION_KEY % (number // ITEMS_PER_PARTITION_KEY)
    sort = SORT_KEY % (number % ITEMS_PER_PARTITION_KEY)
    key = f'{{"pk":{{"S":"{partition}"}},"sk":{{"S":"{sort}"}}}}'
    probe = request_bytes("GetItem", f'{{"TableName":"{TABLE}","Key":{key}}}')

    def accepts(answer: Answer) -> bool:
        if answer.status == 200 and len(answer.body) < dataset.data_bytes:
            raise RuntimeError(f"item {number} is gone after a kill: {answer.body!r}")
        return answer.status == 200

    server.kill()
    return server.start(probe, accepts)


def run_rounds(options: Options, servers: dict[Dataset, Server]) -> list[Size]:
    cells: dict[tuple[str, Dataset], list[Cell]] = defaultdict(list)
    progress = Progress("measure", options.rounds * len(options.operations) * len(servers))
    for number in range(options.rounds):
        for operation in options.operations:
            # Each size goes first as often as last.
            for dataset in list(servers)[:: -1 if number % 2 else 1]:
                asked = next(each for each in workloads(dataset) if each.name == operation)
                cell = measure(servers[dataset], asked, CONNECTIONS, options.seconds, number + 1)
                settle(servers[dataset], QUIET_S, QUIET_TIMEOUT_S)
                cells[operation, dataset].append(cell)
                note = f"{operation}, {dataset.items:,} items: {cell.cpu_us_per_answer:.1f} us"
                progress.advance(note=note)
    return [
        size_of(operation, dataset, cells[operation, dataset])
        for operation in options.operations
        for dataset in servers
    ]


def size_of(operation: str, dataset: Dataset, cells: Sequence[Cell]) -> Size:
    samples = [cell.sample for cell in cells]
    return Size(
        operation=operation,
        items=dataset.items,
        per_second=median(sample.good_per_second for sample in samples),
        p50_ms=median(sample.p50_ms for sample in samples),
        p99_ms=median(sample.p99_ms for sample in samples),
        cpu_us=median(cell.cpu_us_per_answer for cell in cells),
        others_busy=median(cell.others_busy for cell in cells),
        void=next((sample.void for sample in samples if sample.void), ""),
    )


def targets(scale: Scale, items: int) -> list[Target]:
    found = [
        at_most(
            f"{operation}: CPU at {items:,} items within 25 % of that at {SMALL_ITEMS:,}",
            cpu_ratio(scale, operation),
            CPU_RATIO_MAX,
            "x",
        )
        for operation in dict.fromkeys(size.operation for size in scale.sizes)
    ]
    slowest = max(scale.restart_s, scale.restart_after_writes_s)
    promise = f"first item under {RESTART_S_MAX:g} s after kill -9 with {items:,} items"
    found.append(at_most(promise, slowest, RESTART_S_MAX, " s"))
    return found


def cpu_ratio(scale: Scale, operation: str) -> float | None:
    small, large = (size for size in scale.sizes if size.operation == operation)
    return None if small.void or large.void else large.cpu_us / small.cpu_us


def report_of(scale: Scale, options: Options, machine: dict[str, str]) -> Report:
    rows = [
        (size.operation, f"{size.items:,}", "void", "", "", size.void, "")
        if size.void
        else (
            size.operation,
            f"{size.items:,}",
            f"{size.per_second:,.0f}",
            milliseconds(size.p50_ms),
            milliseconds(size.p99_ms),
            f"{size.cpu_us:.1f}",
            f"{size.others_busy:.0%}",
        )
        for size in scale.sizes
    ]
    facts = [
        ("filled in", f"{scale.fill_s:.0f} s"),
        ("first item after kill -9 at the end of filling", f"{scale.restart_s:.2f} s"),
        ("idle again after", f"{scale.settle_s:.0f} s"),
        ("first item after kill -9 at the end of the run", f"{scale.restart_after_writes_s:.2f} s"),
        (f"peak memory with {options.items:,} items", megabytes(scale.large_peak_bytes)),
        (f"peak memory with {SMALL_ITEMS:,} items", megabytes(scale.small_peak_bytes)),
    ]
    columns = ("operation", "items", "per second", "p50 ms", "p99 ms", "CPU us", "others busy")
    return Report(
        name="scale",
        title="Gramme with many items",
        about=" ".join((__doc__ or "").split()),
        machine=machine,
        settings={
            "seconds": options.seconds,
            "rounds": options.rounds,
            "connections": CONNECTIONS,
            "item data bytes": DATA_BYTES,
        },
        targets=targets(scale, options.items),
        tables=[
            Table("Cost per operation", columns, rows),
            Table("The large table", ("what", "measured"), facts),
        ],
        data=asdict(scale),
    )
