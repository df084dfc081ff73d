"""The groups of a node by itself: it has all that meta names, with one replica each, and leads them as long as they are here.

A group's entries go to the commit loop, and it is asked by calling it. Everything else is as in a cluster.
"""

from __future__ import annotations

import asyncio
from collections.abc import Collection
from typing import NoReturn

from gramme.clock import Clock
from gramme.commands import Feed, GetFeed, IndexWrite
from gramme.errors import ResourceNotFound
from gramme.model.table import TableRecord
from gramme.node.duties import Duties
from gramme.node.engine.api import Engine
from gramme.node.feeds import Feeding
from gramme.node.open_replica import open_replica
from gramme.node.proposals import Commits, Round
from gramme.node.replica import Replica
from gramme.node.table_records import groups_of
from gramme.partitions import Partition

# About a millisecond of opening groups, or of proposing to them. A table may have hundreds.
GROUPS_PER_TURN = 8


class Groups:
    def __init__(self, engine: Engine, commits: Commits, clock: Clock) -> None:
        self._engine = engine
        self._commits = commits
        self._clock = clock
        self.replicas: dict[int, Replica] = {}
        self._duties: dict[int, Duties] = {}
        # Groups being removed, and the round after which they are gone.
        self._leaving: dict[int, Round] = {}
        # There before any group is opened.
        self.feeding: Feeding | None = None
        self._stopping = False

    async def follow(self, record: TableRecord) -> None:
        """Have the groups of a table and let them follow its record."""
        # Those of the indexes come first: who feeds an index looks for its groups here.
        for number, group in enumerate(groups_of(record), start=1):
            if self._stopping:
                return
            if group in self._duties:
                self._duties[group].follow(record)
            else:
                self._open(group, record)
            if not number % GROUPS_PER_TURN:
                await asyncio.sleep(0)

    def _open(self, group: int, record: TableRecord) -> None:
        assert self.feeding is not None
        replica = open_replica(self._engine, self._commits, self._clock, group)
        self._duties[group] = Duties(replica, self._commits, record, self.feeding)
        self.replicas[group] = replica

    def close(self, groups: Collection[int], round: Round) -> None:
        """Take no more writes for groups that `round` removes. Who asks for them is told when that is durable."""
        for group in groups:
            self._duties.pop(group).stop()
            del self.replicas[group]
            self._leaving[group] = round
        round.flushed.add_done_callback(lambda _: self._forget(groups))

    def _forget(self, groups: Collection[int]) -> None:
        for group in groups:
            del self._leaving[group]

    async def gone(self, partition: Partition) -> NoReturn:
        """Say that a table is gone, but not before that is durable."""
        leaving = self._leaving.get(partition.group)
        if leaving is not None:
            await leaving.flushed
        raise ResourceNotFound

    def stop(self) -> None:
        """Let no group do more than it is asked for."""
        self._stopping = True
        for duties in self._duties.values():
            duties.stop()

    async def send(self, group: int, write: IndexWrite) -> None:
        """Give rows to a group of an index. Returns when they are durable."""
        duties = self._duties.get(group)
        if duties is None:
            # The table or the index was deleted since, and whoever sends will be stopped.
            return
        assert duties.target is not None, f"group {group} keeps no index"
        await duties.target.apply(write)

    async def ask(self, group: int, command: GetFeed) -> Feed | None:
        """How far a group has come with an index. None if there is no such group."""
        duties = self._duties.get(group)
        if duties is None:
            return None
        assert duties.feeds is not None, f"group {group} feeds no indexes"
        return duties.feeds.state(command.index)
