"""Streams to processes that are stopped, killed and started again."""

from __future__ import annotations

import asyncio
import contextlib
import signal
import subprocess
import sys
from collections.abc import AsyncIterator
from random import Random

import uvloop

from gramme.links.api import Identity
from gramme.links.dialler import Dialler
from gramme.links.limits import Limits
from gramme.links.security import Security
from gramme.links.services import PEER
from tests.support.link_ends import Owner, fill, free_port, link_of

LIMITS = Limits(
    ping_every_seconds=1.0,
    ping_answer_seconds=1.0,
    queue_bytes_max=4 << 20,
    backoff_seconds_max=0.2,
)
US = Identity("tests", "us", "node", 1)


def test_a_stopped_process_is_noticed_and_holds_up_nobody_else() -> None:
    async def story() -> None:
        async with (
            echo() as (healthy, _),
            echo() as (stopped, process),
            dialling(healthy) as near,
            dialling(stopped) as victim,
        ):
            await near.hears("up")
            await victim.hears("up")
            process.send_signal(signal.SIGSTOP)
            await fill(victim)

            # All the while until the stopped one is given up, the other answers.
            answers = 0
            while "down" not in victim.told:
                link_of(near).send(b"are you there")
                answers += 1
                await near.hears("frame", answers)
            assert "down" not in near.told
            assert victim.downs[0].dropped > 0
            assert not victim.downs[0].refused

            process.send_signal(signal.SIGCONT)
            await victim.hears("up", 2)
            before = len(victim.frames)
            link_of(victim).send(b"back again")
            await victim.hears("frame", before + 1)
            assert victim.frames[-1] == b"back again"

    uvloop.run(story())


def test_a_killed_process_is_found_again_when_it_is_back() -> None:
    async def story() -> None:
        port = free_port()
        async with dialling(port) as near:
            for life in range(1, 4):
                async with echo(port) as (_, process):
                    await near.hears("up", life)
                    downs = near.told.count("down")
                    link_of(near).send(b"%d" % life)
                    await near.hears("frame", life)
                    process.kill()
                    await near.hears("down", downs + 1)
            assert near.frames == [b"1", b"2", b"3"]

    uvloop.run(story())


@contextlib.asynccontextmanager
async def echo(port: int = 0) -> AsyncIterator[tuple[int, asyncio.subprocess.Process]]:
    """A process that sends back what it gets, and its port."""
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "bench.link_echo", str(port)),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )
    assert process.stdout is not None
    try:
        yield int(await process.stdout.readline()), process
    finally:
        with contextlib.suppress(ProcessLookupError):
            process.kill()
        await process.wait()


@contextlib.asynccontextmanager
async def dialling(port: int) -> AsyncIterator[Owner]:
    dialler = Dialler(PEER, US, Security(), Random(1), LIMITS)
    owner = Owner()
    owner.link = dialler.dial(f"127.0.0.1:{port}", owner)
    try:
        yield owner
    finally:
        await dialler.close()
