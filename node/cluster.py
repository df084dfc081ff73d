"""One node of a cluster: its replicas, its copy of meta, and what other nodes and routers ask of it.

Every member of the cluster has a replica of meta, group 0, and so learns of tables by applying meta's log. Which other replicas
this node has follows from that (`hosting.py`).
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from gramme.clock import Clock
from gramme.codec.frame import Answer, Request
from gramme.codec.join import Welcome
from gramme.codec.news import News
from gramme.codec.principals import PrincipalsCommand
from gramme.codec.status import NodeStatus
from gramme.commands import (
    Administration,
    Delete,
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
    OutcomeUnknown,
    SeamError,
    StalePartition,
    Unavailable,
)
from gramme.links.api import Refused
from gramme.model.principal import Holder
from gramme.model.table import Table
from gramme.node.administration import administer, administer_principals
from gramme.node.apply import sum_totals
from gramme.node.beat import beat
from gramme.node.commit import CommitLoop
from gramme.node.consensus import Consensus
from gramme.node.engine.api import Engine
from gramme.node.feeds import Feeding
from gramme.node.founding import first_meta_rows
from gramme.node.group_log import load_position
from gramme.node.hosted import Hosted
from gramme.node.hosting import Ground, Hosting
from gramme.node.joining import welcome
from gramme.node.leaders import Leaders
from gramme.node.leadership import Fitness, Leadership
from gramme.node.members import Members
from gramme.node.membership import Membership
from gramme.node.meta import META_GROUP, Meta, meta_ranges
from gramme.node.meta_copy import MetaCopy
from gramme.node.pauses import tidy_in_pauses
from gramme.node.principals import PrincipalNews
from gramme.node.raft.election import Draw
from gramme.node.raft.messages import NOBODY, Message, ReplicaId
from gramme.node.snapshot_exchange import SnapshotExchange
from gramme.node.snapshots import Range, table_ranges
from gramme.node.status import node_status
from gramme.node.table_driver import TableDriver
from gramme.node.table_news import NOTHING, TableNews
from gramme.node.transport import Transport

log = logging.getLogger(__name__)

TICK_S = 0.1
# So often the heartbeats of all groups are sent at once. From then on they are due at once, and share their frames.
ALIGN_TICKS = 30


@dataclass(frozen=True, slots=True)
class ClusterSettings:
    """`members` are the numbers and addresses of the cluster's nodes, this one's included. `directory` is its data's id."""

    number: int
    members: Mapping[int, str]
    seed: bytes
    directory: str
    replication: int = 3
    index_delay_ms: int = 0


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
        self._on_failure = on_failure
        self._note = log
        self._commits = CommitLoop(engine, on_failure)
        self.transport = Transport(settings.number, self, log)
        self.members = Members(
            engine,
            settings.number,
            settings.directory,
            settings.members,
            self._commits.disk_failed,
        )
        self.transport.recognise = self.members.recognise
        self._fitness = Fitness(self._commits)
        self.transport.may_lead = lambda: self._fitness.is_fit
        self._snapshots = SnapshotExchange(engine, self._commits, self.transport, self)
        self._logs: dict[int, Consensus] = {}
        ground = Ground(engine, self._commits, self.transport.send, draw, self._logs)
        numbers = sorted(settings.members)
        if load_position(engine, META_GROUP) is None and not self._is_incomplete(META_GROUP):
            engine.write(first_meta_rows(settings.number, numbers))
        self._copy = MetaCopy(ground, numbers, settings.replication, self._snapshots.ship)
        self._copy.on_change = self._follow_meta
        self._hosting = Hosting(
            ground,
            clock,
            self.members,
            lambda: self._meta.records(),
            self._is_incomplete,
            self._snapshots.ship,
        )
        if not self._is_incomplete(META_GROUP):
            self._copy.open()
        self._leaders = Leaders(settings.number, self.transport, self._hosting)
        self._driver = TableDriver(
            clock, lambda: self._meta, lambda: self.leads_meta, self._leaders.ask
        )
        self._table_news = TableNews()
        self._principal_news = PrincipalNews()
        # Told when tables or principals may have changed.
        self.on_news: Callable[[], None] = lambda: None

    async def run(self, ready: asyncio.Event) -> None:
        settings = self._settings
        async with asyncio.TaskGroup() as tasks:
            # All that the log shows must be on disk before it is spoken of.
            await self._engine.flush()
            self._hosting.feeding = Feeding(
                self._engine,
                self._clock,
                settings.seed,
                settings.index_delay_ms,
                tasks,
                self._leaders.send,
                self._driver.look_at,
                asyncio.Lock(),
            )
            self._snapshots.tasks = tasks
            self._follow_meta()
            tasks.create_task(self._commits.run())
            tasks.create_task(self._tick())
            tasks.create_task(self._driver.run())
            membership = Membership(
                self.members,
                lambda: self._meta,
                lambda: self.leads_meta,
                self._logs,
                self._hosting.placement,
                self._note,
            )
            tasks.create_task(membership.run())
            leadership = Leadership(
                settings.number,
                self._logs,
                self.transport,
                self._hosting.placement,
                lambda: self._fitness.is_fit,
            )
            tasks.create_task(leadership.run())
            tasks.create_task(tidy_in_pauses(self._engine, self._commits, self._on_failure))
            ready.set()
            try:
                await asyncio.Event().wait()
            finally:
                # Who waits for a round waits for it to the end, even when cancelled.
                for log in self._logs.values():
                    log.close(Unavailable("the node is ending"))

    async def _tick(self) -> None:
        loop, ticks = asyncio.get_running_loop(), 0
        while True:
            await beat(TICK_S)
            ticks += 1
            self._fitness.tick(loop.time())
            if self._fitness.changed:
                self._note(self._fitness.words)
            for log in list(self._logs.values()):
                if not ticks % ALIGN_TICKS:
                    log.beat()
                log.tick()
            self._hosting.tick()

    @property
    def hosted(self) -> Mapping[int, Hosted]:
        """The replicas of tables and indexes, by their groups."""
        return self._hosting.hosted

    @property
    def _running(self) -> bool:
        return self._hosting.feeding is not None

    def _follow_meta(self) -> None:
        """Meta may have changed."""
        self.transport.recognise_again()
        self._hosting.follow()
        self._driver.look()
        meta = self._meta
        self._table_news.update(meta.index, meta.records())
        self._principal_news.update(meta.index, meta.principals.all())
        self.on_news()

    # Tables

    @property
    def _meta(self) -> Meta:
        return self._copy.meta

    @property
    def leads_meta(self) -> bool:
        return self._copy.leads

    @property
    def knows_meta(self) -> bool:
        """Whether this node has a copy of meta, and so can tell routers of tables."""
        return self._copy.log is not None

    def news(self, since: int = NOTHING) -> News:
        """What has changed of meta since an index of its log."""
        records, gone, is_all = self._table_news.since(since)
        members = dict(self._settings.members)
        index, principals = self._table_news.index, self._principal_news.since(since)
        return News(index, self._settings.seed, records, members, gone, is_all, principals)

    def status(self, version: str, data_bytes: int) -> NodeStatus:
        """How this node is, for who runs the cluster."""
        number = self._settings.number
        return node_status(number, self._meta, self._logs.values(), version, data_bytes)

    async def administer(self, command: Administration) -> Table:
        """Raises NotLeader where meta is not led from here."""
        return await administer(self._copy, command)

    async def administer_principals(self, command: PrincipalsCommand) -> list[Holder]:
        """All there are once it is done. Raises NotLeader where meta is not led from here."""
        return await administer_principals(self._copy, command)

    # Nodes

    async def welcome(self, number: int, directory: str) -> Welcome:
        """Answer a node with an empty directory that asks whether it is known. Raises Refused and Unavailable."""
        answer = await welcome(self.members, number, directory)
        if answer.known or not self.leads_meta:
            return answer
        if self.transport.reaches(number):
            raise Refused(
                f"node {number} runs already, with another data directory: stop that one, or give this one "
                "a number of its own"
            )
        async with self._meta.lock:
            if self.leads_meta and self.members.directory_of(number) != directory:
                await self._meta.admit(number, directory)
        return await welcome(self.members, number, directory)

    # What routers and other nodes ask

    def asked(self, request: Request, answer: Callable[[Answer], None]) -> None:
        """Answer a request, whatever is in it."""
        drive(self._perform(request), _finish, (request.number, answer))

    # Replicas that are replaced by snapshots

    def set_aside(self, group: int) -> None:
        if group == META_GROUP:
            self._copy.close()
        else:
            self._hosting.set_aside(group)

    def host(self, group: int) -> None:
        if group == META_GROUP:
            self._copy.open()
            self._follow_meta()
        else:
            self._hosting.host(group)

    def ranges_of(self, group: int) -> list[Range] | None:
        if group == META_GROUP:
            return meta_ranges()
        settings = self._hosting.settings_of(group)
        return None if settings is None else table_ranges(settings)

    def log_of(self, group: int) -> Consensus | None:
        return self._logs.get(group)

    def _is_incomplete(self, group: int) -> bool:
        return self._snapshots.is_incomplete(group)

    async def _perform(self, request: Request) -> Result:
        if not self._running:
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
        if request.id and request.term != hosted.consensus.leading_term:
            raise hosted.consensus.not_leader()
        match command:
            case Get():
                return await replica.get(command)
            case Put() | Update() | Delete() | WriteAll() if replica.settings.index is not None:
                # Its rows come from the changes of its table, with their versions.
                raise InternalServerError
            case Put() | Update() | Delete():
                return await replica.write(command, request.id, first=request.first)
            case Query():
                return await replica.query(command)
            case Scan():
                return await replica.scan(command)
            case WriteAll():
                return await hosted.write_all(command, request.id, first=request.first)
            case GetTotals():
                return sum_totals([replica.flushed_state])
            case IndexWrite() | GetFeed():
                return await hosted.answer_node(command)

    # What other nodes say

    def heard(self, node: int, messages: list[tuple[int, Message]]) -> None:
        if not self._running:
            # What was found on disk is not known to be flushed, and must not be spoken of.
            return
        stirred: dict[int, Consensus] = {}
        for group, message in messages:
            log = self._logs.get(group)
            if log is not None:
                log.hear(node, message)
                stirred[group] = log
            else:
                self._snapshots.heard(node, group, message)
        for log in stirred.values():
            log.pump()

    def lost(self, node: int, broken: bool) -> None:
        for log in list(self._logs.values()):
            replicas = [one for one, kept_on in log.position.nodes.items() if kept_on == node]
            for replica in replicas:
                log.raft.unreachable(ReplicaId(replica))
                if broken:
                    log.raft.gone(ReplicaId(replica))
            if replicas:
                log.pump()

    def reached(self, node: int) -> None:
        for log in self._logs.values():
            if node in log.position.nodes.values():
                # It is in no hurry before its next tick.
                log.raft.back()


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
