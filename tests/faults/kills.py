"""A server killed again and again under load, and what is wrong with it after each kill."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from random import Random

from tests.support import tables
from tests.support.load import Load
from tests.support.server import Server

CLIENTS = 16
ANSWERS_BEFORE_A_KILL = (50, 400)


def killed_again_and_again(data: Path, kills: int, seed: int, *options: str) -> Iterator[list[str]]:
    """Yield the problems found after each of `kills` kills; all lists should be empty.

    Every life begins by checking what the last one left, and then has load until it is killed in its turn.
    """
    random = Random(seed)
    load = Load(CLIENTS, seed)
    with Server(data, *options) as server, server.client() as client:
        tables.create(client)
        _load_and_kill(server, load, random)
    for left in reversed(range(kills)):
        with Server(data, *options) as server, server.client() as client:
            yield [*load.errors, *load.check(client)]
            if left:
                _load_and_kill(server, load, random)


def _load_and_kill(server: Server, load: Load, random: Random) -> None:
    load.start(server.port)
    load.await_answers(random.randint(*ANSWERS_BEFORE_A_KILL))
    server.kill()
    load.stop()
