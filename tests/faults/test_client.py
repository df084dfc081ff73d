"""gramme.client while what it talks to is killed: what was answered is there, once, and what is unknown is said to be."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import gramme.client
from gramme.cli.ports import free_ports
from gramme.client import Client, OutcomeUnknown
from tests.support.cluster_processes import Cluster
from tests.support.server import Server

WRITERS = 8
# Of one writer, before somebody is killed and after.
WRITES_MIN = 20
PATIENCE_S = 60.0
COUNTERS: dict[str, Any] = {
    "TableName": "Counters",
    "AttributeDefinitions": [{"AttributeName": "id", "AttributeType": "S"}],
    "KeySchema": [{"AttributeName": "id", "KeyType": "HASH"}],
    "BillingMode": "PAY_PER_REQUEST",
}


class Writer:
    """Adds one to its own counter, again and again, and keeps count of what it heard."""

    def __init__(self, number: int) -> None:
        self.id = f"counter-{number}"
        self.answered = 0
        self.unknown = 0

    async def run(self, client: Client) -> None:
        while True:
            try:
                await client.update(
                    "Counters", {"id": self.id}, "ADD hits :one", values={":one": 1}
                )
                self.answered += 1
            except OutcomeUnknown:
                self.unknown += 1

    async def verify(self, client: Client) -> None:
        item = await client.get("Counters", {"id": self.id}, consistent=True)
        assert item is not None
        assert self.answered <= item["hits"] <= self.answered + self.unknown


def connected(address: str) -> Client:
    return gramme.client.connect(
        address, region="us-east-1", access_key="any", secret_key="any", timeout_s=PATIENCE_S
    )


async def add_while(address: str, fail: Callable[[], object]) -> list[Writer]:
    """Add until every writer was answered before and after `fail`, and compare."""
    writers = [Writer(number) for number in range(WRITERS)]

    async def all_have_added(times: int) -> None:
        goals = [writer.answered + times for writer in writers]
        async with asyncio.timeout(PATIENCE_S):
            while any(writer.answered < goal for writer, goal in zip(writers, goals, strict=True)):
                await asyncio.sleep(0.01)

    async with connected(address) as client:
        await client.call("CreateTable", COUNTERS)
        adding = [asyncio.create_task(writer.run(client)) for writer in writers]
        try:
            await all_have_added(WRITES_MIN)
            await asyncio.to_thread(fail)
            await all_have_added(WRITES_MIN)
        finally:
            for task in adding:
                task.cancel()
            await asyncio.wait(adding)
        for task in adding:
            assert task.cancelled(), task.exception()
    # A call that was cancelled may have been done too.
    for writer in writers:
        writer.unknown += 1
    async with connected(address) as client:
        for writer in writers:
            await writer.verify(client)
    return writers


def test_a_server_that_is_killed_and_comes_back(tmp_path: Path) -> None:
    port, gateway = free_ports(2)
    with Server(tmp_path / "data", "--gateway-port", str(gateway), port=port) as server:

        def kill_and_start() -> None:
            server.kill()
            server.start()

        writers = asyncio.run(add_while(server.gateway, kill_and_start))

    # Each had one write under way, and knows that it does not know.
    assert all(writer.unknown <= 2 for writer in writers)


@pytest.mark.parametrize("name", ["router-1", "node-1"])
def test_a_part_of_a_cluster_that_is_killed_and_comes_back(tmp_path: Path, name: str) -> None:
    options = ("--gateway-port", "0", "--partitions", "2")
    with Cluster(tmp_path / "cluster", *options) as cluster:

        def kill_and_bring_back() -> None:
            cluster.kill(name)
            cluster.bring_back(name)

        asyncio.run(add_while(cluster.gateway, kill_and_bring_back))
