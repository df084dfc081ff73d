"""Starting where it cannot work, and a disk that fails: one clear line, and an exit code that is not 0."""

from __future__ import annotations

import json
import os
import resource
import socket
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support import tables
from tests.support.client import Lost, Refused
from tests.support.history import Key, item_of
from tests.support.load import Load
from tests.support.server import Server, StartFailed

SEED = 20260704


def refused(server: Server) -> str:
    """The one line that a server says which does not start."""
    with pytest.raises(StartFailed) as failure:
        server.start()
    assert failure.value.code not in (0, None)
    assert failure.value.code > 0, "it was ended by a signal"
    lines = failure.value.errors.splitlines()
    assert len(lines) == 1, failure.value.errors
    return lines[0]


def test_a_taken_port_is_named(tmp_path: Path) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]

        line = refused(Server(tmp_path / "data", port=port))

    assert line == f"gramme: cannot listen on 127.0.0.1:{port}: Address already in use"


@pytest.mark.parametrize(
    ("option", "named"),
    [
        (("--prot", "9000"), "--prot"),
        (("--port", "many"), "--port"),
        (("--port", "70000"), "port"),
        (("--clock", "broken"), "--clock"),
        (("elsewhere",), "elsewhere"),
        (("--config", "/no/such/file"), "/no/such/file"),
    ],
    ids=lambda value: value[0] if isinstance(value, tuple) else "",
)
def test_an_option_that_makes_no_sense_is_named(
    tmp_path: Path, option: tuple[str, ...], named: str
) -> None:
    line = refused(Server(tmp_path / "data", *option))

    assert line.startswith("gramme")
    assert named in line


def test_a_directory_below_a_file_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("no directory")

    line = refused(Server(tmp_path / "file" / "data"))

    assert str(tmp_path / "file") in line


def test_a_file_for_a_directory_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("no directory")

    line = refused(Server(tmp_path / "file"))

    assert str(tmp_path / "file") in line


@pytest.fixture
def read_only(tmp_path: Path) -> Iterator[Path]:
    """A directory nobody may write to: root may write to all that is merely forbidden."""
    directory = tmp_path / "read-only"
    directory.mkdir()
    if os.getuid() != 0:
        directory.chmod(0o500)
        yield directory
        directory.chmod(0o700)
        return
    options = ["mount", "-t", "tmpfs", "-o", "ro,size=1m", "tmpfs", str(directory)]
    if subprocess.run(options, capture_output=True, check=False).returncode != 0:
        pytest.skip("cannot mount a read-only file system")
    yield directory
    subprocess.run(["umount", str(directory)], check=True)


def test_a_directory_that_cannot_be_written_is_named(read_only: Path) -> None:
    line = refused(Server(read_only / "data"))

    assert str(read_only) in line


def test_an_empty_directory_that_cannot_be_written_is_named(read_only: Path) -> None:
    line = refused(Server(read_only))

    assert str(read_only) in line


def test_a_foreign_directory_is_left_alone(tmp_path: Path) -> None:
    foreign = tmp_path / "foreign"
    foreign.mkdir()
    (foreign / "thesis.txt").write_text("years of work")

    line = refused(Server(foreign))

    assert str(foreign) in line
    assert [path.name for path in foreign.iterdir()] == ["thesis.txt"]


def test_an_empty_directory_is_taken(tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()

    with Server(tmp_path / "data") as server:
        assert server.stop() == 0


def test_a_directory_in_use_is_refused(tmp_path: Path) -> None:
    with Server(tmp_path / "data") as first:
        line = refused(Server(tmp_path / "data"))

        with first.client() as client:
            tables.create(client)

    assert str(tmp_path / "data") in line


def test_a_newer_disk_format_is_refused(tmp_path: Path) -> None:
    with Server(tmp_path / "data") as server:
        server.stop()
    identity = tmp_path / "data" / "identity"
    identity.write_text(json.dumps({**json.loads(identity.read_text()), "format": 999}))

    line = refused(Server(tmp_path / "data"))

    assert str(tmp_path / "data") in line
    assert "999" in line


def test_a_damaged_identity_is_named(tmp_path: Path) -> None:
    with Server(tmp_path / "data") as server:
        server.stop()
    identity = tmp_path / "data" / "identity"
    identity.write_text(identity.read_text()[:10])

    line = refused(Server(tmp_path / "data"))

    assert str(identity) in line


def write_until_it_ends(server: Server) -> int:
    """Write on and on; the server has to end by itself, and no answer may be an error of its own."""
    load = Load(2, SEED)
    load.start(server.port)
    code = server.wait(60.0)
    load.stop()
    assert load.errors == []
    return code


@pytest.mark.parametrize("failpoint", ["flush.error=20", "write.error=20"])
def test_a_failed_write_or_flush_ends_the_process(tmp_path: Path, failpoint: str) -> None:
    data = tmp_path / "data"

    with Server(data, environment={"GRAMME_FAILPOINTS": failpoint}) as server:
        with server.client() as client:
            tables.create(client)
        code = write_until_it_ends(server)
        words = server.errors

    assert code > 0
    assert failpoint.partition(".")[0] in words
    assert str(data) in words
    assert "Traceback" not in words


def test_a_failed_flush_answers_nobody(tmp_path: Path) -> None:
    with Server(tmp_path / "data") as server, server.client() as client:
        tables.create(client)
        server.stop()
    failing = Server(tmp_path / "data", environment={"GRAMME_FAILPOINTS": "flush.error=1"})

    outcome = None
    try:
        with failing, failing.client() as client:
            key = Key("unanswered", 1)
            outcome = client.call("PutItem", {"TableName": tables.TABLE, "Item": item_of(key, 1)})
    except (StartFailed, Lost, Refused):
        pass

    assert outcome is None


def test_a_file_that_may_not_grow_ends_the_process(tmp_path: Path) -> None:
    data = tmp_path / "data"

    with Server(data) as server:
        with server.client() as client:
            tables.create(client)
        longest = max(path.stat().st_size for path in data.rglob("*") if path.is_file())
        limit = longest + 100_000
        resource.prlimit(server.pid, resource.RLIMIT_FSIZE, (limit, limit))
        code = write_until_it_ends(server)
        words = server.errors

    assert code > 0
    assert str(data) in words
    assert "Traceback" not in words
