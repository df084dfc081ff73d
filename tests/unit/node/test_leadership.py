"""Leadership leaves who should not lead, if there is who can, and comes home after a fault."""

from __future__ import annotations

import asyncio

import pytest

from gramme.errors import Throttling
from gramme.node.engine.memory import TOTAL_BYTES
from gramme.node.leadership import AGAIN_AFTER_S, FIT_AGAIN_AFTER_S, HOME_AFTER_S, LAG_S
from tests.support.in_process import Cluster, groups_of, on_cluster
from tests.unit.node.fixtures import PLAIN

SOON_S = 5.0


def test_full_disk_moves_leadership_away_and_all_goes_on() -> None:
    async def scenario(cluster: Cluster) -> None:
        groups = groups_of(await cluster.create(PLAIN, partitions=6))
        full = cluster.leader(groups[0])
        assert full is not None

        cluster.disks[full].free_bytes = 0
        await cluster.until(
            lambda: all(cluster.leader(group) not in (None, full) for group in [*groups]),
            "others lead",
        )
        await asyncio.sleep(SOON_S)

        assert all(cluster.leader(group) != full for group in groups)
        assert cluster.meta_leader() != full
        for number in range(20):
            await cluster.put("plain", f"{number}")

    on_cluster(scenario)


def test_full_disk_of_a_follower_holds_up_nobody_and_it_catches_up_when_there_is_room() -> None:
    async def scenario(cluster: Cluster) -> None:
        (group,) = groups_of(await cluster.create(PLAIN))
        full = (cluster.leader(group) or 0) % 3 + 1
        replica = cluster.replica(full, group).replica
        cluster.disks[full].free_bytes = 0
        await asyncio.sleep(1)
        before = replica.flushed_state.checksum

        for number in range(50):
            await cluster.put("plain", f"{number}")
        assert replica.flushed_state.checksum == before

        cluster.disks[full].free_bytes = TOTAL_BYTES
        await cluster.until(
            lambda: replica.flushed_state.item_count == 50, "the follower has what it missed"
        )
        # Elections have nothing to do with it.
        assert term_of(cluster, group) == 1

    on_cluster(scenario)


def test_when_all_disks_are_full_who_leads_goes_on_and_refuses_writes() -> None:
    async def scenario(cluster: Cluster) -> None:
        (group,) = groups_of(await cluster.create(PLAIN))
        await cluster.put("plain", "a")
        for disk in cluster.disks.values():
            disk.free_bytes = 0
        await asyncio.sleep(SOON_S)
        leader, term = cluster.leader(group), term_of(cluster, group)

        with pytest.raises(Throttling, match="nearly full"):
            await cluster.put("plain", "b")
        assert await cluster.get("plain", "a") is not None
        await asyncio.sleep(2 * AGAIN_AFTER_S)
        assert (cluster.leader(group), term_of(cluster, group)) == (leader, term)

        for disk in cluster.disks.values():
            disk.free_bytes = TOTAL_BYTES
        await asyncio.sleep(1)
        await cluster.put("plain", "b")

    on_cluster(scenario)


def test_leadership_comes_home_when_a_node_has_been_back_for_a_while() -> None:
    async def scenario(cluster: Cluster) -> None:
        groups = groups_of(await cluster.create(PLAIN, partitions=6))
        homes = {group: home_of(cluster, group) for group in groups}
        away = homes[groups[0]]
        await cluster.stop(away)
        for group in groups:
            await cluster.led(group)
        cluster.start(away)
        await asyncio.sleep(HOME_AFTER_S / 2)
        assert cluster.leader(groups[0]) != away

        await cluster.until(
            lambda: {group: cluster.leader(group) for group in groups} == homes, "all lead at home"
        )

    on_cluster(scenario)


def test_node_whose_flush_hangs_leads_no_more() -> None:
    async def scenario(cluster: Cluster) -> None:
        (group,) = groups_of(await cluster.create(PLAIN))
        slow = cluster.leader(group)
        assert slow is not None
        cluster.disks[slow].flushes.clear()
        writing = asyncio.ensure_future(cluster.put("plain", "a"))
        await asyncio.sleep(LAG_S * 2 + SOON_S)

        assert cluster.leader(group) not in (None, slow)
        await writing
        cluster.disks[slow].flushes.set()
        await asyncio.sleep(FIT_AGAIN_AFTER_S / 2)
        assert cluster.leader(group) != slow

    on_cluster(scenario)


def home_of(cluster: Cluster, group: int) -> int:
    entry = cluster.node(1)
    placed = entry._hosting.placement(group)
    assert placed is not None
    return next(iter(placed.values()))


def term_of(cluster: Cluster, group: int) -> int:
    return cluster.replica(1, group).consensus.raft.term
