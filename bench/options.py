"""What can be asked of the bench on its command line."""

import argparse
from dataclasses import dataclass
from pathlib import Path

from bench.installed import PEERS

RESULTS = Path(__file__).resolve().parent / "results"
OPERATIONS = ("GetItem", "PutItem", "UpdateItem", "Query", "BatchWriteItem", "Scan")
RUNS = ("compare", "scale", "paging", "overload", "links", "client", "replicated", "idle", "before")


@dataclass(frozen=True, slots=True)
class Options:
    runs: tuple[str, ...]
    seconds: float
    rounds: int
    connections: tuple[int, ...]
    operations: tuple[str, ...]
    peers: tuple[str, ...]
    items: int
    paged_bytes: int
    before: str
    data: Path | None
    results: Path


def parse(arguments: list[str] | None = None) -> Options:
    parser = argparse.ArgumentParser(prog="python -m bench", description=__doc__)
    parser.add_argument(
        "runs", nargs="*", metavar="run", help=f"any of {', '.join(RUNS)}; compare unless told"
    )
    parser.add_argument("--seconds", type=float, default=3.0, help="for each measurement")
    parser.add_argument("--rounds", type=int, default=3, help="medians are over rounds")
    parser.add_argument("--connections", default="1,16,64", help="for compare; 64 elsewhere")
    parser.add_argument("--only", default=",".join(OPERATIONS), help="operations to measure")
    parser.add_argument("--peers", default=",".join(PEERS), help="peers to include; '' for none")
    parser.add_argument("--items", type=int, default=5_000_000, help="items of the large table")
    parser.add_argument("--paged-mb", type=int, default=1000, help="what a Query pages through")
    parser.add_argument("--before", default="", metavar="COMMIT", help="what to compare with")
    parser.add_argument("--data", type=Path, help="where servers keep their files")
    parser.add_argument("--results", type=Path, help="where results are written")
    parser.add_argument(
        "--quick", action="store_true", help="one round of 1 s each; results go to results/raw"
    )
    given = parser.parse_args(arguments)
    runs = tuple(given.runs) or ("compare",)
    operations, peers = words(given.only), words(given.peers)
    for name, allowed in ((runs, RUNS), (operations, OPERATIONS), (peers, PEERS)):
        if unknown := set(name) - set(allowed):
            parser.error(f"unknown: {', '.join(sorted(unknown))}; there are {', '.join(allowed)}")
    if "before" in runs and not given.before:
        parser.error("before needs --before COMMIT")
    return Options(
        runs=runs,
        seconds=1.0 if given.quick else given.seconds,
        rounds=1 if given.quick else given.rounds,
        connections=tuple(int(word) for word in words(given.connections)),
        operations=operations,
        peers=peers,
        items=given.items,
        paged_bytes=given.paged_mb * 1_000_000,
        before=given.before,
        data=given.data,
        results=given.results or (RESULTS / "raw" if given.quick else RESULTS),
    )


def words(text: str) -> tuple[str, ...]:
    return tuple(word.strip() for word in text.split(",") if word.strip())
