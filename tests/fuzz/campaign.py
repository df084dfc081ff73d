"""`make fuzz`: the long form of what `make test` tries briefly.

    python -m tests.fuzz.campaign [--requests 100000] [--seed N] [--seconds N] [--partitions 4]
    python -m tests.fuzz.campaign replay FILE
    python -m tests.fuzz.campaign coverage [TARGET ...] [--seconds 60]
    python -m tests.fuzz.campaign expressions [--examples 20000]

The first sends random requests, round after round, to a server of its own, and judges every answer, what is stored, and
the server's memory. The second repeats what went wrong. The third lets coverage guide the bytes: see `coverage.py`. The
last tries random expressions against slow evaluators that share nothing with the compiled ones.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import orjson

from tests.fuzz import coverage
from tests.fuzz.rounds import Failure, Tally, run_round
from tests.fuzz.targets import TARGETS
from tests.support.examples import SEED_VARIABLE, VARIABLE
from tests.support.server import ROOT, Server

REQUESTS_PER_ROUND = 500
# Where what failed is kept, until somebody removes it.
KEPT = ROOT / ".fuzz"
CACHE_MB = 64
# The first fifth fills caches and pools: what is resident after it is taken as normal. RocksDB may go on to fill its write
# buffers, 128 MB in all, which a server that never rests does slowly; anything beyond that is a leak.
WARM_UP_SHARE = 0.2
GROWTH_MAX_MB = 160
FAILURES_MAX = 20
COMMANDS = ("requests", "replay", "coverage", "expressions")
RANDOM_TESTS = (
    "tests/unit/gramme/expressions/test_condition_random.py",
    "tests/unit/gramme/expressions/test_update_random.py",
    "tests/fuzz/test_key_conditions.py",
)
PAGE_BYTES = os.sysconf("SC_PAGE_SIZE")


class Memory:
    """How much of a process is resident, and whether it only grows."""

    def __init__(self, pid: int) -> None:
        self._statm = Path(f"/proc/{pid}/statm")
        self.normal_mb = 0
        self.now_mb = 0
        self.most_mb = 0

    def look(self, share_done: float) -> None:
        if not self._statm.exists():
            return
        self.now_mb = int(self._statm.read_text().split()[1]) * PAGE_BYTES >> 20
        self.most_mb = max(self.most_mb, self.now_mb)
        if share_done <= WARM_UP_SHARE:
            self.normal_mb = max(self.normal_mb, self.now_mb)

    @property
    def has_grown(self) -> bool:
        """Judged at the end: what was taken must have been given back by then."""
        return self.now_mb > self.normal_mb + GROWTH_MAX_MB

    def __str__(self) -> str:
        if not self.now_mb:
            return "memory is not watched on this system"
        return (
            f"{self.now_mb} MB resident (after warming up {self.normal_mb}, at most {self.most_mb})"
        )


def run_requests(arguments: argparse.Namespace) -> int:
    print(f"seed {arguments.seed}", flush=True)
    tally, failures, display = Tally(), 0, Display()
    server = Server(None, "--partitions", str(arguments.partitions), "--cache-mb", str(CACHE_MB))
    with server:
        memory = Memory(server.pid)
        began_s = time.monotonic()
        for number in rounds(arguments, tally, began_s):
            failure = run_round(
                server.port, f"{arguments.seed}/{number}", REQUESTS_PER_ROUND, tally
            )
            if failure is not None:
                failures += 1
                keep(failure, arguments.partitions, server)
                if failures >= FAILURES_MAX or server.exit_code() is not None:
                    break
            done = progress(arguments, tally, began_s)
            memory.look(done)
            elapsed_s = time.monotonic() - began_s
            display.show(
                done,
                f"{tally.requests} requests, {failures} bad, {memory.now_mb} MB, {elapsed_s:.0f} s",
            )
        summarise(tally, failures, memory, time.monotonic() - began_s)
    if memory.has_grown:
        print(f"FAILED: memory grew by more than {GROWTH_MAX_MB} MB")
    return 1 if failures or memory.has_grown else 0


def rounds(arguments: argparse.Namespace, tally: Tally, began_s: float) -> Iterator[int]:
    number = 0
    while progress(arguments, tally, began_s) < 1:
        yield number
        number += 1


def progress(arguments: argparse.Namespace, tally: Tally, began_s: float) -> float:
    """The share of the work that is done, by requests or by time."""
    if arguments.seconds:
        return (time.monotonic() - began_s) / float(arguments.seconds)
    return tally.requests / max(1, int(arguments.requests))


class Display:
    """One line that is written over on a terminal; a line for every tenth of the work elsewhere."""

    def __init__(self) -> None:
        self._tenths = 0

    def show(self, share_done: float, line: str) -> None:
        if sys.stdout.isatty():
            print(f"\r\033[K{line}", end="", flush=True)
        elif int(share_done * 10) > self._tenths:
            self._tenths = int(share_done * 10)
            print(line, flush=True)


def keep(failure: Failure, partitions: int, server: Server) -> None:
    """Write down what failed, with what the server said of it, and say how to repeat it."""
    KEPT.mkdir(exist_ok=True)
    path = KEPT / f"{failure.seed.replace('/', '-')}-{failure.number}.json"
    written = orjson.loads(failure.written())
    kept = {**written, "partitions": partitions, "log": server.errors[-8_000:]}
    path.write_bytes(orjson.dumps(kept, option=orjson.OPT_INDENT_2))
    print(
        f"\n{failure.request.operation} ({failure.request.kind}): {failure.problem}\n"
        f'  to repeat it: make fuzz FUZZ="replay {path.relative_to(ROOT)}"',
        flush=True,
    )


def summarise(tally: Tally, failures: int, memory: Memory, elapsed_s: float) -> None:
    kinds: Counter[str] = Counter()
    taken: Counter[str] = Counter()
    errors: Counter[str] = Counter()
    for (kind, _, error), count in tally.outcomes.items():
        kinds[kind] += count
        taken[kind] += 0 if error else count
        errors[error or "success"] += count
    operations = len({operation for _, operation, _ in tally.outcomes})
    rate = tally.requests / max(elapsed_s, 1e-9)
    print(
        f"\n{tally.requests} requests of {operations} operations in {elapsed_s:.0f} s"
        f" ({rate:.0f}/s), {failures} bad; {tally.watched} refused writes looked into; {memory}"
    )
    print(f"  slowest answer: {tally.slowest_s * 1000:.0f} ms, {tally.slowest}")
    for kind in sorted(kinds):
        print(f"  {kind}: {kinds[kind]}, {taken[kind] / kinds[kind]:.0%} accepted")
    for error, count in errors.most_common():
        print(f"  {error}: {count}")


def run_replay(arguments: argparse.Namespace) -> int:
    """Send the round of a kept failure again, up to the request that failed; or give a target its bytes again."""
    path = Path(arguments.names[0])
    if path.suffix != ".json":
        TARGETS[path.name.partition("-")[0]].run(path.read_bytes())
        print("it no longer fails")
        return 0
    kept = orjson.loads(path.read_bytes())
    with Server(None, "--partitions", str(kept["partitions"])) as server:
        failure = run_round(server.port, kept["seed"], kept["number"] + 1, Tally())
        if failure is None:
            print("it no longer fails")
            return 0
        print(f"{failure.request.operation} fails at request {failure.number}: {failure.problem}")
        print(failure.request.body.decode(errors="replace")[:2_000])
        print(server.errors[-8_000:])
    return 1


def run_expressions(arguments: argparse.Namespace) -> int:
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *RANDOM_TESTS]
    command.append(f"--hypothesis-seed={arguments.seed}")
    print(f"seed {arguments.seed}, {arguments.examples} examples of each", flush=True)
    settings = {VARIABLE: str(arguments.examples), SEED_VARIABLE: str(arguments.seed)}
    environment = {**os.environ, **settings}
    return subprocess.run(command, cwd=ROOT, env=environment, check=False).returncode


def main() -> int:
    parser = argparse.ArgumentParser(prog="fuzz", description="Ask a server all sorts of things.")
    parser.add_argument("command", nargs="?", choices=COMMANDS)
    parser.add_argument("names", nargs="*", help="the file to replay, or the targets of coverage")
    parser.add_argument("--requests", type=int, default=100_000)
    parser.add_argument("--seconds", type=float, help="by time instead; of coverage, per target")
    parser.add_argument(
        "--examples", type=int, default=20_000, help="of each random expression test"
    )
    parser.add_argument("--partitions", type=int, default=4)
    parser.add_argument("--seed", type=int, default=time.time_ns() % 1_000_000)
    arguments = parser.parse_args()
    if arguments.command == "replay":
        return run_replay(arguments)
    if arguments.command == "expressions":
        return run_expressions(arguments)
    if arguments.command == "coverage":
        return coverage.run(arguments.names, arguments.seconds, arguments.seed, KEPT)
    return run_requests(arguments)


if __name__ == "__main__":
    sys.exit(main())
