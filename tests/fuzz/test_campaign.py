"""The long form: that it runs, keeps what fails, repeats it, and notices memory that only grows."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import orjson
import pytest

from tests.fuzz.campaign import GROWTH_MAX_MB, Memory
from tests.fuzz.requests import Request
from tests.fuzz.rounds import Failure
from tests.support.server import ROOT

TIMEOUT_S = 60


def campaign(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "tests.fuzz.campaign", *arguments]
    return subprocess.run(
        command, cwd=ROOT, capture_output=True, text=True, timeout=TIMEOUT_S, check=False
    )


def test_a_short_campaign_says_what_it_did() -> None:
    ended = campaign("--requests", "500", "--seed", "1")

    assert ended.returncode == 0, ended.stdout + ended.stderr
    assert ended.stdout.startswith("seed 1\n")
    assert "500 requests" in ended.stdout
    assert "0 bad" in ended.stdout


def test_what_failed_is_repeated_up_to_the_request_that_failed(tmp_path: Path) -> None:
    failure = Failure("1/0", 20, Request("near", "GetItem", b"\xff{"), "the status is 500")
    path = tmp_path / "kept.json"
    path.write_bytes(orjson.dumps({**orjson.loads(failure.written()), "partitions": 1}))

    ended = campaign("replay", str(path))

    assert (ended.returncode, ended.stdout) == (0, "it no longer fails\n")


def test_bytes_that_failed_are_given_to_their_target_again(tmp_path: Path) -> None:
    path = tmp_path / "number-crash-1"
    path.write_bytes(b"1e5")

    ended = campaign("replay", str(path))

    assert (ended.returncode, ended.stdout) == (0, "it no longer fails\n")


@pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="memory is not watched here")
def test_memory_that_only_grows_is_noticed() -> None:
    memory = Memory(os.getpid())

    memory.look(0.1)
    assert 0 < memory.now_mb == memory.normal_mb
    assert not memory.has_grown

    memory.normal_mb -= GROWTH_MAX_MB + 1
    assert memory.has_grown
