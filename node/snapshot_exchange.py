"""A node's snapshots: those it ships as a leader, and those it takes into the place of its own replicas."""

from __future__ import annotations

import asyncio
import logging
from typing import Protocol

import msgspec

from gramme.commands import SnapshotRows
from gramme.errors import GrammeError, SeamError, Unavailable
from gramme.node.commit import CommitLoop
from gramme.node.consensus import Consensus
from gramme.node.engine.api import Engine
from gramme.node.raft.messages import (
    AppendEntries,
    AppendResponse,
    HardState,
    Heartbeat,
    HeartbeatResponse,
    Message,
    ReplicaId,
    Snapshot,
)
from gramme.node.snapshots import Incomplete, Range, Receiving, load_incomplete, ship
from gramme.node.table_records import FIRST_EPOCH
from gramme.node.transport import Transport

log = logging.getLogger(__name__)

# A new node needs one for each of its groups.
SHIPPED_AT_ONCE = 4
# After a snapshot that did not get there.
RETRY_S = 1.0


class Replicas(Protocol):
    """The node, as this module sees it."""

    def log_of(self, group: int) -> Consensus | None: ...

    def ranges_of(self, group: int) -> list[Range] | None:
        """Where a group's rows are. None if there is no such group."""
        ...

    def set_aside(self, group: int) -> None:
        """Close the replica of a group."""
        ...

    def host(self, group: int) -> None:
        """Open the replica of a group by its rows."""
        ...


class SnapshotExchange:
    def __init__(
        self, engine: Engine, commits: CommitLoop, transport: Transport, replicas: Replicas
    ) -> None:
        self._engine = engine
        self._commits = commits
        self._transport = transport
        self._replicas = replicas
        self._incomplete: dict[int, Incomplete] = {}
        self._receiving: dict[int, Receiving] = {}
        self._locks: dict[int, asyncio.Lock] = {}
        self._shipping: set[tuple[int, int]] = set()
        self._turns = asyncio.Semaphore(SHIPPED_AT_ONCE)
        # There before anything is shipped.
        self.tasks: asyncio.TaskGroup | None = None

    # Shipping

    def ship(self, consensus: Consensus, replica: ReplicaId) -> None:
        """Send a replica that is too far behind all that there is, once at a time."""
        assert self.tasks is not None
        key = consensus.group, replica
        if key not in self._shipping:
            self._shipping.add(key)
            self.tasks.create_task(self._ship(consensus, replica))

    async def _ship(self, consensus: Consensus, replica: ReplicaId) -> None:
        group = consensus.group
        try:
            async with self._turns:
                snapshot = await self._ship_rows(consensus, replica)
        except (SeamError, GrammeError) as error:
            log.warning("group %d: no snapshot for replica %d: %s", group, replica, error)
            await asyncio.sleep(RETRY_S)
            consensus.raft.snapshot_failed(replica)
        else:
            consensus.raft.snapshot_sent(replica, snapshot.index)
        finally:
            self._shipping.discard((group, replica))
        consensus.pump()

    async def _ship_rows(self, consensus: Consensus, replica: ReplicaId) -> Snapshot:
        group, node = consensus.group, consensus.node_of(replica)
        ranges = self._replicas.ranges_of(group)
        if not node or ranges is None:
            raise Unavailable(f"where replica {replica} is will be known when it is applied")
        calls = self._transport.calls(node)
        return await ship(
            self._engine,
            ranges,
            consensus.raft,
            consensus.position.nodes,
            lambda rows: calls.ask(group, FIRST_EPOCH, True, rows),
        )

    # Taking

    def is_incomplete(self, group: int) -> bool:
        """Whether a replica has not got all of a snapshot, and must not be opened."""
        mark = self._incomplete.get(group) or load_incomplete(self._engine, group)
        if mark is None:
            return False
        self._incomplete[group] = mark
        return True

    async def take(self, group: int, portion: SnapshotRows) -> None:
        async with self._locks.setdefault(group, asyncio.Lock()):
            ranges = self._replicas.ranges_of(group)
            if ranges is None:
                raise Unavailable(f"group {group} is not known here")
            room = self._commits.room
            if room.is_low:
                raise Unavailable("the disk of this node is nearly full")
            room.take(sum(len(key) + len(value) for _, key, value in portion.rows))
            if portion.number == 0:
                mark = self._make_room(group, portion)
                # What the replica had collected before it was closed must not be written after its rows are gone.
                await self._commits.pass_is_over()
                self._receiving[group] = Receiving(
                    self._engine, group, ranges, mark, self._commits.disk_failed
                )
            receiving = self._receiving.get(group)
            if receiving is None:
                raise Unavailable("the beginning of this snapshot is not here")
            if await receiving.take(portion):
                del self._receiving[group], self._incomplete[group]
                self._replicas.host(group)

    def _make_room(self, group: int, portion: SnapshotRows) -> Incomplete:
        """Close the replica that is to be replaced. Raises Unavailable if it has what the snapshot has."""
        consensus = self._replicas.log_of(group)
        if consensus is not None:
            snapshot = msgspec.msgpack.decode(portion.snapshot, type=Snapshot)
            raft = consensus.raft
            if (
                portion.term < raft.term
                or snapshot.index <= raft.log.committed
                or raft.log.matches(snapshot.index, snapshot.term)
            ):
                raise Unavailable("the replica is further than this snapshot")
            hard_state = HardState(raft.term, raft.vote, 0)
            self._incomplete[group] = Incomplete(consensus.position, hard_state)
            self._replicas.set_aside(group)
        mark = self._incomplete.get(group)
        if mark is None:
            raise Unavailable(f"group {group} is not here")
        return mark

    def heard(self, node: int, group: int, message: Message) -> None:
        """Answer for an incomplete replica: it lives, and has nothing, so that it is sent a snapshot."""
        mark = self._incomplete.get(group)
        if (
            mark is None
            or message.to != mark.position.replica
            or message.term < mark.hard_state.term
        ):
            return
        match message:
            case Heartbeat():
                # Of no round: it confirms no read.
                lives = HeartbeatResponse(message.to, message.sender, message.term, 0)
                self._transport.send(node, group, lives)
            case AppendEntries():
                # Whoever ships a snapshot sends no appends. So this is another leader, or the snapshot came to nothing.
                nothing = AppendResponse(
                    message.to, message.sender, message.term, message.previous_index, True
                )
                self._transport.send(node, group, nothing)
