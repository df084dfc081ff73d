"""One run of a whole cluster: everything from one seed, and everything that must hold is checked."""

from __future__ import annotations

import asyncio
import logging
from collections import Counter
from random import Random

from gramme.router.catalog import CatalogEntry
from tests.simulate.plan import CLIENTS_S, REST_S_MAX, TROUBLED_S
from tests.simulate.report import Report, limited, told
from tests.simulate.run import CHECK_S, LINEARIZABILITY_STEPS_MAX
from tests.simulate.whole.clients import ITEMS, Clients
from tests.simulate.whole.ending import (
    check_equal,
    counter_problem,
    index_problem,
    problems_of_rest,
)
from tests.simulate.whole.faults import WholeAdversary
from tests.simulate.whole.plan import WholePlan, whole_plan_of
from tests.support.ledger import Violation
from tests.support.linearizability import assert_linearizable
from tests.support.processes import ProcessLoop, ProcessNetwork, current_process
from tests.support.whole_cluster import Router, WholeCluster

BEGIN_S_MAX = 30.0
# Clients whose last request must run out of time, with a pause of their router.
END_S_MAX = 60.0
INDEX_S_MAX = 10.0
POLL_S = 0.1


def simulate_whole(seed: int) -> Report:
    plan = whole_plan_of(seed)
    shuffle = Random(f"{seed}/loop") if plan.shuffled else None
    loop = ProcessLoop(shuffle, lines_kept=80)
    run = Run(loop, plan)
    errors = _Errors(loop)
    logging.getLogger("gramme").addHandler(errors)
    violation = None
    with limited(plan.limits):
        try:
            loop.run(run.main())
            assert_linearizable(run.clients.recorder.histories, None, LINEARIZABILITY_STEPS_MAX)
        except Exception as error:  # noqa: BLE001 - whatever it is, it is what the seed found
            violation = told(error)
        finally:
            logging.getLogger("gramme").removeHandler(errors)
    return Report(
        seed,
        "whole",
        str(plan),
        loop.digest,
        loop.time(),
        run.counts(),
        violation,
        list(loop.kept),
    )


class _Errors(logging.Handler):
    """What a process logs as an error is one: nothing that strikes it here is none of its business."""

    def __init__(self, loop: ProcessLoop) -> None:
        super().__init__(logging.ERROR)
        self._loop = loop

    def emit(self, record: logging.LogRecord) -> None:
        process = current_process()
        if process is not None and not process.alive:
            # It has just lost its disk.
            return
        error = record.exc_info[1] if record.exc_info else None
        self._loop.call_exception_handler({"message": record.getMessage(), "exception": error})


class Run:
    def __init__(self, loop: ProcessLoop, plan: WholePlan) -> None:
        self.plan = plan
        self.loop = loop
        network = ProcessNetwork(loop, Random(f"{plan.seed}/network"), plan.frames_bytes_max)
        self.cluster = WholeCluster(loop, network, Random(f"{plan.seed}/cluster"), plan.shape)
        self.clients = Clients(self.cluster, plan, Random(f"{plan.seed}/clients"))
        random = Random(f"{plan.seed}/faults")
        self.adversary = WholeAdversary(self.cluster, self.clients, plan, random)

    async def main(self) -> None:
        cluster, clients = self.cluster, self.clients
        cluster.start_all()
        checks = self.loop.create_task(self._check())
        await self._begin()
        for router in list(cluster.routers.values()):
            clients.begin(router)
        clients.end_at(CLIENTS_S)
        await self.adversary.run(TROUBLED_S)
        self.adversary.heal()
        await asyncio.sleep(max(CLIENTS_S - self.loop.time(), 0))
        await self._clients_end()
        await self._rest()
        await self._read_all()
        await self._rest()
        checks.cancel()
        cluster.check()
        check_equal(cluster)
        for number, group in cluster.ledger.groups.items():
            self.loop.trace(f"group {number} ends with {group.state}")
        cluster.stop_all()

    async def _begin(self) -> None:
        router = self.cluster.routers["r1"]
        async with asyncio.timeout(BEGIN_S_MAX):
            await router.process.create_task(self.clients.create(router))

    async def _check(self) -> None:
        while True:
            await asyncio.sleep(CHECK_S)
            self.cluster.check()

    async def _rest(self) -> None:
        """Wait until nothing is left to do."""
        problems: list[str] = []
        deadline = self.loop.time() + REST_S_MAX
        while self.loop.time() < deadline:
            problems = problems_of_rest(self.cluster)
            if not problems:
                return
            await asyncio.sleep(POLL_S)
        raise Violation(f"no rest after {REST_S_MAX:g} s: {'; '.join(problems)}")

    async def _clients_end(self) -> None:
        deadline = self.loop.time() + END_S_MAX
        while self.clients.at_work:
            if self.loop.time() > deadline:
                raise Violation(f"clients still wait after {END_S_MAX:g} s")
            await asyncio.sleep(POLL_S)

    async def _read_all(self) -> None:
        """As a client, in the process of a router."""
        router = self.cluster.routers["r1"]
        await router.process.create_task(self._read_by(router))

    async def _read_by(self, router: Router) -> None:
        plan, clients = self.plan, self.clients
        entry = clients.entry(router, ITEMS)
        if entry is None:
            raise Violation("the table is gone")
        ids = [f"k{number}" for number in range(plan.keys)]
        counters = [f"n{number}" for number in range(plan.counters)]
        for id in [*ids, *counters]:
            if not await clients.read("last", router, entry, id, strong=True):
                raise Violation(f"{id} cannot be read, though nothing is wrong")
        for id in counters:
            stored = await clients.stored(router, entry, id)
            if problem := counter_problem(clients, id, stored):
                raise Violation(problem)
        await self._index_equals(router, entry)

    async def _index_equals(self, router: Router, entry: CatalogEntry) -> None:
        deadline = self.loop.time() + INDEX_S_MAX
        while problem := await index_problem(router, entry):
            if self.loop.time() > deadline:
                raise Violation(f"after {INDEX_S_MAX:g} s {problem}")
            await asyncio.sleep(POLL_S)

    def counts(self) -> Counter[str]:
        cluster = self.cluster
        counts = cluster.counts + cluster.ledger.counts
        for fault, count in cluster.network.counts.items():
            counts[f"frames {fault}"] += count
        return counts
