"""The replicas of tables and indexes that a node has: those that meta's records place here, and no others.

A replica is made here in one of two ways. One that a group is founded with gets the first rows that came with the table, once,
and begins with an empty log. One that takes the place of a replica that is gone has nothing to begin with: it is marked as
incomplete until the group's leader has sent it a snapshot. Nothing that a node is told by others makes a replica.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field

import msgspec

from gramme.clock import Clock
from gramme.errors import Unavailable
from gramme.model.table import TableRecord
from gramme.node.commit import CommitLoop
from gramme.node.consensus import Consensus, Send
from gramme.node.engine.api import Engine, Family, Operation, Row
from gramme.node.engine.keyspace import (
    ReplicaSettings,
    decode_settings,
    incomplete_key,
    settings_key,
)
from gramme.node.feeds import Feeding
from gramme.node.founding import Rows, last_log_rows
from gramme.node.group_log import Position, first_log_rows, first_position, load_position
from gramme.node.hosted import Hosted
from gramme.node.members import Members
from gramme.node.open_replica import open_replica
from gramme.node.raft.election import Draw
from gramme.node.raft.messages import NOBODY, Configuration, HardState, InstallSnapshot, ReplicaId
from gramme.node.snapshots import Incomplete
from gramme.node.table_records import first_rows_of, settings_of

# A replica that is to lead a new group asks for votes as often as this, while the others are still being made.
FIRST_CAMPAIGNS = 20


@dataclass(slots=True)
class _Opening:
    """A group whose first leader is to be this node's replica."""

    consensus: Consensus
    campaigns: int = field(default=FIRST_CAMPAIGNS)


@dataclass(frozen=True, slots=True)
class Ground:
    """What every log of a node stands on. `logs` has all of them, by their groups."""

    engine: Engine
    commits: CommitLoop
    send: Send
    draw: Draw
    logs: dict[int, Consensus]

    def open_log(self, group: int) -> Consensus:
        position = load_position(self.engine, group)
        assert position is not None, f"group {group} has lost its position"
        log = self.logs[group] = Consensus(
            self.engine, self.commits, group, position, self.send, self.draw
        )
        return log

    def close_log(self, group: int) -> None:
        self.logs.pop(group).close(Unavailable(f"group {group} is not here any more"))


class Hosting:
    """`records` gives what meta knows of tables. `follow` is called when that may have changed."""

    def __init__(
        self,
        ground: Ground,
        clock: Clock,
        members: Members,
        records: Callable[[], Iterable[TableRecord]],
        is_incomplete: Callable[[int], bool],
        ship: Callable[[Consensus, ReplicaId], None],
    ) -> None:
        self._ground = ground
        self._engine = ground.engine
        self._clock = clock
        self._members = members
        self._records = records
        self._is_incomplete = is_incomplete
        self._ship = ship
        # There before anything is followed.
        self.feeding: Feeding | None = None
        # By their groups.
        self.hosted: dict[int, Hosted] = {}
        self._opening: dict[int, _Opening] = {}
        # Groups whose first rows are being written here.
        self._founding: dict[int, Position] = {}

    def tick(self) -> None:
        """See to it that new groups soon have leaders."""
        for group, opening in list(self._opening.items()):
            opening.campaigns -= 1
            if opening.consensus.raft.leader != NOBODY or not opening.campaigns:
                del self._opening[group]
            else:
                opening.consensus.raft.campaign()
                opening.consensus.pump()

    def follow(self) -> None:
        """Have the replicas that meta places here, and no others."""
        if self.feeding is None:
            return
        wanted = {group: record for record in self._records() for group in record.placement}
        for group in [group for group in self.hosted if group not in wanted]:
            self._remove(group)
        founding: list[Operation] = []
        for group in [group for group in self._founding if group not in wanted]:
            del self._founding[group]
            founding += last_log_rows(group)
        for group, record in wanted.items():
            hosted = self.hosted.get(group)
            if hosted is None:
                founding += self._host(record, group)
            else:
                hosted.follow(record)
        if founding:
            # By the commit loop, for which a stall of the engine is no more than a reason to wait.
            self._ground.commits.enlist(Rows(founding, self.follow))

    def host(self, group: int) -> None:
        """Open the replica of a group by its rows."""
        found = self._record_of(group)
        if found is not None and group not in self.hosted:
            self._host(found[0], group)

    def set_aside(self, group: int) -> None:
        """Close the replica of a group."""
        if group in self.hosted:
            self._remove(group)

    def settings_of(self, group: int) -> ReplicaSettings | None:
        """None if meta knows of no such group."""
        hosted = self.hosted.get(group)
        if hosted is not None:
            return hosted.replica.settings
        found = self._record_of(group)
        if found is None:
            return None
        raw = self._engine.get(Family.RAFT, settings_key(group))
        return found[1] if raw is None else decode_settings(raw)

    def placement(self, group: int) -> dict[int, int] | None:
        """The node of each replica of a group. None if meta knows of no such group."""
        hosted = self.hosted.get(group)
        if hosted is not None:
            return hosted.record.placement[group]
        return next(
            (record.placement[group] for record in self._records() if group in record.placement),
            None,
        )

    def _record_of(self, group: int) -> tuple[TableRecord, ReplicaSettings] | None:
        for record in self._records():
            if group in record.placement:
                return record, next(one for one in settings_of(record) if one.group == group)
        return None

    def _host(self, record: TableRecord, group: int) -> Sequence[Operation]:
        """Open a replica of this node, if there is to be one; or give its first rows, to be written before that."""
        if self._is_incomplete(group):
            self._founding.pop(group, None)
            return ()
        if load_position(self._engine, group) is None:
            return () if group in self._founding else self._first_rows(record, group)
        consensus = self._open(record, group)
        founded = self._founding.pop(group, None)
        if founded is not None and next(iter(founded.nodes.values())) == self._members.number:
            self._opening[group] = _Opening(consensus)
        return ()

    def _first_rows(self, record: TableRecord, group: int) -> Sequence[Operation]:
        here, placed = self._members.number, record.placement[group]
        replica = next((replica for replica, node in placed.items() if node == here), 0)
        if not replica or self._members.is_gone(replica, here):
            return ()
        founders = record.founders.get(group, placed)
        if replica in founders:
            position = self._founding[group] = first_position(ReplicaId(replica), founders)
            rows = first_log_rows(group, position)
            if self._engine.get(Family.RAFT, settings_key(group)) is None:
                # They were in the entry that made the table, of which a snapshot of meta has only the record.
                rows = [*first_rows_of(record, group), *rows]
            return rows
        # Its leader knows by its own log who is in the group.
        position = self._founding[group] = Position(
            ReplicaId(replica), 0, 0, Configuration(()), placed
        )
        mark = msgspec.msgpack.encode(Incomplete(position, HardState()))
        return [Row(Family.RAFT, incomplete_key(group), mark)]

    def _remove(self, group: int) -> None:
        """Take no part in a group any more."""
        self.hosted.pop(group).stop()
        self._ground.close_log(group)
        self._opening.pop(group, None)

    def _open(self, record: TableRecord, group: int) -> Consensus:
        assert self.feeding is not None
        consensus = self._ground.open_log(group)
        replica = open_replica(self._engine, consensus, self._clock, group, replicated=True)
        consensus.machine = replica
        hosted = self.hosted[group] = Hosted(replica, consensus, record, self.feeding)
        consensus.on_leader = hosted.follow_leadership

        def ship(due: InstallSnapshot) -> None:
            self._ship(consensus, ReplicaId(due.to))

        consensus.on_snapshot_due = ship
        return consensus
