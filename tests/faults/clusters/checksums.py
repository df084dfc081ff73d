"""What the replicas of a cluster that was stopped have on their disks, added up row by row."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from hashlib import blake2b
from pathlib import Path

from gramme.node.apply import Sums
from gramme.node.engine.api import Family, Row
from gramme.node.engine.directory import DataDirectory
from gramme.node.engine.keyspace import (
    SYS_TABLES,
    decode_state,
    decode_table,
    state_key,
    token_bound,
)
from gramme.node.engine.rocks import RocksEngine
from gramme.node.table_records import EMPTY_STATE
from gramme.partitions import Partition


def problems_of(directories: Mapping[str, Path]) -> tuple[int, list[str]]:
    """How many replicas were looked at, and what is wrong with them."""
    # Of each group: what each node's replica holds.
    found: defaultdict[int, dict[str, str]] = defaultdict(dict)
    problems: list[str] = []
    for name, path in directories.items():
        directory = DataDirectory.open(path)
        engine = RocksEngine.open(directory.database, directory.flushed)
        try:
            upper = SYS_TABLES[:-1] + bytes([SYS_TABLES[-1] + 1])
            for _, raw in engine.scan(Family.SYS, SYS_TABLES, upper):
                record = decode_table(raw)
                for partition in record.partitions:
                    said, counted = _state(engine, partition)
                    found[partition.group][name] = counted
                    if said != counted:
                        problems.append(
                            f"{name}, group {partition.group}: rows are {counted}, state {said}"
                        )
        finally:
            engine.close()
            directory.close()
    for group, by_node in found.items():
        if len(by_node) != len(directories) or len(set(by_node.values())) != 1:
            problems.append(f"the replicas of group {group} differ: {by_node}")
    return sum(map(len, found.values())), problems


def _state(engine: RocksEngine, partition: Partition) -> tuple[str, str]:
    """What the replica's state says of its rows, and what they are; the latter with a hash of their bytes."""
    raw = engine.get(Family.RAFT, state_key(partition.group))
    assert raw is not None, f"group {partition.group} has no state"
    state = decode_state(raw)
    sums = Sums(EMPTY_STATE)
    rows = blake2b(digest_size=8)
    lower = token_bound(partition.table, partition.start)
    for key, value in engine.scan(
        Family.ITEM, lower, token_bound(partition.table, partition.last + 1)
    ):
        sums.replace(None, Row(Family.ITEM, key, value))
        rows.update(key + value)
    said = f"index {state.index}, {state.item_count} items, {state.item_bytes} bytes, {state.checksum:x}"
    counted = (
        f"index {state.index}, {sums.item_count} items, {sums.item_bytes} bytes, {sums.checksum:x}"
    )
    tail = f", {rows.hexdigest()}"
    return said + tail, counted + tail
