"""Routers ask nodes, one after the other, for what they were not told."""

from __future__ import annotations

import asyncio
from itertools import pairwise

from gramme.codec.exchange import decode_to_node
from gramme.commands import CreateTable, DeleteTable
from gramme.links.api import Identity
from gramme.model.table import Table
from gramme.router.refresh import PAUSE_S_MAX, REFRESH_S
from tests.support.in_process import Cluster, on_cluster
from tests.unit.node.fixtures import PLAIN
from tests.unit.router.test_remote_nodes import NODES, Parts, now, run


def refreshes(made: Parts, number: int) -> list[int]:
    """What a node was told that the router knows, each time."""
    frames = [decode_to_node(frame) for frame in made.node(number).sent]
    return [frame.known for frame in frames if frame.known is not None]


async def administer(cluster: Cluster, command: CreateTable | DeleteTable) -> Table:
    """Have it done without the router."""
    leader = cluster.meta_leader()
    assert leader is not None
    return await cluster.node(leader).administer(command)


def test_change_that_no_node_pushed_is_known_after_a_refresh() -> None:
    async def scenario(cluster: Cluster) -> None:
        for process in cluster.processes.values():
            process.node.on_news = lambda: None

        await administer(cluster, CreateTable(PLAIN, 1))
        assert cluster.entry("plain") is None
        began = asyncio.get_running_loop().time()
        await cluster.until(lambda: cluster.entry("plain"), "the router knows the table")

        # The first node to be asked may not have applied it yet.
        assert asyncio.get_running_loop().time() - began < 2 * PAUSE_S_MAX
        await cluster.put("plain", "a", n="1")
        await administer(cluster, DeleteTable("0" * 12, "local", "plain"))
        await cluster.until(lambda: not cluster.entry("plain"), "the router knows that it is gone")

    on_cluster(scenario)


def test_nodes_are_asked_in_turn_at_a_constant_rate_by_a_few_bytes() -> None:
    async def story(made: Parts) -> None:
        rounds = 20

        await asyncio.sleep(rounds * NODES * REFRESH_S)

        for number in range(1, NODES + 1):
            assert abs(len(refreshes(made, number)) - rounds) <= 2
            assert set(refreshes(made, number)) == {1}
            assert max(len(frame) for frame in made.node(number).sent) < 10

    run(story)


def test_node_that_is_down_busy_or_silent_is_passed_over() -> None:
    async def story(made: Parts) -> None:
        made.node(1).up = False
        made.node(2).busy = True

        await asyncio.sleep(10 * REFRESH_S)

        assert made.node(1).sent == made.node(2).sent == []
        assert 8 <= len(refreshes(made, 3)) <= 12
        made.node(3).up = False
        await asyncio.sleep(10 * REFRESH_S)
        assert len(refreshes(made, 3)) <= 12
        made.node(1).up = True
        made.node(1).events.on_up(Identity("test", "1.disk", "node", 1))
        await asyncio.sleep(2 * PAUSE_S_MAX)
        assert refreshes(made, 1)

    run(story)


def test_router_that_is_closed_asks_no_more() -> None:
    async def story(made: Parts) -> None:
        made.router.close()

        await asyncio.sleep(10 * REFRESH_S)

        assert [link.sent for link in made.links] == [[]] * NODES

    run(story)


def test_pauses_are_jittered() -> None:
    async def story(made: Parts) -> None:
        seen: list[float] = []
        while len(seen) < 20:
            if sum(len(link.sent) for link in made.links) > len(seen):
                seen.append(now())
            await asyncio.sleep(0.01)

        pauses = [later - earlier for earlier, later in pairwise(seen)]
        assert REFRESH_S * 0.74 < min(pauses) < REFRESH_S * 0.9
        assert REFRESH_S * 1.1 < max(pauses) < PAUSE_S_MAX + 0.02

    run(story)
