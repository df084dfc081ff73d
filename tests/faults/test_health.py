"""`gramme admin health` of the processes of a real cluster, in good days and bad."""

from __future__ import annotations

from pathlib import Path

from tests.support.cluster_processes import Cluster, gramme
from tests.support.waiting import until

SETTLED_S = 20.0


def health(cluster: Cluster, name: str) -> tuple[int, str]:
    part = cluster.part(name)
    if part["role"] == "router":
        done = gramme("admin", "health", f"http://{part['address']}")
    else:
        secret = str(cluster.path / "secret")
        done = gramme("admin", "health", part["address"], "--secret-file", secret)
    return done.returncode, done.stdout.partition(" ")[2].strip()


def test_each_process_says_whether_it_serves(tmp_path: Path) -> None:
    with Cluster(tmp_path / "c") as cluster:

        def await_health(name: str, *expected: object) -> None:
            until(lambda: health(cluster, name) == expected, SETTLED_S, f"{name}: {expected}")

        for name in ("node-1", "node-2", "node-3", "router-1"):
            await_health(name, 0, "serves")

        for name in ("node-2", "router-1"):
            cluster.kill(name)
            assert health(cluster, name) == (1, "does not serve: cannot be reached")

        # Without the other two it still runs, and nobody can lead.
        cluster.kill("node-3")
        await_health("node-1", 1, "does not serve: it knows of no leader")


def test_who_has_another_secret_is_told_nothing(tmp_path: Path) -> None:
    with Cluster(tmp_path / "c", "--nodes", "1") as cluster:
        (cluster.path / "secret").write_text("another")

        said = health(cluster, "node-1")

    assert said == (1, "does not serve: the cluster's secret is wrong or missing")
