"""What a cluster uses while nobody asks it anything: the CPU of its processes, without a table and with 200 partitions.

3 nodes and a router, each partition with 3 replicas. What there is to do is saying that a leader still leads, and looking
whether there is something to do.
"""

import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import median

from bench.cluster import NODES, Cluster
from bench.fill import create_table
from bench.options import Options
from bench.progress import Progress, say
from bench.report import Report, Table, Target, at_most, megabytes
from bench.wire import Client

PARTITIONS = 200
PARTITIONS_PER_TABLE = 4
WATCHED_S = 20.0
# Leaders are spread, and memory is tidied, within this time.
QUIET_S = 15.0
CPU_PERCENT_MAX = 5.0


@dataclass(frozen=True, slots=True)
class Watched:
    """What each process used in one stretch of time, in percent of a core."""

    partitions: int
    cpu_percent: Mapping[str, float]
    resident_bytes: int


def run(options: Options, directory: Path, machine: dict[str, str]) -> Report:
    cluster = Cluster(PARTITIONS_PER_TABLE, directory / "idle")
    watched: list[Watched] = []
    progress = Progress("idle", 2 * options.rounds)
    try:
        cluster.start()
        for partitions in (0, PARTITIONS):
            if partitions:
                create_tables(cluster, partitions // PARTITIONS_PER_TABLE)
            time.sleep(QUIET_S)
            for _ in range(options.rounds):
                watched.append(watch(cluster, partitions))
                total = sum(watched[-1].cpu_percent.values())
                progress.advance(note=f"{partitions} partitions: {total:.1f} % of a core")
    finally:
        cluster.stop()
    return report_of(watched, options, machine)


def create_tables(cluster: Cluster, tables: int) -> None:
    say(f"creating {tables} tables of {PARTITIONS_PER_TABLE} partitions")
    client = Client(cluster.server.address)
    for number in range(tables):
        create_table(client, f"idle-{number}")
    client.close()


def watch(cluster: Cluster, partitions: int) -> Watched:
    before, began = cluster.cpu_by_process(), time.monotonic()
    time.sleep(WATCHED_S)
    after, seconds = cluster.cpu_by_process(), time.monotonic() - began
    used = {name: 100 * (after[name] - before[name]) / seconds for name in after}
    return Watched(partitions, used, cluster.resident_bytes())


def report_of(watched: Sequence[Watched], options: Options, machine: dict[str, str]) -> Report:
    processes = list(watched[0].cpu_percent)
    rows = [
        (name, *(percent(watched, count, [name]) for count in (0, PARTITIONS)))
        for name in processes
    ]
    rows.append(("all", *(percent(watched, count, processes) for count in (0, PARTITIONS))))
    memory = tuple(
        megabytes(median(each.resident_bytes for each in watched if each.partitions == count))
        for count in (0, PARTITIONS)
    )
    rows.append(("resident memory of all", *memory))
    return Report(
        name="idle",
        title="A cluster that nobody asks",
        about=" ".join((__doc__ or "").split()),
        machine=machine,
        settings={
            "nodes": NODES,
            "seconds": WATCHED_S,
            "rounds": options.rounds,
            "partitions of a table": PARTITIONS_PER_TABLE,
        },
        targets=[target(watched)],
        tables=[Table("Percent of a core", ("", "no table", f"{PARTITIONS} partitions"), rows)],
        data=[asdict(each) for each in watched],
        notes=[
            "Figures are medians over the rounds; the router and the process that started the others are in the sum."
        ],
    )


def target(watched: Sequence[Watched]) -> Target:
    promise = f"{PARTITIONS} idle partitions on {NODES} nodes use under {CPU_PERCENT_MAX:g} % of a core together"
    return at_most(
        promise, used(watched, PARTITIONS, list(watched[0].cpu_percent)), CPU_PERCENT_MAX, " %"
    )


def percent(watched: Sequence[Watched], partitions: int, names: Sequence[str]) -> str:
    return f"{used(watched, partitions, names):.2f}"


def used(watched: Sequence[Watched], partitions: int, names: Sequence[str]) -> float:
    """The median of what the processes of these names used together."""
    return median(
        sum(each.cpu_percent[name] for name in names)
        for each in watched
        if each.partitions == partitions
    )
