"""The mixed load of 16 clients, in a process of its own: what it is told comes by lines of its input.

    round 3     from now on use the keys of round 3
    peek        read all keys of this round once, strongly, through the last router, which does nothing else
    finish      answer what is under way, read every key of all rounds strongly, and end

The clients share the partitions evenly, and of the routers all but the last. Each does one thing at a time, on the few keys of its own
partition, so that a partition that takes no writes holds up nobody else's clients.
"""

from __future__ import annotations

import argparse
import asyncio
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from random import Random
from typing import IO, Any

import orjson

from gramme.codec.key import encode_component
from gramme.links.cluster import seed_of
from gramme.partitions import even_ranges, token_bytes
from tests.faults.clusters.records import AUDITOR, PEEKER, Doing, Outcome, Record, encode
from tests.support.client import REGION, authorization

TABLE = "mixed"
PARTITIONS = 4
CLIENTS = 16
REGISTERS = 3
COUNTERS = 1
# So that the processes have something of the two cores left for the faults themselves.
THINK_S = 0.012
# A router gives up after ten seconds, and what it began just before may take three more.
ANSWER_S = 20.0
AUDIT_S = 60.0
# The server answers these before it does anything.
DONE_NOTHING = {"ThrottlingException", "ProvisionedThroughputExceededException"}

WEIGHTS: dict[Doing, int] = {
    "put": 18,
    "update": 8,
    "swap": 22,
    "delete": 6,
    "add": 12,
    "get": 16,
    "query": 4,
    "count": 4,
    "glance": 10,
}


class Unanswered(Exception):
    """Nobody knows what became of the request."""


class Connection:
    """One to a router, made again when it is lost."""

    def __init__(self, port: int) -> None:
        self._port = port
        self._head = (
            f"POST / HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\n"
            f"Authorization: {authorization(REGION)}\r\nX-Amz-Date: 20260101T000000Z\r\n"
            "Content-Type: application/x-amz-json-1.0\r\nX-Amz-Target: DynamoDB_20120810."
        )
        self._streams: tuple[asyncio.StreamReader, asyncio.StreamWriter] | None = None

    async def call(self, operation: str, request: dict[str, Any]) -> tuple[int, dict[str, Any]]:
        """Status and body. Raises Unanswered."""
        try:
            async with asyncio.timeout(ANSWER_S):
                return await self._exchange(operation, request)
        except (OSError, EOFError, TimeoutError) as error:
            self.close()
            raise Unanswered(type(error).__name__) from error

    async def _exchange(
        self, operation: str, request: dict[str, Any]
    ) -> tuple[int, dict[str, Any]]:
        if self._streams is None:
            self._streams = await asyncio.open_connection("127.0.0.1", self._port)
        reader, writer = self._streams
        payload = orjson.dumps(request)
        head = f"{self._head}{operation}\r\nContent-Length: {len(payload)}\r\n\r\n"
        writer.write(head.encode() + payload)
        answer_head = await reader.readuntil(b"\r\n\r\n")
        first, *lines = answer_head.decode("latin-1").split("\r\n")
        length = next(
            int(line.partition(":")[2])
            for line in lines
            if line.lower().startswith("content-length:")
        )
        body = await reader.readexactly(length)
        return int(first.split()[1]), orjson.loads(body) if body else {}

    def close(self) -> None:
        if self._streams is not None:
            self._streams[1].close()
            self._streams = None


class Keys:
    """Names of items that lie in a given partition."""

    def __init__(self, seed: bytes) -> None:
        self._seed = seed
        self._ranges = even_ranges(PARTITIONS)

    def of(self, round: int, partition: int) -> tuple[list[str], list[str]]:
        """Registers and counters."""
        names = self._names(f"{round}-{partition}", partition)
        return (
            [f"r{next(names)}" for _ in range(REGISTERS)],
            [f"c{next(names)}" for _ in range(COUNTERS)],
        )

    def _names(self, stem: str, partition: int) -> Iterator[str]:
        """The rest of names whose whole lies there with either of the two letters before it."""
        start, last = self._ranges[partition]
        number = 0
        while True:
            name = f"{stem}-{number}"
            number += 1
            tokens = (
                int.from_bytes(token_bytes(self._seed, encode_component("S", {"S": letter + name})))
                for letter in "rc"
            )
            if all(start <= token <= last for token in tokens):
                yield name


class Client:
    """`report` is given a record of everything it does."""

    def __init__(self, name: str, router: int, port: int, report: Callable[[Record], None]) -> None:
        self.name = name
        self._router = router
        self._connection = Connection(port)
        self._report = report
        # What was seen of each key last, for a condition that may hold.
        self._seen: dict[str, int | None] = {}

    async def do(self, doing: Doing, partition: int, key: str, fresh: int) -> Record:
        """Do one thing and report it. `fresh` is a value that nobody has written yet."""
        expected = self._seen.get(key) if doing == "swap" else None
        operation, request = request_of(doing, key, expected, fresh)
        began = time.monotonic()
        outcome: Outcome = "unknown"
        error = ""
        value: int | None = fresh if doing in ("put", "update", "swap") else None
        try:
            status, body = await self._connection.call(operation, request)
        except Unanswered as unanswered:
            error = str(unanswered)
        else:
            if status == 200:
                outcome = "ok"
                value = told(doing, body, fresh)
            else:
                error = str(body.get("__type", status)).rpartition("#")[2]
                if error == "ConditionalCheckFailedException":
                    outcome, error = "failed", ""
                    value = number_in(body.get("Item"))
                elif error in DONE_NOTHING:
                    outcome = "refused"
        if outcome in ("ok", "failed"):
            self._seen[key] = value
        record = Record(
            *(self.name, self._router, partition, key, doing, expected, value),
            *(began, time.monotonic(), outcome, error),
        )
        self._report(record)
        return record

    def close(self) -> None:
        self._connection.close()


def request_of(
    doing: Doing, key: str, expected: int | None, fresh: int
) -> tuple[str, dict[str, Any]]:
    request: dict[str, Any] = {"TableName": TABLE}
    named = {"id": {"S": key}}
    new = {**named, "v": {"N": str(fresh)}}
    if doing == "put":
        return "PutItem", {**request, "Item": new}
    if doing == "swap":
        request |= {"Item": new, "ReturnValuesOnConditionCheckFailure": "ALL_OLD"}
        if expected is None:
            return "PutItem", {**request, "ConditionExpression": "attribute_not_exists(id)"}
        values = {":v": {"N": str(expected)}}
        return "PutItem", {
            **request,
            "ConditionExpression": "v = :v",
            "ExpressionAttributeValues": values,
        }
    if doing == "query":
        return "Query", {
            **request,
            "KeyConditionExpression": "id = :id",
            "ExpressionAttributeValues": {":id": named["id"]},
            "ConsistentRead": True,
        }
    request["Key"] = named
    if doing == "delete":
        return "DeleteItem", request
    if doing in ("update", "add"):
        expression, value = ("SET v = :v", fresh) if doing == "update" else ("ADD v :v", 1)
        return "UpdateItem", {
            **request,
            "UpdateExpression": expression,
            "ExpressionAttributeValues": {":v": {"N": str(value)}},
            "ReturnValues": "UPDATED_NEW",
        }
    return "GetItem", {**request, "ConsistentRead": doing != "glance"}


def told(doing: Doing, body: dict[str, Any], fresh: int) -> int | None:
    """The value that a good answer leaves or shows."""
    if doing in ("put", "update", "swap"):
        return fresh
    if doing == "add":
        return number_in(body.get("Attributes"))
    if doing == "query":
        items = body["Items"]
        return number_in(items[0]) if items else None
    return number_in(body.get("Item"))


def number_in(item: dict[str, Any] | None) -> int | None:
    return None if not item else int(item["v"]["N"])


class Load:
    def __init__(self, ports: list[int], seed: int, keys: Keys, file: IO[bytes]) -> None:
        self._keys = keys
        self._file = file
        self._round = 0
        self._fresh = 0
        self._stopping = False
        self._ports = ports
        self._seed = seed
        *usual, self._peekers_router = range(1, len(ports) + 1)
        self._auditor = Client(AUDITOR, usual[0], ports[0], self._report)
        self._clients = [
            Client(f"client-{number}", router, ports[router - 1], self._report)
            for number in range(CLIENTS)
            for router in [usual[number // PARTITIONS % len(usual)]]
        ]

    def _report(self, record: Record) -> None:
        self._file.write(encode(record) + b"\n")

    async def run(self, commands: asyncio.StreamReader) -> None:
        async with asyncio.TaskGroup() as tasks:
            for number, client in enumerate(self._clients):
                tasks.create_task(self._work(number, client))
            flushing = tasks.create_task(self._flush())
            while not self._stopping:
                words = (await commands.readline()).decode().split()
                match words:
                    case ["round", which]:
                        self._round = int(which)
                    case ["peek"]:
                        tasks.create_task(self._peek())
                    case _:
                        self._stopping = True
            flushing.cancel()
        await self._audit()

    async def _work(self, number: int, client: Client) -> None:
        partition = number % PARTITIONS
        random = Random(f"{self._seed}/{number}")
        doings = list(WEIGHTS)
        weights = list(WEIGHTS.values())
        round = -1
        while not self._stopping:
            if round != self._round:
                round = self._round
                registers, counters = self._keys.of(round, partition)
            (doing,) = random.choices(doings, weights)
            key = random.choice(counters if doing in ("add", "count") else registers)
            self._fresh += 1
            await client.do(doing, partition, key, self._fresh)
            await asyncio.sleep(random.uniform(0, 2 * THINK_S))
        client.close()

    async def _flush(self) -> None:
        while True:
            await asyncio.sleep(0.1)
            self._file.flush()

    async def _peek(self) -> None:
        """Side by side, each by a connection of its own: one that hangs must not keep the others waiting."""

        router = self._peekers_router

        async def of(partition: int) -> None:
            client = Client(PEEKER, router, self._ports[-1], self._report)
            registers, counters = self._keys.of(self._round, partition)
            for key in registers:
                await client.do("get", partition, key, 0)
            for key in counters:
                await client.do("count", partition, key, 0)
            client.close()

        await asyncio.gather(*map(of, range(PARTITIONS)))

    async def _audit(self) -> None:
        """Read everything at last, each key until there is an answer."""
        async with asyncio.timeout(AUDIT_S):
            for round in range(self._round + 1):
                for partition in range(PARTITIONS):
                    registers, counters = self._keys.of(round, partition)
                    for key in registers:
                        await self._insist("get", partition, key)
                    for key in counters:
                        await self._insist("count", partition, key)

    async def _insist(self, doing: Doing, partition: int, key: str) -> None:
        while (await self._auditor.do(doing, partition, key, 0)).outcome != "ok":
            await asyncio.sleep(0.1)


async def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--ports", required=True, help="of the routers, the last one for peeking")
    parser.add_argument("--secret-file", type=Path, required=True)
    parser.add_argument("--records", type=Path, required=True)
    parser.add_argument("--seed", type=int, required=True)
    options = parser.parse_args()
    loop = asyncio.get_running_loop()
    commands = asyncio.StreamReader()
    await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(commands), sys.stdin)
    keys = Keys(seed_of(options.secret_file.read_bytes().strip()))
    ports = [int(port) for port in options.ports.split(",")]
    with options.records.open("wb") as file:
        await Load(ports, options.seed, keys, file).run(commands)


if __name__ == "__main__":
    asyncio.run(main())
