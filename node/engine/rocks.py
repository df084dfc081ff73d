"""RocksDB, through rocksdict: the only module that knows it.

Which calls keep Python's global lock and which give it up decides the shape of this file. Writes keep it, so they
are small and never synced; `flush_wal` gives it up, so it runs in this engine's one thread while the event loop goes
on. A batch that was refused for a stall is gone, so a batch is built anew for each try.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from pathlib import Path

import rocksdict

from gramme.node.engine.api import Family, Operation, RangeDelete, WriteStall
from gramme.node.engine.sequence import SequenceFile
from gramme.node.engine.worker import Worker

# Unflushed log is replayed at start, so its size bounds the time a crash costs.
WAL_BYTES_MAX = 256 << 20
# All families' write buffers together, so that idle families cost nothing.
WRITE_BUFFER_BYTES_MAX = 128 << 20
# What a cache holds that nobody gave a size.
CACHE_BYTES = 256 << 20
# The cache grows with what is on disk, compressed, to so many times of it and what follows. Without that it would
# fill, up to its bound, with blocks of tables that are no more: few items written over and over are enough.
CACHE_TIMES_DISK = 3
CACHE_BYTES_LEAST = 32 << 20
# Tables kept open, where nobody says how many.
TABLES_MAX = 1024
# Until its tables have this much on disk, compressed, a family is one sorted run beside what is new: a read looks
# in two places and not in three. Price: the run is written again for every few write buffers.
SINGLE_RUN_BYTES = 512 << 20
# What is tidied: more in memory than this, and no more on disk than takes a fraction of a second to go through.
TIDY_MEMORY_BYTES_MIN = 2 << 20
TIDY_DISK_BYTES_MAX = 64 << 20
BLOOM_BITS_PER_KEY = 10
# Of a write buffer: about 20 bits for each of its rows, where they are small.
MEMORY_BLOOM_SHARE = 0.01
# Families that are read by key and often miss; the others are read in order.
_BLOOM_FAMILIES = frozenset({Family.ITEM, Family.LSI, Family.TXN, Family.DEDUPE})
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
        self._cache = _cache(cache_bytes)
        self._cache_bytes_max = cache_bytes
        families = _family_options(self._cache)
        self._database = rocksdict.Rdict(str(path), _database_options(tables_max), families)
        self._families = [self._database.get_column_family(_name(family)) for family in Family]
        self._handles = [
            self._database.get_column_family_handle(_name(family)) for family in Family
        ]
        self._gets = [family.get for family in self._families]
        self._write_options = rocksdict.WriteOptions()
        self._write_options.no_slowdown = True
        self._sequence_file = sequence_file
        self._flusher = None if sequence_file is None else Worker(self._flush, name="flush")
        self._tidier = Worker(self._tidy, name="tidy")

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
        for operation in operations:
            handle = handles[operation.family]
            if isinstance(operation, RangeDelete):
                batch.delete_range(operation.lower, operation.upper, handle)
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

    async def flush(self) -> None:
        if self._flusher is not None and self._sequence_file is not None:
            # Read before the flush begins: what is written meanwhile is not covered by it.
            sequence = self._database.latest_sequence_number()
            await self._flusher.run()
            self._sequence_file.note(sequence)

    async def tidy(self) -> None:
        # Tables of many bytes are left alone: to write out memory early would make more of them to look through.
        if self._in_memory() >= TIDY_MEMORY_BYTES_MIN and self._on_disk() <= TIDY_DISK_BYTES_MAX:
            await self._tidier.run()

    def fit(self) -> None:
        on_disk = sum(family.property_int_value(_ON_DISK) or 0 for family in self._families)
        wanted = min(self._cache_bytes_max, CACHE_BYTES_LEAST + CACHE_TIMES_DISK * on_disk)
        # Blocks beyond it are given up as others come, so this takes no time.
        self._cache.set_capacity(wanted)

    def space(self) -> tuple[int, int]:
        disk = os.statvfs(self._path)
        return disk.f_bavail * disk.f_frsize, disk.f_blocks * disk.f_frsize

    def stalled(self) -> bool:
        return bool(
            self._database.property_int_value("rocksdb.is-write-stopped")
            or self._database.property_int_value("rocksdb.actual-delayed-write-rate")
        )

    def close(self) -> None:
        self._tidier.stop()
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
        return self._families[Family.ITEM].property_int_value(_IN_MEMORY) or 0

    def _on_disk(self) -> int:
        return self._families[Family.ITEM].property_int_value(_ON_DISK) or 0

    def _tidy(self) -> None:
        """Runs in the tidier's thread. Both calls give up Python's lock."""
        items = self._families[Family.ITEM]
        items.flush()
        items.compact_range(None, None)


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
        families = _family_options(_cache(CACHE_BYTES))
        database = rocksdict.Rdict(str(path), _database_options(tables_max), families, access)
    except Exception as error:
        raise DataLost(f"{path} cannot be read: {error}") from error
    sequence = database.latest_sequence_number()
    database.close()
    return sequence


def _name(family: Family) -> str:
    return family.name.lower()


def _database_options(tables_max: int) -> rocksdict.Options:
    options = rocksdict.Options(raw_mode=True)
    options.create_if_missing(True)
    options.create_missing_column_families(True)
    options.set_max_total_wal_size(WAL_BYTES_MAX)
    options.set_db_write_buffer_size(WRITE_BUFFER_BYTES_MAX)
    options.set_max_background_jobs(2)
    # There is one writer, so its inserts need not be safe beside others.
    options.set_allow_concurrent_memtable_write(False)
    options.set_keep_log_file_num(4)
    options.set_max_log_file_size(8 << 20)
    options.set_stats_dump_period_sec(0)
    options.set_max_open_files(tables_max)
    return options


def _cache(cache_bytes: int) -> rocksdict.Cache:
    # A lock-free cache: a quarter less for a read from disk than the usual one. 0 lets it find the size of entries.
    return rocksdict.Cache.new_hyper_clock_cache(cache_bytes, 0)


def _family_options(cache: rocksdict.Cache) -> dict[str, rocksdict.Options]:
    return {_name(family): _options_of(family, cache) for family in Family}


def _options_of(family: Family, cache: rocksdict.Cache) -> rocksdict.Options:
    options = rocksdict.Options(raw_mode=True)
    options.set_write_buffer_size(64 << 20)
    options.set_level_compaction_dynamic_level_bytes(True)
    options.set_max_bytes_for_level_base(SINGLE_RUN_BYTES)
    # An item written again and again has many versions in memory; stepping over them beats seeking anew.
    options.set_max_sequential_skip_in_iterations(32)
    options.set_compression_type(rocksdict.DBCompressionType.lz4())
    blocks = rocksdict.BlockBasedOptions()
    blocks.set_block_cache(cache)
    blocks.set_cache_index_and_filter_blocks(True)
    blocks.set_pin_l0_filter_and_index_blocks_in_cache(True)
    if family is Family.ITEM:
        # Most reads of a large table find nothing in memory, and this says so without a walk through it.
        options.set_memtable_whole_key_filtering(True)
        options.set_memtable_prefix_bloom_ratio(MEMORY_BLOOM_SHARE)
    if family in _BLOOM_FAMILIES:
        blocks.set_bloom_filter(BLOOM_BITS_PER_KEY, False)
    options.set_block_based_table_factory(blocks)
    return options
