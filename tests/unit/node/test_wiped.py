"""A node that has lost its disk comes back as another one, and is given new replicas in the place of those that are gone."""

from __future__ import annotations

import asyncio

import pytest
from msgspec.structs import replace

from gramme.links.api import Refused
from gramme.node.engine.memory import TOTAL_BYTES
from gramme.node.group_log import load_position
from gramme.node.meta import META_GROUP
from gramme.node.raft.core import Raft
from tests.support.in_process import Cluster, groups_of, on_cluster
from tests.unit.node.fixtures import INDEXED, PLAIN

LATER = replace(PLAIN, name="later")


async def restored(cluster: Cluster, number: int, groups: list[int]) -> None:
    """Wait until every group counts on a replica of this node, and on nobody who is gone."""

    def counts() -> bool:
        made = cluster.processes[number]
        return made.joined and all(
            (log := made.node.log_of(group)) is not None
            and log.raft.is_voter
            and len(log.position.configuration.voters) == 3
            and not log.position.configuration.learners
            for group in groups
        )

    await cluster.until(counts, f"node {number} has all its replicas again")


def checksums(cluster: Cluster, group: int) -> set[int]:
    return {
        cluster.replica(number, group).replica.flushed_state.checksum for number in cluster.members
    }


async def same_everywhere(cluster: Cluster, groups: list[int]) -> None:
    await cluster.until(
        lambda: all(len(checksums(cluster, group)) == 1 for group in groups), "all are equal"
    )


@pytest.mark.parametrize("victim", ["leader of meta", "another"])
def test_wiped_node_gets_everything_from_the_others(victim: str) -> None:
    async def scenario(cluster: Cluster) -> None:
        groups = groups_of(await cluster.create(INDEXED, partitions=4))
        for number in range(50):
            await cluster.put(INDEXED.name, f"{number}")
        leader = cluster.meta_leader()
        assert leader is not None
        number = leader if victim == "leader of meta" else leader % 3 + 1
        old = {group: load_position(cluster.disks[number], group) for group in groups}

        await cluster.stop(number)
        cluster.wipe(number)
        cluster.start(number)
        await cluster.put(INDEXED.name, "meanwhile")
        await restored(cluster, number, [0, *groups])

        await cluster.put(INDEXED.name, "afterwards")
        await same_everywhere(cluster, groups)
        for group in groups:
            new, before = load_position(cluster.disks[number], group), old[group]
            assert new is not None and before is not None
            assert new.replica != before.replica, "an id was used again"
        # It counts: without another one all goes on.
        await cluster.stop(number % 3 + 1)
        await cluster.put(INDEXED.name, "with two of three")
        for id in ["0", "49", "meanwhile", "afterwards", "with two of three"]:
            assert await cluster.get(INDEXED.name, id) is not None

    on_cluster(scenario)


def test_a_node_without_room_is_given_nothing_until_it_has_some() -> None:
    async def scenario(cluster: Cluster) -> None:
        groups = groups_of(await cluster.create(PLAIN, partitions=2))
        number = (cluster.meta_leader() or 0) % 3 + 1
        await cluster.stop(number)
        cluster.wipe(number)
        cluster.disks[number].free_bytes = 0
        cluster.start(number)
        await cluster.put(PLAIN.name, "meanwhile")
        await asyncio.sleep(20.0)
        assert not any(cluster.processes[number].node.log_of(group) for group in groups)

        cluster.disks[number].free_bytes = TOTAL_BYTES
        await restored(cluster, number, [0, *groups])
        await same_everywhere(cluster, groups)

    on_cluster(scenario)


def test_each_node_in_turn_may_lose_its_disk() -> None:
    async def scenario(cluster: Cluster) -> None:
        groups = groups_of(await cluster.create(PLAIN, partitions=2))
        for number in cluster.members:
            await cluster.put("plain", f"before {number}")
            await cluster.stop(number)
            cluster.wipe(number)
            cluster.start(number)
            await restored(cluster, number, [0, *groups])
        later = groups_of(await cluster.create(LATER))
        await cluster.put(LATER.name, "later")

        await same_everywhere(cluster, [*groups, *later])
        for number in cluster.members:
            assert await cluster.get("plain", f"before {number}") is not None

    on_cluster(scenario)


def test_the_same_node_may_lose_its_disk_again_before_it_has_everything() -> None:
    async def scenario(cluster: Cluster) -> None:
        groups = groups_of(await cluster.create(PLAIN, partitions=4))
        await cluster.put("plain", "a")
        for _ in range(3):
            await cluster.stop(2)
            cluster.wipe(2)
            cluster.start(2)
            await cluster.until(lambda: cluster.processes[2].joined, "it is let in")
            await asyncio.sleep(0.3)
        await restored(cluster, 2, [0, *groups])

        await same_everywhere(cluster, groups)
        assert await cluster.get("plain", "a") is not None

    on_cluster(scenario)


def test_node_that_is_let_in_and_killed_goes_on_where_it_was() -> None:
    async def scenario(cluster: Cluster) -> None:
        groups = groups_of(await cluster.create(PLAIN, partitions=4))
        await cluster.put("plain", "a")
        await cluster.stop(2)
        cluster.wipe(2)
        cluster.start(2)
        for wait_s in (0.01, 0.1, 0.2, 0.3, 0.4, 0.5, 1.0):
            await asyncio.sleep(wait_s)
            await cluster.crash(2)
            cluster.start(2)
        await restored(cluster, 2, [0, *groups])

        await same_everywhere(cluster, groups)

    on_cluster(scenario)


def test_node_that_was_away_follows_one_that_was_let_in_meanwhile() -> None:
    async def scenario(cluster: Cluster) -> None:
        def meta(number: int) -> Raft | None:
            made = cluster.processes[number]
            log = made.node.log_of(META_GROUP) if made.joined else None
            return None if log is None else log.raft

        await cluster.stop(1)
        await cluster.stop(2)
        cluster.wipe(2)
        cluster.start(2)
        await cluster.until(
            lambda: (new := meta(2)) is not None and new.is_voter, "node 2 counts again"
        )
        new, leader = meta(2), cluster.meta_leader()
        assert new is not None and leader is not None
        log = cluster.node(leader).log_of(META_GROUP)
        assert log is not None
        log.hand_over(new.replica)
        await cluster.until(lambda: cluster.meta_leader() == 2, "node 2 leads meta")

        cluster.start(1)

        await cluster.until(
            lambda: (old := meta(1)) is not None and old.applied_index == new.applied_index,
            "node 1 follows",
        )

    on_cluster(scenario, nodes=5)


def test_the_directory_that_was_replaced_is_refused() -> None:
    async def scenario(cluster: Cluster) -> None:
        groups = groups_of(await cluster.create(PLAIN))
        await cluster.stop(2)
        kept, known = cluster.disks[2], cluster.directories[2]
        cluster.wipe(2)
        cluster.start(2)
        await restored(cluster, 2, [0, *groups])
        await cluster.stop(2)

        cluster.disks[2], cluster.directories[2] = kept, known
        cluster.start(2)
        await asyncio.sleep(5)

        assert any("another data directory" in note for note in cluster.processes[2].notes)
        assert not cluster.node(1).transport.reaches(2)
        await cluster.put("plain", "a")

    on_cluster(scenario)


def test_second_node_of_a_number_is_refused_while_the_first_runs() -> None:
    async def scenario(cluster: Cluster) -> None:
        leader = cluster.meta_leader()
        assert leader is not None
        with pytest.raises(Refused, match="runs already"):
            await cluster.node(leader).welcome(leader % 3 + 1, "another")

    on_cluster(scenario)


def test_founder_is_known_to_meta_without_having_been_wiped() -> None:
    async def scenario(cluster: Cluster) -> None:
        def known() -> bool:
            return all(len(cluster.node(one).members.records()) == 3 for one in cluster.members)

        await cluster.until(known, "meta knows of all, on all")
        assert [record.since for record in cluster.node(1).members.records().values()] == [0, 0, 0]

    on_cluster(scenario)
