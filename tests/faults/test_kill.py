"""Processes killed, stopped and paused under load: nothing answered is lost, and the indexes catch up."""

from __future__ import annotations

import signal
from pathlib import Path

import pytest

from tests.faults.kills import CLIENTS, killed_again_and_again
from tests.support import tables
from tests.support.load import Load
from tests.support.server import Server
from tests.support.waiting import until

SEED = 20260702
KILLS = 3


@pytest.mark.parametrize("partitions", [1, 4])
def test_nothing_answered_is_lost_by_a_kill(tmp_path: Path, partitions: int) -> None:
    print(f"seed {SEED}")

    found = killed_again_and_again(tmp_path / "data", KILLS, SEED, "--partitions", str(partitions))

    assert list(found) == [[]] * KILLS


def test_a_server_asked_to_stop_under_load_ends_in_order(tmp_path: Path) -> None:
    load = Load(CLIENTS, SEED)
    server = Server(tmp_path / "data")

    with server:
        with server.client() as client:
            tables.create(client)
        load.start(server.port)
        load.await_answers(300)
        code = server.stop()
        load.stop()

    assert (code, load.errors) == (0, [])
    with Server(tmp_path / "data") as again, again.client() as client:
        assert load.check(client) == []


def test_a_paused_server_goes_on_where_it_was(tmp_path: Path) -> None:
    load = Load(CLIENTS, SEED)

    with Server(tmp_path / "data") as server, server.client() as client:
        tables.create(client)
        load.start(server.port)
        load.await_answers(100)
        server.signal(signal.SIGSTOP)
        until(lambda: process_state(server.pid) == "T", 10.0, "the server is paused")
        server.signal(signal.SIGCONT)
        load.await_answers(100)
        load.stop()

        assert load.errors == []
        assert load.check(client) == []


def process_state(pid: int) -> str:
    return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
