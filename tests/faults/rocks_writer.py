"""The smallest durable writer: proves the crash images on RocksDB alone, with no server in between.

Run as a module under the recorder: `rocks_writer DIRECTORY COUNT flush|os`. For each write it prints the counter and
the recorder's position once the write is on disk, or, with `os`, once the operating system has it.
"""

from __future__ import annotations

import os
import sys

from rocksdict import Options, Rdict, WriteBatch

FAMILY = "item"
KEYS = 7
RESTART_EVERY = 60
VALUE_BYTES = 300


def open_database(path: str) -> Rdict:
    options = Options(raw_mode=True)
    options.create_if_missing(True)
    options.create_missing_column_families(True)
    return Rdict(path, options=options, column_families={FAMILY: Options(raw_mode=True)})


def sync_directory(path: str) -> None:
    directory = os.open(path, os.O_RDONLY)
    os.fsync(directory)
    os.close(directory)


def write_all(path: str, count: int, durable: bool) -> None:
    # RocksDB syncs its own directory, but not the name of it.
    os.mkdir(path)
    sync_directory(os.path.dirname(path))
    database = open_database(path)
    for counter in range(count):
        # Opening again turns the log into a table file, so both are in the recording.
        if counter % RESTART_EVERY == RESTART_EVERY - 1:
            database.close()
            database = open_database(path)
        batch = WriteBatch(raw_mode=True)
        key = b"%d" % (counter % KEYS)
        batch.put(
            key, b"%d:" % counter + bytes(VALUE_BYTES), database.get_column_family_handle(FAMILY)
        )
        database.write(batch)
        if durable:
            database.flush_wal(True)
        print(counter, os.stat(os.environ["GRAMME_SHIM_LOG"]).st_size, flush=True)
    database.close()


if __name__ == "__main__":
    write_all(sys.argv[1], int(sys.argv[2]), sys.argv[3] == "flush")
