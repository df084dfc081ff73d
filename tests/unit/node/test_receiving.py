"""A snapshot that cannot be written ends the process, as any other failed write does."""

from __future__ import annotations

from collections.abc import Callable

import msgspec
import pytest

from gramme.commands import SnapshotRows
from gramme.node.engine.keyspace import ReplicaSettings
from gramme.node.engine.memory import MemoryEngine
from gramme.node.group_log import Position
from gramme.node.raft.messages import Configuration, HardState, ReplicaId, Snapshot
from gramme.node.snapshots import Incomplete, Receiving, load_incomplete, table_ranges
from gramme.partitions import TOKEN_SPACE
from tests.unit.node.fixtures import PLAIN

SETTINGS = ReplicaSettings(10, PLAIN, None, 0, TOKEN_SPACE - 1, log_id=10)
ONLY = ReplicaId(1)
MEMBERS = Configuration((ONLY,))
MARK = Incomplete(Position(ONLY, 0, 0, MEMBERS, {1: 1}), HardState(3, ONLY, 0))
WHOLE = SnapshotRows(3, msgspec.msgpack.encode(Snapshot(7, 3, MEMBERS)), 0, [], True)


def a_receiving(engine: MemoryEngine, disk_failed: Callable[[Exception], None]) -> Receiving:
    return Receiving(engine, SETTINGS.group, table_ranges(SETTINGS), MARK, disk_failed)


class FailingFlush(MemoryEngine):
    async def flush(self) -> None:
        raise OSError("No space left on device")


async def test_failed_flush_is_told_of_and_leaves_the_replica_incomplete() -> None:
    engine = FailingFlush()
    failures: list[str] = []
    receiving = a_receiving(engine, lambda error: failures.append(str(error)))

    with pytest.raises(OSError, match="No space left"):
        await receiving.take(WHOLE)

    assert failures == ["No space left on device"]
    assert load_incomplete(engine, SETTINGS.group) == MARK


async def test_snapshot_that_came_whole_leaves_no_mark() -> None:
    engine = MemoryEngine()
    failures: list[Exception] = []

    assert await a_receiving(engine, failures.append).take(WHOLE)

    assert load_incomplete(engine, SETTINGS.group) is None
    assert not failures
