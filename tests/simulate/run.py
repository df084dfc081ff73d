"""One run of groups of replicas: everything from one seed, and everything that must hold is checked."""

from __future__ import annotations

import asyncio
from collections import Counter
from random import Random

from tests.simulate.clients import Clients
from tests.simulate.faults import GroupAdversary
from tests.simulate.plan import CLIENTS_S, REST_S_MAX, TROUBLED_S, Plan, plan_of
from tests.simulate.report import Report, limited, told
from tests.support.cluster import Cluster
from tests.support.deterministic import DeterministicLoop
from tests.support.ledger import Violation
from tests.support.linearizability import assert_linearizable
from tests.support.network import Conditions, Network

CHECK_S = 1.0
LINEARIZABILITY_STEPS_MAX = 300_000


def simulate_groups(seed: int) -> Report:
    plan = plan_of(seed)
    loop = DeterministicLoop(lines_kept=80)
    run = Run(loop, plan)
    violation = None
    with limited(plan.limits):
        try:
            loop.run(run.main())
            assert_linearizable(run.clients.recorder.histories, None, LINEARIZABILITY_STEPS_MAX)
        except Exception as error:  # noqa: BLE001 - whatever it is, it is what the seed found
            violation = told(error)
    return Report(
        seed,
        "groups",
        str(plan),
        loop.digest,
        loop.time(),
        run.counts(),
        violation,
        list(loop.kept),
    )


class Run:
    def __init__(self, loop: DeterministicLoop, plan: Plan) -> None:
        self.plan = plan
        self.loop = loop
        network = Network(
            loop, Random(f"{plan.seed}/network"), Conditions(), plan.frames_bytes_max, loop.trace
        )
        self.cluster = Cluster(loop, network, Random(f"{plan.seed}/cluster"), plan.shape)
        self.clients = Clients(self.cluster, plan, Random(f"{plan.seed}/clients"))
        self.adversary = GroupAdversary(self.cluster, plan, Random(f"{plan.seed}/faults"))

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
