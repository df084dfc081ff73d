"""Indexes added and removed while clients write and the server is killed again and again.

In the end each index equals the projection of its table, whatever step of its life the kills met.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from random import Random

import pytest

from tests.faults.kills import CLIENTS
from tests.support import tables
from tests.support.client import Client, Json, Refused
from tests.support.history import Key, item_of
from tests.support.load import Load
from tests.support.server import Server
from tests.support.tables import BY_COLOUR, BY_GROUP, TABLE
from tests.support.waiting import until

SEED = int(os.environ.get("GRAMME_SEED", "20261118"))
KILLS = 3
# Items that nobody writes to again, and enough of them for a backfill to last a few kills.
STILL = 3000
STILL_PARTITIONS = [f"still-{number}" for number in range(8)]
BATCH = 25
# A backfill waits for a flush after each slice of it.
SLOW = {"GRAMME_FAILPOINTS": "flush.delay_ms=8"}
SETTLED_TIMEOUT_S = 60.0
ANSWERS_BEFORE_A_KILL = (1, 60)


def create_table(client: Client) -> None:
    tables.create(client, tables.without_global_indexes())
    for first in range(0, STILL, BATCH):
        items = [still_item(number) for number in range(first, first + BATCH)]
        requests = [{"PutRequest": {"Item": item}} for item in items]
        client.call("BatchWriteItem", {"RequestItems": {TABLE: requests}})


def still_item(number: int) -> Json:
    return item_of(Key(STILL_PARTITIONS[number % len(STILL_PARTITIONS)], number), number)


def add(client: Client, name: str) -> None:
    client.call("UpdateTable", tables.addition(name))


def remove(client: Client, name: str) -> None:
    client.call("UpdateTable", tables.removal(name))


def settle(client: Client) -> dict[str, str]:
    """Wait until no index is being added or removed; return which there are."""
    tables.await_active(client, timeout_s=SETTLED_TIMEOUT_S)
    return tables.index_states(client)


def kill_during(
    data: Path,
    load: Load,
    random: Random,
    options: tuple[str, ...],
    begin: Callable[[Client], None],
) -> list[dict[str, str]]:
    """Begin something under load and kill the server again and again; return the states before each kill."""
    met = []
    for life in range(KILLS):
        with Server(data, *options, environment=SLOW) as server, server.client() as client:
            load.start(server.port)
            if life == 0:
                begin(client)
            load.await_answers(random.randint(*ANSWERS_BEFORE_A_KILL))
            met.append(tables.index_states(client))
            server.kill()
            load.stop()
    return met


def problems(client: Client, load: Load, indexes: tuple[str, ...]) -> list[str]:
    base = tables.read_base(client, [*load.partitions, *STILL_PARTITIONS])
    still = {key: item for key, item in base.items() if key.partition in STILL_PARTITIONS}
    assert len(still) == STILL
    written = {key: item for key, item in base.items() if key not in still}
    behind = tables.await_indexes(client, base, indexes=indexes)
    return [*load.errors, *load.history.problems(written, 0), *([behind] if behind else [])]


@pytest.mark.parametrize("partitions", [1, 4])
def test_indexes_come_and_go_whole_whenever_the_server_is_killed(
    tmp_path: Path, partitions: int
) -> None:
    print(f"seed {SEED}")
    data, options = tmp_path / "data", ("--partitions", str(partitions))
    random, load = Random(SEED), Load(CLIENTS, SEED)
    with Server(data, *options) as server, server.client() as client:
        create_table(client)

    met = kill_during(data, load, random, options, lambda client: add(client, BY_GROUP))
    with Server(data, *options) as server, server.client() as client:
        assert settle(client) == {BY_GROUP: "ACTIVE"}
        assert problems(client, load, (BY_GROUP,)) == []

    kill_during(data, load, random, options, lambda client: add(client, BY_COLOUR))
    with Server(data, *options) as server, server.client() as client:
        assert settle(client) == {BY_GROUP: "ACTIVE", BY_COLOUR: "ACTIVE"}
        assert problems(client, load, tables.INDEXES) == []

    kill_during(data, load, random, options, lambda client: remove(client, BY_COLOUR))
    with Server(data, *options) as server, server.client() as client:
        assert settle(client) == {BY_GROUP: "ACTIVE"}
        with pytest.raises(Refused, match="does not have the specified index"):
            tables.read_index(client, BY_COLOUR)
        add(client, BY_COLOUR)
        settle(client)
        assert problems(client, load, tables.INDEXES) == []
    # Otherwise the kills came too late to prove anything.
    assert {BY_GROUP: "CREATING"} in met


def test_a_server_asked_to_stop_during_a_backfill_ends_in_order_and_goes_on_later(
    tmp_path: Path,
) -> None:
    data, load = tmp_path / "data", Load(1, SEED)
    with Server(data) as server, server.client() as client:
        create_table(client)

    with Server(data, environment=SLOW) as server, server.client() as client:
        add(client, BY_GROUP)
        until(lambda: backfilling(client), SETTLED_TIMEOUT_S, "the index is filled")
        assert server.stop() == 0

    with Server(data) as server, server.client() as client:
        assert settle(client) == {BY_GROUP: "ACTIVE"}
        assert problems(client, load, (BY_GROUP,)) == []


def backfilling(client: Client) -> bool:
    table = client.call("DescribeTable", {"TableName": TABLE})["Table"]
    return bool(table["GlobalSecondaryIndexes"][0].get("Backfilling"))
