"""Results as files: Markdown for readers, JSON for programs, and the chart beside them."""

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Target:
    """A promise about speed, what was measured, and whether it holds; None when it was not measured."""

    promise: str
    measured: str
    holds: bool | None


@dataclass(frozen=True, slots=True)
class Table:
    title: str
    columns: Sequence[str]
    rows: Sequence[Sequence[str]]


@dataclass(frozen=True, slots=True)
class Report:
    """One run, ready to be written as NAME.md, NAME.json and perhaps NAME.svg."""

    name: str
    title: str
    about: str
    machine: dict[str, str]
    settings: dict[str, object]
    targets: Sequence[Target]
    tables: Sequence[Table]
    data: object
    chart: str = ""
    notes: Sequence[str] = field(default_factory=tuple)


def at_most(promise: str, measured: float | None, limit: float, unit: str = "") -> Target:
    if measured is None:
        return Target(promise, "not measured", None)
    return Target(promise, f"{measured:.3g}{unit}", measured <= limit)


def at_least(promise: str, measured: float | None, limit: float, unit: str = "") -> Target:
    if measured is None:
        return Target(promise, "not measured", None)
    return Target(promise, f"{measured:.3g}{unit}", measured >= limit)


def write(report: Report, directory: Path) -> Path:
    """Write the report's files; return the Markdown one."""
    directory.mkdir(parents=True, exist_ok=True)
    if report.chart:
        (directory / f"{report.name}.svg").write_text(report.chart)
    document = {
        "machine": report.machine,
        "settings": report.settings,
        "targets": [
            {"promise": each.promise, "measured": each.measured, "holds": each.holds}
            for each in report.targets
        ],
        "results": report.data,
    }
    (directory / f"{report.name}.json").write_text(json.dumps(document, indent=1) + "\n")
    path = directory / f"{report.name}.md"
    path.write_text(markdown(report))
    return path


def markdown(report: Report) -> str:
    parts = [f"# {report.title}", report.about]
    parts.append("; ".join(f"{name}: {value}" for name, value in report.machine.items()) + ".")
    settings = (f"{name}: {value}" for name, value in report.settings.items())
    parts.append("Settings: " + ", ".join(settings) + ".")
    if report.targets:
        words = {True: "yes", False: "**no**", None: "-"}
        rows = [(each.promise, each.measured, words[each.holds]) for each in report.targets]
        parts.append(markdown_table(Table("", ("promise", "measured", "holds"), rows)))
    if report.chart:
        parts.append(f"![{report.title}]({report.name}.svg)")
    for table in report.tables:
        parts += [f"## {table.title}", markdown_table(table)]
    parts += report.notes
    return "\n\n".join(parts) + "\n"


def markdown_table(table: Table) -> str:
    """The table with its columns padded, so that it reads well as text too."""
    cells = [list(table.columns), *[[cell.replace("|", "/") for cell in row] for row in table.rows]]
    widths = [max(len(row[index]) for row in cells) for index in range(len(table.columns))]

    def line(row: Sequence[str]) -> str:
        padded = (cell.ljust(width) for cell, width in zip(row, widths, strict=True))
        return f"| {' | '.join(padded)} |"

    rule = f"| {' | '.join('-' * width for width in widths)} |"
    return "\n".join([line(cells[0]), rule, *(line(row) for row in cells[1:])])


def megabytes(size_bytes: float) -> str:
    return f"{size_bytes / 1e6:.0f} MB"


def milliseconds(value: float) -> str:
    return f"{value:.2f}" if value < 10 else f"{value:.0f}"
