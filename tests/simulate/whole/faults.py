"""Who strikes whole clusters: beside what strikes any cluster, faults of processes, disks and clocks, and lost disks."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from random import Random

from gramme.node.engine.api import Family
from gramme.node.engine.keyspace import log_base_key
from gramme.node.engine.memory import TOTAL_BYTES
from gramme.node.group_log import load_position
from gramme.node.raft.messages import Configuration
from gramme.node.raft.quorum import majority
from gramme.node.snapshots import load_incomplete
from tests.simulate.striking import Adversary, Strike
from tests.simulate.troubles import Trouble
from tests.simulate.whole.clients import Clients
from tests.simulate.whole.plan import WholePlan
from tests.support.whole_cluster import Member, WholeCluster

# Less than router's deadline and the ten minutes for which request ids are kept, whichever two clocks are compared.
CLOCK_OFF_MS_MAX = 240_000


class WholeAdversary(Adversary):
    # A stream with all that is on it breaks when it loses a frame.
    DROPS = (0.005, 0.02, 0.05)
    REORDERS = 0.02

    def __init__(
        self, cluster: WholeCluster, clients: Clients, plan: WholePlan, random: Random
    ) -> None:
        super().__init__(cluster.loop, cluster.network, cluster.counts, plan, random)
        self._cluster = cluster
        self._clients = clients
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
            Trouble.SLOW_DISK: self._slow_disk,
            Trouble.LOW_DISK: self._low_disk,
            Trouble.CLOCK: self._clock_jump,
            Trouble.ROUTER: self._crash_router,
            Trouble.ROUTER_PAUSE: self._pause_router,
        }

    def heal(self) -> None:
        super().heal()
        for number, member in self._cluster.members.items():
            member.disk.fails = False
            member.disk.free_bytes = TOTAL_BYTES
            member.disk.habits = self._cluster.shape.habits
            if member.process is None:
                self._cluster.start(number)
            elif member.process.paused:
                member.process.resume()
        for router in self._cluster.routers.values():
            if router.process.paused:
                router.process.resume()

    # Whom

    def _names(self) -> list[str]:
        return [member.name for member in self._cluster.members.values()]

    def _victim_name(self) -> str:
        return self._victim().name

    def _victim(self) -> Member:
        """A node; often one that leads."""
        cluster, random = self._cluster, self._random
        if random.random() < 0.5:
            groups = [number for number, group in cluster.ledger.groups.items() if not group.gone]
            found = cluster.leader(random.choice(groups)) if groups else None
            if found is not None:
                return found[0]
        return random.choice(list(cluster.members.values()))

    # Processes

    def _pause(self) -> bool:
        process = self._victim().process
        if process is None or process.paused:
            return False
        process.pause()
        self._later((0.2, 6), process.resume)
        return True

    def _crash(self, member: Member, *, torn: bool) -> bool:
        if not member.up:
            return False
        self._cluster.crash(member.number, torn=torn)
        self._restart_later(member)
        return True

    def _restart_later(self, member: Member) -> None:
        def restart() -> None:
            if not member.up:
                self._cluster.start(member.number)

        self._later((0.1, 6), restart)

    def _power_loss(self) -> None:
        for member in self._cluster.members.values():
            self._crash(member, torn=True)

    def _crash_router(self) -> None:
        name = self._random.choice(list(self._cluster.routers))
        self._cluster.crash_router(name)
        self._clients.begin(self._cluster.start_router(name))

    def _pause_router(self) -> bool:
        process = self._random.choice(list(self._cluster.routers.values())).process
        if process.paused:
            return False
        process.pause()
        self._later((0.2, 6), process.resume)
        return True

    def _clock_jump(self) -> None:
        self._victim().clock.off_ms = self._random.randint(-CLOCK_OFF_MS_MAX, CLOCK_OFF_MS_MAX)

    # Disks

    def _disk(self, stall: float = 0.0, flush_s: tuple[float, float] | None = None) -> None:
        member = self._victim()
        usual = self._cluster.shape.habits
        member.disk.habits = replace(usual, stall=stall, flush_s=flush_s or usual.flush_s)

        def undo() -> None:
            member.disk.habits = usual

        self._later((0.5, 5), undo)

    def _slow_disk(self) -> None:
        """Sometimes so slow that its node should not lead."""
        self._disk(flush_s=self._random.choice([(0.02, 0.4), (0.5, 2.0)]))

    def _low_disk(self) -> None:
        member = self._victim()
        member.disk.free_bytes = 0

        def undo() -> None:
            member.disk.free_bytes = TOTAL_BYTES

        self._later((1, 10), undo)

    def _flush_error(self) -> None:
        self._victim().disk.fails = True

    def _wipe(self) -> bool:
        """Only if every group can go on without this disk and those that are gone already."""
        member, ledger = self._victim(), self._cluster.ledger
        gone = set(ledger.wiped) | {
            replica for replica, home in ledger.homes.items() if home == member.number
        }
        if not all(
            self._can_go_on(number, configuration, gone)
            for number, group in ledger.groups.items()
            if not group.gone
            for configuration in self._configurations(number)
        ):
            return False
        self._cluster.wipe(member.number)
        self._restart_later(member)
        return True

    def _configurations(self, number: int) -> list[Configuration]:
        """All that may be in force now."""
        group = self._cluster.ledger.groups[number]
        last, newest = group.configurations[-1]
        later = [one for at, one in group.proposed.items() if at >= last]
        running = [log.raft.configurations.newest for _, log in self._cluster.logs(number)]
        return [newest, *later, *running]

    def _can_go_on(
        self, number: int, configuration: Configuration, gone: set[tuple[int, int]]
    ) -> bool:
        """Whether a majority is left, of replicas that need no snapshot: while it takes one, a replica has nothing."""
        homes = self._cluster.ledger.homes
        left = [
            voter
            for voter in configuration.voters
            if (number, voter) in homes and (number, voter) not in gone
        ]
        disks = [self._cluster.members[homes[number, voter]].disk for voter in left]
        bases = [disk.get(Family.RAFT, log_base_key(number)) or b"" for disk in disks]
        first = max((int.from_bytes(base[:8]) for base in bases), default=0)
        sound = 0
        for disk in disks:
            position = load_position(disk, number)
            whole = load_incomplete(disk, number) is None
            sound += whole and position is not None and position.index >= first
        return sound >= majority(len(configuration.voters))
