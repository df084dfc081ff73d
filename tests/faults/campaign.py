"""`make faults`: the long form of what `make test` tries briefly.

    python -m tests.faults.campaign [power] [full] [controls] [kill] [cluster] [model] [tests] [--images 500] [--kills 3] ...

Without names everything runs. Each part prints its seed and its progress; the exit code is 0 if every part did what
it should. The directories of bad crash images are kept and named.
"""

from __future__ import annotations

import argparse
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from tests.faults.clusters.campaign import run_kinds, table
from tests.faults.kills import killed_again_and_again
from tests.faults.power import Verdict, record, verdicts
from tests.faults.recorder import compiler, eatmydata
from tests.support.history import HUGE
from tests.support.server import ROOT

# Each recording is of another load, on tables of 1 or of 4 partitions in turn.
IMAGES_PER_RECORDING = 125
IMAGES_PER_CONTROL = 20
PARTITIONS = (1, 4)
CLIENTS = 16
KILLS_OF_SERVER = 100
KILLS_OF_LEADERS = 30
# Enough huge items for RocksDB to write its tables in the middle of the load.
IMAGES_OF_FULL_MEMORY = 40
HUGE_WRITES = 350


class Progress:
    """One line that is written over on a terminal, and only in the end elsewhere."""

    def __init__(self, name: str, total: int) -> None:
        self.name = name
        self.total = total
        self.done = 0
        self.bad = 0
        self._began_s = time.monotonic()

    def step(self, problems: list[str]) -> None:
        self.done += 1
        if problems:
            self.bad += 1
            self._end_line()
            print(f"  {'; '.join(problems)[:2000]}", flush=True)
        if sys.stdout.isatty():
            print(f"\r{self}", end="", flush=True)

    def finish(self) -> None:
        self._end_line()
        print(self, flush=True)

    def _end_line(self) -> None:
        if sys.stdout.isatty():
            print("\r\033[K", end="")

    def __str__(self) -> str:
        elapsed_s = time.monotonic() - self._began_s
        return f"{self.name}: {self.done}/{self.total}, {self.bad} bad, {elapsed_s:.0f} s"


def run_power(arguments: argparse.Namespace, scratch: Path) -> bool:
    """Every crash image holds every answered write."""
    if compiler() is None:
        print("power: SKIPPED, there is no C compiler")
        return True
    progress = Progress("power", arguments.images)
    number = 0
    while progress.done < arguments.images:
        count = min(IMAGES_PER_RECORDING, arguments.images - progress.done)
        options = ("--partitions", str(PARTITIONS[number % len(PARTITIONS)]))
        where = scratch / f"power-{number}"
        where.mkdir()
        seed = arguments.seed + number
        for verdict in recorded(where, seed, count, arguments.jobs, *options):
            progress.step([] if verdict.good else [f"{where}: recording {seed}, {verdict}"])
        if not progress.bad:
            shutil.rmtree(where)
        number += 1
    progress.finish()
    return progress.bad == 0


def recorded(
    where: Path, seed: int, count: int, jobs: int, *options: str, preload: tuple[str, ...] = ()
) -> Iterator[Verdict]:
    recording = record(where, seed, *options, preload=preload, clients=CLIENTS)
    yield from verdicts(recording, count, seed, where, jobs)


def run_full(arguments: argparse.Namespace, scratch: Path) -> bool:
    """The same while memory fills up and RocksDB moves it into tables and drops old logs."""
    if compiler() is None:
        print("full: SKIPPED, there is no C compiler")
        return True
    progress = Progress("full", IMAGES_OF_FULL_MEMORY)
    where = scratch / "full"
    where.mkdir()
    recording = record(
        *(where, arguments.seed),
        clients=2,
        writes_per_life=HUGE_WRITES,
        lives=(signal.SIGKILL,),
        name=HUGE,
    )
    data = recording.recorder.root / "data"
    if not any(data.rglob("*.sst")):
        print(f"full: FAILED, {HUGE_WRITES} huge writes did not fill the memory")
        return False
    for verdict in verdicts(
        recording, IMAGES_OF_FULL_MEMORY, arguments.seed, where, arguments.jobs
    ):
        progress.step([] if verdict.good else [f"{where}: recording {arguments.seed}, {verdict}"])
    progress.finish()
    if not progress.bad:
        shutil.rmtree(where)
    return progress.bad == 0


def run_controls(arguments: argparse.Namespace, scratch: Path) -> bool:
    """Without a flush the same test has to fail; otherwise it proves nothing."""
    if compiler() is None:
        print("controls: SKIPPED, there is no C compiler")
        return True
    library = eatmydata()
    controls: dict[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
        "--durability=os": (("--durability=os",), ()),
    }
    if library is None:
        print("control eatmydata: SKIPPED, libeatmydata is not installed")
    else:
        controls["eatmydata"] = ((), (library,))
    good = True
    for number, (name, (options, preload)) in enumerate(controls.items()):
        where = scratch / f"control-{number}"
        where.mkdir()
        found = recorded(
            *(where, arguments.seed, IMAGES_PER_CONTROL, arguments.jobs, *options), preload=preload
        )
        lost = sum(bool(verdict.lost) for verdict in found)
        good = good and lost > 0
        verdict = "as it should" if lost else "BUT IT SHOULD"
        print(
            f"control {name}: {lost} of {IMAGES_PER_CONTROL} images lost answered writes, {verdict}"
        )
        shutil.rmtree(where)
    return good


def run_kill(arguments: argparse.Namespace, scratch: Path) -> bool:
    """Half of the kills with 1 partition per table, half with 4."""
    total = KILLS_OF_SERVER if arguments.kills is None else arguments.kills
    progress = Progress("kill", total)
    shares = (total - total // 2, total // 2)
    for partitions, kills in zip(PARTITIONS, shares, strict=True):
        data = scratch / f"kill-{partitions}"
        options = ("--partitions", str(partitions))
        for problems in killed_again_and_again(data, kills, arguments.seed, *options):
            progress.step(problems)
    progress.finish()
    return progress.bad == 0


def run_cluster(arguments: argparse.Namespace, scratch: Path) -> bool:
    """Nodes of clusters killed, paused, cut off and wiped; no write lost, and every answer in an order."""
    rounds = {
        "kill": KILLS_OF_LEADERS if arguments.kills is None else arguments.kills,
        "pause": arguments.pauses,
        "nap": arguments.naps,
        "cut": arguments.cuts,
        "cut from routers": arguments.cuts_from_routers,
        "blackout": arguments.blackouts,
        "wipe": arguments.wipes,
    }
    began_s = time.monotonic()

    def say(what: str) -> None:
        print(f"  {time.monotonic() - began_s:6.0f} s  {what}", flush=True)

    results = run_kinds(rounds, arguments.seed, scratch, say)
    print(table(results), flush=True)
    return not any(result.bad for result in results)


def run_model(arguments: argparse.Namespace, scratch: Path) -> bool:
    settings = {
        "GRAMME_MODEL_EXAMPLES": str(arguments.examples),
        "GRAMME_SEED": str(arguments.seed),
    }
    return run_pytest(scratch, settings, "tests/faults/test_model.py")


def run_tests(arguments: argparse.Namespace, scratch: Path) -> bool:
    """The short tests that have no long form."""
    return run_pytest(scratch, {}, "tests/faults", "--ignore", "tests/faults/test_model.py")


def run_pytest(scratch: Path, settings: dict[str, str], *arguments: str) -> bool:
    command = [sys.executable, "-m", "pytest", "-q", "--basetemp", str(scratch / "pytest")]
    environment = {**os.environ, **settings}
    return (
        subprocess.run([*command, *arguments], cwd=ROOT, env=environment, check=False).returncode
        == 0
    )


PARTS: dict[str, Callable[[argparse.Namespace, Path], bool]] = {
    "power": run_power,
    "full": run_full,
    "controls": run_controls,
    "kill": run_kill,
    "cluster": run_cluster,
    "model": run_model,
    "tests": run_tests,
}


def main() -> int:
    parser = argparse.ArgumentParser(prog="faults", description="Crash a server in many ways.")
    parser.add_argument(
        "names", nargs="*", metavar="part", help=f"of {', '.join(PARTS)}; default all"
    )
    parser.add_argument("--images", type=int, default=500, help="crash images after power loss")
    parser.add_argument(
        "--kills",
        type=int,
        help=f"of a server, default {KILLS_OF_SERVER}, and of leaders in a cluster, default {KILLS_OF_LEADERS}",
    )
    of_clusters = parser.add_argument_group("of clusters")
    option = of_clusters.add_argument
    option("--pauses", type=int, default=10, help="of 30 s, of a leader")
    option("--naps", type=int, default=10, help="pauses of 4 s")
    option("--cuts", type=int, default=10, help="of the network between a leader and others")
    option("--cuts-from-routers", type=int, default=3, help="where the nodes hear each other")
    option("--blackouts", type=int, default=5, help="all nodes killed at once")
    option("--wipes", type=int, default=3, help="nodes that lose their disks")
    parser.add_argument("--examples", type=int, default=100, help="runs of the model test")
    parser.add_argument("--jobs", type=int, default=min(os.cpu_count() or 1, 8))
    parser.add_argument("--seed", type=int, default=time.time_ns() % 1_000_000)
    arguments = parser.parse_args()
    if unknown := set(arguments.names) - PARTS.keys():
        parser.error(f"no such part: {', '.join(sorted(unknown))}")
    print(f"seed {arguments.seed}", flush=True)
    scratch = Path(tempfile.mkdtemp(prefix="gramme-faults-"))
    names = [name for name in PARTS if name in arguments.names or not arguments.names]
    failed = [name for name in names if not PARTS[name](arguments, scratch)]
    if failed:
        print(f"FAILED: {', '.join(failed)}; what is left of them is in {scratch}")
        return 1
    shutil.rmtree(scratch)
    return 0


if __name__ == "__main__":
    sys.exit(main())
