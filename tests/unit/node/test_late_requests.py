"""What a write does that arrives after its router has given it up, and has been answered by another node."""

from __future__ import annotations

import asyncio

import msgspec
import pytest

from gramme.codec.frame import Answer, Request
from gramme.errors import ConditionalCheckFailed, NotLeader
from gramme.expressions.placeholders import Placeholders
from gramme.router.main import Tables
from gramme.router.remote_nodes import RemoteNodes
from tests.support.in_process import ROUTER, Cluster, groups_of, on_cluster
from tests.unit.node.fixtures import PLAIN

ABSENT = Placeholders(None, None).condition("attribute_not_exists(id)")


def test_write_that_was_refused_is_not_done_by_a_node_that_hears_of_it_late() -> None:
    async def scenario(cluster: Cluster) -> None:
        (group,) = groups_of(await cluster.create(PLAIN))
        await cluster.put("plain", "a")
        another = await another_router(cluster)
        old = await cluster.led(group)
        new = next(number for number in cluster.members if number != old)

        # What is said to the old leader is on its way until the cut heals; before that the router asks others.
        cluster.cut(ROUTER, cluster.members[old])
        put = msgspec.structs.replace(cluster.a_put("plain", "a"), condition=ABSENT)
        refused = asyncio.ensure_future(cluster.write("plain", "a", put))
        await cluster.move(group, new)
        with pytest.raises(ConditionalCheckFailed):
            await refused
        await another.write(cluster.place("plain", "a")[1], cluster.a_delete("plain", "a"))
        await cluster.move(group, old)
        cluster.heal()
        await asyncio.sleep(1)

        assert await cluster.get("plain", "a") is None

    on_cluster(scenario)


def test_write_is_done_in_the_term_it_was_meant_for_and_in_no_other() -> None:
    async def scenario(cluster: Cluster) -> None:
        (group,) = groups_of(await cluster.create(PLAIN))
        leader = await cluster.led(group)
        term = cluster.replica(leader, group).consensus.raft.term
        put = cluster.a_put("plain", "a")
        answers: list[Answer] = []

        for number, meant_for in enumerate((0, term - 1, term + 1, term)):
            request = Request(number, group, 1, True, put, bytes([number]) * 16, meant_for)
            cluster.node(leader).asked(request, answers.append)
        await cluster.until(lambda: len(answers) == 4, "all are answered")

        *refused, done = answers
        assert done.error is None
        for answer in refused:
            assert isinstance(answer.error, NotLeader)
            assert (answer.error.hint, answer.error.term) == (leader, term)

    on_cluster(scenario)


async def another_router(cluster: Cluster) -> RemoteNodes:
    tables = Tables()
    router = RemoteNodes(cluster.random, tables)
    cluster.dial(router, "another router")
    await cluster.until(lambda: tables.catalog is not None, "the other router has news")
    return router
