"""Nodes begin a cluster only when every other one knows them; one that was somebody else before waits to be let in."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from random import Random

import pytest

from gramme.codec.join import Welcome
from gramme.links.api import Refused
from gramme.node.engine.memory import MemoryEngine
from gramme.node.group_log import load_position
from gramme.node.joining import SAY_EVERY_S, SEEMS_TO_RUN_S, Joining, Unanswered, welcome
from gramme.node.members import Members
from gramme.node.meta import META_GROUP
from gramme.node.snapshots import load_incomplete
from tests.support.deterministic import DeterministicLoop
from tests.unit.node.test_members import Stalling, disk_failed

ADDRESSES = {1: "a:1", 2: "b:1", 3: "c:1"}
PATIENCE_S = 60.0


class Node:
    """One that asks, and answers while it waits. `silent` ones do not answer."""

    def __init__(
        self,
        cluster: dict[int, Node],
        number: int,
        directory: str,
        engine: MemoryEngine | None = None,
    ) -> None:
        self.engine = engine or MemoryEngine()
        self.members = Members(self.engine, number, directory, ADDRESSES, disk_failed)
        self.silent = False
        self.said: list[str] = []
        self._cluster = cluster
        self._number = number
        self._directory = directory
        cluster[number] = self

    async def join(self) -> None:
        await Joining(self.engine, self.members, self._ask, self.said.append).run()

    async def joins_not(self) -> None:
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(PATIENCE_S):
                await self.join()

    async def _ask(self, number: int) -> Welcome:
        other = self._cluster.get(number)
        if other is None or other.silent:
            raise Unanswered("cannot be reached")
        return await welcome(other.members, self._number, self._directory)

    @property
    def founded(self) -> bool:
        return load_position(self.engine, META_GROUP) is not None


def simulated(scenario: object) -> None:
    DeterministicLoop(Random(1), 100_000).run(scenario)  # type: ignore[arg-type]


def test_nodes_of_a_new_cluster_begin_it_together() -> None:
    async def scenario() -> None:
        cluster: dict[int, Node] = {}
        first, second = Node(cluster, 1, "a"), Node(cluster, 2, "b")
        joining = [asyncio.ensure_future(node.join()) for node in (first, second)]
        await asyncio.sleep(SAY_EVERY_S * 2)
        assert not first.founded and not second.founded
        assert "not all have answered; node 3: cannot be reached" in first.said[0]

        third = Node(cluster, 3, "c")
        await asyncio.gather(third.join(), *joining)

        assert all(node.founded for node in cluster.values())
        for node in cluster.values():
            survived = Members(node.engine.crash(), 0, "", ADDRESSES, disk_failed)
            known = [survived.directory_of(number) for number in ADDRESSES]
            assert known.count(None) == 1, "a node votes that another has forgotten"

    simulated(scenario())


@pytest.mark.parametrize("silent", [(), (2,), (3,)])
def test_wiped_node_never_begins_the_cluster_again(silent: tuple[int, ...]) -> None:
    async def scenario() -> None:
        cluster: dict[int, Node] = {}
        nodes = [Node(cluster, number, f"{number}") for number in ADDRESSES]
        await asyncio.gather(*(node.join() for node in nodes))
        for number in silent:
            cluster[number].silent = True

        wiped = Node(cluster, 1, "another")
        await wiped.joins_not()

        assert not wiped.founded
        assert "had another data directory" in wiped.said[0]

    simulated(scenario())


def test_node_that_nobody_can_vouch_for_waits() -> None:
    async def scenario() -> None:
        cluster: dict[int, Node] = {}
        nodes = [Node(cluster, number, f"{number}") for number in ADDRESSES]
        await asyncio.gather(*(node.join() for node in nodes))
        cluster[2].silent = cluster[3].silent = True

        wiped = Node(cluster, 1, "another")
        await wiped.joins_not()

        assert not wiped.founded

    simulated(scenario())


def test_node_that_is_let_in_waits_for_a_snapshot_under_its_new_id() -> None:
    async def scenario() -> None:
        cluster: dict[int, Node] = {}
        asking = Node(cluster, 1, "another")

        async def ask(number: int) -> Welcome:
            if number == 2:
                raise Unanswered("cannot be reached")
            return Welcome(True, 40)

        joining = Joining(asking.engine, asking.members, ask, asking.said.append)
        await joining.run()

        assert not asking.founded
        mark = load_incomplete(asking.engine.crash(), META_GROUP)
        assert mark is not None and mark.position.replica == 40
        # Started again it has nothing to ask.
        asking.silent = True
        await asking.join()

    simulated(scenario())


def test_who_is_refused_for_long_gives_up() -> None:
    async def scenario() -> None:
        cluster: dict[int, Node] = {}
        asking = Node(cluster, 1, "another")

        async def ask(number: int) -> Welcome:
            raise Refused("node 1 runs already")

        began = asyncio.get_running_loop().time()
        with pytest.raises(Refused, match="runs already"):
            await Joining(asking.engine, asking.members, ask, asking.said.append).run()
        assert asyncio.get_running_loop().time() - began >= SEEMS_TO_RUN_S

    simulated(scenario())


def test_only_node_of_a_cluster_waits_for_nobody() -> None:
    async def scenario() -> None:
        engine = MemoryEngine()
        members = Members(engine, 1, "a", {1: "a:1"}, disk_failed)

        async def ask(number: int) -> Welcome:
            raise AssertionError

        with suppress(TimeoutError):
            async with asyncio.timeout(1):
                await Joining(engine, members, ask, print).run()
        assert load_position(engine, META_GROUP) is not None

    simulated(scenario())


def test_a_node_whose_engine_is_behind_joins_when_there_is_room() -> None:
    async def scenario() -> None:
        cluster: dict[int, Node] = {}
        stalling = Stalling()
        nodes = [
            Node(cluster, number, f"{number}", stalling if number == 1 else None)
            for number in ADDRESSES
        ]
        await asyncio.gather(*(node.join() for node in nodes))

        assert all(node.founded for node in nodes)
        assert not stalling.stalls

    simulated(scenario())
