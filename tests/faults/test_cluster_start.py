"""`gramme cluster` as it starts, refuses to start, and stops: nothing of it is left behind."""

from __future__ import annotations

import os
import signal
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.support import tables
from tests.support.cluster_processes import Cluster, gramme
from tests.support.server import StartFailed
from tests.support.waiting import until

SMALL = ("--nodes", "1")


def runs(pid: int) -> bool:
    try:
        stat = Path(f"/proc/{pid}/stat").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return False
    # Of those that nobody has waited for yet, nothing is left but the number.
    return stat.rpartition(")")[2].split()[0] != "Z"


@contextmanager
def taken_port() -> Iterator[int]:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        yield listener.getsockname()[1]


def refusal(*arguments: str) -> str:
    done = gramme(*arguments)
    assert done.returncode == 1, done
    (line,) = done.stderr.splitlines()
    return line


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
def test_a_signal_stops_all_processes(tmp_path: Path, number: signal.Signals) -> None:
    with Cluster(tmp_path / "c", *SMALL, "--routers", "2", cwd=tmp_path) as cluster:
        parts = cluster.parts()
        code = cluster.stop(number)

    assert [part["name"] for part in parts] == ["node-1", "router-1", "router-2"]
    assert code == 0
    assert not any(runs(part["pid"]) for part in parts)
    assert [part["pid"] for part in cluster.parts()] == [0, 0, 0]


def test_a_second_run_has_the_same_addresses_and_data(tmp_path: Path) -> None:
    item = {"pk": {"S": "a"}, "sk": {"N": "1"}}
    with Cluster(tmp_path / "c", *SMALL) as cluster:
        address = cluster.part("node-1")["address"]
        with cluster.client() as client:
            tables.create(client)
            client.call("PutItem", {"TableName": tables.TABLE, "Item": item})
        assert cluster.stop() == 0

    with Cluster(tmp_path / "c", cwd=tmp_path) as again, again.client() as client:
        request = {"TableName": tables.TABLE, "Key": item, "ConsistentRead": True}
        found = client.call("GetItem", request)["Item"]

    assert (again.part("node-1")["address"], found) == (address, item)


def test_processes_end_when_the_cluster_is_killed(tmp_path: Path) -> None:
    with Cluster(tmp_path / "c", *SMALL) as cluster:
        pids = [part["pid"] for part in cluster.parts()]

        os.kill(cluster.pid, signal.SIGKILL)

        until(lambda: not any(map(runs, pids)), 20.0, "all processes have ended")


def test_what_cannot_start_whole_leaves_nothing_running(tmp_path: Path) -> None:
    bad = tmp_path / "credentials"
    bad.write_text("no credentials")
    cluster = Cluster(tmp_path / "c", *SMALL, "--credentials", str(bad))

    with pytest.raises(StartFailed) as failure:
        cluster.start()

    assert failure.value.code == 1
    assert "gramme: router-1 did not start: credentials" in failure.value.output
    # Told to stop before it has begun, the node ends without a word.
    assert [part["pid"] for part in cluster.parts()] == [0, 0]


def test_a_second_cluster_on_the_same_directory_is_refused(tmp_path: Path) -> None:
    with Cluster(tmp_path / "c", *SMALL):
        line = refusal("cluster", "--data", str(tmp_path / "c"), "--port", "0")

    assert line == f"gramme: another gramme cluster runs on {tmp_path / 'c'}"


def test_a_taken_port_is_said_before_anything_starts(tmp_path: Path) -> None:
    with taken_port() as port:
        line = refusal("cluster", "--data", str(tmp_path / "c"), "--port", str(port))

    assert line.startswith(f"gramme: router-1 cannot listen on 127.0.0.1:{port}: it is taken")
    assert not (tmp_path / "c" / "node-1").exists()


@pytest.mark.parametrize(
    ("options", "complaint"),
    [
        (("--nodes", "0"), "nodes must be from 1 to 15"),
        (("--nodes", "1", "--replication", "3"), "3 replicas need as many nodes, and there are 1"),
        (("--routers", "0"), "routers must be from 1 to 16"),
        (("--port", "65536"), "port 65536 is no port"),
        (("--partitions", "257"), "partitions must be from 1 to 256"),
    ],
    ids=str,
)
def test_what_makes_no_sense_is_refused(
    tmp_path: Path, options: tuple[str, ...], complaint: str
) -> None:
    assert complaint in refusal("cluster", "--data", str(tmp_path / "c"), *options)


def test_a_process_that_ends_is_told_of_and_comes_back_by_its_own_command(tmp_path: Path) -> None:
    with Cluster(tmp_path / "c", *SMALL) as cluster:
        cluster.kill("node-1")
        command = cluster.part("node-1")["command"]
        until(lambda: "node-1    ended" in cluster.output, 10.0, "the end is told of")
        cluster.bring_back("node-1")

    assert f"SIGKILL; to bring it back: {' '.join(command)}" in cluster.output
