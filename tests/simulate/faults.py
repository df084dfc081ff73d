"""Who strikes a simulated cluster: at random moments one of the plan's troubles, each for a while."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from random import Random

import msgspec

from gramme.node.raft.configuration import Change, ChangeKind
from gramme.node.raft.messages import Configuration, ReplicaId
from gramme.node.raft.quorum import majority
from gramme.node.raft.refusals import Refused
from tests.simulate.plan import Plan, Trouble
from tests.support.cluster import Cluster
from tests.support.network import Conditions, Link
from tests.support.simulated_node import TICK_S, GroupReplica, SimulatedNode, name_of

MEMBERS_MAX = 6
# A learner that lacks no more entries than this is made a voter.
PROMOTION_LAG_MAX = 20


class Adversary:
    """`run` until a time, then `heal`."""

    def __init__(self, cluster: Cluster, plan: Plan, random: Random) -> None:
        self._cluster = cluster
        self._network = cluster.network
        self._plan = plan
        self._random = random
        self._over = False
        cluster.failed = self._restart_later
        self._strikes: dict[Trouble, Callable[[], object]] = {
            Trouble.DROP: lambda: self._conditions(drop=random.choice([0.02, 0.1, 0.3])),
            Trouble.DUPLICATE: lambda: self._conditions(duplicate=0.2),
            Trouble.REORDER: lambda: self._conditions(reorder=0.1),
            Trouble.DELAY: lambda: self._conditions(delay_s=(0.05, random.choice([0.1, 0.5]))),
            Trouble.PARTITION: self._partition,
            Trouble.ONE_WAY: self._one_way,
            Trouble.FLAP: self._flap,
            Trouble.PAUSE: self._pause,
            Trouble.CRASH: lambda: self._crash(self._victim(), torn=False),
            Trouble.TORN: lambda: self._crash(self._victim(), torn=True),
            Trouble.POWER: self._power_loss,
            Trouble.FLUSH_ERROR: self._flush_error,
            Trouble.WIPE: self._wipe,
            Trouble.STALL: lambda: self._disk(stall=0.3),
            Trouble.SLOW_DISK: lambda: self._disk(flush_s=(0.02, 0.4)),
            Trouble.CLOCK: self._clock_jump,
            Trouble.SLOW_TICKS: self._slow_ticks,
            Trouble.TRANSFER: self._transfer,
            Trouble.MEMBERSHIP: self._change_members,
        }

    async def run(self, until: float) -> None:
        loop, random = self._cluster.loop, self._random
        while True:
            await asyncio.sleep(random.expovariate(1 / self._plan.gap_s))
            if loop.time() > until:
                return
            trouble = random.choice(self._plan.troubles)
            if self._strikes[trouble]() is not False:
                self._cluster.counts[f"fault: {trouble}"] += 1
                loop.trace(f"fault: {trouble}")

    def heal(self) -> None:
        self._over = True
        cluster = self._cluster
        self._network.heal()
        self._network.change(Conditions())
        for number, node in cluster.nodes.items():
            node.disk.fails = False
            node.disk.habits = cluster.shape.habits
            node.tick_s = TICK_S
            cluster.resume(number)
            if not node.up:
                cluster.start(number)

    # Whom

    def _victim(self) -> int:
        """A node; often one that leads."""
        if self._random.random() < 0.5:
            leader = self._leader()
            if leader is not None:
                return leader[0].number
        return self._random.choice(list(self._cluster.nodes))

    def _leader(self) -> tuple[SimulatedNode, GroupReplica] | None:
        group = self._random.choice(self._cluster.groups)
        leader = self._cluster.leader(group)
        if leader is None:
            return None
        return self._cluster.nodes[self._cluster.homes[group, leader.id]], leader

    def _later(self, seconds: tuple[float, float], undo: Callable[[], object]) -> None:
        def once() -> None:
            if not self._over:
                undo()

        self._cluster.loop.call_later(self._random.uniform(*seconds), once)

    # The network

    def _conditions(
        self,
        drop: float = 0.0,
        duplicate: float = 0.0,
        reorder: float = 0.0,
        delay_s: tuple[float, float] = (0.0002, 0.002),
    ) -> None:
        self._network.change(Conditions(delay_s, drop, duplicate, reorder))
        self._later((1, 6), lambda: self._network.change(Conditions()))

    def _cut(self, links: list[Link]) -> None:
        self._network.cut(links)
        self._later((0.5, 8), lambda: self._network.heal(links))

    def _partition(self) -> None:
        names = [name_of(number) for number in self._cluster.nodes]
        alone = {name_of(self._victim())}
        if len(names) > 3 and self._random.random() < 0.5:
            alone.add(self._random.choice(names))
        links = self._network.between(*names)
        self._cut([link for link in links if (link[0] in alone) != (link[1] in alone)])

    def _one_way(self) -> None:
        victim = name_of(self._victim())
        end = self._random.randrange(2)
        self._cut([link for link in self._network.around(victim) if link[end] == victim])

    def _flap(self) -> None:
        links = self._network.around(name_of(self._victim()))
        self._network.flap(links, (0.1, 1.0), (0.1, 1.5))
        self._later((2, 8), lambda: self._network.heal(links))

    # Nodes

    def _pause(self) -> None:
        number = self._victim()
        self._cluster.pause(number)
        self._later((0.2, 6), lambda: self._cluster.resume(number))

    def _crash(self, number: int, *, torn: bool) -> bool:
        if not self._cluster.nodes[number].up:
            return False
        self._cluster.crash(number, torn=torn)
        self._restart_later(self._cluster.nodes[number])
        return True

    def _restart_later(self, node: SimulatedNode) -> None:
        def restart() -> None:
            if not node.up:
                self._cluster.start(node.number)

        self._later((0.1, 6), restart)

    def _power_loss(self) -> None:
        for number in self._cluster.nodes:
            self._crash(number, torn=True)

    def _clock_jump(self) -> None:
        clock = self._cluster.clocks[self._victim()]
        clock.off_ms += self._random.choice([-1, 1]) * self._random.randrange(3_600_000)

    def _slow_ticks(self) -> None:
        node = self._cluster.nodes[self._victim()]
        node.tick_s = self._random.choice([0.02, 0.3, 0.5])
        self._later((1, 8), lambda: setattr(node, "tick_s", TICK_S))

    # Disks

    def _disk(self, stall: float = 0.0, flush_s: tuple[float, float] | None = None) -> None:
        node = self._cluster.nodes[self._victim()]
        usual = self._cluster.shape.habits
        node.disk.habits = replace(usual, stall=stall, flush_s=flush_s or usual.flush_s)
        self._later((0.5, 5), lambda: setattr(node.disk, "habits", usual))

    def _flush_error(self) -> None:
        self._cluster.nodes[self._victim()].disk.fails = True

    def _wipe(self) -> bool:
        """At most one node, and only if every group can go on without it."""
        number = self._victim()
        lost = {(group, id) for (group, id), home in self._cluster.homes.items() if home == number}
        if self._cluster.wiped or not all(
            self._can_go_on(group, configuration, lost)
            for group in self._cluster.groups
            for configuration in self._configurations(group)
        ):
            return False
        self._cluster.wipe(number)
        self._restart_later(self._cluster.nodes[number])
        return True

    def _configurations(self, group: int) -> list[Configuration]:
        """All that may be in force now."""
        ledger = self._cluster.ledger.groups[group]
        last = ledger.configurations[-1][0]
        later = [one for at, one in ledger.proposed.items() if at >= last]
        running = [
            found.consensus.raft.configurations.newest for _, found in self._cluster.replicas(group)
        ]
        return [ledger.configurations[-1][1], *later, *running]

    def _can_go_on(
        self, group: int, configuration: Configuration, lost: set[tuple[int, int]]
    ) -> bool:
        gone = lost | set(self._cluster.wiped)
        left = [voter for voter in configuration.voters if (group, voter) not in gone]
        return len(left) >= majority(len(configuration.voters))

    # Groups

    def _transfer(self) -> bool:
        found = self._leader()
        if found is None:
            return False
        raft = found[1].consensus.raft
        others = [voter for voter in raft.configurations.voters if voter != raft.replica]
        if not others:
            return False
        with suppress(Refused):
            raft.transfer(self._random.choice(others))
            found[1].consensus.pump()
            return True
        return False

    def _change_members(self) -> bool:
        found = self._leader()
        if found is None:
            return False
        leader = found[1]
        changes = self._changes(leader)
        if not changes:
            return False
        change, home = self._random.choice(changes)
        context = msgspec.msgpack.encode({change.replica: home} if home else {})
        with suppress(Refused):
            leader.consensus.raft.propose_configuration(change, context)
            if home:
                self._cluster.place(leader.group, change.replica, home, leader)
            leader.consensus.pump()
            return True
        return False

    def _changes(self, leader: GroupReplica) -> list[tuple[Change, int]]:
        """What may be proposed, and the node of a new replica."""
        cluster, group, raft = self._cluster, leader.group, leader.consensus.raft
        voters, learners = raft.configurations.voters, raft.configurations.newest.learners
        changes: list[tuple[Change, int]] = []
        if len(voters) + len(learners) < MEMBERS_MAX:
            free = [n for n, node in cluster.nodes.items() if node.up and group not in node.groups]
            replica = cluster.next_replica(group)
            changes += [(Change(ChangeKind.ADD_LEARNER, replica), node) for node in free]
        matches = raft.matches()
        for learner in learners:
            if matches.get(learner, 0) + PROMOTION_LAG_MAX >= raft.log.last_index:
                changes.append((Change(ChangeKind.PROMOTE, learner), 0))
        if len(voters) > 2:
            members = [*voters, *learners] if len(voters) > 3 else learners
            changes += [(Change(ChangeKind.REMOVE, ReplicaId(id)), 0) for id in members]
        return [
            (change, home)
            for change, home in changes
            if change.kind is not ChangeKind.REMOVE
            or self._can_go_on(
                group,
                Configuration(tuple(v for v in voters if v != change.replica)),
                set(),
            )
        ]
