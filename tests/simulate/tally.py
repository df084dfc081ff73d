"""What a campaign has seen so far, in a file, so that it can be stopped and go on later."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import msgspec

from tests.simulate.report import Report

PATH = Path(".simulate") / "tally.json"


class Tally(msgspec.Struct):
    """`next` is the first seed that was not run. Times are of the simulation, and of the processor.

    `least` is what the poorest seeds had of operations, faults and seconds.
    """

    next: int
    seeds: int = 0
    kinds: dict[str, int] = {}
    failed: list[int] = []
    operations: int = 0
    faults: int = 0
    simulated_s: float = 0.0
    processor_s: float = 0.0
    counts: dict[str, int] = {}
    least: dict[str, float] = {}

    def add(self, report: Report, processor_s: float) -> None:
        self.next = report.seed + 1
        self.seeds += 1
        self.kinds = {**self.kinds, report.kind: self.kinds.get(report.kind, 0) + 1}
        self.operations += report.operations
        self.faults += report.faults
        self.simulated_s += report.seconds
        self.processor_s += processor_s
        if report.violation is None:
            had = {
                "operations": report.operations,
                "faults": report.faults,
                "seconds": report.seconds,
            }
            self.least = {
                what: min(count, self.least.get(what, count)) for what, count in had.items()
            }
        self.counts = dict(Counter(self.counts) + report.counts)
        if report.violation is not None:
            self.failed.append(report.seed)

    def __str__(self) -> str:
        kinds = ", ".join(f"{count} of {kind}" for kind, count in sorted(self.kinds.items()))
        hours, pace = self.simulated_s / 3600, self.seeds / max(self.processor_s, 0.001)
        lines = [
            f"{self.seeds} seeds ({kinds}), {len(self.failed)} failed; {pace:.2f} a processor's second",
            f"{self.operations} operations and {self.faults} faults in {hours:.1f} simulated hours",
            "at least " + ", ".join(f"{count:g} {what}" for what, count in self.least.items()),
        ]
        lines += [f"  {kind:26} {count:10}" for kind, count in sorted(self.counts.items())]
        if self.failed:
            lines.append(f"failed: {', '.join(map(str, self.failed))}")
        return "\n".join(lines)

    def save(self) -> None:
        """All of it or nothing: a campaign may be stopped at any time."""
        PATH.parent.mkdir(exist_ok=True)
        new = PATH.with_suffix(".new")
        new.write_bytes(msgspec.json.format(msgspec.json.encode(self)))
        new.replace(PATH)


def load() -> Tally | None:
    return msgspec.json.decode(PATH.read_bytes(), type=Tally) if PATH.exists() else None
