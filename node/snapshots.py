"""A replica too far behind for the log: its leader sends it all rows of the group, as of one moment.

Rows go in requests of bounded size, each answered before the next is sent, so a snapshot takes its turn between other work. The
moment is that of the first request: scans show it to their end.

To take a snapshot is to throw away what the replica had, so before the first row goes a mark is written and flushed. A replica
with the mark is incomplete: it is not opened, and so neither votes nor answers. Asked to append, it says that it has
nothing, until a snapshot has come to its end. Its term and vote are in the mark, and outlive it.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator

import msgspec

from gramme.commands import SnapshotRows
from gramme.errors import Unavailable
from gramme.node.aside import Aside
from gramme.node.engine.api import Engine, Family, RangeDelete, Row
from gramme.node.engine.keyspace import (
    ReplicaSettings,
    group_range,
    incomplete_key,
    log_hard_state_key,
    log_position_key,
    log_range,
    token_bound,
)
from gramme.node.group_log import Position, first_log_rows
from gramme.node.raft.core import Raft
from gramme.node.raft.messages import HardState, ReplicaId, Snapshot

# About a millisecond of writing.
REQUEST_BYTES = 256 << 10

Range = tuple[Family, bytes, bytes]


class Incomplete(msgspec.Struct, frozen=True, array_like=True):
    """The mark: whose replica it is, what must not be forgotten, and who else is in the group."""

    position: Position
    hard_state: HardState


def load_incomplete(engine: Engine, group: int) -> Incomplete | None:
    raw = engine.get(Family.RAFT, incomplete_key(group))
    return None if raw is None else msgspec.msgpack.decode(raw, type=Incomplete)


def table_ranges(settings: ReplicaSettings) -> list[Range]:
    """Where the rows of a table's or an index's group are, those of its log aside."""
    table = settings.table
    index = None if settings.index is None else table.index(settings.index)
    table_ids = [(Family.ITEM, table.id if index is None else index.id)]
    table_ids.append((Family.DEDUPE, table_ids[0][1]))
    if index is None:
        table_ids += [(Family.LSI, local.id) for local in table.local_indexes]
    tokens = settings.start, settings.last + 1
    ranges: list[Range] = [
        (family, token_bound(id, tokens[0]), token_bound(id, tokens[1])) for family, id in table_ids
    ]
    lower, _ = group_range(settings.group)
    return [
        *ranges,
        (Family.CHANGE, *log_range(settings.log_id)),
        # State, settings and what readers have there; the log's own rows come after these.
        (Family.RAFT, lower, log_position_key(settings.group)),
    ]


async def ship(
    engine: Engine,
    ranges: list[Range],
    raft: Raft,
    nodes: dict[int, int],
    ask: Callable[[SnapshotRows], Awaitable[object]],
) -> Snapshot:
    """Send what is applied now. `nodes` says where the members are. Raises SeamError if it did not get there whole."""
    snapshot = raft.snapshot()
    described = msgspec.msgpack.encode(snapshot)
    scans = [(family, engine.scan(family, lower, upper)) for family, lower, upper in ranges]
    term = raft.term
    for number, (rows, last) in enumerate(_portions(scans)):
        await ask(SnapshotRows(term, described, number, rows, last, nodes))
    return snapshot


Rows = list[tuple[int, bytes, bytes]]


def _portions(
    scans: list[tuple[Family, Iterator[tuple[bytes, bytes]]]],
) -> Iterator[tuple[Rows, bool]]:
    rows: Rows = []
    size = 0
    for family, scan in scans:
        for key, value in scan:
            rows.append((family, key, value))
            size += len(key) + len(value)
            if size >= REQUEST_BYTES:
                yield rows, False
                rows, size = [], 0
    yield rows, True


class Receiving:
    """A snapshot on its way into the place of one replica, which must have been closed. Its rows are in `ranges`.

    `disk_failed` is told of a write or a flush that failed, and does not come back in a real process.
    """

    def __init__(
        self,
        engine: Engine,
        group: int,
        ranges: list[Range],
        mark: Incomplete,
        disk_failed: Callable[[Exception], None],
    ) -> None:
        self._aside = Aside(engine, disk_failed)
        self._group = group
        self._ranges = ranges
        self._mark = mark
        self._described = b""
        self._next = 0

    async def take(self, portion: SnapshotRows) -> bool:
        """Returns whether the replica is whole. Raises Unavailable if this is not what was to come next."""
        if portion.number == 0:
            await self._begin(portion)
        elif portion.number != self._next or portion.snapshot != self._described:
            raise Unavailable("this is no portion of the snapshot that is being taken")
        self._next = portion.number + 1
        await self._aside.write(
            [Row(Family(family), key, value) for family, key, value in portion.rows]
        )
        if portion.last:
            await self._end(portion)
        return portion.last

    async def _begin(self, portion: SnapshotRows) -> None:
        self._described = portion.snapshot
        key = incomplete_key(self._group)
        await self._aside.write([Row(Family.RAFT, key, msgspec.msgpack.encode(self._mark))])
        await self._aside.flush()
        await self._aside.write([RangeDelete(*range) for range in self._ranges])

    async def _end(self, portion: SnapshotRows) -> None:
        snapshot = msgspec.msgpack.decode(portion.snapshot, type=Snapshot)
        group, mark = self._group, self._mark
        position = msgspec.structs.replace(
            mark.position,
            index=snapshot.index,
            term=snapshot.term,
            configuration=snapshot.configuration,
            nodes=mark.position.nodes | portion.nodes,
        )
        held = mark.hard_state
        later = portion.term > held.term
        hard_state = HardState(
            max(held.term, portion.term), ReplicaId(0) if later else held.vote, snapshot.index
        )
        lower, upper = log_position_key(group), group_range(group)[1]
        await self._aside.write(
            [
                # The log, and the mark.
                RangeDelete(Family.RAFT, lower, upper),
                *first_log_rows(group, position),
                Row(Family.RAFT, log_hard_state_key(group), msgspec.msgpack.encode(hard_state)),
            ]
        )
        await self._aside.flush()
