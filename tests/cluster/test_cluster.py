"""A cluster in containers: what was answered outlives a killed container, and all of them."""

from __future__ import annotations

from typing import Any

import pytest

from tests.cluster.containers import NODES, ROUTER, Containers
from tests.cluster.music import TABLE, Item, create_table, key_of, song
from tests.support.waiting import until

# More than enough that no partition is left out.
ITEMS = 40
CAUGHT_UP_S = 60.0


@pytest.fixture(scope="module")
def cluster(containers: Containers) -> Containers:
    """With a table."""
    create_table(containers.dynamodb())
    return containers


def write(cluster: Containers, era: str) -> None:
    dynamodb = cluster.dynamodb()
    for item in written(era):
        dynamodb.put_item(TableName=TABLE, Item=item)


def read(cluster: Containers, era: str) -> list[Item]:
    dynamodb = cluster.dynamodb()
    asked = (
        dynamodb.get_item(TableName=TABLE, Key=key_of(item), ConsistentRead=True)
        for item in written(era)
    )
    return [answer.get("Item", {}) for answer in asked]


def written(era: str) -> list[Item]:
    return [song(era, number) for number in range(ITEMS)]


def partitions(cluster: Containers) -> list[dict[str, Any]]:
    return [one for one in cluster.status()["partitions"] if one["table"] == TABLE]


def has_caught_up(cluster: Containers) -> bool:
    replicas = [replica for one in cluster.status()["partitions"] for replica in one["replicas"]]
    return all(replica["lag"] == 0 for replica in replicas)


def test_all_containers_say_that_they_serve(cluster: Containers) -> None:
    everybody = (*NODES, ROUTER)

    assert [cluster.health(service) for service in everybody] == ["healthy"] * len(everybody)


def test_a_table_has_four_partitions_of_three_replicas(cluster: Containers) -> None:
    found = partitions(cluster)

    assert len(found) == 4
    for partition in found:
        assert partition["leader"] in (1, 2, 3)
        assert sorted(replica["node"] for replica in partition["replicas"]) == [1, 2, 3]


def test_an_sdk_writes_and_reads(cluster: Containers) -> None:
    write(cluster, "before")

    assert read(cluster, "before") == written("before")


def test_writes_go_on_without_a_node_that_was_killed_and_it_catches_up(
    cluster: Containers,
) -> None:
    write(cluster, "with three")
    led = [f"node-{one['leader']}" for one in partitions(cluster)]
    # One that leads, so that there is something to take over.
    victim = max(NODES, key=led.count)

    cluster.kill(victim)
    write(cluster, "with two")
    seen_by_two = read(cluster, "with three") + read(cluster, "with two")
    print(cluster.table_of_processes())
    cluster.bring_back(victim)
    until(lambda: has_caught_up(cluster), CAUGHT_UP_S, f"{victim} has caught up")
    write(cluster, "with three again")

    assert seen_by_two == written("with three") + written("with two")
    assert read(cluster, "with two") == written("with two")
    assert read(cluster, "with three again") == written("with three again")
    assert all(node["up"] for node in cluster.status()["nodes"])


def test_data_outlive_the_containers(cluster: Containers) -> None:
    write(cluster, "to stay")

    cluster.down()
    assert not any(cluster.health(service) for service in (*NODES, ROUTER))
    cluster.up()

    assert read(cluster, "to stay") == written("to stay")
    write(cluster, "after")
    assert read(cluster, "after") == written("after")
