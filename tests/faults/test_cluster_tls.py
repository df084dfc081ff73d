"""A cluster whose processes show each other certificates, from the first word to an item."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support import tables
from tests.support.certificates import Authority
from tests.support.cluster_processes import gramme
from tests.support.processes_by_hand import ByHand
from tests.support.waiting import until

pytestmark = pytest.mark.skipif(
    shutil.which("openssl") is None,
    reason="openssl, which makes the certificates, is not installed",
)


def options_of(certificate: Path, key: Path, authority: Path) -> list[str]:
    return [
        *("--tls-certificate", str(certificate), "--tls-key", str(key)),
        *("--tls-authority", str(authority)),
    ]


@pytest.fixture(scope="module")
def authority(tmp_path_factory: pytest.TempPathFactory) -> Authority:
    return Authority(tmp_path_factory.mktemp("tls"), "authority")


@pytest.fixture(scope="module")
def options(authority: Authority) -> list[str]:
    return options_of(*authority.files("ours"), authority.certificate)


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory, options: list[str]) -> Iterator[ByHand]:
    path = tmp_path_factory.mktemp("cluster") / "c"
    with ByHand(path, options=options) as cluster:
        cluster.start()
        yield cluster


def status_code(cluster: ByHand, *options: str) -> tuple[int, str]:
    done = gramme(
        *("admin", "status", "--members", ",".join(cluster.members)),
        *("--secret-file", str(cluster.secret_file), *options),
    )
    return done.returncode, done.stdout


def test_an_item_is_written_on_all_nodes_and_read(cluster: ByHand, options: list[str]) -> None:
    item = {"pk": {"S": "a"}, "sk": {"N": "1"}}
    with cluster.client() as client:
        tables.create(client)
        client.call("PutItem", {"TableName": tables.TABLE, "Item": item})
        request = {"TableName": tables.TABLE, "Key": item, "ConsistentRead": True}

        assert client.call("GetItem", request)["Item"] == item

    code, shown = status_code(cluster, *options)
    assert code == 0
    assert shown.count(" up ") == 3


def test_who_speaks_plainly_or_shows_another_certificate_is_not_answered(
    cluster: ByHand, tmp_path: Path
) -> None:
    stranger = Authority(tmp_path, "stranger")

    for options in ([], options_of(*stranger.files("theirs"), stranger.certificate)):
        code, shown = status_code(cluster, *options)

        assert code == 1
        assert shown.count("unreachable") == 3


def test_a_router_that_speaks_plainly_does_not_serve(cluster: ByHand, options: list[str]) -> None:
    command = [*cluster.commands["router-1"], "--port", "0"]
    place = command.index(options[0])
    cluster.commands["plain"] = command[:place] + command[place + len(options) :]
    cluster.commands["another"] = command

    cluster.spawn("plain")
    until(lambda: '"event": "connecting"' in cluster.words("plain"), 20.0, "it dials")
    # What speaks as they do serves after as long.
    cluster.start("another")

    assert '"event": "started"' not in cluster.words("plain")
