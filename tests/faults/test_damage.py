"""A byte that changed in a log once flushed: the server notices, says so, and does not start by itself."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from tests.support import tables
from tests.support.load import Load
from tests.support.server import Server, StartFailed

SEED = 20260703
WRITES = 600


@pytest.fixture(scope="module")
def flushed(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Load]:
    """A directory whose server was killed when all its writes had been answered, and those writes."""
    print(f"seed {SEED}")
    data = tmp_path_factory.mktemp("damage") / "data"
    load = Load(4, SEED)
    with Server(data) as server, server.client() as client:
        tables.create(client)
        load.start(server.port)
        load.await_answers(WRITES)
        load.stop()
        assert load.check(client) == []
        server.kill()
    return data, load


def damaged(data: Path, copy: Path, part: float) -> Path:
    """A copy of the directory with one byte flipped so far into its longest log."""
    shutil.copytree(data, copy)
    damage(copy, part)
    return copy


def damage(data: Path, part: float) -> None:
    """Flip one byte so far into the longest log of a directory."""
    log = max(data.rglob("*.log"), key=lambda path: path.stat().st_size)
    content = bytearray(log.read_bytes())
    content[int(len(content) * part)] ^= 0x40
    log.write_bytes(content)


@pytest.mark.parametrize("part", [0.0, 0.1, 0.5, 0.9])
def test_a_flipped_byte_in_a_flushed_log_is_refused(
    tmp_path: Path, flushed: tuple[Path, Load], part: float
) -> None:
    data = damaged(flushed[0], tmp_path / "data", part)

    with pytest.raises(StartFailed) as refusal:
        Server(data).start()

    assert refusal.value.code != 0
    assert len(refusal.value.errors.splitlines()) == 1
    assert str(data) in refusal.value.errors
    assert "--accept-data-loss" in refusal.value.errors


def test_a_refusal_leaves_the_directory_to_be_refused_again(
    tmp_path: Path, flushed: tuple[Path, Load]
) -> None:
    data = damaged(flushed[0], tmp_path / "data", 0.5)

    for _ in range(2):
        with pytest.raises(StartFailed, match="--accept-data-loss"):
            Server(data).start()


def test_the_operator_may_accept_the_loss(tmp_path: Path, flushed: tuple[Path, Load]) -> None:
    data = damaged(flushed[0], tmp_path / "data", 0.5)

    with Server(data, "--accept-data-loss") as server, server.client() as client:
        client.call("DescribeTable", {"TableName": tables.TABLE})
        assert server.stop() == 0

    # What was accepted is not asked again.
    with Server(data) as server, server.client() as client:
        client.call("DescribeTable", {"TableName": tables.TABLE})


def test_an_undamaged_directory_starts(tmp_path: Path, flushed: tuple[Path, Load]) -> None:
    data, load = flushed
    shutil.copytree(data, tmp_path / "data")

    with Server(tmp_path / "data") as server, server.client() as client:
        assert load.check(client) == []
