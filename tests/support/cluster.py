"""A whole set of nodes on a simulated network, with simulated disks and clocks, and a ledger that watches them.

Group g is a table of its own with the id g. Replica ids are given out once in each group; of a replica whose disk was
wiped the disk is kept as it was, because what it had promised was promised.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from random import Random

import msgspec

from gramme.commands import SnapshotRows
from gramme.errors import Unavailable
from gramme.node.engine.api import Family, Operation, RangeDelete, Row
from gramme.node.engine.keyspace import (
    ReplicaSettings,
    encode_settings,
    encode_state,
    group_range,
    settings_key,
    state_key,
    table_prefix,
)
from gramme.node.group_log import Position, first_log_rows, load_position
from gramme.node.raft.messages import Configuration, ReplicaId
from gramme.node.raft.settings import Settings
from gramme.node.table_records import EMPTY_STATE
from gramme.partitions import TOKEN_SPACE
from tests.support.datagrams import Datagrams
from tests.support.deterministic import DeterministicLoop
from tests.support.ledger import GroupLedger, Ledger, Violation
from tests.support.network import Network
from tests.support.simulated_disk import Batch, DiskFailed, Habits, SimulatedDisk
from tests.support.simulated_node import GroupReplica, SimulatedNode, name_of
from tests.support.streams import Streams
from tests.unit.node.fixtures import NOW_MS, PLAIN

FIRST_GROUP = 10
SNAPSHOT_TIMEOUT_S = 3.0


class SkewedClock:
    """Virtual time, and how far this node's clock is off."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self.off_ms = 0

    def now_ms(self) -> int:
        return NOW_MS + int(self._loop.time() * 1000) + self.off_ms

    async def wait_until(self, at_ms: int) -> None:
        while (left_ms := at_ms - self.now_ms()) > 0:
            await asyncio.sleep(left_ms / 1000)


@dataclass(frozen=True, slots=True)
class Shape:
    """Of what a cluster consists."""

    voters: int = 3
    spares: int = 0
    groups: int = 1
    streams: bool = False
    raft: Settings = field(default_factory=Settings)
    habits: Habits = field(default_factory=Habits)


class Cluster:
    """`failed` is called when a node ends by itself. A violation is raised where it is found."""

    def __init__(
        self, loop: DeterministicLoop, network: Network, random: Random, shape: Shape
    ) -> None:
        self.loop = loop
        self.network = network
        self.random = random
        self.shape = shape
        self.counts: Counter[str] = Counter()
        self.groups = [FIRST_GROUP + number for number in range(shape.groups)]
        # Where each replica is, or was.
        self.homes: dict[tuple[int, int], int] = {}
        self.wiped: dict[tuple[int, int], SimulatedDisk] = {}
        self.ledger = Ledger(self._disk_of)
        self.failed: Callable[[SimulatedNode], None] = lambda node: None
        self._carrier = Streams(network) if shape.streams else Datagrams(network)
        self.clocks: dict[int, SkewedClock] = {}
        self.nodes: dict[int, SimulatedNode] = {}
        for number in range(1, shape.voters + shape.spares + 1):
            self.nodes[number] = self._made(number)
        for group in self.groups:
            self._found(group)

    def _made(self, number: int) -> SimulatedNode:
        clock = self.clocks[number] = SkewedClock(self.loop)
        disk = SimulatedDisk(Random(f"{self.random.random()}/{number}"), self.shape.habits)
        return SimulatedNode(
            number,
            disk,
            self.network,
            self._carrier.send,
            clock,
            self.random.randint,
            self.shape.raft,
            self,
        )

    def _found(self, group: int) -> None:
        """Give the group its first replicas: of node n the one with the id n."""
        voters = tuple(ReplicaId(number) for number in range(1, self.shape.voters + 1))
        configuration = Configuration(voters)
        self.ledger.groups[group] = GroupLedger(configuration, _bounds(group))
        homes = {int(voter): int(voter) for voter in voters}
        for voter in voters:
            self.homes[group, voter] = voter
            self.nodes[voter].disk.install(
                first_rows(group, Position(voter, 0, 0, configuration, homes))
            )

    # Nodes

    def start(self, number: int) -> None:
        node = self.nodes[number]
        for group in self.groups:
            self._retire(node, group)
        node.start(self.groups)
        if isinstance(self._carrier, Streams):
            self._carrier.attach(node.name, node.receive, node.lost_peer)
        else:
            self._carrier.attach(node.name, node.receive)
        self.loop.trace(f"{node.name} starts")

    def crash(self, number: int, *, torn: bool) -> None:
        """Stop a node. With `torn` its disk happens to have some of what was not flushed."""
        node = self.nodes[number]
        if not node.up:
            return
        kept = self.random.randint(0, node.disk.unflushed) if torn else 0
        self.loop.trace(f"{node.name} crashes, {kept} of {node.disk.unflushed} writes are kept")
        node.crash(kept)
        self.network.crash(node.name)

    def wipe(self, number: int) -> None:
        """Take a node's disk away. Its replicas are gone for good."""
        self.crash(number, torn=False)
        node = self.nodes[number]
        for (group, replica), home in self.homes.items():
            if home == number:
                self.wiped.setdefault((group, replica), node.disk)
        node.disk = SimulatedDisk(Random(f"{self.random.random()}/{number}"), self.shape.habits)
        self.loop.trace(f"{node.name} is wiped")

    def pause(self, number: int) -> None:
        node = self.nodes[number]
        if node.up and not node.paused:
            node.pause()

    def resume(self, number: int) -> None:
        node = self.nodes[number]
        if node.up and node.paused:
            node.resume(clients_first=self.random.random() < 0.5)

    def next_replica(self, group: int) -> ReplicaId:
        return ReplicaId(1 + max(id for at, id in self.homes if at == group))

    def place(self, group: int, replica: ReplicaId, number: int, leader: GroupReplica) -> None:
        """Give a node that has none an empty replica, which a leader takes into the group."""
        self.homes[group, replica] = number
        node = self.nodes[number]
        homes = {**leader.consensus.position.nodes, replica: number}
        first = self.ledger.groups[group].configurations[0][1]
        node.disk.install(first_rows(group, Position(replica, 0, 0, first, homes)))
        node.open(group)

    def _retire(self, node: SimulatedNode, group: int) -> None:
        """Drop a replica that is in the group no more."""
        position = load_position(node.disk, group)
        if position is None:
            return
        known = [self.ledger.groups[group].configurations[-1][1]]
        known += [found.consensus.raft.configurations.newest for _, found in self.replicas(group)]
        if not any(position.replica in (*one.voters, *one.learners) for one in known):
            self.wiped[group, position.replica] = node.disk
            node.disk = node.disk.crash()
            node.disk.install(
                [
                    RangeDelete(Family.RAFT, *group_range(group)),
                    RangeDelete(Family.ITEM, *_bounds(group)),
                ]
            )

    def _disk_of(self, group: int, replica: int) -> SimulatedDisk | None:
        wiped = self.wiped.get((group, replica))
        if wiped is not None:
            return wiped
        home = self.homes.get((group, replica))
        return None if home is None else self.nodes[home].disk

    # Who leads, and how far everybody is

    def replicas(self, group: int) -> Iterable[tuple[SimulatedNode, GroupReplica]]:
        for node in self.nodes.values():
            found = node.groups.get(group)
            if node.up and found is not None:
                yield node, found

    def leader(self, group: int) -> GroupReplica | None:
        """The one that serves in the highest term."""
        serving = [found for _, found in self.replicas(group) if found.consensus.serving]
        return max(serving, key=lambda found: found.consensus.raft.term, default=None)

    def behind(self, group: int) -> list[str]:
        """What keeps the group from being at rest, everybody having applied the same."""
        leader = self.leader(group)
        if leader is None:
            return [f"group {group} has no leader"]
        raft = leader.consensus.raft
        problems = []
        for member in raft.configurations.members:
            if (group, member) in self.wiped:
                continue
            node = self.nodes[self.homes[group, member]]
            found = node.groups.get(group)
            if found is None and member in raft.configurations.newest.learners:
                # Its node was started anew before anybody had heard of it.
                continue
            applied = -1 if found is None else found.consensus.raft.applied_index
            if applied != raft.log.last_index:
                problems.append(
                    f"replica {member} of group {group} is at {applied} of {raft.log.last_index}"
                )
        return problems

    def check(self) -> None:
        """What is too much work to look at all the time."""
        for group in self.groups:
            for node, found in self.replicas(group):
                self.ledger.check_rows(node, group)
                if found.consensus.raft.ill_formed:
                    raise Violation(f"group {group}: {node.name} was sent what no replica sends")

    def check_equal(self) -> None:
        """All that are as far as the leader have its rows, byte for byte."""
        for group in self.groups:
            leader = self.leader(group)
            assert leader is not None
            applied = leader.consensus.raft.applied_index
            images = {
                node.name: list(node.disk.scan(Family.ITEM, *_bounds(group)))
                for node, found in self.replicas(group)
                if found.consensus.raft.applied_index == applied
            }
            first, *others = images
            for other in others:
                if images[other] != images[first]:
                    raise Violation(f"group {group}: {first} and {other} have different rows")

    # What nodes tell

    def opened(self, node: SimulatedNode, replica: GroupReplica) -> None:
        self.ledger.opened(replica)

    def wrote(self, node: SimulatedNode, batch: Batch) -> None:
        self.ledger.wrote(node, batch)

    def led(self, node: SimulatedNode, replica: GroupReplica) -> None:
        self.ledger.led(replica)
        raft = replica.consensus.raft
        self.loop.trace(f"{node.name} {replica.group}: {raft.role.name}, term {raft.term}")

    def settings_of(self, group: int) -> ReplicaSettings:
        return settings_of(group)

    def installed(self, node: SimulatedNode, group: int) -> None:
        self.counts["snapshots"] += 1
        self.loop.trace(f"{node.name} has taken a snapshot of {group}")

    async def carry(self, source: int, target: int, group: int, portion: SnapshotRows) -> None:
        """Bring a portion of a snapshot to another node, which answers, or does not."""
        reply: asyncio.Future[object] = self.loop.create_future()
        link = name_of(source), name_of(target)
        node, network = self.nodes[target], self.network

        def settle(result: object) -> None:
            if not reply.done():
                reply.set_result(result)

        def come_back(result: object) -> None:
            if not network.is_cut(*reversed(link)):
                self.loop.call_later(network.delay_s(*reversed(link)), settle, result)

        def arrive() -> None:
            if node.up and not network.is_cut(*link):
                node.serve(lambda: node.take(group, portion), come_back)

        self.loop.call_later(network.delay_s(*link), arrive)
        self.loop.call_later(SNAPSHOT_TIMEOUT_S, settle, Unavailable("no answer"))
        result = await reply
        if isinstance(result, Exception):
            raise result

    def failed_in(self, node: SimulatedNode, error: Exception) -> None:
        if isinstance(error, DiskFailed):
            self.crash(node.number, torn=True)
            self.failed(node)
        else:
            message = f"{node.name} ended by itself"
            self.loop.call_exception_handler({"message": message, "exception": error})


def first_rows(group: int, position: Position) -> list[Operation]:
    """What makes a replica that has nothing yet."""
    return [
        Row(Family.RAFT, settings_key(group), encode_settings(settings_of(group))),
        Row(Family.RAFT, state_key(group), encode_state(EMPTY_STATE)),
        *first_log_rows(group, position),
    ]


def settings_of(group: int) -> ReplicaSettings:
    table = msgspec.structs.replace(PLAIN, id=group)
    return ReplicaSettings(group, table, None, 0, TOKEN_SPACE - 1, group)


def _bounds(group: int) -> tuple[bytes, bytes]:
    return table_prefix(group), table_prefix(group + 1)
