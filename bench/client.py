"""What an operation costs an application: through gramme.client, and through the AWS SDK for Python.

One process asks one server, with 64 calls out at a time: gramme.client on one event loop, boto3 in 64 threads. The server keeps its
data on disk and flushes before it answers.
"""

import asyncio
import sys
import time
from collections.abc import Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from itertools import count
from pathlib import Path
from statistics import median
from typing import Any

import boto3
from botocore.config import Config

import gramme.client
from bench.options import Options
from bench.progress import Progress
from bench.report import Report, Table
from bench.servers import Kind, Server, free_port
from gramme.client import Client
from gramme.start import run as run_loop

CALLS = 64
ITEMS = 10_000
SWITCH_INTERVAL_S = 0.005
BODY = "x" * 1000
TABLE: dict[str, Any] = {
    "TableName": "bench",
    "AttributeDefinitions": [{"AttributeName": "id", "AttributeType": "S"}],
    "KeySchema": [{"AttributeName": "id", "KeyType": "HASH"}],
    "BillingMode": "PAY_PER_REQUEST",
}
OPERATIONS = ("PutItem", "GetItem")


@dataclass(frozen=True, slots=True)
class Measured:
    client: str
    operation: str
    operations_per_second: float
    client_us: float
    server_us: float


class Meter:
    """Counts operations, and what both processes used for them."""

    def __init__(self, server: Server) -> None:
        self._server = server
        self._began = (time.perf_counter(), time.process_time(), server.cpu_seconds())
        self.operations = 0

    def read(self, client: str, operation: str) -> Measured:
        now = (time.perf_counter(), time.process_time(), self._server.cpu_seconds())
        elapsed_s, used_s, server_s = (b - a for a, b in zip(self._began, now, strict=True))
        done = self.operations
        return Measured(
            client, operation, done / elapsed_s, 1e6 * used_s / done, 1e6 * server_s / done
        )


def item(number: int) -> dict[str, str]:
    return {"id": f"item-{number % ITEMS}", "body": BODY}


async def measure_ours(server: Server, gateway: int, seconds: float) -> list[Measured]:
    found = []
    async with gramme.client.connect(
        f"127.0.0.1:{gateway}", region="us-east-1", access_key="any", secret_key="any"
    ) as client:
        await client.call("CreateTable", TABLE)
        calls: dict[str, Callable[[Client, int], Awaitable[object]]] = {
            "PutItem": lambda client, number: client.put("bench", item(number)),
            "GetItem": lambda client, number: client.get(
                "bench", {"id": f"item-{number % ITEMS}"}, consistent=True
            ),
        }
        for operation in OPERATIONS:
            meter, numbers = Meter(server), count()
            until = time.perf_counter() + seconds

            async def ask(
                call: Callable[[Client, int], Awaitable[object]] = calls[operation],
                meter: Meter = meter,
                numbers: "count[int]" = numbers,
                until: float = until,
            ) -> None:
                while time.perf_counter() < until:
                    await call(client, next(numbers))
                    meter.operations += 1

            await asyncio.gather(*(ask() for _ in range(CALLS)))
            found.append(meter.read("gramme.client", operation))
        await client.call("DeleteTable", {"TableName": "bench"})
    return found


def measure_boto3(server: Server, seconds: float) -> list[Measured]:
    # Python's own, as an application has it: what our loop asks for would make threads take turns ten times as often.
    sys.setswitchinterval(SWITCH_INTERVAL_S)
    session = boto3.Session("any", "any", region_name="us-east-1")
    client = session.client(
        "dynamodb",
        endpoint_url=f"http://{server.address.host}:{server.address.port}",
        config=Config(max_pool_connections=CALLS),
    )
    client.create_table(**TABLE)
    calls: dict[str, Callable[[int], object]] = {
        "PutItem": lambda number: client.put_item(
            TableName="bench", Item={name: {"S": text} for name, text in item(number).items()}
        ),
        "GetItem": lambda number: client.get_item(
            TableName="bench", Key={"id": {"S": f"item-{number % ITEMS}"}}, ConsistentRead=True
        ),
    }
    found = []
    for operation in OPERATIONS:
        meter, numbers = Meter(server), count()
        until = time.perf_counter() + seconds

        def ask(call: Callable[[int], object], numbers: "count[int]", until: float) -> int:
            done = 0
            while time.perf_counter() < until:
                call(next(numbers))
                done += 1
            return done

        with ThreadPoolExecutor(CALLS) as threads:
            asked = [threads.submit(ask, calls[operation], numbers, until) for _ in range(CALLS)]
            meter.operations = sum(each.result() for each in asked)
        found.append(meter.read("boto3", operation))
    client.delete_table(TableName="bench")
    return found


def run(options: Options, directory: Path, machine: dict[str, str]) -> Report:
    progress = Progress("client", 2 * options.rounds)
    found: list[Measured] = []
    gateway = free_port()
    kind = Kind(
        "gramme",
        "",
        "",
        lambda port, data: [
            *(sys.executable, "-m", "gramme.cli.main", "serve", "--data", str(data)),
            *("--port", str(port), "--gateway-port", str(gateway)),
        ],
    )
    server = Server(kind, directory / "client")
    server.start()
    try:

        async def main() -> None:
            # gRPC wants one event loop for the life of a process.
            for _round in range(options.rounds):
                found.extend(await measure_ours(server, gateway, options.seconds))
                progress.advance(note="gramme.client")
                found.extend(measure_boto3(server, options.seconds))
                progress.advance(note="boto3")

        run_loop(main)
    finally:
        server.stop()
    columns = ("operation", "client", "operations/s", "us of CPU per operation, client", "server")
    rows = [
        _row(found, operation, client)
        for operation in OPERATIONS
        for client in ("gramme.client", "boto3")
    ]
    return Report(
        name="client",
        title="gramme.client beside an SDK",
        about=" ".join((__doc__ or "").split()),
        machine=machine,
        settings={"seconds": options.seconds, "rounds": options.rounds, "calls": CALLS},
        targets=[],
        tables=[Table("64 calls out at a time, items of 1 KB", columns, rows)],
        data=[asdict(each) for each in found],
    )


def _row(found: list[Measured], operation: str, client: str) -> tuple[str, ...]:
    runs = [each for each in found if (each.operation, each.client) == (operation, client)]
    return (
        operation,
        client,
        f"{median(each.operations_per_second for each in runs):,.0f}",
        f"{median(each.client_us for each in runs):,.0f}",
        f"{median(each.server_us for each in runs):,.0f}",
    )
