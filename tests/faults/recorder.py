"""Compiles the recording shim, preloads it, and reads back what it recorded.

The log is a row of events, each a fixed header and up to two byte strings; `shim.c` has the other half of the
format. An event's `end` is the log's size once it was written, which is how time is told here: an answer that
a client got while the log had size `a` came before every event that ends after `a`.
"""

from __future__ import annotations

import shutil
import struct
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from enum import IntEnum
from pathlib import Path

SOURCE = Path(__file__).with_name("shim.c")
HEADER = struct.Struct("<IIiiqqII")
MAGIC = 0x474D5348

CREATED = 1
DIRECTORY = 2
TRUNCATED = 4


class Kind(IntEnum):
    OPEN = 1
    CLOSE = 2
    DUP = 3
    WRITE = 4
    TRUNCATE = 5
    EXTEND = 6
    RENAME = 7
    LINK = 8
    UNLINK = 9
    RMDIR = 10
    MKDIR = 11
    SYNC_BEGIN = 12
    SYNC_END = 13
    UNSEEN = 14
    UNSUPPORTED = 15


@dataclass(frozen=True, slots=True)
class Event:
    kind: Kind
    pid: int
    fd: int
    a: int
    b: int
    first: bytes
    second: bytes
    end: int


def compiler() -> str | None:
    return shutil.which("cc") or shutil.which("gcc")


def eatmydata() -> str | None:
    """The library under which no sync does anything, where it is installed."""
    patterns = ("*/libeatmydata.so", "libeatmydata/libeatmydata.so", "*/libeatmydata.so.1")
    for base in (Path("/usr/lib"), Path("/usr/local/lib"), Path("/usr/lib64")):
        for pattern in patterns:
            if found := next(base.glob(pattern), None):
                return str(found)
    return None


@dataclass(frozen=True)
class Recorder:
    """Records a process below `root` into `log`."""

    library: Path
    root: Path
    log: Path

    @classmethod
    def build(cls, scratch: Path) -> Recorder:
        """Compile the shim into `scratch`, and record what happens below `scratch/root`."""
        command = compiler()
        assert command is not None, "there is no C compiler"
        root = scratch.resolve() / "root"
        root.mkdir(parents=True)
        library = scratch / "shim.so"
        options = ["-O2", "-Wall", "-Werror", "-fPIC", "-shared", "-fvisibility=hidden", "-pthread"]
        subprocess.run(
            [command, *options, "-o", str(library), str(SOURCE), "-ldl"],
            check=True,
        )
        return cls(library, root, scratch / "events.log")

    def environment(self, *before: str) -> dict[str, str]:
        """What a process needs to be recorded, with other libraries preloaded before the shim."""
        return {
            "LD_PRELOAD": " ".join([*before, str(self.library)]),
            "GRAMME_SHIM_ROOT": str(self.root),
            "GRAMME_SHIM_LOG": str(self.log),
        }

    def position(self) -> int:
        """How much has been recorded by now."""
        return self.log.stat().st_size if self.log.exists() else 0

    def events(self) -> list[Event]:
        return list(parse(self.log.read_bytes()))


def parse(log: bytes) -> Iterator[Event]:
    at = 0
    while at < len(log):
        magic, kind, pid, fd, a, b, first_size, second_size = HEADER.unpack_from(log, at)
        assert magic == MAGIC, f"no event at {at}"
        middle = at + HEADER.size + first_size
        end = middle + second_size
        yield Event(
            *(Kind(kind), pid, fd, a, b, log[at + HEADER.size : middle], log[middle:end], end),
        )
        at = end
