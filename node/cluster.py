"""One node of a cluster: its replicas, its copy of meta, and what other nodes and routers ask of it.

Every member of the cluster has a replica of meta, group 0, and so learns of tables by applying meta's log. A table that names
this node in its placement has its replicas made here, once: with their first rows, by which they are opened from then on.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from gramme.clock import Clock
from gramme.codec.exchange import News
from gramme.codec.frame import Answer, Request
from gramme.codec.status import NodeStatus
from gramme.commands import (
    Administration,
    AlterTable,
    CreateTable,
    Delete,
    DeleteTable,
    Get,
    GetFeed,
    GetTotals,
    IndexWrite,
    Put,
    Query,
    Result,
    Scan,
    SnapshotRows,
    Update,
    WriteAll,
)
from gramme.drive import drive
from gramme.errors import (
    GrammeError,
    InternalServerError,
    NotLeader,
    OutcomeUnknown,
    SeamError,
    StalePartition,
    StaleSource,
    Unavailable,
    ValidationError,
)
from gramme.links.api import Refused
from gramme.model.table import Table, TableRecord
from gramme.node.apply import sum_totals
from gramme.node.commit import CommitLoop
from gramme.node.consensus import Consensus
from gramme.node.engine.api import Engine, Family, Operation, Row
from gramme.node.engine.keyspace import (
    ReplicaSettings,
    decode_settings,
    decode_state,
    node_key,
    settings_key,
    state_key,
)
from gramme.node.feeds import Feeding
from gramme.node.founding import Rows, first_meta_rows, last_log_rows
from gramme.node.group_log import Position, first_log_rows, first_position, load_position
from gramme.node.hosted import Hosted
from gramme.node.index_driver import IndexDriver
from gramme.node.meta import FIRST_EPOCH, META_GROUP, Meta, settings_of
from gramme.node.pauses import tidy_in_pauses
from gramme.node.raft.election import Draw
from gramme.node.raft.messages import NOBODY, Message, ReplicaId
from gramme.node.replica import Replica
from gramme.node.snapshot_exchange import SnapshotExchange
from gramme.node.status import node_status
from gramme.node.transport import Transport

log = logging.getLogger(__name__)

TICK_S = 0.1
# So often the heartbeats of all groups are sent at once. From then on they are due at once, and share their frames.
ALIGN_TICKS = 30
# Of a new table: more than any router asks for.
PARTITIONS_MAX = 1_024
# How often an index's rows are offered to another replica of a group whose leader is not known.
RETRY_S = 0.05
# A replica that is to lead a new group asks for votes as often as this, while the others are still being made.
FIRST_CAMPAIGNS = 20


@dataclass(frozen=True, slots=True)
class ClusterSettings:
    """`members` are the numbers and addresses of the nodes the cluster began with, this one's included."""

    number: int
    members: Mapping[int, str]
    seed: bytes
    replication: int = 3
    index_delay_ms: int = 0


@dataclass(slots=True)
class _Opening:
    """A group whose first leader is to be this node's replica."""

    consensus: Consensus
    campaigns: int = field(default=FIRST_CAMPAIGNS)


class ClusterNode:
    """`run` must be running for anything else to make progress."""

    def __init__(
        self,
        engine: Engine,
        clock: Clock,
        settings: ClusterSettings,
        draw: Draw,
        on_failure: Callable[[str], None],
        log: Callable[[str], None],
    ) -> None:
        self._engine = engine
        self._clock = clock
        self._settings = settings
        self._draw = draw
        self._on_failure = on_failure
        self.transport = Transport(settings.number, self, log)
        self.transport.recognise = self.recognise
        self._commits = CommitLoop(engine, on_failure)
        if load_position(engine, META_GROUP) is None:
            self._engine.write(first_meta_rows(settings.number, sorted(settings.members)))
        self._meta_log = self._consensus(META_GROUP)
        members = sorted(settings.members)
        self._meta = Meta(engine, self._meta_log, members, settings.replication)
        self._meta_log.machine = self._meta
        self._commits.remover = self._meta_log
        self._meta.on_change = self._follow_tables
        self._logs: dict[int, Consensus] = {META_GROUP: self._meta_log}
        # The replicas of tables and indexes, by their groups.
        self.hosted: dict[int, Hosted] = {}
        self._opening: dict[int, _Opening] = {}
        self._snapshots = SnapshotExchange(engine, self._commits, self.transport, self)
        # Groups whose first rows are being written here.
        self._founding: dict[int, Position] = {}
        self._feeding: Feeding | None = None
        # Told when tables may have changed.
        self.on_news: Callable[[], None] = lambda: None

    async def run(self, ready: asyncio.Event) -> None:
        settings = self._settings
        async with asyncio.TaskGroup() as tasks:
            # All that the log shows must be on disk before it is spoken of.
            await self._engine.flush()
            self._feeding = Feeding(
                self._engine,
                self._clock,
                settings.seed,
                settings.index_delay_ms,
                tasks,
                self._send_index,
                asyncio.Lock(),
            )
            self._snapshots.tasks = tasks
            self._follow_tables()
            tasks.create_task(self._commits.run())
            tasks.create_task(self._tick())
            driver = IndexDriver(self._meta, lambda: self.leads_meta, self._ask_leader)
            tasks.create_task(driver.run())
            tasks.create_task(tidy_in_pauses(self._engine, self._commits, self._on_failure))
            ready.set()
            try:
                await asyncio.Event().wait()
            finally:
                # Who waits for a round waits for it to the end, even when cancelled.
                for log in self._logs.values():
                    log.close(Unavailable("the node is ending"))

    async def _tick(self) -> None:
        ticks = 0
        while True:
            await asyncio.sleep(TICK_S)
            ticks += 1
            for log in list(self._logs.values()):
                if not ticks % ALIGN_TICKS:
                    log.raft.heartbeat()
                log.tick()
            for group, opening in list(self._opening.items()):
                opening.campaigns -= 1
                if opening.consensus.raft.leader != NOBODY or not opening.campaigns:
                    del self._opening[group]
                else:
                    opening.consensus.raft.campaign()
                    opening.consensus.pump()

    def recognise(self, number: int, directory: str) -> None:
        """Whether another node is the one it was. Raises Refused.

        A node that has lost its disk has forgotten its votes and its part of the logs. Under its old number it would be
        taken for one that remembers, and what was acknowledged could be lost.
        """
        known = self._engine.get(Family.SYS, node_key(number))
        if known is None:
            self._engine.write([Row(Family.SYS, node_key(number), directory.encode())])
        elif known != directory.encode():
            raise Refused(
                f"node {number} was met with another data directory: a node that has lost its data "
                "cannot come back under its number"
            )

    # Tables

    @property
    def leads_meta(self) -> bool:
        return self._meta_log.serving

    def news(self) -> News:
        return News(
            self._meta.index,
            self._settings.seed,
            list(self._meta.records()),
            dict(self._settings.members),
        )

    def status(self, version: str, data_bytes: int) -> NodeStatus:
        """How this node is, for who runs the cluster."""
        number = self._settings.number
        return node_status(number, self._meta, self._logs.values(), version, data_bytes)

    async def administer(self, command: Administration) -> Table:
        """Raises NotLeader where meta is not led from here."""
        async with self._meta.lock:
            if not self.leads_meta:
                raise NotLeader(self._meta_log.leader_node)
            try:
                return await self._administer(command)
            except GrammeError:
                # It tells of tables as they are known here. Whoever leads no more may not know of it.
                await self._meta_log.confirm()
                raise

    async def _administer(self, command: Administration) -> Table:
        match command:
            case CreateTable():
                if not 1 <= command.partitions <= PARTITIONS_MAX:
                    raise ValidationError(f"partitions must be from 1 to {PARTITIONS_MAX}")
                return (await self._meta.create(command)).table
            case AlterTable():
                return (await self._meta.alter(command)).table
            case DeleteTable():
                record = self._meta.find(command)
                await self._meta.delete(record).flushed
                return record.table

    def _follow_tables(self) -> None:
        """Have the replicas that meta places here, and no others."""
        if self._feeding is None:
            return
        wanted: dict[int, tuple[TableRecord, ReplicaSettings]] = {
            settings.group: (record, settings)
            for record in self._meta.records()
            for settings in settings_of(record)
        }
        for group in [group for group in self.hosted if group not in wanted]:
            self._remove(group)
        founding: list[Operation] = []
        for group in [group for group in self._founding if group not in wanted]:
            del self._founding[group]
            founding += last_log_rows(group)
        for group, (record, settings) in wanted.items():
            hosted = self.hosted.get(group)
            if hosted is None:
                founding += self._host(record, settings)
            else:
                hosted.follow(record)
        if founding:
            # By the commit loop, for which a stall of the engine is no more than a reason to wait.
            self._commits.enlist(Rows(founding, self._follow_tables))
        self.on_news()

    def _host(self, record: TableRecord, named: ReplicaSettings) -> Sequence[Operation]:
        """Open a replica of this node, if there is to be one; or give its first rows, to be written before that."""
        group = named.group
        if self._snapshots.is_incomplete(group):
            return ()
        if load_position(self._engine, group) is None:
            position = first_position(self._settings.number, record.placement[group])
            if position is None or group in self._founding:
                return ()
            self._founding[group] = position
            return first_log_rows(group, position)
        consensus = self._open(record, group)
        founded = self._founding.pop(group, None)
        if founded is not None and next(iter(founded.nodes.values())) == self._settings.number:
            self._opening[group] = _Opening(consensus)
        return ()

    def _remove(self, group: int) -> None:
        """Take no part in a group any more."""
        self.hosted.pop(group).stop()
        self._logs.pop(group).close(Unavailable(f"group {group} is not here any more"))
        self._opening.pop(group, None)

    def _open(self, record: TableRecord, group: int) -> Consensus:
        assert self._feeding is not None
        raw = self._engine.get(Family.RAFT, settings_key(group))
        state = self._engine.get(Family.RAFT, state_key(group))
        assert raw is not None and state is not None, f"group {group} has lost its rows"
        settings = decode_settings(raw)
        consensus = self._logs[group] = self._consensus(group)
        replica = Replica(
            self._engine, consensus, self._clock, settings, decode_state(state), replicated=True
        )
        replica.watched = settings.index is None and bool(settings.table.indexes)
        consensus.machine = replica
        hosted = self.hosted[group] = Hosted(replica, consensus, record, self._feeding)
        consensus.on_leader = hosted.follow_leadership
        consensus.on_snapshot_due = lambda due: self._snapshots.ship(hosted, due.to)
        return consensus

    def _consensus(self, group: int) -> Consensus:
        position = load_position(self._engine, group)
        assert position is not None, f"group {group} has lost its position"
        return Consensus(
            self._engine, self._commits, group, position, self.transport.send, self._draw
        )

    # What routers and other nodes ask

    def asked(self, request: Request, answer: Callable[[Answer], None]) -> None:
        """Answer a request, whatever is in it."""
        drive(self._perform(request), _finish, (request.number, answer))

    # Replicas that are replaced by snapshots

    def set_aside(self, group: int) -> None:
        if group in self.hosted:
            self._remove(group)

    def host(self, group: int) -> None:
        found = self.settings_of(group)
        if found is not None and group not in self.hosted:
            self._host(*found)

    def settings_of(self, group: int) -> tuple[TableRecord, ReplicaSettings] | None:
        for record in self._meta.records():
            for settings in settings_of(record):
                if settings.group == group:
                    raw = self._engine.get(Family.RAFT, settings_key(group))
                    return record, settings if raw is None else decode_settings(raw)
        return None

    def log_of(self, group: int) -> Consensus | None:
        return self._logs.get(group)

    async def _perform(self, request: Request) -> Result:
        if self._feeding is None:
            raise Unavailable("the node is starting")
        if isinstance(request.command, SnapshotRows):
            await self._snapshots.take(request.group, request.command)
            return None
        hosted = self.hosted.get(request.group)
        if hosted is None:
            raise Unavailable(f"group {request.group} is not here")
        epoch = hosted.replica.flushed_state.epoch
        if request.epoch != epoch:
            raise StalePartition(epoch)
        replica, command = hosted.replica, request.command
        if not request.strong and hosted.consensus.raft.leader == NOBODY:
            # It may lag by any time: others know more.
            raise Unavailable(f"the replica of group {request.group} hears no leader")
        match command:
            case Get():
                return await replica.get(command)
            case Put() | Update() | Delete() | WriteAll() if replica.settings.index is not None:
                # Its rows come from the changes of its table, with their versions.
                raise InternalServerError
            case Put() | Update() | Delete():
                return await replica.write(command, request.id)
            case Query():
                return await replica.query(command)
            case Scan():
                return await replica.scan(command)
            case WriteAll():
                return await hosted.write_all(command, request.id)
            case GetTotals():
                return sum_totals([replica.flushed_state])
            case IndexWrite() | GetFeed():
                return await hosted.answer_node(command)

    # What other nodes say

    def heard(self, node: int, messages: list[tuple[int, Message]]) -> None:
        if self._feeding is None:
            # What was found on disk is not known to be flushed, and must not be spoken of.
            return
        stirred: dict[int, Consensus] = {}
        for group, message in messages:
            log = self._logs.get(group)
            if log is not None:
                log.hear(node, message)
                stirred[group] = log
            elif log is None:
                self._snapshots.asked_to_append(node, group, message)
        for log in stirred.values():
            log.pump()

    def lost(self, node: int) -> None:
        for log in self._logs.values():
            for replica, kept_on in log.position.nodes.items():
                if kept_on == node:
                    log.raft.unreachable(ReplicaId(replica))

    async def _send_index(self, group: int, write: IndexWrite) -> None:
        """Returns when the rows are durable, or their index is gone."""
        await self._ask_leader(group, write)

    async def _ask_leader(self, group: int, command: IndexWrite | GetFeed) -> Result:
        """Ask the leader of a group, whoever that is and whenever there is one. Returns None if the group is gone.

        Raises StaleSource. Whatever else is refused may be granted later, or by another node.
        """
        while (placed := self._placement(group)) is not None:
            hosted = self.hosted.get(group)
            here = self._settings.number
            nodes = (
                [here] if hosted is not None and hosted.consensus.serving else [*placed.values()]
            )
            for node in nodes:
                try:
                    if node != here:
                        return await self._ask_node(node, group, command)
                    if hosted is not None:
                        return await hosted.answer_node(command)
                except StaleSource:
                    raise
                except (GrammeError, SeamError):
                    continue
            await asyncio.sleep(RETRY_S)
        return None

    async def _ask_node(self, node: int, group: int, command: IndexWrite | GetFeed) -> Result:
        answer: Result = await self.transport.calls(node).ask(group, FIRST_EPOCH, True, command)
        return answer

    def _placement(self, group: int) -> dict[int, int] | None:
        for record in self._meta.records():
            if group in record.placement:
                return record.placement[group]
        return None


def _finish(
    tag: tuple[int, Callable[[Answer], None]], result: Result, error: BaseException | None
) -> None:
    number, answer = tag
    if error is None:
        answer(Answer(number, result))
        return
    if not isinstance(error, (GrammeError, SeamError)):
        log.error("a request failed", exc_info=error)
        error = OutcomeUnknown("the node could not say what came of it")
    answer(Answer(number, None, error))
