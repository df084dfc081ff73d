"""Asking nodes, one after the other, for what has changed and was not heard of.

Nodes push what changes. A push that was lost, by whatever mistake, is made up for here. The rate is the same whatever
happens, so that trouble makes no load, and jittered, so that routers that were started together do not ask together.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from random import Random

from gramme.router.node_link import NodeLink

# A router of a large cluster costs each of its nodes a frame of some ten bytes every few minutes.
REFRESH_S = 10.0
JITTER = 0.25
PAUSE_S_MAX = REFRESH_S * (1 + JITTER)


class Refresh:
    """`known` tells up to which index of meta's log the router knows everything."""

    def __init__(self, random: Random, links: Sequence[NodeLink], known: Callable[[], int]) -> None:
        self._random = random
        self._links = links
        self._known = known
        self._turn = random.randrange(len(links))
        self._timer: asyncio.TimerHandle | None = None

    def begin(self) -> None:
        pause_s = REFRESH_S * self._random.uniform(1 - JITTER, 1 + JITTER)
        self._timer = asyncio.get_running_loop().call_later(pause_s, self._refresh)

    def close(self) -> None:
        if self._timer is not None:
            self._timer.cancel()

    def _refresh(self) -> None:
        """Ask the next node that can be asked. If it says nothing, the one after it is asked next time."""
        self.begin()
        for _ in self._links:
            self._turn = (self._turn + 1) % len(self._links)
            if self._links[self._turn].refresh(self._known()):
                return
