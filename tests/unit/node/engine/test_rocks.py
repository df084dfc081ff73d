"""Which of RocksDB's refusals may be tried again, what tidying does to its files, and what its cache may hold."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from gramme.node.engine import rocks
from gramme.node.engine.api import Family, RangeDelete, Row, WriteStall
from gramme.node.engine.rocks import RocksEngine
from tests.support.small_disk import MB, SmallDisk, small_disk
from tests.support.waiting import Overdue, until

FAILED_IN_A_PATH_WITH_THE_WORD = (
    "IO error: While appending to /opt/install/db/4.log: File too large"
)


class Refusing:
    def __init__(self, text: str) -> None:
        self._text = text

    def write(self, *_: Any) -> None:
        raise RuntimeError(self._text)


@pytest.mark.parametrize(
    ("text", "raised"),
    [
        ("Result incomplete: Write stall", WriteStall),
        (FAILED_IN_A_PATH_WITH_THE_WORD, RuntimeError),
    ],
    ids=["stall", "failure"],
)
def test_only_a_stall_is_no_failure(tmp_path: Path, text: str, raised: type[Exception]) -> None:
    engine = RocksEngine.open(tmp_path / "db", None)
    real: Any = engine._database
    refusing: Any = Refusing(text)
    engine._database = refusing

    with pytest.raises(raised):
        engine.write([Row(Family.ITEM, b"a", b"b")])

    engine._database = real
    engine.close()


# More than is ever needed.
SPARE_BYTES = 1 << 40
VALUE = b"v" * 1000


def overwrite(engine: RocksEngine, times: int) -> None:
    for _ in range(times):
        engine.write([Row(Family.ITEM, b"%d" % n, VALUE) for n in range(100)])


async def test_tidying_leaves_the_newest_versions_and_takes_the_others(tmp_path: Path) -> None:
    engine = RocksEngine.open(tmp_path / "db", tmp_path / "flushed")
    overwrite(engine, times=40)
    before = engine._in_memory()

    await engine.tidy()

    assert before > rocks.TIDY_MEMORY_BYTES_MIN
    assert engine._in_memory() < rocks.TIDY_MEMORY_BYTES_MIN
    assert 0 < engine._on_disk() < 100 * 2 * len(VALUE)
    rows = list(engine.scan(Family.ITEM, b"", b"\xff"))
    assert len(rows) == 100
    assert {value for _, value in rows} == {VALUE}
    engine.close()


async def test_a_little_is_not_worth_tidying(tmp_path: Path) -> None:
    engine = RocksEngine.open(tmp_path / "db", tmp_path / "flushed")
    overwrite(engine, times=1)

    await engine.tidy()

    assert engine._on_disk() == 0
    engine.close()


async def test_much_on_disk_is_left_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    engine = RocksEngine.open(tmp_path / "db", tmp_path / "flushed")
    overwrite(engine, times=40)
    await engine.tidy()
    monkeypatch.setattr(rocks, "TIDY_DISK_BYTES_MAX", 0)
    overwrite(engine, times=40)
    before = engine._in_memory()

    await engine.tidy()

    assert engine._in_memory() == before
    engine.close()


def write_and_read(engine: RocksEngine, chance: random.Random) -> None:
    """Put rows that do not compress into a table, and read them back through the cache."""
    keys = [b"%04d" % number for number in range(4000)]
    engine.write([Row(Family.ITEM, key, chance.randbytes(1000)) for key in keys])
    engine._families[Family.ITEM].flush()
    for key in keys:
        engine.get(Family.ITEM, key)
    engine.fit(SPARE_BYTES)


def test_tables_that_are_no_more_do_not_fill_the_cache(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(rocks, "CACHE_BYTES_LEAST", 1 << 20)
    engine = RocksEngine.open(tmp_path / "db", None, cache_bytes=256 << 20)
    chance = random.Random(1)

    for _ in range(12):
        write_and_read(engine, chance)
        engine._families[Family.ITEM].compact_range(None, None)
        engine.fit(SPARE_BYTES)

    on_disk = engine._on_disk()
    assert 4_000_000 < on_disk < 8_000_000
    assert on_disk <= engine._cache.get_usage() <= rocks.CACHE_TIMES_DISK * on_disk + (2 << 20)
    engine.close()


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[SmallDisk]:
    with small_disk(tmp_path / "small", 48 * MB) as disk:
        yield disk


def opened(disk: SmallDisk) -> RocksEngine:
    return RocksEngine.open(disk.path / "db", disk.path / "flushed")


async def test_memory_is_counted_as_what_it_will_be_on_disk(disk: SmallDisk) -> None:
    engine = opened(disk)
    before, total = engine.space()

    engine.write([Row(Family.ITEM, b"a", random.Random(1).randbytes(MB))])
    await engine.flush()

    after, _ = engine.space()
    assert total == 48 * MB
    # In the log, and in memory.
    assert 2 * MB <= before - after < 3 * MB
    engine.close()


async def test_relief_writes_memory_out_and_drops_its_log(disk: SmallDisk) -> None:
    engine = opened(disk)
    for number in range(120):
        engine.write([Row(Family.ITEM, b"%d" % number, b"x" * 10_000)])
    before, _ = engine.space()

    await engine.relieve()

    after, _ = engine.space()
    # They were in both, and compress well.
    assert after - before > 2 * MB
    engine.close()


async def write(engine: RocksEngine, row: Row) -> None:
    """However long the engine is behind."""
    while True:
        try:
            engine.write([row])
        except WriteStall:
            await asyncio.sleep(0.01)
        else:
            return


async def test_relief_gives_back_the_room_of_removed_tables(disk: SmallDisk) -> None:
    engine = opened(disk)
    chance = random.Random(1)
    for number in range(1000):
        await write(engine, Row(Family.ITEM, b"%04d" % number, chance.randbytes(10_000)))
    await engine.relieve()
    before, _ = engine.space()

    engine.write([RangeDelete(Family.ITEM, b"0200", b"9")])
    await engine.relieve()

    after, _ = engine.space()
    assert after - before > 7 * MB
    assert len(list(engine.scan(Family.ITEM, b"", b"\xff"))) == 200
    engine.close()


async def test_relief_of_a_disk_that_somebody_else_has_filled_is_not_tried(disk: SmallDisk) -> None:
    engine = opened(disk)
    for number in range(250):
        await write(engine, Row(Family.ITEM, b"%d" % number, b"x" * 10_000))
    disk.fill()

    await engine.relieve()

    assert engine.space()[0] == 0
    assert len(list(engine.scan(Family.ITEM, b"", b"\xff"))) == 250
    disk.clear()
    engine.close()


def add_tables(engine: RocksEngine, count: int) -> None:
    """Tables of rows that do not compress, of the same keys: RocksDB would make one of every four."""
    chance = random.Random(1)
    for _ in range(count):
        engine.write([Row(Family.ITEM, b"%d" % n, chance.randbytes(10_000)) for n in range(50)])
        engine._families[Family.ITEM].flush()


def tables(engine: RocksEngine) -> int:
    return len(engine._families[Family.ITEM].live_files())


async def test_tables_are_written_anew_only_where_the_disk_can_spare_the_room(
    disk: SmallDisk,
) -> None:
    engine = opened(disk)
    add_tables(engine, 1)

    engine.fit(0)
    add_tables(engine, 7)
    assert tables(engine) == 8
    engine.close()

    # Enough for what will be left, and not sure to be enough.
    disk.fill(6 * MB)
    engine = opened(disk)
    with pytest.raises(Overdue):
        until(lambda: tables(engine) < 8, 0.3, "fewer tables are made of eight")

    engine.fit(SPARE_BYTES)
    until(lambda: tables(engine) == 1, 10.0, "one table is made of eight")
    engine.close()
