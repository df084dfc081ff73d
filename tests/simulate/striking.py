"""What strikes simulated clusters of either kind: at random moments one of the plan's troubles, each for a while."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from random import Random
from typing import Protocol

from tests.simulate.troubles import Trouble
from tests.support.deterministic import DeterministicLoop
from tests.support.network import Conditions, Link, Network, Timers

Strike = Callable[[], object]
FAULTS_MIN = 5


class Pace(Protocol):
    """What this module needs to know of a plan: its troubles, and how long there are none on average."""

    @property
    def troubles(self) -> Sequence[Trouble]: ...

    @property
    def gap_s(self) -> float: ...


class Adversary:
    """`run` until a time, then `heal`."""

    def __init__(
        self,
        loop: DeterministicLoop,
        network: Network,
        counts: Counter[str],
        pace: Pace,
        random: Random,
    ) -> None:
        self._loop = loop
        self._network = network
        self._timers: Timers = network.loop
        self._counts = counts
        self._pace = pace
        self._random = random
        self._over = False

    async def run(self, until: float) -> None:
        """Strike until that time, and a few times at least."""
        loop, random, strikes = self._loop, self._random, self._strikes()
        struck = 0
        while True:
            await asyncio.sleep(random.expovariate(1 / self._pace.gap_s))
            if loop.time() > until and struck >= FAULTS_MIN:
                return
            trouble = random.choice(self._pace.troubles)
            if strikes[trouble]() is not False:
                struck += 1
                self._counts[f"fault: {trouble}"] += 1
                loop.trace(f"fault: {trouble}")

    def heal(self) -> None:
        """No fault from now on, and none of before."""
        self._over = True
        self._network.heal()
        self._network.change(Conditions())

    def _strikes(self) -> Mapping[Trouble, Strike]:
        """What is done for each trouble. One that returns False could not be."""
        random = self._random
        return {
            Trouble.DROP: lambda: self._conditions(drop=random.choice(self.DROPS)),
            Trouble.DUPLICATE: lambda: self._conditions(duplicate=0.2),
            Trouble.REORDER: lambda: self._conditions(reorder=self.REORDERS),
            Trouble.DELAY: lambda: self._conditions(delay_s=(0.05, random.choice([0.1, 0.5]))),
            Trouble.PARTITION: self._partition,
            Trouble.ONE_WAY: self._one_way,
            Trouble.FLAP: self._flap,
        }

    # How probable it is for a frame that it is dropped, or overtaken.
    DROPS: Sequence[float] = (0.02, 0.1, 0.3)
    REORDERS = 0.1

    def _names(self) -> Sequence[str]:
        """Of all nodes."""
        raise NotImplementedError

    def _victim_name(self) -> str:
        raise NotImplementedError

    def _later(self, seconds: tuple[float, float], undo: Callable[[], object]) -> None:
        def once() -> None:
            if not self._over:
                undo()

        self._timers.call_later(self._random.uniform(*seconds), once)

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
        names = list(self._names())
        alone = {self._victim_name()}
        if len(names) > 3 and self._random.random() < 0.5:
            alone.add(self._random.choice(names))
        links = self._network.between(*names)
        self._cut([link for link in links if (link[0] in alone) != (link[1] in alone)])

    def _one_way(self) -> None:
        victim = self._victim_name()
        end = self._random.randrange(2)
        self._cut([link for link in self._network.around(victim) if link[end] == victim])

    def _flap(self) -> None:
        links = self._network.around(self._victim_name())
        self._network.flap(links, (0.1, 1.0), (0.1, 1.5))
        self._later((2, 8), lambda: self._network.heal(links))
