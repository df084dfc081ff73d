"""Indexes of tables in a cluster, taken from phase to phase by where meta is led from."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from msgspec.structs import replace

from gramme.commands import AlterTable
from gramme.model.table import IndexPhase
from tests.support.in_process import Cluster, groups_of, on_cluster
from tests.unit.node.fixtures import BY_COLOUR, PLAIN


def test_group_without_a_quorum_holds_up_its_own_table_only() -> None:
    async def scenario(cluster: Cluster) -> None:
        for name in ("first", "second"):
            await cluster.create(replace(PLAIN, name=name))
        await silence(cluster, "first")

        await add_index(cluster, "first")
        await add_index(cluster, "second")

        await cluster.until(lambda: phase(cluster, "second") == "ACTIVE", "the index is there")
        assert phase(cluster, "first") == "ALLOCATING"

    on_cluster(scenario)


def test_whoever_leads_meta_next_goes_on() -> None:
    async def scenario(cluster: Cluster) -> None:
        await cluster.create(PLAIN)
        heard_again = await silence(cluster, "plain")
        await add_index(cluster, "plain")
        old = cluster.meta_leader()
        assert old is not None
        await asyncio.sleep(1)

        await cluster.crash(old)
        cluster.start(old)
        heard_again()

        await cluster.until(lambda: phase(cluster, "plain") == "ACTIVE", "the index is there")

    on_cluster(scenario)


async def silence(cluster: Cluster, name: str) -> Callable[[], None]:
    """Let the replicas of a table's groups not hear each other, until nobody leads. Returns what ends that."""
    entry = cluster.entry(name)
    assert entry is not None
    logs = [
        cluster.replica(number, group).consensus
        for group in groups_of(entry)
        for number in cluster.members
    ]
    sends = [log._send for log in logs]
    for log in logs:
        log._send = lambda node, group, message: None
    await cluster.until(lambda: not any(log.serving for log in logs), "nobody leads")

    def end() -> None:
        for log, send in zip(logs, sends, strict=True):
            log._send = send

    return end


async def add_index(cluster: Cluster, name: str) -> None:
    entry = cluster.entry(name)
    assert entry is not None
    index = replace(BY_COLOUR, id=0, phase="ALLOCATING")
    altered = replace(entry.table, indexes=(index,))
    await cluster.router.administer(AlterTable(entry.table, altered))


def phase(cluster: Cluster, name: str) -> IndexPhase | None:
    entry = cluster.entry(name)
    assert entry is not None
    index = entry.table.index(BY_COLOUR.name)
    return None if index is None else index.phase
