"""How many files and sockets the operating system lets this process have, and who may take how many.

A database that cannot open its next file ends the process, because nobody then knows what is on disk. So connections, of
which any client can make a thousand, must never take the last file: past their share a new one is closed instead.
"""

from __future__ import annotations

import contextlib
import resource
from dataclasses import dataclass

# As many as a server can make use of.
WANTED = 16_384


@dataclass(frozen=True, slots=True)
class OpenFiles:
    # RocksDB's tables.
    tables: int
    connections: int
    # Of the connections, those that gRPC may have, if it listens for clients.
    streams: int


def shares(files_max: int) -> OpenFiles:
    """Who may have how many of `files_max`. An eighth is nobody's: logs, compactions, Python's own files."""
    tables = files_max // 4
    connections = files_max - tables - files_max // 8
    return OpenFiles(tables, connections, connections // 4)


def allowed() -> OpenFiles:
    """What this process may have now."""
    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return shares(WANTED if soft == resource.RLIM_INFINITY else min(soft, WANTED))


def ask_for_more() -> None:
    """Raise this process's own limit as far as it may. Usually 1024 is only where it starts."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    most = WANTED if hard == resource.RLIM_INFINITY else min(hard, WANTED)
    if soft == resource.RLIM_INFINITY or soft >= most:
        return
    with contextlib.suppress(OSError, ValueError):
        resource.setrlimit(resource.RLIMIT_NOFILE, (most, hard))
