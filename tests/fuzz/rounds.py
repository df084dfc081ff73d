"""A round of requests: fresh tables in a namespace of their own, then one request after another, each answer judged.

A round is known by its seed and repeats exactly. Beside the answers it looks at what is stored: a write that was
refused must have changed nothing.
"""

from __future__ import annotations

import time
from collections import Counter
from dataclasses import dataclass, field
from random import Random
from typing import Any

import orjson

from tests.fuzz.answers import error_type, problem
from tests.fuzz.requests import Request, Requests
from tests.fuzz.tables import TABLES
from tests.support.client import Client, Json, Lost, Refused
from tests.support.waiting import Overdue, until

# No answer may take longer: it is a hang.
ANSWER_TIMEOUT_S = 20.0
# All others may write.
READS = ("Get", "BatchGet", "TransactGet", "Describe", "List", "Query", "Scan", "Search")
# Of the writes, how many are watched for what they leave behind.
WATCHED_SHARE = 0.25
PAGES_MAX = 100
# These count what is flushed, which may come a moment after the answer.
LATE = ("ItemCount", "TableSizeBytes", "IndexSizeBytes")


@dataclass
class Tally:
    """What came of requests: how many of each kind, operation and outcome."""

    outcomes: Counter[tuple[str, str, str]] = field(default_factory=Counter)
    watched: int = 0
    # The longest that an answer took, and what was asked.
    slowest_s: float = 0.0
    slowest: str = ""

    @property
    def requests(self) -> int:
        return self.outcomes.total()

    def time(self, request: Request, taken_s: float) -> None:
        if taken_s > self.slowest_s:
            self.slowest_s = taken_s
            self.slowest = f"{request.kind} {request.operation}, {len(request.body)} bytes"


class Round:
    """The state of one round; `send` sends one request and says what is wrong."""

    def __init__(
        self, port: int, seed: str, tally: Tally, watched_share: float = WATCHED_SHARE
    ) -> None:
        self.region = f"fuzz-{seed}".replace("/", "-")
        self.client = Client(port, ANSWER_TIMEOUT_S, self.region)
        self.requests = Requests(Random(seed), self.region)
        self._tally = tally
        self._watched_share = watched_share
        self._watch = Random(f"watch {seed}")
        # What is stored, as long as nothing has been written since it was read.
        self._stored: Json | None = None

    def prepare(self) -> None:
        for table in TABLES:
            self.client.call("CreateTable", table.definition())

    def clear(self) -> None:
        """Delete all tables of the namespace."""
        for name in self.client.call("ListTables", {})["TableNames"]:
            if self._settled(name)["DeletionProtectionEnabled"]:
                unprotected = {"TableName": name, "DeletionProtectionEnabled": False}
                self.client.call("UpdateTable", unprotected)
                self._settled(name)
            self.client.call("DeleteTable", {"TableName": name})
        self.client.close()

    def send(self, request: Request) -> str | None:
        """What is wrong with the answer to `request`, or with what it left behind; None if nothing is."""
        _, operation, body = request
        writes = not operation.startswith(READS)
        watched = writes and self._watch.random() < self._watched_share
        if watched and self._stored is None:
            self._stored = self._read_all()
        began_s = time.monotonic()
        try:
            answer = self.client.ask(operation, body)
        except Lost as lost:
            return f"no answer: {lost}"
        self._tally.time(request, time.monotonic() - began_s)
        error = error_type(answer)
        self._tally.outcomes[request.kind, operation, error] += 1
        wrong = problem(operation, answer)
        if wrong is not None:
            return f"{wrong}: {answer.body[:300].decode(errors='replace')}"
        if writes and not error:
            self._stored = None
        elif watched:
            return self._difference(error)
        return None

    def _difference(self, error: str) -> str | None:
        self._tally.watched += 1
        before, self._stored = self._stored, self._read_all()
        if before == self._stored:
            return None
        return f"refused with {error}, and yet something changed"

    def _read_all(self) -> Json:
        """Every table of the namespace, with its items and tags."""
        stored: Json = {}
        for name in self.client.call("ListTables", {})["TableNames"]:
            table = self._settled(name)
            tags = self.client.call("ListTagsOfResource", {"ResourceArn": table["TableArn"]})
            stored[name] = [_without_late(table), tags, self._items(name)]
        return stored

    def _settled(self, name: str) -> Json:
        """A table's description, once nothing is being done to it or to its indexes."""
        described: list[Json] = []

        def is_settled() -> bool:
            table = self.client.call("DescribeTable", {"TableName": name})["Table"]
            described[:] = [table]
            indexes = table.get("GlobalSecondaryIndexes", [])
            states = {table["TableStatus"], *(index["IndexStatus"] for index in indexes)}
            return states == {"ACTIVE"}

        until(is_settled, ANSWER_TIMEOUT_S, f"{name} is settled")
        return described[0]

    def _items(self, table: str) -> list[Json]:
        items: list[Json] = []
        request: Json = {"TableName": table, "ConsistentRead": True}
        for _ in range(PAGES_MAX):
            page = self.client.call("Scan", request)
            items += page["Items"]
            if "LastEvaluatedKey" not in page:
                return items
            request["ExclusiveStartKey"] = page["LastEvaluatedKey"]
        raise AssertionError(f"{table} does not end")


def _without_late(described: Any) -> Any:
    if isinstance(described, dict):
        return {name: _without_late(part) for name, part in described.items() if name not in LATE}
    return [_without_late(part) for part in described] if isinstance(described, list) else described


@dataclass(frozen=True)
class Failure:
    """A request that was answered wrongly, and where it stood."""

    seed: str
    number: int
    request: Request
    problem: str

    def written(self) -> bytes:
        kind, operation, body = self.request
        return orjson.dumps(
            {
                "seed": self.seed,
                "number": self.number,
                "problem": self.problem,
                "kind": kind,
                "operation": operation,
                "body": body.decode("latin-1"),
            },
            option=orjson.OPT_INDENT_2,
        )


def run_round(port: int, seed: str, count: int, tally: Tally) -> Failure | None:
    """Send `count` requests; stop at the first that goes wrong."""
    playing = Round(port, seed, tally)
    playing.prepare()
    for number in range(count):
        request = playing.requests.draw()
        wrong = playing.send(request)
        if wrong is not None:
            return Failure(seed, number, request, wrong)
    try:
        playing.clear()
    except (Refused, Lost, Overdue) as error:
        return Failure(seed, count, Request("valid", "DeleteTable", b""), f"clearing up: {error}")
    return None
