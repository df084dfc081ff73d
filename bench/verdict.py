"""The comparison as a report: the promises and whether they hold, the tables, the chart."""

from collections.abc import Sequence
from statistics import median

from bench.chart import Group, Panel, bars
from bench.compare import DATASET, Comparison, Footprint, Row, as_data
from bench.installed import CONSTANT, DYNALITE, GRAMME
from bench.options import Options
from bench.report import Report, Table, Target, at_least, at_most, megabytes, milliseconds

CONNECTIONS = 64
SPEED = {
    "GetItem": 2.0,
    "PutItem": 2.0,
    "UpdateItem": 2.0,
    "Query": 4.0,
    "BatchWriteItem": 4.0,
    "Scan": 4.0,
}
TITLES = {
    "UpdateItem": "UpdateItem with a condition",
    "Query": "Query of 25 items",
    "BatchWriteItem": "BatchWriteItem of 25 items",
    "Scan": "Scan of 1 MB",
}
CONSTANT_CPU_RATIO_MAX = 3.0
START_S_MAX = 0.6
IDLE_MB_MAX = 90
PEAK_MB_MAX = 600
CLIENT_BUSY_MAX = 0.9

ABOUT = (
    "Gramme on disk, every write flushed before its answer, against peers in memory. All servers are up "
    "at once and measured in turn, by one client; figures are medians over rounds. A request answered "
    "with an error voids its row. `constant` parses HTTP and answers constant bytes: the floor."
)


def report_of(comparison: Comparison, options: Options, machine: dict[str, str]) -> Report:
    settings: dict[str, object] = {
        "seconds": options.seconds,
        "rounds": options.rounds,
        "items": DATASET.items,
        "item data bytes": DATASET.data_bytes,
    }
    return Report(
        name="compare",
        title="Gramme beside its peers",
        about=ABOUT,
        machine=machine,
        settings=settings,
        targets=targets(comparison),
        tables=[operation_table(comparison, name) for name in options.operations]
        + [footprint_table(comparison.footprints)],
        data=as_data(comparison),
        chart=chart(comparison, options),
        notes=notes(comparison),
    )


def targets(comparison: Comparison) -> list[Target]:
    found = [
        at_least(
            f"{operation} at {CONNECTIONS} connections at least {ratio:g}x dynalite",
            speed_ratio(comparison, operation),
            ratio,
            "x",
        )
        for operation, ratio in SPEED.items()
    ]
    ours = comparison.row(GRAMME, "GetItem", CONNECTIONS)
    floor = comparison.row(CONSTANT, "GetItem", CONNECTIONS)
    ratio = ours.cpu_us / floor.cpu_us if ours and floor else None
    promise = f"GetItem costs at most {CONSTANT_CPU_RATIO_MAX:g}x the CPU of the constant handler"
    found.append(at_most(promise, ratio, CONSTANT_CPU_RATIO_MAX, "x"))
    if (footprint := comparison.footprint(GRAMME)) is not None:
        found += [
            at_most("start to first answer under 0.6 s", footprint.start_s, START_S_MAX, " s"),
            at_most("idle memory under 90 MB", footprint.idle_bytes / 1e6, IDLE_MB_MAX, " MB"),
            at_most(
                "memory under load below 600 MB", footprint.peak_bytes / 1e6, PEAK_MB_MAX, " MB"
            ),
        ]
    return found


def speed_ratio(comparison: Comparison, operation: str) -> float | None:
    ours = comparison.row(GRAMME, operation, CONNECTIONS)
    theirs = comparison.row(DYNALITE, operation, CONNECTIONS)
    return ours.per_second / theirs.per_second if ours and theirs else None


def operation_table(comparison: Comparison, operation: str) -> Table:
    columns = ("server", "connections", "per second", "to dynalite", "p50 ms", "p99 ms", "CPU us")
    rows = [cells(comparison, row) for row in comparison.rows if row.operation == operation]
    return Table(TITLES.get(operation, operation), columns, rows)


def cells(comparison: Comparison, row: Row) -> list[str]:
    if row.void:
        return [row.server, str(row.connections), "void", "", "", "", row.void]
    base = comparison.row(DYNALITE, row.operation, row.connections)
    ratio = f"{row.per_second / base.per_second:.2f}x" if base else ""
    return [
        row.server,
        str(row.connections),
        f"{row.per_second:,.0f}",
        ratio,
        milliseconds(row.p50_ms),
        milliseconds(row.p99_ms),
        f"{row.cpu_us:,.1f}",
    ]


def footprint_table(footprints: Sequence[Footprint]) -> Table:
    columns = ("server", "version", "", "start s", "idle", "filled", "peak")
    rows = [
        (
            each.server,
            each.version,
            each.note,
            f"{each.start_s:.3f}",
            megabytes(each.idle_bytes),
            megabytes(each.filled_bytes),
            megabytes(each.peak_bytes),
        )
        for each in footprints
    ]
    return Table("Start and resident memory", columns, rows)


def chart(comparison: Comparison, options: Options) -> str:
    names = [each.server for each in comparison.footprints if each.server != CONSTANT]

    def group(operation: str, connections: int) -> Group:
        found = [comparison.row(name, operation, connections) for name in names]
        values = [row.per_second if row else None for row in found]
        return Group(f"{connections} connection{'s' * (connections > 1)}", values)

    panels = [
        Panel(
            f"{operation}: answers a second",
            [group(operation, connections) for connections in options.connections],
        )
        for operation in options.operations
    ]
    return bars("Gramme (on disk, flushing) beside its peers (in memory)", names, panels)


def notes(comparison: Comparison) -> list[str]:
    """What else may have limited a row: a client that uses its whole core, or other processes."""
    busy = [
        f"{row.server} {row.operation} at {row.connections}"
        for row in comparison.rows
        if row.client_busy > CLIENT_BUSY_MAX and not row.void
    ]
    others = sorted(row.others_busy for row in comparison.rows)
    shares = f"{median(others):.0%} of the machine in the median row, {others[-1]:.0%} in the worst"
    found = [f"Other processes used {shares}."]
    if busy:
        found.append(
            f"The client was busy over {CLIENT_BUSY_MAX:.0%} of a core in: {', '.join(busy)}."
        )
    return found
