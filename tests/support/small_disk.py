"""A small file system of its own, for what happens when it is full. Only root may have one; others skip the test."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

MB = 1 << 20


class SmallDisk:
    """Mounted at `path`, which holds nothing else."""

    def __init__(self, path: Path) -> None:
        self.path = path

    @property
    def free_bytes(self) -> int:
        disk = os.statvfs(self.path)
        return disk.f_bavail * disk.f_frsize

    def resize(self, size_bytes: int) -> None:
        _mount("remount", f"size={size_bytes}", self.path).check_returncode()

    def fill(self, but_bytes: int = 0) -> None:
        """Let somebody else take all the room there is at once, but for so much."""
        with (self.path / "filler").open("wb") as filler:
            while (wanted := self.free_bytes - but_bytes) > 0:
                # What somebody else takes meanwhile is not to be had.
                with suppress(OSError):
                    os.posix_fallocate(filler.fileno(), filler.seek(0, os.SEEK_END), wanted)

    def clear(self) -> None:
        """Let them give it back."""
        (self.path / "filler").unlink()


@contextmanager
def small_disk(path: Path, size_bytes: int) -> Iterator[SmallDisk]:
    path.mkdir()
    if os.getuid() != 0 or _mount("rw", f"size={size_bytes}", path).returncode != 0:
        pytest.skip("cannot mount a small file system")
    try:
        yield SmallDisk(path)
    finally:
        # What still runs there after a failure must not keep the directory.
        subprocess.run(["umount", "--lazy", str(path)], check=True)


def _mount(*arguments: str | Path) -> subprocess.CompletedProcess[bytes]:
    *options, path = arguments
    command = ["mount", "-t", "tmpfs", "-o", ",".join(map(str, options)), "tmpfs", str(path)]
    return subprocess.run(command, capture_output=True, check=False)
