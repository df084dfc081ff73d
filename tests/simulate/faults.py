"""Who strikes simulated groups: beside what strikes any cluster, faults of nodes, disks, clocks and groups."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import replace
from random import Random

import msgspec

from gramme.node.raft.configuration import Change, ChangeKind
from gramme.node.raft.messages import Configuration, ReplicaId
from gramme.node.raft.quorum import majority
from gramme.node.raft.refusals import Refused
from tests.simulate.plan import Plan
from tests.simulate.striking import Adversary, Strike
from tests.simulate.troubles import Trouble
from tests.support.cluster import Cluster
from tests.support.simulated_node import TICK_S, GroupReplica, SimulatedNode, name_of

MEMBERS_MAX = 6
# A learner that lacks no more entries than this is made a voter.
PROMOTION_LAG_MAX = 20


class GroupAdversary(Adversary):
    """Strikes groups of replicas."""

    def __init__(self, cluster: Cluster, plan: Plan, random: Random) -> None:
        super().__init__(cluster.loop, cluster.network, cluster.counts, plan, random)
        self._cluster = cluster
        cluster.failed = self._restart_later

    def _strikes(self) -> Mapping[Trouble, Strike]:
        return {
            **super()._strikes(),
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

    def heal(self) -> None:
        super().heal()
        cluster = self._cluster
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

    def _names(self) -> list[str]:
        return [name_of(number) for number in self._cluster.nodes]

    def _victim_name(self) -> str:
        return name_of(self._victim())

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
