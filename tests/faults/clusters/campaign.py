"""The long form of faults of clusters: each kind on a cluster of its own, and a table of what came of it."""

from __future__ import annotations

import shutil
import time
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median

from tests.faults.clusters import faults
from tests.faults.clusters.judging import Judgement, Totals, totals_of
from tests.faults.clusters.trial import Gap, Trial

# Promised of every kill of a node that leads.
ACCEPTED_AGAIN_S = 3.0
# A node that is back is given its leadership after ten seconds: some faults come before that, and some after.
CALM_S = 11.0
CALM_EVERY = 3
PROBLEMS_SHOWN = 3
PROBLEM_LENGTH = 2_000

KINDS: dict[str, Callable[[Trial], tuple[float, str]]] = {
    "kill": faults.kill,
    "pause": faults.pause,
    "nap": faults.nap,
    "cut": faults.cut,
    "cut from routers": faults.cut_from_routers,
    "blackout": faults.blackout,
    "wipe": faults.wipe,
}
COLUMNS = (
    *("fault", "rounds", "gap p50", "gap max", "operations", "acknowledged", "strong reads"),
    *("at waking", "unknown", "errors", "lost", "violations", "replicas equal"),
)


@dataclass
class Result:
    """What came of the rounds of one kind."""

    kind: str
    gaps: list[Gap] = field(default_factory=list)
    totals: Totals = field(default_factory=Totals)
    judgement: Judgement = field(default_factory=Judgement)
    replicas: int = 0
    problems: list[str] = field(default_factory=list)

    @property
    def late(self) -> list[Gap]:
        """Kills after which writes were not accepted again in time."""
        if self.kind != "kill":
            return []
        return [gap for gap in self.gaps if gap.writes_s > ACCEPTED_AGAIN_S]

    @property
    def bad(self) -> list[str]:
        return [
            *(f"lost: {one}" for one in self.judgement.lost),
            *(f"violation: {one}" for one in self.judgement.violations),
            *self.problems,
            *(f"no writes for {gap.writes_s:.2f} s after {gap.said}" for gap in self.late),
        ]

    def row(self) -> list[str]:
        waits = [gap.writes_s for gap in self.gaps]
        totals, judged = self.totals, self.judgement
        return [
            *(self.kind, str(len(waits))),
            *((f"{median(waits):.2f} s", f"{max(waits):.2f} s") if waits else ("", "")),
            *map(str, (totals.operations, totals.acknowledged, totals.strong_reads)),
            *map(str, (totals.peeked, totals.unknown)),
            _counts(totals.errors) or "none",
            *map(str, (len(judged.lost), len(judged.violations))),
            "NO" if self.problems else str(self.replicas),
        ]


def run_kind(kind: str, rounds: int, seed: int, where: Path, say: Callable[[str], None]) -> Result:
    """`say` is told of each round. Whatever goes wrong in between is a problem, and what was done until then is judged."""
    result = Result(kind)
    with Trial(where, seed, can_cut=kind.startswith("cut")) as trial:
        try:
            for number in range(1, rounds + 1):
                if number % CALM_EVERY == 0:
                    time.sleep(CALM_S)
                gap = trial.round(KINDS[kind])
                say(f"{kind} {number}/{rounds}: {gap.said}, no writes for {gap.writes_s:.2f} s")
            trial.finish()
            result.replicas, result.problems = trial.replicas()
        except AssertionError as error:
            result.problems.append(f"{kind}: {error}")
        result.gaps = trial.gaps
        result.totals = totals_of(trial.records.all)
        result.judgement = trial.judge()
    return result


def run_kinds(
    rounds: Mapping[str, int], seed: int, scratch: Path, say: Callable[[str], None]
) -> list[Result]:
    results = []
    for kind, count in rounds.items():
        if not count:
            continue
        where = scratch / f"cluster-{kind.replace(' ', '-')}"
        result = run_kind(kind, count, seed, where, say)
        for problem in result.bad[:PROBLEMS_SHOWN]:
            say(f"BAD, kept in {where}: {problem[:PROBLEM_LENGTH]}")
        if not result.bad:
            shutil.rmtree(where)
        results.append(result)
    return results


def table(results: Iterable[Result]) -> str:
    """As in Markdown, so that it can be pasted."""
    rows = [list(COLUMNS), *(result.row() for result in results)]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = [_line(row, widths) for row in rows]
    return "\n".join([lines[0], _line(["-" * width for width in widths], widths), *lines[1:]])


def _line(cells: Sequence[str], widths: Sequence[int]) -> str:
    padded = (cell.ljust(width) for cell, width in zip(cells, widths, strict=True))
    return f"| {' | '.join(padded)} |"


def _counts(errors: Counter[str]) -> str:
    return ", ".join(f"{count} {name}" for name, count in errors.most_common())
