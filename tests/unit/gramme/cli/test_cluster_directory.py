"""What a cluster's directory keeps from one run to the next, and which directories are refused."""

from __future__ import annotations

import json
import socket
import stat
from pathlib import Path

import pytest

from gramme.cli.cluster_directory import ClusterDirectory, Part
from gramme.cli.ports import free_ports, is_free
from gramme.node.engine.directory import DataDirectory
from gramme.start import StartRefused


def opened(path: Path, nodes: int | None = None) -> ClusterDirectory:
    """One that is not in use any more."""
    directory = ClusterDirectory.open(path, nodes)
    directory.close()
    return directory


def test_addresses_and_secret_stay_what_they_were(tmp_path: Path) -> None:
    first = opened(tmp_path / "c", 5)
    secret = first.secret_file.read_bytes()

    second = opened(tmp_path / "c")

    assert len(set(second.members)) == 5
    assert (second.members, second.secret_file.read_bytes()) == (first.members, secret)
    assert ClusterDirectory.read(tmp_path / "c").members == first.members


def test_only_the_owner_can_read_the_secret(tmp_path: Path) -> None:
    secret_file = opened(tmp_path / "c").secret_file

    assert stat.S_IMODE(secret_file.stat().st_mode) == 0o600
    assert len(secret_file.read_text().strip()) == 64


def test_a_beginning_that_was_cut_short_is_used(tmp_path: Path) -> None:
    first = opened(tmp_path / "c")
    secret = first.secret_file.read_bytes()
    (tmp_path / "c" / "members.json").rename(tmp_path / "c" / "members.json.new")

    assert opened(tmp_path / "c").secret_file.read_bytes() == secret


def test_a_directory_has_one_cluster_at_a_time(tmp_path: Path) -> None:
    directory = ClusterDirectory.open(tmp_path / "c", None)

    with pytest.raises(StartRefused, match=r"another gramme cluster runs on .*/c$"):
        ClusterDirectory.open(tmp_path / "c", None)

    directory.close()
    opened(tmp_path / "c")


def test_the_number_of_nodes_cannot_change(tmp_path: Path) -> None:
    opened(tmp_path / "c", 3)

    with pytest.raises(StartRefused, match="a cluster of 3 nodes, which cannot become 5"):
        ClusterDirectory.open(tmp_path / "c", 5)


def test_the_data_of_a_server_by_itself_is_refused(tmp_path: Path) -> None:
    DataDirectory.open(tmp_path / "data").close()

    with pytest.raises(StartRefused, match="is the data of gramme serve or of one node"):
        ClusterDirectory.open(tmp_path / "data", None)


def test_a_foreign_directory_is_refused_and_left_alone(tmp_path: Path) -> None:
    (tmp_path / "thesis.txt").write_text("years of work")

    with pytest.raises(StartRefused, match="is not empty and is no directory of gramme cluster"):
        ClusterDirectory.open(tmp_path, None)

    assert [entry.name for entry in tmp_path.iterdir()] == ["thesis.txt"]


def test_a_cluster_without_its_secret_is_refused(tmp_path: Path) -> None:
    opened(tmp_path / "c").secret_file.unlink()

    with pytest.raises(StartRefused, match="is gone"):
        ClusterDirectory.open(tmp_path / "c", None)


@pytest.mark.parametrize("content", ["", "{}", "[1]", "\xff"])
def test_damaged_addresses_are_refused(tmp_path: Path, content: str) -> None:
    opened(tmp_path / "c")
    (tmp_path / "c" / "members.json").write_text(content, encoding="latin-1")

    with pytest.raises(StartRefused, match=r"members\.json is damaged"):
        ClusterDirectory.open(tmp_path / "c", None)


def test_what_runs_is_written_down_whole(tmp_path: Path) -> None:
    directory = ClusterDirectory.open(tmp_path / "c", None)
    directory.remember([Part("router-1", "router", 7, "127.0.0.1:8000", "", ["gramme", "router"])])
    directory.close()

    assert json.loads((tmp_path / "c" / "cluster.json").read_text()) == [
        {
            "name": "router-1",
            "role": "router",
            "pid": 7,
            "address": "127.0.0.1:8000",
            "data": "",
            "command": ["gramme", "router"],
        }
    ]


def test_a_port_somebody_listens_on_is_not_free() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        assert not is_free(listener.getsockname()[1])

    assert all(is_free(port) for port in free_ports(3))
