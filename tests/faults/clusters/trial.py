"""A cluster under the mixed load, to which faults are done one after the other: a round for each."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Callable, Iterable
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Self

from gramme.cli.status import PartitionLine
from tests.faults.clusters.checksums import problems_of
from tests.faults.clusters.judging import Judgement, judge, longest_gap_s
from tests.faults.clusters.load import AUDIT_S, PARTITIONS, TABLE
from tests.faults.clusters.records import WRITES, Record, Records
from tests.support.cluster_processes import ENVIRONMENT
from tests.support.cutter import Cutter
from tests.support.processes_by_hand import ByHand, directly
from tests.support.server import ROOT
from tests.support.waiting import until

# Two share the clients, and the third one is asked only at the moments that matter.
ROUTERS = 3
WHOLE_S = 90.0
FLOWING_S = 45.0
FINISH_S = AUDIT_S + 40.0
POLL_S = 0.2
# Of acknowledged writes on each partition, before a fault: keys have a past then.
WRITES_BEFORE = 20


class NotWhole(AssertionError):
    """The cluster did not become what it has to be after a fault."""


@dataclass(frozen=True, slots=True)
class Gap:
    """`said` is what was done to whom. `writes_s` is the longest time without a write on some partition."""

    said: str
    writes_s: float


class Trial:
    """Leaving the context ends all its processes."""

    def __init__(self, path: Path, seed: int, *, can_cut: bool = False) -> None:
        path.mkdir()
        self.path = path
        self.random = Random(seed)
        self.gaps: list[Gap] = []
        self._seed = seed
        self._can_cut = can_cut
        self._stack = ExitStack()
        self._round = 0
        self.cutter: Cutter | None = None

    def __enter__(self) -> Self:
        with ExitStack() as stack:
            self.cutter = stack.enter_context(Cutter()) if self._can_cut else None
            way = directly if self.cutter is None else self.cutter.way
            self.cluster = stack.enter_context(
                ByHand(self.path / "cluster", routers=ROUTERS, partitions=PARTITIONS, way=way)
            )
            self.cluster.start()
            self._create_table()
            until(self.is_whole, WHOLE_S, "the table has its replicas")
            self._load = self._start_load()
            stack.callback(self._load.wait)
            stack.callback(self._load.kill)
            records = self.path / "records"
            until(records.exists, 10.0, "the load begins")
            self.records = Records(records)
            stack.callback(self.records.close)
            self._stack = stack.pop_all()
        return self

    def __exit__(self, *exception: object) -> None:
        self._stack.close()

    def _create_table(self) -> None:
        with self.cluster.client() as client:
            client.call(
                "CreateTable",
                {
                    "TableName": TABLE,
                    "BillingMode": "PAY_PER_REQUEST",
                    "AttributeDefinitions": [{"AttributeName": "id", "AttributeType": "S"}],
                    "KeySchema": [{"AttributeName": "id", "KeyType": "HASH"}],
                },
            )

    def _start_load(self) -> subprocess.Popen[bytes]:
        ports = ",".join(map(str, self.cluster.routers.values()))
        return subprocess.Popen(
            [
                *(sys.executable, "-m", "tests.faults.clusters.load", "--ports", ports),
                *("--secret-file", str(self.cluster.secret_file), "--seed", str(self._seed)),
                *("--records", str(self.path / "records")),
            ],
            stdin=subprocess.PIPE,
            cwd=ROOT,
            env=ENVIRONMENT,
        )

    # Rounds

    def round(self, fault: Callable[[Trial], tuple[float, str]]) -> Gap:
        """Do a fault, which says when it began and what it was, and wait until the cluster is whole again."""
        self.tell(f"round {self._round}")
        self._round += 1
        self.await_writes(time.monotonic(), WRITES_BEFORE)
        began, said = fault(self)
        self.await_writes(time.monotonic())
        until(self.is_whole, WHOLE_S, f"all is whole again after {said}")
        self.await_writes(time.monotonic(), WRITES_BEFORE)
        gap = Gap(said, longest_gap_s(self.records.all, began, time.monotonic(), PARTITIONS))
        self.gaps.append(gap)
        return gap

    def tell(self, command: str) -> None:
        assert self._load.stdin is not None
        self._load.stdin.write(f"{command}\n".encode())
        self._load.stdin.flush()

    def await_writes(self, since: float, count: int = 1) -> None:
        """Wait until every partition has acknowledged as many writes that were asked for after a moment."""

        def flows() -> bool:
            self.records.catch_up()
            return all(found >= count for found in _writes(self.records.all, since))

        _poll(flows, FLOWING_S, f"{count} more writes on every partition")

    def partitions(self) -> list[PartitionLine]:
        return [one for one in self.cluster.status().partitions if one.table == TABLE]

    def is_whole(self) -> bool:
        """Whether every group has a leader and all its replicas, and all are up to date."""
        partitions = self.cluster.status().partitions
        return len(partitions) == 1 + PARTITIONS and all(
            one.leader
            and sorted(replica.role for replica in one.replicas)
            == ["follower", "follower", "leader"]
            and all(replica.lag is not None and replica.lag < 100 for replica in one.replicas)
            for one in partitions
        )

    def leader(self) -> str:
        """Of any partition of the table."""

        def found() -> list[int]:
            leaders = [one.leader for one in self.partitions()]
            return leaders if leaders and all(leaders) else []

        return f"node-{self.random.choice(until(found, 20.0, 'all partitions are led'))}"

    # The end

    def finish(self) -> None:
        """End the load, with everything read once more, and the cluster, with all replicas as far as each other."""
        self.tell("finish")
        code = self._load.wait(FINISH_S)
        if code:
            raise NotWhole(f"the load ended with {code}")
        self.records.catch_up()
        _poll(self._is_level, WHOLE_S, "all replicas have applied the same")
        self.cluster.stop()

    def _is_level(self) -> bool:
        return self.is_whole() and all(
            len({replica.applied for replica in one.replicas}) == 1 for one in self.partitions()
        )

    def judge(self) -> Judgement:
        return judge(self.records.all)

    def replicas(self) -> tuple[int, list[str]]:
        """How many replicas there are, and what is wrong with their rows."""
        return problems_of({name: self.cluster.data(name) for name in self.cluster.nodes})


def _writes(records: list[Record], since: float) -> list[int]:
    """Of each partition, the acknowledged writes asked for after a moment."""
    found = [0] * PARTITIONS
    for one in reversed(records):
        if one.ended < since:
            break
        if one.outcome == "ok" and one.doing in WRITES and one.began >= since:
            found[one.partition] += 1
    return found


def _poll(condition: Callable[[], bool], timeout_s: float, what: str) -> None:
    """As `until`, for conditions that cost something."""

    def sometimes() -> bool:
        time.sleep(POLL_S)
        return condition()

    until(sometimes, timeout_s, what)


def worst(gaps: Iterable[Gap]) -> float:
    return max((gap.writes_s for gap in gaps), default=0.0)
