"""Clients that write as fast as they are answered, and remember what was answered when."""

from __future__ import annotations

import threading
from collections.abc import Callable
from random import Random

from tests.support.client import Client, Json, Lost, Refused
from tests.support.history import History, Key, Write, item_of
from tests.support.tables import TABLE, await_indexes, read_base
from tests.support.waiting import until

PARTITIONS_PER_CLIENT = 3
SORT_KEYS = 5
ANSWER_TIMEOUT_S = 120.0
# The server answers these before it does anything; any other refusal is a bug, here or there.
DONE_NOTHING = {"ThrottlingException", "ProvisionedThroughputExceededException"}


def nowhere() -> int:
    """The position where time does not matter."""
    return 0


class Load:
    """Each client has keys of its own, so the order of the writes to a key is known."""

    def __init__(
        self,
        clients: int,
        seed: int,
        position: Callable[[], int] = nowhere,
        name: str = "client",
    ) -> None:
        self._name = name
        self.histories = [History() for _ in range(clients)]
        self.errors: list[str] = []
        self._randoms = [Random(f"{seed}/{number}") for number in range(clients)]
        self._counters = [0] * clients
        self._answered = [0] * clients
        self._position = position
        self._stop = threading.Event()
        self._threads: list[threading.Thread] = []

    @property
    def answered(self) -> int:
        return sum(self._answered)

    @property
    def history(self) -> History:
        """All that was written. Ask once the clients have stopped."""
        assert not self._threads, "the clients are still writing"
        return History({key: ws for one in self.histories for key, ws in one.writes.items()})

    @property
    def partitions(self) -> list[str]:
        return [
            partition
            for number in range(len(self.histories))
            for partition in self._partition_keys(number)
        ]

    def start(self, port: int) -> None:
        self._stop.clear()
        self._threads = [
            threading.Thread(target=self._run, args=(number, port), daemon=True)
            for number in range(len(self.histories))
        ]
        for thread in self._threads:
            thread.start()

    def await_answers(self, count: int, timeout_s: float = ANSWER_TIMEOUT_S) -> None:
        """Wait until `count` more writes have been answered."""
        target = self.answered + count
        until(lambda: self.answered >= target, timeout_s, f"{count} more writes are answered")

    def stop(self) -> None:
        """Let the requests in flight be answered, or lost, and end the clients."""
        self._stop.set()
        for thread in self._threads:
            thread.join()
        self._threads = []

    def _run(self, number: int, port: int) -> None:
        try:
            with Client(port) as client:
                while not self._stop.is_set():
                    self._write(number, client)
        except Lost:
            return
        except Refused as refusal:
            # A server that is stopping says so, and that it may have done the write or not.
            if refusal.status < 500:
                self.errors.append(str(refusal))

    def _write(self, number: int, client: Client) -> None:
        random, history = self._randoms[number], self.histories[number]
        key = Key(random.choice(self._partition_keys(number)), random.randrange(SORT_KEYS))
        self._counters[number] += 1
        counter = self._counters[number]
        operation, request = random.choices((put, update, delete), (5, 3, 2))[0](key, counter)
        kept = None if operation == "DeleteItem" else counter
        write = history.sent(key, kept, self._position())
        try:
            client.call(operation, request)
        except Refused as refusal:
            if refusal.type not in DONE_NOTHING:
                raise
            history.refused(key)
            return
        self._settle(number, write)

    def _settle(self, number: int, write: Write) -> None:
        write.answered = self._position()
        self._answered[number] += 1

    def check(self, client: Client, position: int = 0) -> list[str]:
        """What is wrong with what a server holds now, its indexes included."""
        base = read_base(client, self.partitions)
        problems = list(self.history.problems(base, position))
        behind = await_indexes(client, base)
        return [*problems, *([behind] if behind else [])]

    def _partition_keys(self, number: int) -> list[str]:
        return [f"{self._name}-{number}-{part}" for part in range(PARTITIONS_PER_CLIENT)]


def put(key: Key, counter: int) -> tuple[str, Json]:
    request: Json = {"TableName": TABLE, "Item": item_of(key, counter)}
    if counter % 3 == 0:
        # It always holds, but has to be evaluated on the newest item.
        request["ConditionExpression"] = "attribute_not_exists(pk) OR n < :n"
        request["ExpressionAttributeValues"] = {":n": {"N": str(counter)}}
    return "PutItem", request


def update(key: Key, counter: int) -> tuple[str, Json]:
    item = item_of(key, counter)
    names = [name for name in ("n", "pad", "group", "colour") if name in item]
    gone = [name for name in ("group", "colour") if name not in item]
    expression = "SET " + ", ".join(f"#{name} = :{name}" for name in names)
    if gone:
        expression += " REMOVE " + ", ".join(f"#{name}" for name in gone)
    return "UpdateItem", {
        "TableName": TABLE,
        "Key": {"pk": item["pk"], "sk": item["sk"]},
        "UpdateExpression": expression,
        "ExpressionAttributeNames": {f"#{name}": name for name in names + gone},
        "ExpressionAttributeValues": {f":{name}": item[name] for name in names},
    }


def delete(key: Key, counter: int) -> tuple[str, Json]:
    item = item_of(key, counter)
    return "DeleteItem", {"TableName": TABLE, "Key": {"pk": item["pk"], "sk": item["sk"]}}
