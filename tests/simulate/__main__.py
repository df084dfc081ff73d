"""`python -m tests.simulate [--seeds N] [--first K] [--kind groups|whole] [--jobs J] [--resume] [--bugs]`"""

from __future__ import annotations

import argparse
import logging
import os
import sys
import time
from collections import deque
from collections.abc import Iterable, Iterator
from concurrent.futures import Future, ProcessPoolExecutor

from tests.simulate.bugs import BUGS, SEEDS_MAX, Finding, hunt
from tests.simulate.report import Report
from tests.simulate.seeds import KINDS, simulate
from tests.simulate.tally import PATH, Tally, load

SAVE_EVERY = 10
FAILURES_TOLD = 3
# Seeds that are given to a process before its last one is done.
AHEAD = 2


def main() -> int:
    parser = argparse.ArgumentParser(
        prog="python -m tests.simulate", description="Run simulated clusters through faults."
    )
    parser.add_argument("--seeds", type=int, default=200, help="how many; default %(default)s")
    parser.add_argument("--first", type=int, default=1, help="the first one; default %(default)s")
    parser.add_argument("--kind", choices=KINDS, help="only of this kind; default: as seeds say")
    parser.add_argument("--resume", action="store_true", help=f"go on from {PATH}")
    parser.add_argument("--bugs", action="store_true", help="hunt bugs that are put in on purpose")
    parser.add_argument(
        "--jobs", type=int, default=os.cpu_count() or 1, help="processes; default %(default)s"
    )
    options = parser.parse_args()
    with ProcessPoolExecutor(options.jobs, initializer=be_quiet) as pool:
        if options.bugs:
            return hunt_all(pool, options.first, min(options.seeds, SEEDS_MAX))
        tally = (load() if options.resume else None) or Tally(options.first)
        return campaign(pool, options.jobs, tally, options.seeds, options.kind)


def be_quiet() -> None:
    """Nodes complain of every fault that meets them."""
    logging.disable(logging.WARNING)


def measured(seed: int, kind: str | None) -> tuple[Report, float]:
    began = time.process_time()
    report = simulate(seed, kind)
    return report, time.process_time() - began


def campaign(
    pool: ProcessPoolExecutor, jobs: int, tally: Tally, seeds: int, kind: str | None
) -> int:
    end, told = tally.next + seeds, 0
    for report, processor_s in in_order(pool, jobs, range(tally.next, end), kind):
        tally.add(report, processor_s)
        if report.violation is not None and told < FAILURES_TOLD:
            told += 1
            tell(report)
        show(tally, end)
        if tally.next == end or tally.next % SAVE_EVERY == 0:
            tally.save()
    print(tally)
    return 1 if tally.failed else 0


def in_order(
    pool: ProcessPoolExecutor, jobs: int, seeds: Iterable[int], kind: str | None
) -> Iterator[tuple[Report, float]]:
    """Reports in the order of their seeds, so that a tally is of all seeds up to one."""
    running: deque[Future[tuple[Report, float]]] = deque()
    for seed in seeds:
        running.append(pool.submit(measured, seed, kind))
        if len(running) >= jobs * AHEAD:
            yield running.popleft().result()
    while running:
        yield running.popleft().result()


def show(tally: Tally, end: int) -> None:
    if not sys.stdout.isatty():
        return
    line = f"seed {tally.next - 1}, {end - tally.next} to go, {len(tally.failed)} failed"
    print(f"\r{line:60}", end="\n" if tally.next == end else "", flush=True)


def tell(report: Report) -> None:
    print(f"\nseed {report.seed} FAILED after {report.seconds:.3f} s: {report.plan}")
    print("the end of its trace:")
    for line in report.trace:
        print(f"  {line}")
    print(f"{report.violation}")
    again = f"--first {report.seed} --seeds 1 --kind {report.kind}"
    print(f"again: python -m tests.simulate {again}", flush=True)


def hunt_all(pool: ProcessPoolExecutor, first: int, seeds: int) -> int:
    """Returns 1 if a bug was not found."""
    missed = 0
    print("| bug | seeds | caught by |\n| --- | --- | --- |")
    findings: Iterable[Finding] = pool.map(hunt, BUGS, [first] * len(BUGS), [seeds] * len(BUGS))
    for finding in findings:
        missed += finding.report is None
        print(finding, flush=True)
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
