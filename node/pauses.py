"""What a node does while nobody writes: it lets the engine drop what was overwritten.

An item written again and again leaves its old versions in the engine's memory, and a page has to step over each of
them: after a few seconds of writes to few items a Query costs twice what it costs after tidying. Under load the engine
does this in its own time; in a pause it costs nobody anything. Nothing depends on it.

Writing or not, ten times a second the engine's memory is fitted to its data, and it is seen whether the disk has room.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from gramme.node.commit import CommitLoop
from gramme.node.engine.api import Engine
from gramme.node.space import is_low

# As long as the pauses between one burst of work and the next.
PAUSE_S = 0.1


async def tidy_in_pauses(
    engine: Engine, commits: CommitLoop, on_failure: Callable[[str], None]
) -> None:
    """Tidy once after each burst of writes, until cancelled. A disk that fails here fails for writes too."""
    tidied = seen = commits.rounds
    while True:
        await asyncio.sleep(PAUSE_S)
        engine.fit()
        commits.disk_is_low = is_low(*engine.space(), commits.disk_is_low)
        if commits.rounds == seen != tidied:
            tidied = seen
            try:
                await engine.tidy()
            except Exception as error:
                on_failure(f"tidying the disk failed: {error}")
                raise
        seen = commits.rounds
