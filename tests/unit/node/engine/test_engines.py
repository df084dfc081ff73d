"""What every engine does, real or not: one suite for RocksDB and for its stand-ins."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path
from random import Random

import pytest

from gramme.node.engine.api import Engine, Family, RangeDelete, Row
from gramme.node.engine.memory import MemoryEngine
from gramme.node.engine.rocks import RocksEngine
from tests.support.simulated_disk import SimulatedDisk


@pytest.fixture(params=["rocks", "memory", "simulated"])
def engine(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Engine]:
    made: Engine
    match request.param:
        case "rocks":
            made = RocksEngine.open(tmp_path / "db", tmp_path / "flushed")
        case "memory":
            made = MemoryEngine()
        case _:
            made = SimulatedDisk(Random(1))
    yield made
    made.close()


def put(key: bytes, value: bytes = b"v", family: Family = Family.ITEM) -> Row:
    return Row(family, key, value)


def keys(engine: Engine, lower: bytes, upper: bytes, *, forward: bool = True) -> list[bytes]:
    return [key for key, _ in engine.scan(Family.ITEM, lower, upper, forward=forward)]


def test_a_written_row_is_read_back(engine: Engine) -> None:
    engine.write([put(b"a", b"1")])

    assert engine.get(Family.ITEM, b"a") == b"1"


def test_a_missing_row_is_none(engine: Engine) -> None:
    assert engine.get(Family.ITEM, b"a") is None


def test_families_do_not_see_each_others_rows(engine: Engine) -> None:
    engine.write([put(b"a", b"1", Family.ITEM), put(b"a", b"2", Family.CHANGE)])

    assert engine.get(Family.ITEM, b"a") == b"1"
    assert engine.get(Family.CHANGE, b"a") == b"2"
    assert engine.get(Family.SYS, b"a") is None


def test_a_row_without_value_deletes(engine: Engine) -> None:
    engine.write([put(b"a")])

    engine.write([Row(Family.ITEM, b"a", None)])

    assert engine.get(Family.ITEM, b"a") is None


def test_later_operations_of_a_batch_win(engine: Engine) -> None:
    engine.write([put(b"a", b"1"), RangeDelete(Family.ITEM, b"a", b"b"), put(b"a", b"2")])

    assert engine.get(Family.ITEM, b"a") == b"2"


def test_a_range_delete_spares_its_upper_end(engine: Engine) -> None:
    engine.write([put(b"a"), put(b"b"), put(b"c")])

    engine.write([RangeDelete(Family.ITEM, b"a", b"c")])

    assert keys(engine, b"", b"z") == [b"c"]


@pytest.mark.parametrize("forward", [True, False])
def test_a_scan_includes_its_lower_bound_and_not_its_upper(engine: Engine, forward: bool) -> None:
    engine.write([put(key) for key in (b"a", b"b", b"ba", b"c", b"d")])

    found = keys(engine, b"b", b"d", forward=forward)

    assert found == ([b"b", b"ba", b"c"] if forward else [b"c", b"ba", b"b"])


@pytest.mark.parametrize("forward", [True, False])
def test_a_scan_shows_the_moment_it_was_made(engine: Engine, forward: bool) -> None:
    engine.write([put(b"a"), put(b"b")])
    rows = engine.scan(Family.ITEM, b"a", b"z", forward=forward)

    engine.write([put(b"c"), Row(Family.ITEM, b"a", None)])

    assert sorted(key for key, _ in rows) == [b"a", b"b"]


def test_a_scan_keeps_to_its_bound_though_nobody_else_remembers_it(engine: Engine) -> None:
    engine.write([put(b"%03d" % number) for number in range(1000)])
    scans = [engine.scan(Family.ITEM, b"%03d" % n, b"%03d" % (n + 5)) for n in range(0, 900, 10)]
    # Something else takes the memory of the bounds that were let go.
    others = [b"%03d" % (number % 7) for number in range(1000)]

    lengths = {len(list(rows)) for rows in scans}

    assert lengths == {5}, others[0]


def test_a_flush_returns(engine: Engine) -> None:
    engine.write([put(b"a")])

    asyncio.run(engine.flush())

    assert engine.get(Family.ITEM, b"a") == b"v"


def test_an_idle_engine_is_not_stalled(engine: Engine) -> None:
    assert engine.stalled() is False
