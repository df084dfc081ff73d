"""The side file remembers the last flush, through torn writes, and lost log is noticed by it."""

from __future__ import annotations

import asyncio
import shutil
from pathlib import Path

import pytest

from gramme.node.engine.api import Family, Row
from gramme.node.engine.rocks import DataLost, RocksEngine
from gramme.node.engine.sequence import SequenceFile


def test_the_last_number_noted_is_read_back(tmp_path: Path) -> None:
    file = SequenceFile(tmp_path / "flushed")
    for sequence in (5, 9, 14):
        file.note(sequence)
    file.close()

    assert SequenceFile(tmp_path / "flushed").flushed == 14


def test_a_torn_slot_leaves_the_number_before_it(tmp_path: Path) -> None:
    path = tmp_path / "flushed"
    file = SequenceFile(path)
    file.note(5)
    file.note(9)
    file.close()
    raw = bytearray(path.read_bytes())
    raw[512] ^= 1
    path.write_bytes(raw)

    assert SequenceFile(path).flushed == 5


def test_a_damaged_log_is_refused_until_the_loss_is_accepted(tmp_path: Path) -> None:
    database, flushed = tmp_path / "db", tmp_path / "flushed"
    engine = RocksEngine.open(database, flushed)
    for number in range(1000):
        engine.write([Row(Family.ITEM, b"%04d" % number, b"x" * 100)])
    asyncio.run(engine.flush())
    # A clean close would move the log into tables; what a crash leaves is a copy made now.
    shutil.copytree(database, tmp_path / "crashed")
    shutil.copy(flushed, tmp_path / "noted")
    engine.close()
    database, flushed = tmp_path / "crashed", tmp_path / "noted"
    log = max(database.glob("*.log"), key=lambda path: path.stat().st_size)
    raw = bytearray(log.read_bytes())
    raw[len(raw) // 2] ^= 1
    log.write_bytes(raw)

    with pytest.raises(DataLost, match="was once safely on disk"):
        RocksEngine.open(database, flushed)
    accepted = RocksEngine.open(database, flushed, accept_data_loss=True)
    accepted.close()
    again = RocksEngine.open(database, flushed)

    assert again.get(Family.ITEM, b"0000") == b"x" * 100
    again.close()
