"""What may survive a crash, on hand-written events: no process, no disk."""

from __future__ import annotations

from pathlib import Path
from random import Random

import pytest

from tests.faults.disk import Disk, Unsupported, Write
from tests.faults.images import Crash, Loss, sectors, write_image
from tests.faults.recorder import CREATED, DIRECTORY, Event, Kind

ROOT = "/root"


class Script:
    """A process that does things, one event each."""

    def __init__(self) -> None:
        self.disk = Disk(ROOT)
        self._end = 0
        self._fd = 10
        self._sync = 0

    def do(self, kind: Kind, fd: int = -1, a: int = 0, b: int = 0, *paths: bytes) -> None:
        self._end += 1
        first, second = [*paths, b"", b""][:2]
        self.disk.follow(Event(kind, 1, fd, a, b, first, second, self._end))

    def open(self, name: str, what: int) -> int:
        self._fd += 1
        self.do(Kind.OPEN, self._fd, 0, what, f"{ROOT}/{name}".encode())
        return self._fd

    def create(self, name: str) -> int:
        return self.open(name, CREATED)

    def write(self, fd: int, offset: int, data: bytes) -> None:
        self.do(Kind.WRITE, fd, offset, 0, data)

    def begin_sync(self, fd: int) -> int:
        self._sync += 1
        self.do(Kind.SYNC_BEGIN, fd, self._sync)
        return self._sync

    def end_sync(self, fd: int, serial: int, result: int = 0) -> None:
        self.do(Kind.SYNC_END, fd, serial, result)

    def sync(self, fd: int) -> None:
        self.end_sync(fd, self.begin_sync(fd))

    def sync_names(self) -> None:
        self.sync(self.open("", DIRECTORY))

    def rename(self, old: str, new: str) -> None:
        self.do(Kind.RENAME, -1, 0, 0, f"{ROOT}/{old}".encode(), f"{ROOT}/{new}".encode())


def survivors(script: Script, target: Path, loss: Loss = Loss.EVERYTHING) -> dict[str, bytes]:
    write_image(script.disk, Crash(0, loss, 1), target)
    return {path.name: path.read_bytes() for path in target.iterdir()}


def test_what_was_synced_survives_and_the_rest_does_not(tmp_path: Path) -> None:
    script = Script()
    fd = script.create("log")
    script.sync_names()
    script.write(fd, 0, b"synced")
    script.sync(fd)
    script.write(fd, 6, b" and more")

    assert survivors(script, tmp_path) == {"log": b"synced"}


def test_without_a_loss_all_is_there(tmp_path: Path) -> None:
    script = Script()
    script.write(script.create("log"), 2, b"never synced")

    assert survivors(script, tmp_path, Loss.NOTHING) == {"log": b"\0\0never synced"}


def test_a_synced_file_without_a_synced_name_is_gone(tmp_path: Path) -> None:
    script = Script()
    fd = script.create("log")
    script.write(fd, 0, b"synced")
    script.sync(fd)

    assert survivors(script, tmp_path) == {}


def test_a_sync_covers_what_was_written_before_it_began(tmp_path: Path) -> None:
    script = Script()
    fd = script.create("log")
    script.sync_names()
    script.write(fd, 0, b"before")
    sync = script.begin_sync(fd)
    script.write(fd, 6, b" during")
    script.end_sync(fd, sync)

    assert survivors(script, tmp_path) == {"log": b"before"}


@pytest.mark.parametrize("result", [None, -1], ids=["not ended", "failed"])
def test_a_sync_that_did_not_succeed_promises_nothing(tmp_path: Path, result: int | None) -> None:
    script = Script()
    fd = script.create("log")
    script.sync_names()
    script.write(fd, 0, b"before")
    sync = script.begin_sync(fd)
    if result is not None:
        script.end_sync(fd, sync, result)

    assert survivors(script, tmp_path) == {"log": b""}


def test_an_unsynced_rename_leaves_both_old_names(tmp_path: Path) -> None:
    script = Script()
    for name in ("current", "next"):
        fd = script.create(name)
        script.write(fd, 0, name.encode())
        script.sync(fd)
    script.sync_names()
    script.rename("next", "current")

    assert survivors(script, tmp_path / "lost") == {"current": b"current", "next": b"next"}
    script.sync_names()
    assert survivors(script, tmp_path / "kept") == {"current": b"next"}


def test_sectors_are_cut_at_their_boundaries_in_the_file() -> None:
    change = Write(position=1, offset=500, data=bytes(1000))

    kept = [piece for seed in range(50) for piece in sectors(change, Random(seed))]

    found = {(piece.offset, len(piece.data)) for piece in kept if isinstance(piece, Write)}
    assert found == {(500, 12), (512, 512), (1024, 476)}


def test_what_cannot_be_followed_is_refused() -> None:
    with pytest.raises(Unsupported, match="a writable shared mapping"):
        Script().do(Kind.UNSUPPORTED, -1, 0, 0, b"a writable shared mapping")
