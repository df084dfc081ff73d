"""What a seed stands for: the cluster, its limits, what its clients do, and which faults strike it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from random import Random

from gramme.node.consensus import SETTINGS
from tests.simulate.troubles import Trouble
from tests.support.cluster import Shape
from tests.support.simulated_disk import Habits

# Faults end after so long; then the cluster must come to rest.
TROUBLED_S = 56.0
CLIENTS_S = 60.0
REST_S_MAX = 60.0
# Where the faults left too little time for that, clients go on after them.
OPERATIONS_MIN = 550

TINY = replace(
    SETTINGS,
    append_bytes_max=300,
    in_flight_appends_max=2,
    in_flight_bytes_max=1_000,
    uncommitted_bytes_max=2_000,
    committed_bytes_max=300,
    cached_bytes_max=500,
    waiting_reads_max=4,
    read_rounds_max=1,
)
SMALL = replace(
    SETTINGS,
    append_bytes_max=2_000,
    in_flight_appends_max=4,
    in_flight_bytes_max=8_000,
    uncommitted_bytes_max=20_000,
    committed_bytes_max=1_000,
    cached_bytes_max=4_000,
    read_rounds_max=2,
)
TINY_FRAMES_BYTES = 4_000
# What strikes whole clusters only.
NOT_OF_GROUPS = {Trouble.LOW_DISK, Trouble.ROUTER, Trouble.ROUTER_PAUSE}


@dataclass(frozen=True, slots=True)
class Plan:
    """`limits` are bounds of modules, by their names, that are smaller in this run."""

    seed: int
    shape: Shape
    troubles: tuple[Trouble, ...]
    # Between two faults, on average.
    gap_s: float
    clients: int
    think_s: float
    # How long everybody asks without a pause, now and then.
    storm_s: float
    keys: int
    padding_bytes: int
    frames_bytes_max: int
    loss: float
    limits: dict[str, int]

    def __str__(self) -> str:
        shape = self.shape
        return (
            f"{shape.voters} voters, {shape.groups} groups, {self.clients} clients, "
            f"{'streams' if shape.streams else 'datagrams'}; {', '.join(self.troubles)}"
        )


def plan_of(seed: int) -> Plan:
    random = Random(f"{seed}/plan")
    troubles = [trouble for trouble in Trouble if trouble not in NOT_OF_GROUPS]
    random.shuffle(troubles)
    troubles = sorted(troubles[: random.randint(2, 8)], key=list(Trouble).index)
    membership = Trouble.MEMBERSHIP in troubles
    limits: dict[str, int] = {}
    if random.random() < 0.5:
        limits |= small_pieces()
    if random.random() < 0.4:
        limits |= small_logs(random)
    groups = random.choice([1, 1, 1, 2, 3])
    clients = random.randint(6, 16)
    return Plan(
        seed,
        Shape(
            voters=random.choice([3, 3, 3, 5]),
            spares=random.randint(1, 2) if membership else 0,
            groups=groups,
            streams=random.random() < 0.5,
            raft=random.choice([SETTINGS, SETTINGS, SMALL, TINY]),
            habits=Habits(flush_s=random.choice([(0.0002, 0.002), (0.001, 0.02), (0.005, 0.05)])),
        ),
        tuple(troubles),
        gap_s=random.choice([0.7, 1.5, 3.0]),
        clients=clients,
        think_s=clients / random.uniform(9.0, 14.0),
        storm_s=random.choice([0.0, 0.1, 0.2]),
        keys=random.randint(2, 5),
        padding_bytes=random.choice([0, 50, 400]),
        frames_bytes_max=random.choice([1 << 20, 1 << 20, TINY_FRAMES_BYTES]),
        loss=random.choice([0.0, 0.0, 0.01]),
        limits=limits,
    )


def small_pieces() -> dict[str, int]:
    return {
        "gramme.node.consensus.PIECE_BYTES": 300,
        "gramme.node.commit.WRITE_BYTES_MAX": 400,
        "gramme.node.proposals.ENTRY_BYTES_MAX": 300,
    }


def small_logs(random: Random) -> dict[str, int]:
    kept = random.choice([0, 2_000, 8_000])
    return {
        "gramme.node.group_log.LOG_BYTES_MAX": kept + random.choice([1_000, 10_000]),
        "gramme.node.group_log.LOG_BYTES_KEPT": kept,
        "gramme.node.group_log.LOG_BYTES_BEHIND_MAX": kept + random.choice([10_000, 50_000]),
        # A snapshot of more than one portion.
        "gramme.node.snapshots.REQUEST_BYTES": 500,
    }
