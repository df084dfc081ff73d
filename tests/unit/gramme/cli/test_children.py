"""Processes that are started, watched and stopped."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from gramme.cli.children import Child, EndedEarly, stop_all

STARTED = """print('{"event": "started"}', flush=True)"""
DEAF = "import signal; signal.signal(signal.SIGTERM, signal.SIG_IGN)"
WAIT = "import time; time.sleep(60)"


@asynccontextmanager
async def child(log: Path, *lines: str) -> AsyncIterator[Child]:
    """A process that runs these lines of Python."""
    process = Child("child", [sys.executable, "-c", "\n".join(lines)], log)
    await process.start()
    try:
        yield process
    finally:
        await stop_all([process], grace_s=0)
        assert not process.running


async def test_a_process_serves_once_it_says_so(tmp_path: Path) -> None:
    async with child(tmp_path / "log", STARTED, WAIT) as process:
        async with asyncio.timeout(10):
            await process.serves()

        assert process.pid


async def test_what_an_earlier_run_said_does_not_count(tmp_path: Path) -> None:
    (tmp_path / "log").write_text('{"event": "started"}\n')

    async with child(tmp_path / "log", "exit()") as process:
        with pytest.raises(EndedEarly, match=r"see .*/log$"):
            await process.serves()


async def test_a_process_that_ends_before_says_why(tmp_path: Path) -> None:
    lines = ("print('gramme: no disk', flush=True)", "1 / 0")
    async with child(tmp_path / "log", *lines) as process:
        with pytest.raises(EndedEarly, match=r"^no disk$"):
            await process.serves()

        assert await process.ended() == "exit code 1: no disk"
        assert process.pid == 0


async def test_of_words_for_nobody_the_last_ones_are_shown(tmp_path: Path) -> None:
    async with child(tmp_path / "log", "1 / 0") as process:
        with pytest.raises(EndedEarly, match="ZeroDivisionError"):
            await process.serves()


async def test_who_does_not_stop_in_time_is_killed(tmp_path: Path) -> None:
    async with child(tmp_path / "log", DEAF, STARTED, WAIT) as process:
        await process.serves()

        await stop_all([process], grace_s=0.05)

        assert await process.ended() == "SIGKILL"


async def test_who_stops_in_time_is_not_killed(tmp_path: Path) -> None:
    async with child(tmp_path / "log", STARTED, WAIT) as process:
        await process.serves()

        await stop_all([process], grace_s=10.0)

        assert await process.ended() == "SIGTERM"
