"""Opening a node's database, with the memory and the files that there are."""

from __future__ import annotations

import contextlib
import os
from pathlib import Path

from gramme.node.engine.directory import DataDirectory
from gramme.node.engine.rocks import TABLES_MAX, DataLost, RocksEngine
from gramme.open_files import allowed
from gramme.start import StartRefused

# Of the machine's memory, for rows read from disk, where nobody says how much. It is taken as it is needed.
CACHE_SHARE = 1 / 16
CACHE_BYTES_MIN = 64 << 20
# Holds a number of bytes, or "max".
CONTAINER_LIMIT = Path("/sys/fs/cgroup/memory.max")


# What to do about a damaged log where nobody else has what is in it.
LONE_ADVICE = "Restore from a backup, or start with --accept-data-loss to go on with what is left"


def open_rocks(
    directory: DataDirectory,
    *,
    flushes: bool,
    accept_data_loss: bool,
    cache_mb: int,
    advice: str = LONE_ADVICE,
) -> RocksEngine:
    """`advice` is what to do about a damaged log. Raises StartRefused."""
    try:
        return RocksEngine.open(
            directory.database,
            directory.flushed if flushes else None,
            accept_data_loss=accept_data_loss,
            cache_bytes=cache_mb << 20 or usual_cache_bytes(),
            tables_max=min(TABLES_MAX, allowed().tables),
        )
    except DataLost as error:
        raise StartRefused(f"{error}. {advice}") from error
    except Exception as error:
        raise StartRefused(f"cannot open the database in {directory.path}: {error}") from error


def usual_cache_bytes() -> int:
    memory_bytes = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    # A container sees all of its host's memory, and is ended if it takes it.
    with contextlib.suppress(OSError, ValueError):
        memory_bytes = min(memory_bytes, int(CONTAINER_LIMIT.read_text()))
    return max(CACHE_BYTES_MIN, int(memory_bytes * CACHE_SHARE))
