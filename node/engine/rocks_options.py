"""How RocksDB is set up, on small disks too: what it holds in memory and in its log is a share of theirs."""

from __future__ import annotations

import os
from pathlib import Path

import rocksdict

from gramme.node.engine.api import Family

# Unflushed log is replayed at start, so its size bounds the time a crash costs.
WAL_BYTES_MAX = 256 << 20
# All families' write buffers together, so that idle families cost nothing.
WRITE_BUFFER_BYTES_MAX = 128 << 20
# Of a small disk: memory, and the log that is kept until memory is written out, must leave room for the tables themselves.
MEMORY_SHARE = 1 / 16
MEMORY_BYTES_MIN = 1 << 20
# Until its tables have this much on disk, compressed, a family is one sorted run beside what is new: a read looks
# in two places and not in three. Price: the run is written again for every few write buffers.
SINGLE_RUN_BYTES = 512 << 20
BLOOM_BITS_PER_KEY = 10
# Of a write buffer: about 20 bits for each of its rows, where they are small.
MEMORY_BLOOM_SHARE = 0.01
# Families that are read by key and often miss; the others are read in order.
_BLOOM_FAMILIES = frozenset({Family.ITEM, Family.LSI, Family.TXN, Family.DEDUPE})


def name_of(family: Family) -> str:
    return family.name.lower()


def disk_bytes_of(path: Path) -> int:
    """How large the disk is that a directory is on, or will be."""
    disk = os.statvfs(path if path.exists() else path.parent)
    return disk.f_blocks * disk.f_frsize


def _memory_bytes(disk_bytes: int) -> int:
    return max(MEMORY_BYTES_MIN, min(WRITE_BUFFER_BYTES_MAX, int(disk_bytes * MEMORY_SHARE)))


def database_options(tables_max: int, disk_bytes: int) -> rocksdict.Options:
    options = rocksdict.Options(raw_mode=True)
    options.create_if_missing(True)
    options.create_missing_column_families(True)
    options.set_max_total_wal_size(min(WAL_BYTES_MAX, 2 * _memory_bytes(disk_bytes)))
    options.set_db_write_buffer_size(_memory_bytes(disk_bytes))
    options.set_max_background_jobs(2)
    # There is one writer, so its inserts need not be safe beside others.
    options.set_allow_concurrent_memtable_write(False)
    options.set_keep_log_file_num(4)
    options.set_max_log_file_size(8 << 20)
    options.set_stats_dump_period_sec(0)
    options.set_max_open_files(tables_max)
    return options


def new_cache(cache_bytes: int) -> rocksdict.Cache:
    # A lock-free cache: a quarter less for a read from disk than the usual one. 0 lets it find the size of entries.
    return rocksdict.Cache.new_hyper_clock_cache(cache_bytes, 0)


def family_options(
    cache: rocksdict.Cache, disk_bytes: int, *, compacts: bool
) -> dict[str, rocksdict.Options]:
    """With `compacts`, tables are written anew by themselves."""
    found = {name_of(family): _options_of(family, cache) for family in Family}
    for options in found.values():
        options.set_write_buffer_size(_memory_bytes(disk_bytes) // 2)
        options.set_disable_auto_compactions(not compacts)
    return found


def _options_of(family: Family, cache: rocksdict.Cache) -> rocksdict.Options:
    options = rocksdict.Options(raw_mode=True)
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
