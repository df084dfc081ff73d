"""One run: everything from one seed, and everything that must hold is checked."""

from __future__ import annotations

import asyncio
import importlib
import sys
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from random import Random

from tests.simulate.clients import Clients
from tests.simulate.faults import Adversary
from tests.simulate.plan import CLIENTS_S, REST_S_MAX, TROUBLED_S, Plan, plan_of
from tests.support.cluster import Cluster
from tests.support.deterministic import DeterministicLoop
from tests.support.ledger import Violation
from tests.support.linearizability import assert_linearizable
from tests.support.network import Conditions, Network

CHECK_S = 1.0
LINEARIZABILITY_STEPS_MAX = 300_000


@dataclass(frozen=True, slots=True)
class Report:
    """What came of a seed. `violation` says what is wrong, if anything is."""

    seed: int
    digest: str
    seconds: float
    counts: Counter[str]
    violation: str | None
    trace: list[str]

    @property
    def operations(self) -> int:
        kinds = ("writes", "conditions that failed", "unknown", "strong reads", "eventual reads")
        return sum(self.counts[kind] for kind in kinds)

    @property
    def faults(self) -> int:
        return sum(count for kind, count in self.counts.items() if kind.startswith("fault: "))


def simulate(seed: int) -> Report:
    return simulated(plan_of(seed))


def simulated(plan: Plan) -> Report:
    loop = DeterministicLoop(lines_kept=80)
    run = Run(loop, plan)
    violation = None
    with limited(plan.limits):
        try:
            loop.run(run.main())
            assert_linearizable(run.clients.recorder.histories, None, LINEARIZABILITY_STEPS_MAX)
        except Exception as error:  # noqa: BLE001 - whatever it is, it is what the seed found
            violation = _told(error)
    return Report(plan.seed, loop.digest, loop.time(), run.counts(), violation, list(loop.kept))


class Run:
    def __init__(self, loop: DeterministicLoop, plan: Plan) -> None:
        self.plan = plan
        self.loop = loop
        network = Network(
            loop, Random(f"{plan.seed}/network"), Conditions(), plan.frames_bytes_max, loop.trace
        )
        self.cluster = Cluster(loop, network, Random(f"{plan.seed}/cluster"), plan.shape)
        self.clients = Clients(self.cluster, plan, Random(f"{plan.seed}/clients"))
        self.adversary = Adversary(self.cluster, plan, Random(f"{plan.seed}/faults"))

    async def main(self) -> None:
        cluster = self.cluster
        for number in cluster.nodes:
            cluster.start(number)
        checks = self.loop.create_task(self._check())
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(self._trouble())
            for number in range(self.plan.clients):
                tasks.create_task(self.clients.run(f"c{number}", CLIENTS_S))
        await self._rest()
        self.clients.router.loss = 0.0
        await self._read_all()
        await self._rest()
        checks.cancel()
        cluster.check()
        cluster.check_equal()
        for group in cluster.groups:
            state = cluster.ledger.groups[group].state
            self.loop.trace(f"group {group} ends with {state}")

    async def _trouble(self) -> None:
        await self.adversary.run(TROUBLED_S)
        self.adversary.heal()

    async def _check(self) -> None:
        while True:
            await asyncio.sleep(CHECK_S)
            self.cluster.check()

    async def _rest(self) -> None:
        """Wait until nothing is left to do."""
        problems: list[str] = []
        deadline = self.loop.time() + REST_S_MAX
        while self.loop.time() < deadline:
            problems = [p for group in self.cluster.groups for p in self.cluster.behind(group)]
            if not problems:
                return
            await asyncio.sleep(0.1)
        raise Violation(f"no rest after {REST_S_MAX:g} s: {'; '.join(problems)}")

    async def _read_all(self) -> None:
        for group in self.cluster.groups:
            for number in range(self.plan.keys):
                if not await self.clients.read("last", group, f"k{number}", strong=True):
                    raise Violation(f"group {group} does not answer, though nothing is wrong")

    def counts(self) -> Counter[str]:
        counts = self.cluster.counts + self.cluster.ledger.counts
        for fault, count in self.cluster.network.counts.items():
            counts[f"frames {fault}"] += count
        for node in self.cluster.nodes.values():
            counts["flushes"] += node.disk.flushes
        return counts


@contextmanager
def limited(limits: Mapping[str, int]) -> Iterator[None]:
    """Let these bounds of modules be smaller for a while."""
    kept = []
    for path, size in limits.items():
        module_name, _, name = path.rpartition(".")
        module = importlib.import_module(module_name)
        kept.append((module, name, getattr(module, name)))
        setattr(module, name, size)
    try:
        yield
    finally:
        for module, name, size in kept:
            setattr(module, name, size)


def _told(error: BaseException) -> str:
    """What broke, innermost first: an exception in a group or behind another one is what matters."""
    while True:
        if isinstance(error, BaseExceptionGroup):
            error = error.exceptions[0]
        elif error.__cause__ is not None:
            error = error.__cause__
        else:
            break
    place = ""
    if not isinstance(error, Violation) and error.__traceback__ is not None:
        trace = error.__traceback__
        while trace.tb_next is not None:
            trace = trace.tb_next
        code = trace.tb_frame.f_code
        place = f" (in {code.co_qualname}, {code.co_filename.rpartition('/')[2]}:{trace.tb_lineno})"
    return f"{type(error).__name__}: {error}{place}"


if __name__ == "__main__":
    first, count = int(sys.argv[1]), int(sys.argv[2])
    for seed in range(first, first + count):
        report = simulate(seed)
        print(seed, plan_of(seed))
        print("  ", report.operations, report.faults, report.violation)
