"""The replicated run as a report: the promises, on the number of partitions that puts fastest, the tables and the chart."""

from dataclasses import asdict
from pathlib import Path
from statistics import mean, median

from bench import etcd, replicated
from bench.chart import Group, Panel, bars
from bench.cluster import name_of
from bench.compare import DATASET
from bench.options import Options
from bench.replicated import (
    EVENTUAL,
    PARTITIONS,
    PUT,
    PUT_CONNECTIONS,
    READ_CONNECTIONS,
    STRONG,
    Result,
    Row,
    measure_all,
)
from bench.report import Report, Table, Target, at_least, at_most, milliseconds

PUT_RATIO_MIN = 2.0
STRONG_SHARE_MIN = 60.0
ROUNDS_PER_READ_MAX = 0.2

ABOUT = " ".join((replicated.__doc__ or "").split())
HOW = (
    "etcd is at its defaults but for a larger quota, with 3 members on the same disk; h2load keeps one request out per "
    "connection, as wrk does, and sends each time the same body, so etcd is put one key over and over, where Gramme is put "
    "random ones of 10,000. h2load cannot see whether a put took effect: a row counts only if etcd's revision rose by one for each put. "
    "wrk corrects latencies for coordinated omission and h2load does not."
)


def run(options: Options, directory: Path, machine: dict[str, str]) -> Report:
    return report_of(measure_all(options, directory), options, machine)


def report_of(result: Result, options: Options, machine: dict[str, str]) -> Report:
    judged = judged_name(result)
    settings: dict[str, object] = {
        "seconds": options.seconds,
        "rounds": options.rounds,
        "items": DATASET.items,
        "item data bytes": DATASET.data_bytes,
        "versions": result.versions,
    }
    return Report(
        name="replicated",
        title="Three replicas, beside etcd",
        about=ABOUT,
        machine=machine,
        settings=settings,
        targets=targets(result, judged),
        tables=[put_table(result), cpu_table(result), read_table(result)],
        data={
            "judged": judged,
            "rows": [asdict(row) for row in result.rows],
            "leader_changes": result.leader_changes,
        },
        chart=chart(result),
        notes=notes(result, judged),
    )


def judged_name(result: Result) -> str:
    """Whose rates the promises are judged on: one number of partitions for all of them."""

    def puts(name: str) -> float:
        rows = (result.row(name, PUT, connections) for connections in PUT_CONNECTIONS)
        return min((row.per_second for row in rows if row), default=0.0)

    return max((name_of(partitions) for partitions in PARTITIONS), key=puts)


def targets(result: Result, judged: str) -> list[Target]:
    found = [
        at_least(
            f"PutItem at {connections} connections at least {PUT_RATIO_MIN:g}x etcd's puts",
            ratio(result, judged, connections),
            PUT_RATIO_MIN,
            "x",
        )
        for connections in PUT_CONNECTIONS
    ]
    share = strong_share(result, judged)
    promise = f"strong GetItem at {READ_CONNECTIONS} connections at least 60 % of eventual GetItem"
    found.append(at_least(promise, share, STRONG_SHARE_MIN, " %"))
    strong = result.row(judged, STRONG, READ_CONNECTIONS)
    rounds = strong.rounds_per_read if strong else None
    promise = "fewer than 0.2 rounds of ReadIndex per strong read"
    found.append(at_most(promise, rounds, ROUNDS_PER_READ_MAX))
    return found


def ratio(result: Result, name: str, connections: int) -> float | None:
    ours = result.row(name, PUT, connections)
    theirs = result.row(etcd.NAME, PUT, connections)
    return ours.per_second / theirs.per_second if ours and theirs else None


def strong_share(result: Result, name: str) -> float | None:
    strong = result.row(name, STRONG, READ_CONNECTIONS)
    eventual = result.row(name, EVENTUAL, READ_CONNECTIONS)
    return 100 * strong.per_second / eventual.per_second if strong and eventual else None


# Tables

RATE_COLUMNS = ("per second", "least - most", "p50 ms", "p99 ms", "CPU us")


def put_table(result: Result) -> Table:
    rows = []
    for row in result.rows:
        if row.operation == PUT:
            against = ratio(result, row.contestant, row.connections)
            to_etcd = f"{against:.2f}x" if against else ""
            shared = f"{row.puts_per_entry:.1f}" if row.puts_per_entry else ""
            rows.append((row.contestant, str(row.connections), *rates(row), to_etcd, shared))
    columns = ("", "connections", *RATE_COLUMNS, "to etcd", "puts per log entry")
    return Table("Puts of 1 KB", columns, rows)


def read_table(result: Result) -> Table:
    rows = []
    for row in result.rows:
        if row.operation != PUT:
            share = strong_share(result, row.contestant) if row.operation == STRONG else None
            rounds = row.rounds_per_read
            rows.append(
                (
                    row.contestant,
                    row.operation,
                    *rates(row),
                    f"{share:.0f} %" if share else "",
                    "" if rounds is None else f"{rounds:.3f}",
                )
            )
    columns = ("", "operation", *RATE_COLUMNS, "of eventual", "rounds per read")
    return Table(f"Reads at {READ_CONNECTIONS} connections", columns, rows)


def rates(row: Row) -> list[str]:
    if row.void:
        return ["void", "", "", "", row.void]
    return [
        f"{row.per_second:,.0f}",
        f"{row.per_second_least:,.0f} - {row.per_second_most:,.0f}",
        milliseconds(row.p50_ms),
        milliseconds(row.p99_ms),
        f"{row.cpu_us_total:,.0f}",
    ]


def cpu_table(result: Result) -> Table:
    """Of each kind of process, in microseconds for each answer."""
    rows = [
        (row.contestant, row.operation, str(row.connections), *cpu_cells(row))
        for row in result.rows
        if not row.void
    ]
    columns = ("", "operation", "connections", "all", "router", "busiest node", "each other node")
    return Table("CPU us for each answer", columns, rows)


def cpu_cells(row: Row) -> list[str]:
    nodes = sorted(
        used for name, used in row.cpu_us.items() if name.startswith(("node-", "member-"))
    )
    router = [used for name, used in row.cpu_us.items() if name.startswith("router-")]
    return [
        f"{row.cpu_us_total:,.0f}",
        f"{sum(router):,.0f}" if router else "",
        f"{nodes[-1]:,.0f}",
        f"{mean(nodes[:-1]):,.0f}",
    ]


def chart(result: Result) -> str:
    def values(operation: str, connections: int) -> list[float | None]:
        rows = [result.row(name, operation, connections) for name in result.contestants]
        return [row.per_second if row else None for row in rows]

    puts = [
        Group(f"{connections} connections", values(PUT, connections))
        for connections in PUT_CONNECTIONS
    ]
    own = [name for name in result.contestants if name != etcd.NAME]
    reads = [
        Group(operation.partition(", ")[2], values(operation, READ_CONNECTIONS)[: len(own)])
        for operation in (STRONG, EVENTUAL)
    ]
    panels = [
        Panel("Puts of 1 KB a second", puts),
        Panel(f"GetItem a second, {READ_CONNECTIONS} connections", reads),
    ]
    return bars("Three replicas, each put flushed on a majority", result.contestants, panels)


def notes(result: Result, judged: str) -> list[str]:
    others = sorted(row.others_busy for row in result.rows)
    chosen = (
        f"The promises are judged on {judged}, the faster one where it is slowest in putting; figures of the other are in the "
        "tables. A new table has one partition unless `--partitions` says otherwise."
    )
    noise = f"{median(others):.0%} of the machine in the median row, {others[-1]:.0%} in the worst"
    found = [chosen, HOW, f"Other processes used {noise}."]
    if result.etcd_missing:
        found.append(f"{result.etcd_missing}, so Gramme was measured alone.")
    if result.leader_changes:
        found.append(f"etcd changed its leader {result.leader_changes} times while it was loaded.")
    return found
