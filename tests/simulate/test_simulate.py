"""The simulation in a short form, and the proof that it sees what it looks for.

The long form is `make simulate SEEDS=1000`.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.simulate.bugs import hunt
from tests.simulate.seeds import simulate

ROOT = Path(__file__).parents[2]
# Seeds share out among the workers of pytest.
SHARES = 20
SEEDS_PER_SHARE = 10

# Those that a few seeds show.
QUICKLY_FOUND = [
    "own flush counts early",
    "promises leave before the flush",
    "a flush covers what came after it began",
    "votes are not remembered",
    "entries are applied before they are committed",
    "learners count",
    "half is a majority",
    "leaders serve at once",
    "rounds outlive leadership",
    "the overlay outlives leadership",
    "reads show the overlay",
    "failed conditions do not wait",
    "logs lose what is not applied",
    "request ids are not looked for",
    "request ids are not remembered",
    "every attempt is said to be the first",
]
QUICK_SEEDS = 15


@pytest.mark.parametrize("share", range(SHARES))
def test_no_seed_violates_an_invariant(share: int) -> None:
    for seed in range(1 + share * SEEDS_PER_SHARE, 1 + (share + 1) * SEEDS_PER_SHARE):
        report = simulate(seed)
        trace = "\n".join(report.trace)
        assert report.violation is None, f"seed {seed}: {report.violation}\n{trace}"
        assert report.operations >= 500, seed
        assert report.faults >= 5, seed
        assert report.seconds >= 60, seed


@pytest.mark.parametrize("seed", [2, 3, 16])
def test_a_seed_gives_the_same_run_whatever_strings_hash_to(seed: int) -> None:
    code = f"from tests.simulate.seeds import simulate; print(simulate({seed}).digest)"

    digests = {
        subprocess.run(
            [sys.executable, "-c", code],
            env={**os.environ, "PYTHONHASHSEED": hash_seed},
            cwd=ROOT,
            capture_output=True,
            text=True,
            check=True,
        ).stdout.strip()
        for hash_seed in ("1", "2")
    }

    assert digests == {simulate(seed).digest}


@pytest.mark.parametrize("bug", QUICKLY_FOUND)
def test_a_bug_put_in_on_purpose_is_seen(bug: str) -> None:
    finding = hunt(bug, seeds_max=QUICK_SEEDS)

    print(finding)
    assert finding.report is not None
