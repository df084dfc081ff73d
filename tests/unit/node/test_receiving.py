"""A snapshot on its way: one that cannot be written ends the process, and one that comes to nothing is followed by another."""

from __future__ import annotations

from collections.abc import Callable

import msgspec
import pytest

from gramme.commands import SnapshotRows
from gramme.node.consensus import Consensus
from gramme.node.engine.api import Family, Row
from gramme.node.engine.keyspace import ReplicaSettings, incomplete_key
from gramme.node.engine.memory import MemoryEngine
from gramme.node.group_log import Position
from gramme.node.raft.messages import (
    AppendEntries,
    AppendResponse,
    Configuration,
    HardState,
    Message,
    ReplicaId,
    Snapshot,
)
from gramme.node.snapshot_exchange import SnapshotExchange
from gramme.node.snapshots import Incomplete, Range, Receiving, load_incomplete, table_ranges
from gramme.node.space import Room
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


class Parts:
    """A node with nothing but the mark of one replica."""

    def __init__(self) -> None:
        self.engine = MemoryEngine()
        mark = msgspec.msgpack.encode(MARK)
        self.engine.write([Row(Family.RAFT, incomplete_key(SETTINGS.group), mark)])
        self.room = Room()
        self.said: list[Message] = []
        self.exchange = SnapshotExchange(self.engine, self, self, self)  # type: ignore[arg-type]
        assert self.exchange.is_incomplete(SETTINGS.group)

    def disk_failed(self, error: Exception) -> None:
        raise error

    async def pass_is_over(self) -> None:
        pass

    def send(self, node: int, group: int, message: Message) -> None:
        self.said.append(message)

    def log_of(self, group: int) -> Consensus | None:
        return None

    def ranges_of(self, group: int) -> list[Range]:
        return table_ranges(SETTINGS)


async def test_leader_that_follows_one_that_began_to_ship_is_told_that_there_is_nothing() -> None:
    made = Parts()
    first = msgspec.structs.replace(WHOLE, last=False)
    await made.exchange.take(SETTINGS.group, first)

    made.exchange.heard(2, SETTINGS.group, AppendEntries(ReplicaId(2), ONLY, 4, 9, 3, 9, []))

    assert made.said == [AppendResponse(ONLY, ReplicaId(2), 4, 9, True)]
