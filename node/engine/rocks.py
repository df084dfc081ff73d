"""RocksDB, through rocksdict: only this module knows it, and `rocks_options.py`.

Which calls keep Python's global lock and which give it up decides the shape of this file. Writes keep it, so they
are small and never synced; `flush_wal` gives it up, so it runs in this engine's one thread while the event loop goes
on. A batch that was refused for a stall is gone, so a batch is built anew for each try.
"""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import Path

import rocksdict

from gramme.node.engine.api import Family, Operation, RangeDelete, WriteStall
from gramme.node.engine.rocks_options import (
    database_options,
    disk_bytes_of,
    family_options,
    name_of,
    new_cache,
)
from gramme.node.engine.sequence import SequenceFile
from gramme.node.engine.worker import Worker

# What a cache holds that nobody gave a size.
CACHE_BYTES = 256 << 20
# The cache grows with what is on disk, compressed, to so many times of it and what follows. Without that it would
# fill, up to its bound, with blocks of tables that are no more: few items written over and over are enough.
CACHE_TIMES_DISK = 3
CACHE_BYTES_LEAST = 32 << 20
# Tables kept open, where nobody says how many.
TABLES_MAX = 1024
# Most of what RocksDB writes anew at once by itself, before it drops what it wrote it from.
COMPACTION_BYTES_MAX = 1 << 30
# What is written out for the sake of a disk that is low: this, and a share of what is on disk. Less would make many small tables.
RELIEF_BYTES_MIN = 1 << 20
RELIEF_SHARE = 1 / 32
# Removed tables whose rows are looked for then. There are rarely any.
REMOVED_RANGES_MAX = 256
# What is tidied: more in memory than this, and no more on disk than takes a fraction of a second to go through.
TIDY_MEMORY_BYTES_MIN = 2 << 20
TIDY_DISK_BYTES_MAX = 64 << 20
# Those whose rows go all at once when a table is deleted, and make nearly all of its size.
_OF_TABLES = frozenset({Family.ITEM, Family.LSI})
# Those whose rows are there for a while only.
_SOON_REMOVED = (Family.RAFT, Family.CHANGE, Family.DEDUPE)
# How RocksDB words its one refusal that is no failure. Other errors may have any path in them.
_STALL = "Result incomplete: Write stall"
# Names of RocksDB's properties: a misspelt one has no value.
_IN_MEMORY = "rocksdb.cur-size-all-mem-tables"
_ON_DISK = "rocksdb.live-sst-files-size"


class DataLost(Exception):
    """The log on disk ends before a point that was once durable."""


class RocksEngine:
    """Open with `RocksEngine.open`; that is where lost log is noticed."""

    def __init__(
        self,
        path: Path,
        sequence_file: SequenceFile | None,
        cache_bytes: int = CACHE_BYTES,
        tables_max: int = TABLES_MAX,
    ) -> None:
        self._path = path
        self._cache = new_cache(cache_bytes)
        self._cache_bytes_max = cache_bytes
        disk_bytes = disk_bytes_of(path)
        # It would begin before anybody could hold it.
        compacts = _free_bytes(path) >= 2 * _compaction_bytes(_size_of_tables(path))
        families = family_options(self._cache, disk_bytes, compacts=compacts)
        database = database_options(tables_max, disk_bytes)
        self._database = rocksdict.Rdict(str(path), database, families)
        self._families = [self._database.get_column_family(name_of(family)) for family in Family]
        self._handles = [
            self._database.get_column_family_handle(name_of(family)) for family in Family
        ]
        self._gets = [family.get for family in self._families]
        self._write_options = rocksdict.WriteOptions()
        self._write_options.no_slowdown = True
        self._sequence_file = sequence_file
        self._flusher = None if sequence_file is None else Worker(self._flush, name="flush")
        self._tidier = Worker(self._tidy, name="tidy")
        self._reliever = Worker(self._relieve, name="relieve")
        self._removed: deque[RangeDelete] = deque(maxlen=REMOVED_RANGES_MAX)
        self._spare_bytes = 0
        # Families whose tables RocksDB may not write anew by itself for now.
        self._held: set[Family] = set() if compacts else set(Family)

    @classmethod
    def open(
        cls,
        path: Path,
        sequence_path: Path | None,
        *,
        accept_data_loss: bool = False,
        cache_bytes: int = CACHE_BYTES,
        tables_max: int = TABLES_MAX,
    ) -> RocksEngine:
        """Open the database at `path`, creating it if there is none.

        With `sequence_path`, every flush is noted there, and a database that recovers to less than was once
        flushed raises DataLost. Without it nothing is ever flushed. The test opens read-only: a normal open
        rewrites the log and so destroys the evidence.
        """
        if sequence_path is None:
            return cls(path, None, cache_bytes, tables_max)
        sequence_file = SequenceFile(sequence_path)
        expected = sequence_file.flushed
        if expected and not accept_data_loss:
            recovered = _recovered_sequence(path, tables_max)
            if recovered < expected:
                sequence_file.close()
                raise DataLost(
                    f"{path} holds changes up to {recovered}, but {expected} was once safely on disk: "
                    "its log was damaged or cut short"
                )
        engine = cls(path, sequence_file, cache_bytes, tables_max)
        if expected > engine._database.latest_sequence_number():
            sequence_file.reset(engine._database.latest_sequence_number())
        return engine

    def get(self, family: Family, key: bytes) -> bytes | None:
        value: bytes | None = self._gets[family](key)
        return value

    def scan(
        self, family: Family, lower: bytes, upper: bytes, *, forward: bool = True
    ) -> Iterator[tuple[bytes, bytes]]:
        # Iterators are made here, not in the generators: they must show this moment, not the first step's.
        rows = self._families[family]
        if not forward:
            return _backward(rows.items(backwards=True, from_key=upper), lower, upper)  # type: ignore[arg-type]
        options = rocksdict.ReadOptions()
        options.set_iterate_upper_bound(upper)
        return _forward(rows.items(from_key=lower, read_opt=options), options)  # type: ignore[arg-type]

    def write(self, operations: Iterable[Operation]) -> None:
        batch = rocksdict.WriteBatch(raw_mode=True)
        handles = self._handles
        removed: list[RangeDelete] = []
        for operation in operations:
            handle = handles[operation.family]
            if isinstance(operation, RangeDelete):
                batch.delete_range(operation.lower, operation.upper, handle)
                if operation.family in _OF_TABLES:
                    removed.append(operation)
            elif operation.value is None:
                batch.delete(operation.key, handle)
            else:
                batch.put(operation.key, operation.value, handle)
        try:
            self._database.write(batch, self._write_options)
        except Exception as error:
            if str(error).startswith(_STALL):
                raise WriteStall from error
            raise
        # Only now: the reliever's thread may take them at once.
        self._removed.extend(removed)

    async def flush(self) -> None:
        if self._flusher is not None and self._sequence_file is not None:
            # Read before the flush begins: what is written meanwhile is not covered by it.
            sequence = self._database.latest_sequence_number()
            await self._flusher.run()
            self._sequence_file.note(sequence)

    async def tidy(self) -> None:
        # Tables of many bytes are left alone: to write out memory early would make more of them to look through.
        # Until it is done, what is on disk is there twice.
        on_disk_max = min(TIDY_DISK_BYTES_MAX, self._spare_bytes)
        if self._in_memory() >= TIDY_MEMORY_BYTES_MIN and self._on_disk() <= on_disk_max:
            await self._tidier.run()

    async def relieve(self) -> None:
        # With less than memory needs it would fail, and end the process, which can still answer reads.
        if self.space()[0] > 0:
            on_disk = sum(self._property(family, _ON_DISK) for family in Family)
            worth_it = max(RELIEF_BYTES_MIN, int(on_disk * RELIEF_SHARE))
            if self._removed or self._unwritten() >= worth_it:
                await self._reliever.run()

    def fit(self, spare_bytes: int) -> None:
        self._spare_bytes = spare_bytes
        on_disk = [self._property(family, _ON_DISK) for family in Family]
        for family in Family:
            needed = _compaction_bytes(on_disk[family])
            if family in self._held:
                # To change it takes long, so it is not done back and forth.
                if spare_bytes >= 2 * needed:
                    self._let_compact(family, compacts=True)
            elif spare_bytes < needed:
                self._let_compact(family, compacts=False)
        wanted = min(self._cache_bytes_max, CACHE_BYTES_LEAST + CACHE_TIMES_DISK * sum(on_disk))
        # Blocks beyond it are given up as others come, so this takes no time.
        self._cache.set_capacity(wanted)

    def space(self) -> tuple[int, int]:
        return max(0, _free_bytes(self._path) - self._unwritten()), disk_bytes_of(self._path)

    def stalled(self) -> bool:
        return bool(
            self._database.property_int_value("rocksdb.is-write-stopped")
            or self._database.property_int_value("rocksdb.actual-delayed-write-rate")
        )

    def close(self) -> None:
        self._tidier.stop()
        self._reliever.stop()
        if self._flusher is not None and self._sequence_file is not None:
            self._flusher.stop()
            self._flush()
            self._sequence_file.note(self._database.latest_sequence_number())
            self._sequence_file.close()
        self._families.clear()
        self._handles.clear()
        self._gets.clear()
        self._database.close()

    def _flush(self) -> None:
        """Runs in the flusher's thread, and so does as little there as it can beside giving up Python's lock."""
        assert self._sequence_file is not None
        self._database.flush_wal(True)
        self._sequence_file.sync_when_due()

    def _in_memory(self) -> int:
        return self._property(Family.ITEM, _IN_MEMORY)

    def _on_disk(self) -> int:
        return self._property(Family.ITEM, _ON_DISK)

    def _unwritten(self) -> int:
        """What memory holds that is in no table yet. Compressed it is less."""
        return sum(self._property(family, _IN_MEMORY) for family in Family)

    def _property(self, family: Family, name: str) -> int:
        return self._families[family].property_int_value(name) or 0

    def _let_compact(self, family: Family, *, compacts: bool) -> None:
        """Let tables be written anew, or not: it could take the last of the disk, and the log would have nowhere to go."""
        (self._held.discard if compacts else self._held.add)(family)
        # RocksDB also writes it down, for which there may be no room, and which does not matter.
        with suppress(Exception):
            held = "false" if compacts else "true"
            self._families[family].set_options({"disable_auto_compactions": held})

    def _relieve(self) -> None:
        """Runs in the reliever's thread: when memory is written out its log goes, and then what was removed as a whole."""
        for rows in self._families:
            rows.flush()
        while self._removed:
            removed = self._removed.popleft()
            self._families[removed.family].compact_range(removed.lower, removed.upper)
        for family in _SOON_REMOVED:
            if self._property(family, _ON_DISK) <= _free_bytes(self._path) / 2:
                self._families[family].compact_range(None, None)

    def _tidy(self) -> None:
        """Runs in the tidier's thread. Both calls give up Python's lock."""
        items = self._families[Family.ITEM]
        items.flush()
        items.compact_range(None, None)


def _free_bytes(path: Path) -> int:
    disk = os.statvfs(path if path.exists() else path.parent)
    return disk.f_bavail * disk.f_frsize


def _size_of_tables(path: Path) -> int:
    return sum(table.stat().st_size for table in path.glob("*.sst"))


def _compaction_bytes(on_disk: int) -> int:
    """What it may take of the disk to write a family's tables anew."""
    return min(on_disk, COMPACTION_BYTES_MAX)


def _forward(
    rows: Iterator[tuple[bytes, bytes]], options: rocksdict.ReadOptions
) -> Iterator[tuple[bytes, bytes]]:
    """The rows, with their options kept alive: RocksDB reads the bound from memory that belongs to them."""
    yield from rows


def _backward(
    rows: Iterator[tuple[bytes, bytes]], lower: bytes, upper: bytes
) -> Iterator[tuple[bytes, bytes]]:
    """Of rows that go down, those within bounds. RocksDB's lower bound cannot be set, so we stop ourselves."""
    for row in rows:
        if row[0] < lower:
            return
        if row[0] < upper:
            yield row


def _recovered_sequence(path: Path, tables_max: int) -> int:
    access = rocksdict.AccessType.read_only()
    try:
        disk_bytes = disk_bytes_of(path)
        families = family_options(new_cache(CACHE_BYTES), disk_bytes, compacts=False)
        options = database_options(tables_max, disk_bytes)
        database = rocksdict.Rdict(str(path), options, families, access)
    except Exception as error:
        raise DataLost(f"{path} cannot be read: {error}") from error
    sequence = database.latest_sequence_number()
    database.close()
    return sequence
