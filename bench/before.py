"""The server in one process beside itself as it was at an earlier commit, in one interleaved run.

Both run on the same interpreter and libraries, each from its own files. A difference of less than 5 % is within what equal runs
differ by.
"""

import subprocess
import sys
from dataclasses import replace
from pathlib import Path

from bench import installed
from bench.chart import Group, Panel, bars
from bench.compare import DATASET, Comparison, as_data, prepare, run_rounds
from bench.options import Options
from bench.report import Report, Table, Target, at_least, milliseconds
from bench.servers import ROOT, Kind, Server

NAMES = (NOW, BEFORE) = ("now", "before")
SHARE_MIN = 0.95


def run(options: Options, directory: Path, machine: dict[str, str]) -> Report:
    kinds = [replace(installed.gramme(), name=NOW), kind_of(options.before, directory / "tree")]
    servers = [Server(kind, directory / kind.name) for kind in kinds]
    try:
        for server in servers:
            server.start()
            prepare(server)
        rows = run_rounds(options, servers)
    finally:
        for server in servers:
            server.stop()
    versions = [kind.version for kind in kinds]
    return report_of(Comparison(rows, []), versions, options, machine)


def kind_of(commit: str, tree: Path) -> Kind:
    """The server of a commit, whose files are put into `tree`. Raises CalledProcessError if there is no such commit."""
    tree.mkdir()
    archive = subprocess.run(["git", "archive", commit], cwd=ROOT, check=True, capture_output=True)
    subprocess.run(["tar", "--extract", "--directory", str(tree)], input=archive.stdout, check=True)
    # What is run by -m is looked for in the working directory first.
    where = "import gramme, pathlib; print(pathlib.Path(gramme.__file__).parent.parent)"
    found = subprocess.run([sys.executable, "-c", where], cwd=tree, check=True, capture_output=True)
    assert Path(found.stdout.decode().strip()).samefile(tree), "another gramme would be measured"
    return replace(installed.gramme(), name=BEFORE, version=commit, directory=tree)


def report_of(
    comparison: Comparison, versions: list[str], options: Options, machine: dict[str, str]
) -> Report:
    settings: dict[str, object] = {
        "seconds": options.seconds,
        "rounds": options.rounds,
        "items": DATASET.items,
        "item data bytes": DATASET.data_bytes,
        **dict(zip(NAMES, versions, strict=True)),
    }
    cells = [
        (operation, connections)
        for operation in options.operations
        for connections in options.connections
    ]
    return Report(
        name="before",
        title="gramme serve, now and before",
        about=" ".join((__doc__ or "").split()),
        machine=machine,
        settings=settings,
        targets=[target(comparison, *cell) for cell in cells],
        tables=[Table("Operations", COLUMNS, [line(comparison, *cell) for cell in cells])],
        data=as_data(comparison),
        chart=chart(comparison, options),
    )


def target(comparison: Comparison, operation: str, connections: int) -> Target:
    promise = f"{operation} at {connections} connections as fast as before"
    return at_least(promise, rate_share(comparison, operation, connections), SHARE_MIN, "x")


def rate_share(comparison: Comparison, operation: str, connections: int) -> float | None:
    now, before = (comparison.row(name, operation, connections) for name in NAMES)
    return now.per_second / before.per_second if now and before else None


COLUMNS = (
    *("operation", "connections", "per second before", "now", "now to before"),
    *("p99 ms before", "now", "CPU us before", "now", "others busy"),
)


def line(comparison: Comparison, operation: str, connections: int) -> tuple[str, ...]:
    now, before = (comparison.row(name, operation, connections) for name in NAMES)
    share = rate_share(comparison, operation, connections)
    if now is None or before is None or share is None:
        return operation, str(connections), "void", *([""] * (len(COLUMNS) - 3))
    return (
        *(operation, str(connections), f"{before.per_second:,.0f}", f"{now.per_second:,.0f}"),
        *(f"{share:.2f}x", milliseconds(before.p99_ms), milliseconds(now.p99_ms)),
        *(f"{before.cpu_us:,.1f}", f"{now.cpu_us:,.1f}"),
        f"{max(now.others_busy, before.others_busy):.0%}",
    )


def chart(comparison: Comparison, options: Options) -> str:
    def group(operation: str, connections: int) -> Group:
        rows = [comparison.row(name, operation, connections) for name in NAMES]
        values = [row.per_second if row else None for row in rows]
        return Group(f"{connections} connection{'s' * (connections > 1)}", values)

    panels = [
        Panel(
            f"{operation}: answers a second",
            [group(operation, connections) for connections in options.connections],
        )
        for operation in options.operations
    ]
    return bars("gramme serve, now and before", NAMES, panels)
