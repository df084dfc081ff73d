"""The simulated disk loses in a crash what no flush covered, and nothing else."""

from __future__ import annotations

import asyncio
from random import Random

import pytest

from gramme.node.engine.api import Family, RangeDelete, Row, WriteStall
from tests.support.deterministic import DeterministicLoop
from tests.support.simulated_disk import DiskFailed, Habits, SimulatedDisk


def a_disk(habits: Habits | None = None) -> SimulatedDisk:
    return SimulatedDisk(Random(1), habits)


def put(key: bytes, value: bytes = b"v") -> Row:
    return Row(Family.ITEM, key, value)


def keys(disk: SimulatedDisk) -> list[bytes]:
    return [key for key, _ in disk.scan(Family.ITEM, b"", b"z")]


def test_a_crash_loses_what_was_not_flushed() -> None:
    disk = a_disk()
    disk.write([put(b"a")])
    asyncio.run(disk.flush())
    disk.write([put(b"b"), Row(Family.ITEM, b"a", None)])

    found = disk.crash()

    assert keys(found) == [b"a"]


def test_a_flush_covers_only_what_was_written_before_it_began() -> None:
    disk = a_disk(Habits(flush_s=(1.0, 1.0)))

    async def write_meanwhile() -> None:
        disk.write([put(b"a")])
        flush = asyncio.ensure_future(disk.flush())
        await asyncio.sleep(0.5)
        disk.write([put(b"b")])
        await flush

    DeterministicLoop().run(write_meanwhile())

    assert keys(disk) == [b"a", b"b"]
    assert disk.durable(Family.ITEM, b"a") == b"v"
    assert disk.durable(Family.ITEM, b"b") is None
    assert keys(disk.crash()) == [b"a"]


@pytest.mark.parametrize("kept", [0, 1, 2, 3])
def test_a_crash_keeps_a_prefix_of_whole_writes(kept: int) -> None:
    disk = a_disk()
    disk.write([put(b"a"), put(b"b")])
    disk.write([RangeDelete(Family.ITEM, b"a", b"b"), put(b"c")])
    disk.write([put(b"d")])

    found = disk.crash(kept)

    expected = [[], [b"a", b"b"], [b"b", b"c"], [b"b", b"c", b"d"]]
    assert keys(found) == expected[kept]
    assert found.unflushed == 0


def test_what_a_restart_found_is_durable() -> None:
    disk = a_disk()
    disk.write([put(b"a")])

    found = disk.crash(1)

    assert keys(found.crash()) == [b"a"]


def test_a_flush_that_fails_makes_nothing_durable() -> None:
    disk = a_disk()
    disk.write([put(b"a")])
    disk.fails = True

    with pytest.raises(DiskFailed):
        asyncio.run(disk.flush())

    assert disk.durable(Family.ITEM, b"a") is None


def test_a_stalled_write_applies_nothing() -> None:
    disk = a_disk(Habits(stall=1.0))

    with pytest.raises(WriteStall):
        disk.write([put(b"a")])

    assert keys(disk) == []
    assert disk.unflushed == 0
