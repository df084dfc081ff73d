"""A server whose disk is small: it refuses writes before it is full, goes on when there is room, and loses nothing."""

from __future__ import annotations

import itertools
import random
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Self

import pytest

from tests.support import tables
from tests.support.client import Client, Refused
from tests.support.load import Load
from tests.support.server import Server
from tests.support.small_disk import MB, SmallDisk, small_disk
from tests.support.waiting import until

SEED = 20261119
DISK_BYTES = 32 * MB
VALUE_LENGTH = 50_000
SOON_S = 15.0
FOR_GOOD_S = 0.5


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[SmallDisk]:
    print(f"seed {SEED}")
    with small_disk(tmp_path / "small", DISK_BYTES) as disk:
        yield disk


class Filler:
    """Puts large items of its own until it is stopped. What is refused for want of room is left."""

    def __init__(self, port: int) -> None:
        # Their numbers, and where in the noise their values begin.
        self.acknowledged: dict[int, int] = {}
        self._acknowledged_at = self._refused_at = time.monotonic()
        self._chance = random.Random(SEED)
        # Letters that do not compress.
        self._noise = self._chance.randbytes(2 * VALUE_LENGTH).hex()
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._run, args=(port,), daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *exception: object) -> None:
        self._stopping.set()
        self._thread.join()

    def _run(self, port: int) -> None:
        with Client(port) as client:
            for number in itertools.count():
                if self._stopping.is_set():
                    return
                start = self._chance.randrange(VALUE_LENGTH)
                item = {**key(number), "v": {"S": self._value(start)}}
                try:
                    client.call("PutItem", {"TableName": tables.TABLE, "Item": item})
                except Refused as refusal:
                    assert refusal.type == "ThrottlingException", refusal
                    # While memory is written out there may be another reason.
                    if "nearly full" in str(refusal):
                        self._refused_at = time.monotonic()
                else:
                    self.acknowledged[number] = start
                    self._acknowledged_at = time.monotonic()

    def _value(self, start: int) -> str:
        return self._noise[start : start + VALUE_LENGTH]

    @property
    def refused_for_s(self) -> float:
        return self._refused_at - self._acknowledged_at

    def lost(self, client: Client) -> list[int]:
        def found(number: int) -> str | None:
            request = {"TableName": tables.TABLE, "Key": key(number), "ConsistentRead": True}
            item = client.call("GetItem", request).get("Item")
            return None if item is None else item["v"]["S"]

        return [
            number
            for number, start in self.acknowledged.items()
            if found(number) != self._value(start)
        ]


def key(number: int) -> dict[str, dict[str, str]]:
    return {"pk": {"S": f"filler-{number}"}, "sk": {"N": "1"}}


def takes_writes(client: Client) -> bool:
    try:
        client.call("PutItem", {"TableName": tables.TABLE, "Item": key(-1)})
    except Refused as refusal:
        assert refusal.type == "ThrottlingException", refusal
        return False
    return True


def fill(server: Server, disk: SmallDisk) -> Filler:
    """Until writes are refused for good."""
    with server.client() as client:
        tables.create(client)
    with Filler(server.port) as filler:
        # What memory held makes a little room, a few times.
        until(lambda: filler.refused_for_s > FOR_GOOD_S, SOON_S, "writes are refused for good")
        free = disk.free_bytes
        # Who refuses writes needs no more room for them.
        until(lambda: filler.refused_for_s > 2 * FOR_GOOD_S, SOON_S, "and for longer")
        assert disk.free_bytes >= free - MB
    assert server.exit_code() is None
    assert disk.free_bytes > 0
    return filler


def test_writes_are_refused_before_the_disk_is_full_and_everything_else_goes_on(
    disk: SmallDisk,
) -> None:
    with Server(disk.path / "data") as server:
        filler = fill(server, disk)
        with server.client() as client:
            assert filler.lost(client) == []
        server.kill()

        # A start needs some: the log is written into tables.
        server.start()
        with server.client() as client:
            assert filler.lost(client) == []
            disk.resize(2 * DISK_BYTES)
            until(lambda: takes_writes(client), SOON_S, "there is room, and writes are taken")
        assert server.stop() == 0

    assert len(filler.acknowledged) * VALUE_LENGTH > DISK_BYTES / 4


def test_a_deleted_table_makes_room_on_a_full_disk(disk: SmallDisk) -> None:
    with Server(disk.path / "data") as server:
        fill(server, disk)
        free = disk.free_bytes

        with server.client() as client:
            client.call("DeleteTable", {"TableName": tables.TABLE})
            until(lambda: disk.free_bytes > free + 10 * MB, SOON_S, "its room is given back")
            tables.create(client)
            until(lambda: takes_writes(client), SOON_S, "writes are taken")


def test_a_disk_that_others_have_filled_is_waited_for(disk: SmallDisk) -> None:
    with Server(disk.path / "data") as server, server.client() as client:
        tables.create(client)
        takes_writes(client)

        disk.fill()
        until(lambda: not takes_writes(client), SOON_S, "writes are refused")
        found = client.call("GetItem", {"TableName": tables.TABLE, "Key": key(-1)})
        disk.clear()

        until(lambda: takes_writes(client), SOON_S, "writes are taken again")
        assert found["Item"] == key(-1)


def test_a_write_that_finds_no_space_ends_the_process_and_loses_nothing(disk: SmallDisk) -> None:
    """Others may take the last of the disk faster than anybody looks."""
    load = Load(2, SEED)
    with Server(disk.path / "data") as server:
        with server.client() as client:
            tables.create(client)
        load.start(server.port)
        load.await_answers(50)

        disk.fill()
        code = server.wait(SOON_S)
        load.stop()
        words = server.errors

        assert (code > 0, load.errors) == (True, [])
        assert "No space left on device" in words
        assert str(disk.path) in words
        assert "Traceback" not in words

        disk.clear()
        server.start()
        with server.client() as client:
            assert load.check(client) == []
