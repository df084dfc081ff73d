"""The first rows of the replicas that a node has, and how they come to disk.

A group is founded once on each node that meta places it on; meta's own replicas are founded when a node starts for the first
time. The table's settings and the group's state come with meta's entry, the same on every node; the log's beginning is
the node's own.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from gramme.node.commit import Piece
from gramme.node.engine.api import Family, Operation, RangeDelete, Row
from gramme.node.engine.keyspace import (
    encode_state,
    group_range,
    state_key,
)
from gramme.node.group_log import first_log_rows, first_position
from gramme.node.meta import META_GROUP
from gramme.node.raft.messages import ReplicaId
from gramme.node.table_records import EMPTY_STATE


def first_meta_rows(number: int, members: Sequence[int]) -> list[Row]:
    nodes = {member: member for member in members}
    position = first_position(ReplicaId(number), nodes)
    state = Row(Family.RAFT, state_key(META_GROUP), encode_state(EMPTY_STATE))
    return [state, *first_log_rows(META_GROUP, position)]


def last_log_rows(group: int) -> list[Operation]:
    """What removes a group that was founded and is gone before it was opened."""
    return [RangeDelete(Family.RAFT, *group_range(group))]


class Rows:
    """Rows that the commit loop is to write once, among all else. `then` is called when they are written."""

    def __init__(self, operations: list[Operation], then: Callable[[], None]) -> None:
        self._operations = operations
        self._then = then

    def collect(self) -> Iterable[Piece]:
        return [(self._operations, 0)]

    def written(self) -> bool:
        self._then()
        return True

    def flushed(self) -> None:
        pass
