"""Whether a long Query holds others up: point reads while another client pages through 1 GB.

One process pages through a partition key of 10 KB items, page after page. Meanwhile the usual client
reads single items of 1 KB. Its latencies are compared with those of the same reads alone.
"""

import json
import multiprocessing
import time
from collections.abc import Sequence
from concurrent.futures import Future, ProcessPoolExecutor
from dataclasses import asdict, dataclass
from pathlib import Path

from bench import installed
from bench.fill import fill, put_all
from bench.load import Sample, load
from bench.options import Options
from bench.progress import say
from bench.report import Report, Table, at_least, at_most, megabytes, milliseconds
from bench.servers import Server, settle
from bench.wire import Address, Client
from bench.workloads import TABLE, Dataset, data_for, workloads

DATASET = Dataset(items=10_000, data_bytes=1000)
PAGED_KEY = "paged"
PAGED_DATA_BYTES = 10_000
CONNECTIONS = (1, 16)
P99_MS_MAX = 20.0
QUIET_S = 1.0
QUIET_TIMEOUT_S = 120.0


@dataclass(frozen=True, slots=True)
class Paged:
    """What the paging client saw."""

    pages: int
    items: int
    size_bytes: int
    seconds: float
    page_ms_max: float


@dataclass(frozen=True, slots=True)
class Reads:
    """Point reads at one number of connections, alone or beside the paging client."""

    connections: int
    beside: str
    per_second: float
    p50_ms: float
    p99_ms: float
    max_ms: float
    void: str


def run(options: Options, directory: Path, machine: dict[str, str]) -> Report:
    server = Server(installed.gramme(), directory / installed.GRAMME)
    try:
        server.start()
        fill(server, DATASET)
        put_all(server, options.paged_bytes // PAGED_DATA_BYTES, paged_item)
        settle(server, QUIET_S, QUIET_TIMEOUT_S)
        reads: list[Reads] = []
        paged: list[Paged] = []
        for connections in CONNECTIONS:
            alone = [read(server, connections, options.seconds, seed=1)]
            reads.append(reads_of(connections, "nothing", alone))
            samples, pages = read_beside_pager(server, connections, options.seconds)
            reads.append(reads_of(connections, "paging", samples))
            paged.append(pages)
        peak_bytes = server.resident_bytes_peak()
    finally:
        server.stop()
    return report_of(reads, paged, peak_bytes, options, machine)


def paged_item(number: int) -> str:
    data = data_for(number * 7919, PAGED_DATA_BYTES)
    key = f'"pk":{{"S":"{PAGED_KEY}"}},"sk":{{"S":"{number:08d}"}}'
    return f'{{{key},"data":{{"S":"{data}"}}}}'


def read(server: Server, connections: int, seconds: float, seed: int) -> Sample:
    return load(server, workloads(DATASET)[0], connections, seconds, seed)


def read_beside_pager(
    server: Server, connections: int, seconds: float
) -> tuple[list[Sample], Paged]:
    """Point reads for as long as one pass through the paged items takes."""
    samples: list[Sample] = []
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(1, mp_context=context) as pool:
        pool.submit(int).result()
        say(f"paging, with point reads over {connections} connections beside it")
        paging: Future[Paged] = pool.submit(page_through, server.address)
        while not paging.done():
            sample = read(server, connections, seconds, seed=len(samples) + 1)
            # Reads after the last page are not beside anything.
            if not paging.done() or not samples:
                samples.append(sample)
        return samples, paging.result()


def page_through(address: Address) -> Paged:
    """Query all pages of the paged key, one after another."""
    client = Client(address)
    request: dict[str, object] = {
        "TableName": TABLE,
        "KeyConditionExpression": "pk = :pk",
        "ExpressionAttributeValues": {":pk": {"S": PAGED_KEY}},
    }
    pages = items = size_bytes = 0
    slowest = 0.0
    started_at = time.monotonic()
    while True:
        asked_at = time.monotonic()
        answer = client.call("Query", request)
        slowest = max(slowest, time.monotonic() - asked_at)
        page = json.loads(answer.body)
        if answer.status != 200:
            raise RuntimeError(f"Query failed: {page}")
        pages += 1
        items += page["Count"]
        size_bytes += len(answer.body)
        if "LastEvaluatedKey" not in page:
            break
        request["ExclusiveStartKey"] = page["LastEvaluatedKey"]
    client.close()
    return Paged(pages, items, size_bytes, time.monotonic() - started_at, 1e3 * slowest)


def reads_of(connections: int, beside: str, samples: Sequence[Sample]) -> Reads:
    """The samples as one row; its percentiles are those of the worst sample."""
    return Reads(
        connections=connections,
        beside=beside,
        per_second=sum(sample.good_per_second for sample in samples) / len(samples),
        p50_ms=max(sample.p50_ms for sample in samples),
        p99_ms=max(sample.p99_ms for sample in samples),
        max_ms=max(sample.max_ms for sample in samples),
        void=next((sample.void for sample in samples if sample.void), ""),
    )


def report_of(
    reads: Sequence[Reads],
    paged: Sequence[Paged],
    peak_bytes: int,
    options: Options,
    machine: dict[str, str],
) -> Report:
    beside = [each for each in reads if each.beside == "paging"]
    worst = None if any(each.void for each in beside) else max(each.p99_ms for each in beside)
    least = min(each.size_bytes for each in paged)
    rows = [
        (
            str(each.connections),
            each.beside,
            f"{each.per_second:,.0f}",
            milliseconds(each.p50_ms),
            milliseconds(each.p99_ms),
            milliseconds(each.max_ms),
            each.void,
        )
        for each in reads
    ]
    passes = [
        (
            f"{each.pages:,}",
            f"{each.items:,}",
            megabytes(each.size_bytes),
            f"{each.seconds:.1f}",
            milliseconds(each.page_ms_max),
        )
        for each in paged
    ]
    columns = ("connections", "beside", "per second", "p50 ms", "p99 ms", "max ms", "void")
    return Report(
        name="paging",
        title="Point reads while a Query pages",
        about=" ".join((__doc__ or "").split()),
        machine=machine,
        settings={"seconds": options.seconds, "paged item data bytes": PAGED_DATA_BYTES},
        targets=[
            at_least("paged through, at least", least / 1e6, options.paged_bytes / 1e6, " MB"),
            at_most("p99 of point reads meanwhile under 20 ms", worst, P99_MS_MAX, " ms"),
        ],
        tables=[
            Table("Point reads", columns, rows),
            Table("Paging", ("pages", "items", "size", "seconds", "slowest page ms"), passes),
        ],
        data={
            "reads": [asdict(each) for each in reads],
            "paged": [asdict(each) for each in paged],
            "peak_bytes": peak_bytes,
        },
        notes=[f"Peak resident memory: {megabytes(peak_bytes)}."],
    )
