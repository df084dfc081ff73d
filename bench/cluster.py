"""A cluster of Gramme as users start it, and what it says and uses: `gramme cluster` with 3 nodes and a router."""

import json
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bench import installed, processes
from bench.load import Sample, load
from bench.servers import Kind, Server
from bench.wire import Answer
from bench.workloads import TABLE, Workload

NODES = 3
LAUNCHER = "gramme cluster"
ASK_ATTEMPTS = 5
ASK_INTERVAL_S = 0.5


@dataclass(frozen=True, slots=True)
class Counts:
    """Rounds of ReadIndex that there were, and entries in the logs."""

    read_rounds: int
    entries: int


class Unanswered(Exception):
    """`gramme admin status` could not ask all nodes."""


class Cluster:
    """Its processes, found by their names: node-1, ..., router-1, and the one that started them."""

    def __init__(self, partitions: int, directory: Path) -> None:
        self.name = name_of(partitions)
        self.partitions = partitions
        self._data = directory / "data"
        self.server = Server(
            Kind(self.name, "", installed.gramme_version(), self._command), directory
        )

    def start(self) -> None:
        self.server.start(accepts=is_served)

    def stop(self) -> None:
        self.server.stop()

    def load(self, workload: Workload, connections: int, seconds: float, seed: int) -> Sample:
        return load(self.server, workload, connections, seconds, seed)

    def cpu_by_process(self) -> dict[str, float]:
        parts = json.loads((self._data / "cluster.json").read_text())
        used = {part["name"]: processes.cpu_seconds(part["pid"]) for part in parts}
        # Each figure is rounded to a tick, and the kernel scales them a little.
        used[LAUNCHER] = max(0.0, self.server.cpu_seconds() - sum(used.values()))
        return used

    def cpu_seconds(self) -> float:
        return self.server.cpu_seconds()

    def resident_bytes(self) -> int:
        return self.server.resident_bytes()

    def status(self) -> dict[str, Any]:
        """What `gramme admin status` says when all nodes answer. Raises Unanswered."""
        ask = [sys.executable, "-m", "gramme.cli.main", "admin", "status", "--json"]
        said = ""
        for _ in range(ASK_ATTEMPTS):
            # Its exit code is 1 while a partition has no leader.
            said = processes.output_of([*ask, "--cluster", str(self._data)])
            status: dict[str, Any] = json.loads(said) if said else {}
            if status and all(node["up"] for node in status["nodes"]):
                return status
            time.sleep(ASK_INTERVAL_S)
        raise Unanswered(f"{self.name}: {said}")

    def counts(self) -> Counts:
        return counts_of(self.status())

    def _command(self, port: int, data: Path) -> list[str]:
        return [
            *(sys.executable, "-m", "gramme.cli.main", "cluster", "--nodes", str(NODES)),
            *("--routers", "1", "--replication", str(NODES), "--port", str(port)),
            *("--partitions", str(self.partitions), "--data", str(data)),
        ]


def name_of(partitions: int) -> str:
    return f"gramme, {partitions} partition{'s' * (partitions > 1)}"


def is_served(answer: Answer) -> bool:
    return answer.status == 200


def counts_of(status: dict[str, Any]) -> Counts:
    """Of the bench's table, since its nodes were started."""
    replicas = [
        partition["replicas"] for partition in status["partitions"] if partition["table"] == TABLE
    ]
    return Counts(
        sum(one["read_rounds"] or 0 for partition in replicas for one in partition),
        sum(max(one["applied"] or 0 for one in partition) for partition in replicas),
    )
