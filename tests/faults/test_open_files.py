"""Connections beyond what the operating system lets a process have open: the database keeps its share."""

from __future__ import annotations

import contextlib
import os
import resource
import socket
from pathlib import Path

from gramme.open_files import WANTED
from tests.support import tables
from tests.support.history import Key, item_of
from tests.support.server import Server
from tests.support.waiting import until

FILES_MAX = 256
# More than RocksDB leaves in memory when nobody writes.
WRITTEN_BYTES = 4 << 20
ITEM_BYTES = 256 << 10


def limited(data: Path | None, limit: str) -> Server:
    """A server that may have no more files open than `FILES_MAX`: with `-S`, until it asks for more."""
    server = Server(data)
    command = f'ulimit {limit} -n {FILES_MAX} && exec "$0" "$@"'
    server.command = ["sh", "-c", command, *server.command]
    return server


def test_idle_connections_leave_the_database_its_files(tmp_path: Path) -> None:
    data = tmp_path / "data"
    with limited(data, "") as server, server.client() as client, contextlib.ExitStack() as idle:
        tables.create(client)
        for _ in range(2 * FILES_MAX):
            idle.enter_context(socket.create_connection(("127.0.0.1", server.port)))

        for number in range(WRITTEN_BYTES // ITEM_BYTES):
            item = {**item_of(Key("large", number), number), "filler": {"S": "x" * ITEM_BYTES}}
            client.call("PutItem", {"TableName": tables.TABLE, "Item": item})
        # Memory is written out to new files in the pause that follows.
        until(
            lambda: server.exit_code() is not None or list(data.glob("db/*.sst")),
            20.0,
            "RocksDB opens a file",
        )

        client.call("ListTables", {})
        assert server.exit_code() is None
        assert len(os.listdir(f"/proc/{server.pid}/fd")) < FILES_MAX
        assert server.stop() == 0


def test_a_server_asks_for_the_files_it_may_have() -> None:
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)

    with limited(None, "-S") as server:
        now, _ = resource.prlimit(server.pid, resource.RLIMIT_NOFILE)

    assert now == (WANTED if most == resource.RLIM_INFINITY else min(most, WANTED))
