"""A storage node: finds the replica a command is for, and owns what runs behind it.

Embedded, a router calls this object where a cluster will have a gRPC stream; it has the methods of the router's seam.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection, Coroutine, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from gramme.clock import Clock
from gramme.commands import (
    Administration,
    Delete,
    Found,
    Get,
    Page,
    Put,
    Query,
    Scan,
    Totals,
    Write,
    Written,
)
from gramme.errors import Throttling
from gramme.model.table import Table, TableRecord
from gramme.node.apply import sum_totals
from gramme.node.commit import CommitLoop
from gramme.node.engine.api import Engine
from gramme.node.feeds import Feeding
from gramme.node.groups import Groups
from gramme.node.meta import Meta
from gramme.node.pauses import tidy_in_pauses
from gramme.node.proposals import Round
from gramme.node.table_driver import TableDriver
from gramme.partitions import Partition

# About a millisecond of proposing a batch: most of it is copying and summing up the items.
SLICE_BYTES_PROPOSED = 256 << 10


@dataclass(slots=True)
class NodeSettings:
    seed: bytes
    # Holds changes back from indexes, so that an application can be seen to cope with a stale one.
    index_delay_ms: int = 0


class Node:
    """`run` must be running for anything else to make progress."""

    def __init__(
        self,
        engine: Engine,
        clock: Clock,
        settings: NodeSettings,
        on_failure: Callable[[str], None],
    ) -> None:
        self._engine = engine
        self._clock = clock
        self._settings = settings
        self._on_failure = on_failure
        self._commits = CommitLoop(engine, on_failure)
        self._meta = Meta(engine, self._commits)
        self._meta.follower = self
        self._groups = Groups(engine, self._commits, clock)
        self._replicas = self._groups.replicas
        # Meta is always led from here.
        self._driver = TableDriver(clock, lambda: self._meta, lambda: True, self._groups.ask)
        # What ends first: what it proposes after the commit loop has ended, nobody would flush.
        self._working: list[asyncio.Task[None]] = []
        self._stopping = False
        # Told of every table there is, and of what changes.
        self.on_table: Callable[[TableRecord], None] = lambda record: None
        self.on_drop: Callable[[Table], None] = lambda table: None

    async def run(self, ready: asyncio.Event) -> None:
        """Serve until stopped. Sets `ready` once every table is open."""
        settings = self._settings
        async with asyncio.TaskGroup() as tasks:
            self._groups.feeding = Feeding(
                self._engine,
                self._clock,
                settings.seed,
                settings.index_delay_ms,
                tasks,
                self._groups.send,
                self._driver.look_at,
                asyncio.Lock(),
            )
            tasks.create_task(self._commits.run())
            pauses = tidy_in_pauses(self._engine, self._commits, self._on_failure)
            self._working.append(tasks.create_task(pauses))
            for record in list(self._meta.records()):
                if record.table.status in ("CREATING", "UPDATING"):
                    # That lasts until a restart at most.
                    await self._meta.settle(record)
                else:
                    await self.follow(record)
            self._working.append(tasks.create_task(self._driver.run()))
            ready.set()

    def stop(self) -> None:
        """Finish what has been proposed, then let `run` return."""
        self._stopping = True
        for task in self._working:
            task.cancel()
        self._groups.stop()
        self._commits.stop()

    # The seam

    def get(self, partition: Partition, get: Get) -> Coroutine[Any, Any, Found]:
        replica = self._replicas.get(partition.group)
        return self._groups.gone(partition) if replica is None else replica.get(get)

    def write(self, partition: Partition, write: Write) -> Coroutine[Any, Any, Written]:
        replica = self._replicas.get(partition.group)
        return self._groups.gone(partition) if replica is None else replica.write(write)

    async def query(self, partition: Partition, query: Query) -> Page:
        replica = self._replicas.get(partition.group) or await self._groups.gone(partition)
        return await replica.query(query)

    async def scan(self, partition: Partition, scan: Scan) -> Page:
        replica = self._replicas.get(partition.group) or await self._groups.gone(partition)
        return await replica.scan(scan)

    async def write_all(
        self, writes: Sequence[tuple[Partition, Put | Delete]]
    ) -> list[Written | Throttling]:
        """All writes are proposed before any is waited for, so that a usual batch is in one round."""
        answers: dict[int, Written | Throttling] = {}
        rounds: set[Round] = set()
        left = SLICE_BYTES_PROPOSED
        for partition, positions in _by_partition(writes):
            while positions:
                if left <= 0:
                    left = SLICE_BYTES_PROPOSED
                    await asyncio.sleep(0)
                replica = self._replicas.get(partition.group) or await self._groups.gone(partition)
                begun = replica.begin([writes[position][1] for position in positions], left)
                left -= begun.size_bytes
                rounds |= begun.rounds
                answers.update(zip(positions, begun.answers, strict=False))
                positions = positions[len(begun.answers) :]
        for round in rounds:
            await round.flushed
        return [answers[position] for position in range(len(writes))]

    async def totals(self, partitions: Sequence[Partition]) -> Totals:
        states = []
        for partition in partitions:
            replica = self._replicas.get(partition.group) or await self._groups.gone(partition)
            states.append(replica.flushed_state)
        return sum_totals(states)

    async def administer(self, command: Administration) -> Table:
        async with self._meta.lock:
            return await self._meta.administer(command)

    # Following meta

    async def follow(self, record: TableRecord) -> None:
        await self._groups.follow(record)
        # A server that is stopping does the rest the next time it starts.
        if not self._stopping:
            self.on_table(record)
            self._driver.look()

    def close(self, groups: Collection[int], round: Round) -> None:
        self._groups.close(groups, round)

    def drop(self, table: Table) -> None:
        self.on_drop(table)


def _by_partition(
    writes: Sequence[tuple[Partition, Put | Delete]],
) -> Iterable[tuple[Partition, list[int]]]:
    """The positions of each partition's writes."""
    found: dict[int, tuple[Partition, list[int]]] = {}
    for position, (partition, _) in enumerate(writes):
        found.setdefault(partition.group, (partition, []))[1].append(position)
    return found.values()
