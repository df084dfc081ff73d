"""Nodes of a cluster together: tables come, go and are served on all of them, through crashes and cuts."""

from __future__ import annotations

from tests.support.in_process import Cluster, on_cluster
from tests.unit.node.fixtures import INDEXED, PLAIN


def test_what_was_written_is_read_from_any_replica() -> None:
    async def scenario(cluster: Cluster) -> None:
        await cluster.create(PLAIN, partitions=3)

        for id in "abcdef":
            await cluster.put("plain", id, n=id)

        for id in "abcdef":
            item = await cluster.get("plain", id)
            assert item == {"id": {"S": id}, "n": {"S": id}}

    on_cluster(scenario)


def test_index_rows_find_their_leader_on_another_node() -> None:
    async def scenario(cluster: Cluster) -> None:
        entry = await cluster.create(INDEXED, partitions=3)
        base = {await cluster.led(part.group) for part in entry.partitions.partitions}
        index = {
            await cluster.led(part.group) for part in entry.index_partitions["by-colour"].partitions
        }
        assert len(base | index) > 1

        for id in "abcdef":
            await cluster.put("indexed", id, colour=f"c{id}")

        shown: set[str] = set()

        async def look() -> None:
            shown.update(await cluster.index_ids("indexed", "by-colour"))

        while shown != set("abcdef"):
            await look()

    on_cluster(scenario)
