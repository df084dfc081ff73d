"""A cluster of real processes that are killed: what was answered stays, and who is left goes on."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any, Self

import boto3
import pytest
from types_boto3_dynamodb.client import DynamoDBClient

from gramme.cli.admin import TIMEOUT_S
from gramme.links.cluster import seed_of
from gramme.node.engine.directory import DataDirectory
from tests.support.client import Client, Json, Refused
from tests.support.cluster_processes import Cluster, gramme
from tests.support.tables import key_schema
from tests.support.waiting import until

TABLE = "journal"
INDEX = "by-writer"
# An election takes one to two seconds, and a second one if it is split.
ACCEPTED_AGAIN_S = 5.0
CAUGHT_UP_S = 20.0
NODES = ("node-1", "node-2", "node-3")


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    with Cluster(tmp_path_factory.mktemp("cluster") / "c") as cluster:
        with cluster.client() as client:
            client.call("CreateTable", definition())
        yield cluster


def definition() -> Json:
    return {
        "TableName": TABLE,
        "BillingMode": "PAY_PER_REQUEST",
        "AttributeDefinitions": [
            {"AttributeName": name, "AttributeType": "S"} for name in ("id", "part", "writer")
        ],
        "KeySchema": key_schema("id", "part"),
        "GlobalSecondaryIndexes": [
            {
                "IndexName": INDEX,
                "KeySchema": key_schema("writer", "id"),
                "Projection": {"ProjectionType": "ALL"},
            }
        ],
    }


class Writer:
    """Puts new items one after the other, in a thread, and knows when each was acknowledged."""

    def __init__(self, cluster: Cluster, name: str) -> None:
        self.name = name
        # In the order of acknowledgement, with its time.
        self.acknowledged: list[tuple[str, float]] = []
        self._cluster = cluster
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        self.await_more()
        return self

    def __exit__(self, *exception: object) -> None:
        self._stopping.set()
        self._thread.join(30.0)
        assert not self._thread.is_alive()

    def await_more(self, count: int = 20) -> None:
        wanted = len(self.acknowledged) + count
        until(lambda: len(self.acknowledged) >= wanted, 15.0, f"{count} more acknowledged writes")

    def silence_after(self, moment_s: float) -> float:
        """The longest time without an acknowledgement that ended after a moment."""
        return max(
            later - earlier
            for (_, earlier), (_, later) in pairwise(self.acknowledged)
            if later > moment_s
        )

    def _run(self) -> None:
        number = 0
        with self._cluster.client() as client:
            while not self._stopping.is_set():
                number += 1
                id = f"{self.name}-{number}"
                item = {"id": {"S": id}, "part": {"S": "1"}, "writer": {"S": self.name}}
                try:
                    client.call("PutItem", {"TableName": TABLE, "Item": item})
                except Refused as refusal:
                    assert refusal.status == 500, refusal
                else:
                    self.acknowledged.append((id, time.monotonic()))


def lost(client: Client, writer: Writer) -> list[str]:
    """What was acknowledged, and a strong read does not show."""
    missing = []
    for id, _ in writer.acknowledged:
        request = {
            "TableName": TABLE,
            "Key": {"id": {"S": id}, "part": {"S": "1"}},
            "ConsistentRead": True,
        }
        if "Item" not in client.call("GetItem", request):
            missing.append(id)
    return missing


def partitions(cluster: Cluster) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = cluster.status()["partitions"]
    return found


def leader_of_table(cluster: Cluster) -> str:
    """Of the one partition of the table itself, once it has one."""

    def led() -> Any:
        of_table = (one for one in partitions(cluster) if one["table"] == TABLE)
        return next(one["leader"] for one in of_table if one["index"] is None)

    return f"node-{until(led, 10.0, 'the partition has a leader')}"


def has_caught_up(cluster: Cluster, lag_max: int = 0) -> bool:
    """While somebody writes, followers are always a round or a few behind."""
    return all(
        replica["lag"] is not None and replica["lag"] <= lag_max
        for partition in partitions(cluster)
        for replica in partition["replicas"]
    )


def boto(cluster: Cluster) -> DynamoDBClient:
    return boto3.client(
        "dynamodb",
        endpoint_url=f"http://127.0.0.1:{cluster.port}",
        region_name="us-east-1",
        aws_access_key_id="any",
        aws_secret_access_key="any",
    )


def test_an_sdk_writes_and_reads(cluster: Cluster) -> None:
    dynamodb = boto(cluster)
    item = {"id": {"S": "sdk"}, "part": {"S": "1"}, "writer": {"S": "boto3"}}

    dynamodb.put_item(TableName=TABLE, Item=item)

    key = {"id": item["id"], "part": item["part"]}
    found = dynamodb.get_item(TableName=TABLE, Key=key, ConsistentRead=True)
    assert found["Item"] == item
    queried = dynamodb.query(
        TableName=TABLE,
        KeyConditionExpression="id = :id",
        ExpressionAttributeValues={":id": {"S": "sdk"}},
        ConsistentRead=True,
    )
    assert queried["Items"] == [item]
    until(lambda: indexed(dynamodb, "boto3") == [item], 5.0, "the index shows the item")


def indexed(dynamodb: DynamoDBClient, writer: str) -> list[Any]:
    page = dynamodb.query(
        TableName=TABLE,
        IndexName=INDEX,
        KeyConditionExpression="writer = :writer",
        ExpressionAttributeValues={":writer": {"S": writer}},
    )
    return page["Items"]


def test_a_batch_with_more_than_may_wait_is_taken_piece_by_piece(cluster: Cluster) -> None:
    # An item is in its row and, for the index, in its change too, so a batch is more than it seems.
    item = {"part": {"S": "1"}, "writer": {"S": "batch"}, "text": {"S": "x" * 390_000}}
    puts = [{"PutRequest": {"Item": {"id": {"S": f"batch-{n}"}, **item}}} for n in range(60)]

    with cluster.client() as client:
        answers = 0
        while puts:
            sent, puts = puts[:20], puts[20:]
            answer = client.call("BatchWriteItem", {"RequestItems": {TABLE: sent}})
            puts += answer["UnprocessedItems"].get(TABLE, [])
            answers += 1
        count = sum(key_value(client, f"batch-{n}", "text") == item["text"] for n in range(60))

    assert count == 60
    assert answers < 30


def key_value(client: Client, id: str, attribute: str) -> Json:
    key = {"id": {"S": id}, "part": {"S": "1"}}
    found = client.call("GetItem", {"TableName": TABLE, "Key": key, "ConsistentRead": True})
    value: Json = found["Item"][attribute]
    return value


def test_the_processes_are_written_down(cluster: Cluster) -> None:
    parts = cluster.parts()

    assert [part["name"] for part in parts] == [*NODES, "router-1"]
    assert [part["role"] for part in parts] == ["node", "node", "node", "router"]
    assert [part["data"] for part in parts] == [str(cluster.path / name) for name in NODES] + [""]
    assert parts[3]["address"] == f"127.0.0.1:{cluster.port}"
    for part in parts:
        with open(f"/proc/{part['pid']}/cmdline") as file:
            assert file.read().split("\0")[:-1] == part["command"]
        assert f"{part['address']:<15}   pid {part['pid']}" in cluster.output


def test_status_shows_every_partition_with_a_leader(cluster: Cluster) -> None:
    done = gramme("admin", "status", "--cluster", str(cluster.path))

    assert done.returncode == 0, done
    assert done.stdout.count(" up ") == 3
    shown = {(one["table"], one["index"]): one for one in partitions(cluster)}
    assert shown.keys() == {("", None), (TABLE, None), (TABLE, INDEX)}
    for partition in shown.values():
        assert partition["leader"] in (1, 2, 3)
        assert sorted(replica["node"] for replica in partition["replicas"]) == [1, 2, 3]
        assert [replica["role"] for replica in partition["replicas"]].count("leader") == 1


def test_status_may_be_asked_by_addresses(cluster: Cluster) -> None:
    members = ",".join(part["address"] for part in cluster.parts() if part["role"] == "node")
    secret = str(cluster.path / "secret")

    done = gramme("admin", "status", "--members", members, "--secret-file", secret)

    assert done.returncode == 0, done


def test_status_does_not_wait_long_for_a_node_that_is_paused(cluster: Cluster) -> None:
    os.kill(cluster.pid_of("node-3"), signal.SIGSTOP)
    try:
        began = time.monotonic()
        status = cluster.status()
        took_s = time.monotonic() - began
    finally:
        os.kill(cluster.pid_of("node-3"), signal.SIGCONT)

    node = status["nodes"][2]
    assert (node["up"], node["reason"]) == (False, f"no answer within {TIMEOUT_S:g} s")
    # Beside the waiting there is only a start of Python.
    assert took_s < TIMEOUT_S + 2.0
    assert "unknown" in [one["replicas"][2]["role"] for one in status["partitions"]]


def test_writes_are_accepted_again_when_their_leader_is_killed(cluster: Cluster) -> None:
    leader = leader_of_table(cluster)
    with Writer(cluster, "failover") as writer:
        killed_at = time.monotonic()
        cluster.kill(leader)
        writer.await_more()
        silence_s = writer.silence_after(killed_at)
        status = cluster.status()

    print(f"writes were accepted again after {silence_s:.2f} s")
    assert silence_s < ACCEPTED_AGAIN_S
    number = int(leader[-1])
    assert [node["up"] for node in status["nodes"]] == [one != number for one in (1, 2, 3)]
    with cluster.client() as client:
        assert lost(client, writer) == []

    cluster.bring_back(leader)

    until(lambda: has_caught_up(cluster), CAUGHT_UP_S, f"{leader} has caught up")


def test_all_nodes_killed_at_once_have_everything_that_was_acknowledged(cluster: Cluster) -> None:
    with Writer(cluster, "blackout") as writer:
        for name in NODES:
            cluster.kill(name)
        for name in NODES:
            cluster.bring_back(name)
        writer.await_more()

    with cluster.client() as client:
        assert lost(client, writer) == []
    until(lambda: has_caught_up(cluster), CAUGHT_UP_S, "all have caught up")
    dynamodb = boto(cluster)
    count = len(writer.acknowledged)
    until(lambda: len(indexed(dynamodb, "blackout")) >= count, 10.0, "the index shows them all")


# Parts that cannot start


def refusal(command: list[str], **options: str) -> str:
    """What a part says that is started with other values for some of its options."""
    arguments = command[command.index("gramme.cli.main") + 1 :]
    for name, value in options.items():
        arguments[arguments.index(f"--{name.replace('_', '-')}") + 1] = value
    done = gramme(*arguments)
    assert done.returncode == 1, done
    return next(line for line in done.stderr.splitlines() if line.startswith("gramme: "))


@pytest.fixture
def other_secret(tmp_path: Path) -> str:
    path = tmp_path / "secret"
    path.write_text("another")
    return str(path)


def test_a_node_with_the_data_of_another_cluster_does_not_start(
    cluster: Cluster, tmp_path: Path
) -> None:
    DataDirectory.open(tmp_path / "data", seed_of(b"another")).close()

    line = refusal(cluster.part("node-1")["command"], data=str(tmp_path / "data"))

    assert "is of another cluster" in line


def test_a_node_with_another_secret_does_not_start(
    cluster: Cluster, tmp_path: Path, other_secret: str
) -> None:
    seed = seed_of((cluster.path / "secret").read_bytes().strip())
    DataDirectory.open(tmp_path / "data", seed).close()

    line = refusal(
        cluster.part("node-1")["command"], data=str(tmp_path / "data"), secret_file=other_secret
    )

    assert "is of another cluster" in line


def test_a_router_with_another_secret_does_not_start(cluster: Cluster, other_secret: str) -> None:
    line = refusal(cluster.part("router-1")["command"], secret_file=other_secret)

    assert "refuses this router: the cluster's secret is wrong or missing" in line


def test_a_node_whose_address_is_taken_does_not_start(cluster: Cluster, tmp_path: Path) -> None:
    part = cluster.part("node-1")

    line = refusal(part["command"], data=str(tmp_path / "data"))

    assert line == f"gramme: cannot listen on {part['address']}: it is taken or not ours"


def test_a_router_whose_address_is_taken_does_not_start(cluster: Cluster) -> None:
    part = cluster.part("router-1")

    line = refusal(part["command"])

    assert line.startswith(f"gramme: cannot listen on {part['address']}: ")


def test_a_node_whose_data_is_in_use_does_not_start(cluster: Cluster) -> None:
    part = cluster.part("node-1")

    assert "is in use by another process" in refusal(part["command"])
