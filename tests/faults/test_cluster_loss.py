"""A node of a cluster that has lost its data, wholly or in part, comes back as a new one and lacks nothing."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from gramme.cli.ports import free_ports
from tests.faults.test_cluster import (
    CAUGHT_UP_S,
    Writer,
    definition,
    has_caught_up,
    lost,
    partitions,
)
from tests.faults.test_damage import damage
from tests.support.cluster_processes import Cluster, gramme
from tests.support.waiting import until

VICTIM = "node-2"
LAG_MAX = 10


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    path = tmp_path_factory.mktemp("loss") / "c"
    with Cluster(path, "--partitions", "4") as cluster:
        with cluster.client() as client:
            client.call("CreateTable", definition())
        yield cluster


def is_whole(cluster: Cluster) -> bool:
    """Whether every partition counts on a replica on every node, and all have caught up."""
    return has_caught_up(cluster, LAG_MAX) and all(
        sorted(replica["role"] for replica in partition["replicas"])
        == ["follower", "follower", "leader"]
        for partition in partitions(cluster)
    )


def test_a_wiped_node_is_given_everything_by_the_others(cluster: Cluster) -> None:
    with Writer(cluster, "wiped") as writer:
        cluster.kill(VICTIM)
        shutil.rmtree(cluster.part(VICTIM)["data"])
        writer.await_more()
        cluster.bring_back(VICTIM)
        until(lambda: is_whole(cluster), CAUGHT_UP_S, "the node has all its replicas again")
        # Now it is another one that is missing.
        cluster.kill("node-3")
        writer.await_more()
        cluster.bring_back("node-3")

    with cluster.client() as client:
        assert lost(client, writer) == []


def test_a_node_with_a_damaged_log_says_what_to_do_and_comes_back_empty(cluster: Cluster) -> None:
    with Writer(cluster, "damaged") as writer:
        cluster.kill(VICTIM)
        data = Path(cluster.part(VICTIM)["data"])
        damage(data, 0.5)

        command = cluster.part(VICTIM)["command"]
        done = gramme(*command[command.index("gramme.cli.main") + 1 :])
        assert done.returncode == 1
        assert "Move the directory away and start the node again" in done.stderr

        data.rename(data.with_name("kept"))
        cluster.bring_back(VICTIM)
        until(lambda: is_whole(cluster), CAUGHT_UP_S, "the node has all its replicas again")
        writer.await_more()

    with cluster.client() as client:
        assert lost(client, writer) == []


def test_a_node_may_not_go_on_with_what_is_left(cluster: Cluster) -> None:
    command = cluster.part(VICTIM)["command"]
    done = gramme(*command[command.index("gramme.cli.main") + 1 :], "--accept-data-loss")

    assert done.returncode == 1
    assert "Only a cluster of one node takes it" in done.stderr


def test_a_second_node_of_a_number_that_runs_is_refused(cluster: Cluster, tmp_path: Path) -> None:
    """As when a node is started on another machine with the number of a node that is there."""
    part = cluster.part(VICTIM)
    arguments = part["command"][part["command"].index("gramme.cli.main") + 1 :]
    members = arguments.index("--members") + 1
    (port,) = free_ports(1)
    arguments[members] = arguments[members].replace(part["address"], f"127.0.0.1:{port}")
    arguments[arguments.index("--data") + 1] = str(tmp_path / "second")

    done = gramme(*arguments)

    assert done.returncode == 1
    assert "another data directory" in done.stderr
    assert is_whole(cluster)
