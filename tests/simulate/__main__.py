"""`python -m tests.simulate [--seeds N] [--first K] [--resume] [--bugs]`"""

from __future__ import annotations

import argparse
import logging
import sys
import time

from tests.simulate.bugs import BUGS, SEEDS_MAX, hunt
from tests.simulate.plan import plan_of
from tests.simulate.run import Report, simulate
from tests.simulate.tally import PATH, Tally, load

SAVE_EVERY = 10
FAILURES_TOLD = 3


def main() -> int:
    parser = argparse.ArgumentParser(
        prog="python -m tests.simulate", description="Run whole clusters through faults."
    )
    parser.add_argument("--seeds", type=int, default=200, help="how many; default %(default)s")
    parser.add_argument("--first", type=int, default=1, help="the first one; default %(default)s")
    parser.add_argument("--resume", action="store_true", help=f"go on from {PATH}")
    parser.add_argument("--bugs", action="store_true", help="hunt bugs that are put in on purpose")
    options = parser.parse_args()
    # Nodes complain of every fault that meets them.
    logging.disable(logging.WARNING)
    if options.bugs:
        return hunt_all(options.first, min(options.seeds, SEEDS_MAX))
    return campaign(options.first, options.seeds, resume=options.resume)


def campaign(first: int, seeds: int, *, resume: bool) -> int:
    tally = (load() if resume else None) or Tally(first)
    end = tally.next + seeds
    told = 0
    while tally.next < end:
        began = time.process_time()
        report = simulate(tally.next)
        tally.add(report, time.process_time() - began)
        if report.violation is not None and told < FAILURES_TOLD:
            told += 1
            tell(report)
        show(tally, end)
        if tally.next == end or tally.next % SAVE_EVERY == 0:
            tally.save()
    print(tally)
    return 1 if tally.failed else 0


def show(tally: Tally, end: int) -> None:
    if not sys.stdout.isatty():
        return
    line = f"seed {tally.next - 1}, {end - tally.next} to go, {len(tally.failed)} failed"
    print(f"\r{line:60}", end="\n" if tally.next == end else "", flush=True)


def tell(report: Report) -> None:
    print(f"\nseed {report.seed} FAILED after {report.seconds:.3f} s: {plan_of(report.seed)}")
    print("the end of its trace:")
    for line in report.trace:
        print(f"  {line}")
    print(f"{report.violation}")
    print(f"again: python -m tests.simulate --first {report.seed} --seeds 1", flush=True)


def hunt_all(first: int, seeds: int) -> int:
    """Returns 1 if a bug was not found."""
    missed = 0
    print(f"{'bug':44} | seeds | caught by")
    for bug in BUGS:
        finding = hunt(bug, first, seeds)
        missed += finding.report is None
        print(finding, flush=True)
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
