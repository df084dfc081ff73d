"""What a node does while nobody writes: it lets the engine drop what was overwritten.

An item written again and again leaves its old versions in the engine's memory, and a page has to step over each of
them: after a few seconds of writes to few items a Query costs twice what it costs after tidying. Under load the engine
does this in its own time; in a pause it costs nobody anything. Nothing depends on it.

While somebody writes, ten times a second the engine's memory is fitted to its data, and it is seen whether the disk has room;
otherwise once a second. If it has not, what the engine can do without is given back: a deleted table makes room though nothing
may be written.
"""

from __future__ import annotations

from collections.abc import Callable

from gramme.node.beat import beat
from gramme.node.commit import CommitLoop
from gramme.node.engine.api import Engine

# As long as the pauses between one burst of work and the next.
PAUSE_S = 0.1
# While nobody writes, the disk is looked at each so many pauses: others may fill it.
LOOK_PAUSES = 10
# So many pauses after a disk was low what can be given back still is: the log of a removed table goes before its rows.
LATELY = 50


async def tidy_in_pauses(
    engine: Engine, commits: CommitLoop, on_failure: Callable[[str], None]
) -> None:
    """Tidy once after each burst of writes, until cancelled. A disk that fails here fails for writes too."""
    tidied = seen = commits.rounds
    room = commits.room
    lately = turn = 0
    while True:
        if lately or commits.rounds != seen or not turn % LOOK_PAUSES:
            room.look(*engine.space())
            engine.fit(room.left_bytes)
        seen = commits.rounds
        turn += 1
        lately = LATELY if room.is_low else max(0, lately - 1)
        await beat(PAUSE_S)
        try:
            if lately:
                await engine.relieve()
            elif commits.rounds == seen != tidied:
                tidied = seen
                await engine.tidy()
        except Exception as error:
            on_failure(f"tidying the disk failed: {error}")
            raise
