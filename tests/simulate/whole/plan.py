"""What a seed stands for where whole clusters are simulated."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from random import Random

from gramme.node.raft.settings import Settings
from tests.simulate.plan import SMALL, TINY, TINY_FRAMES_BYTES, small_logs, small_pieces
from tests.simulate.troubles import Trouble
from tests.support.simulated_disk import Habits
from tests.support.whole_cluster import Shape

# What has no meaning here: streams let no duplicate through, nodes tick by the loop's time, and leadership
# and members change by what nodes do themselves.
NOT_OF_WHOLE = {
    Trouble.DUPLICATE,
    Trouble.SLOW_TICKS,
    Trouble.TRANSFER,
    Trouble.MEMBERSHIP,
}


@dataclass(frozen=True, slots=True)
class WholePlan:
    """`limits` are names of modules that mean something smaller in this run."""

    seed: int
    shape: Shape
    shuffled: bool
    troubles: tuple[Trouble, ...]
    gap_s: float
    partitions: int
    # Whether another table comes and goes.
    passing: bool
    clients: int
    think_s: float
    storm_s: float
    keys: int
    counters: int
    padding_bytes: int
    frames_bytes_max: int
    limits: dict[str, float | Callable[[], Settings]]

    def __str__(self) -> str:
        shape = self.shape
        return (
            f"{shape.nodes} nodes, {self.partitions} partitions, {shape.routers} routers, "
            f"{self.clients} clients; {', '.join(self.troubles)}"
        )


def whole_plan_of(seed: int) -> WholePlan:
    random = Random(f"{seed}/whole plan")
    troubles = [trouble for trouble in Trouble if trouble not in NOT_OF_WHOLE]
    random.shuffle(troubles)
    troubles = sorted(troubles[: random.randint(2, 8)], key=list(Trouble).index)
    # Turns of the loop that only wait for company, and looking often at what seldom changes, take half of a run's time.
    limits: dict[str, float | Callable[[], Settings]] = {
        "gramme.node.commit.GATHER_TURNS": random.choice([0, 0, 1, 5]),
        "gramme.node.table_driver.POLL_S": 0.4,
        "gramme.node.pauses.PAUSE_S": 0.4,
    }
    settings = random.choice([None, None, SMALL, TINY])
    if settings is not None:
        limits["gramme.node.consensus.Settings"] = lambda: settings
    if random.random() < 0.4:
        limits |= small_pieces()
    if random.random() < 0.4:
        limits |= small_logs(random)
    if random.random() < 0.3:
        limits["gramme.node.transport.QUEUE_BYTES_MAX"] = 2_000
    clients = random.randint(6, 12)
    return WholePlan(
        seed,
        Shape(
            nodes=random.choice([3, 3, 3, 3, 3, 3, 3, 5]),
            routers=random.choice([1, 2]),
            habits=Habits(flush_s=random.choice([(0.0002, 0.002), (0.001, 0.02), (0.005, 0.05)])),
        ),
        random.random() < 0.5,
        tuple(troubles),
        gap_s=random.choice([1.0, 2.0, 3.0]),
        partitions=random.choice([1, 1, 2]),
        passing=random.random() < 0.5,
        clients=clients,
        think_s=clients / random.uniform(9.0, 11.5),
        storm_s=random.choice([0.0, 0.05, 0.1]),
        keys=random.randint(2, 5),
        counters=random.randint(1, 2),
        padding_bytes=random.choice([0, 50, 400]),
        frames_bytes_max=random.choice([1 << 20, 1 << 20, TINY_FRAMES_BYTES]),
        limits=limits,
    )
