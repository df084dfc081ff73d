"""Every example runs, says what it promises, and cleans up: an example that breaks fails here, before a reader finds out."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator, Mapping

import pytest

from tests.support.server import ROOT, Server

DIRECTORY = ROOT / "examples"
RUN_TIMEOUT_S = 120.0
# Indexes are late enough that an example which does not wait for them fails.
OPTIONS = ("--partitions", "4", "--index-delay-ms", "100", "--gateway-port", "0")

# Of each example's words, those that carry its point.
PROMISES = {
    "single_table_shop": [
        "total 48.9",
        "Ada Lovelace: ['ORDER#1003', 'ORDER#1001']",
        "[('ORDER#1001', 1), ('ORDER#1002', 3)]",
        "the first: True, the second: False",
        "still to be packed: ['ORDER#1002', 'ORDER#1003']",
    ],
    "adjacency_list": [
        "Ada plays drums in BAND#Armature",
        "BAND#Armature: MUSICIAN#Ada (drums), MUSICIAN#Bob (bass)",
        "Bob has played with ['MUSICIAN#Ada']",
        "BAND#Armature: MUSICIAN#Bob\n",
    ],
    "gsi_overloading": [
        "whose address is ada@example.com?      Ada\n",
        "who are the engineers, longest first?  Bob, Ada, Dora\n",
        "who sits on floor 2 in Liège?          Cleo, Ada\n",
    ],
    "sparse_index": [
        "read 100 items, kept 3\n",
        "read 3 items, kept 3: ['0097', '0098', '0099']",
        "still waiting: ['0098', '0099']",
        "the table still has it: shipped",
    ],
    "composite_sort_keys": [
        "BE/Liège/Liège   2 shops",
        "'Liège#Liège' finds 3, 'Liège#Liège#' 2",
        "['TEMP#2026-11-18#001', 'TEMP#2026-11-18#002']",
        "['FLOOR#10', 'FLOOR#2'] but ['FLOOR#002', 'FLOOR#010']",
    ],
    "write_sharding": [
        "Wrote 200 events of one day over 8 keys",
        "12:03:19, 12:03:18, 12:03:17, 12:03:16, 12:03:15",
        "200 events, in order, none missing and none twice",
        "12:01:01 is in 2026-11-18#7",
    ],
    "optimistic_locking": [
        "conflict: version 1 of letter is no longer the newest",
        "version 3: ['from Ada', 'from Bob']",
        "10 lines, none lost",
    ],
    "unique_create": [
        "1 got it; 9 were told who has it",
        "fine: it is theirs",
        "refused: it is taken",
    ],
    "atomic_counters": [
        "the count is 1: one visit is lost",
        "the count is 100, and everybody was given a number of their own",
        "5 sold, 7 turned away, 0 left",
    ],
    "paging": [
        "pages of [10, 10, 5]",
        "25 songs, from Song 00 to Song 24",
        "read 10, kept 0, and more to come",
        "then Song 10",
    ],
    "async_client": [
        "25 songs written at once; the first one once more: False",
        "200 plays at once, and the count is 200",
        "pages of [4, 4, 2]; played were ['Song 07']",
    ],
}
# Those that talk to the gateway.
OF_GATEWAY = {"async_client"}


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    with Server(None, *OPTIONS) as server:
        yield server


def endpoint(server: Server) -> str:
    return f"http://127.0.0.1:{server.port}"


def tables(server: Server) -> list[str]:
    return list(server.client().call("ListTables", {})["TableNames"])


def run(
    *arguments: str, variables: Mapping[str, str] | None = None
) -> subprocess.CompletedProcess[str]:
    """Run Python as somebody without any AWS settings would."""
    bare = {name: value for name, value in os.environ.items() if not name.startswith("AWS_")}
    nowhere = {"AWS_CONFIG_FILE": os.devnull, "AWS_SHARED_CREDENTIALS_FILE": os.devnull}
    return subprocess.run(
        [sys.executable, *arguments],
        cwd=ROOT,
        env={**bare, **nowhere, "PYTHONIOENCODING": "utf-8", **(variables or {})},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        encoding="utf-8",
        timeout=RUN_TIMEOUT_S,
        check=False,
    )


@pytest.mark.parametrize("name", PROMISES)
def test_an_example_keeps_its_promises_and_leaves_nothing_behind(server: Server, name: str) -> None:
    address = server.gateway if name in OF_GATEWAY else endpoint(server)

    done = run(f"examples/{name}.py", address)

    assert done.returncode == 0, done.stdout + done.stderr
    rest = done.stdout
    for promise in PROMISES[name]:
        assert promise in rest, f"{promise!r} is not, or not in its place, in:\n{done.stdout}"
        rest = rest.partition(promise)[2]
    assert "Removed the table" in rest
    assert tables(server) == []


def test_every_example_is_tested_and_listed() -> None:
    written = {path.stem for path in DIRECTORY.glob("*.py")} - {"tables"}
    index = (DIRECTORY / "README.md").read_text()

    assert written == set(PROMISES)
    for name in written:
        assert f"[{name}.py]({name}.py)" in index


def test_the_endpoint_may_come_from_the_environment(server: Server) -> None:
    done = run("examples/unique_create.py", variables={"AWS_ENDPOINT_URL": endpoint(server)})

    assert done.returncode == 0, done.stdout + done.stderr


def test_a_table_goes_also_when_its_example_fails(server: Server) -> None:
    program = (
        "import sys; sys.path.insert(0, 'examples'); from tables import temporary_table\n"
        "with temporary_table('broken', 'pk:S'):\n"
        "    raise AssertionError('the claim does not hold')\n"
    )

    done = run("-c", program, endpoint(server))

    assert done.returncode == 1
    assert "Removed the table example-broken-" in done.stdout
    assert "the claim does not hold" in done.stderr
    assert tables(server) == []


def test_without_a_server_an_example_says_how_to_start_one() -> None:
    done = run("examples/paging.py", "http://127.0.0.1:1")

    assert done.returncode == 1
    assert done.stdout == ""
    assert done.stderr == (
        "Nobody listens on http://127.0.0.1:1. Start a server in another terminal: gramme serve\n"
    )


def test_without_a_gateway_an_example_says_how_to_start_one() -> None:
    done = run("examples/async_client.py", "127.0.0.1:1")

    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.endswith("in another terminal: gramme serve --gateway-port 8001\n")
