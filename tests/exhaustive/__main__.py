"""`python -m tests.exhaustive [start ...] [--depth N] [--states N]`"""

from __future__ import annotations

import argparse

from tests.exhaustive.starts import STARTS


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.exhaustive")
    parser.add_argument("starts", nargs="*", metavar="start", help=", ".join(STARTS))
    parser.add_argument("--depth", type=int, default=10**6, help="events in one history")
    parser.add_argument("--states", type=int, default=2_000_000, help="about 400 bytes each")
    options = parser.parse_args()
    failed = False
    for name in options.starts or STARTS:
        report = STARTS[name].search().run(depth_max=options.depth, states_max=options.states)
        print(f"{name}: {report}", flush=True)
        for number, line in enumerate(report.trace, start=1):
            print(f"  {number:3} {line}")
        failed |= report.violation is not None
    return 1 if failed else 0


raise SystemExit(main())
