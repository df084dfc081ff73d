"""Where a story about links can take place: on sockets, with gRPC, and on a simulated network.

`@both` runs a test in either, so that what stands in for gRPC in simulations keeps the same promises.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AbstractAsyncContextManager
from dataclasses import replace
from random import Random
from typing import Protocol

import pytest

from gramme.links.api import Accept
from gramme.links.limits import Limits
from tests.support import link_ends
from tests.support.deterministic import DeterministicLoop
from tests.support.link_ends import A, B, Owner
from tests.support.network import Network
from tests.support.simulated_links import SimulatedLinks
from tests.support.streams import Streams

STORY_SECONDS_MAX = 30


class World(Protocol):
    def run(self, story: Story) -> None: ...

    def nowhere(self) -> str:
        """An address where nobody listens yet."""
        ...

    def listening(
        self, accept: Accept, limits: Limits | None = None, address: str = ""
    ) -> AbstractAsyncContextManager[str]: ...

    def dialling(
        self, address: str, limits: Limits | None = None
    ) -> AbstractAsyncContextManager[Owner]: ...


Story = Callable[[World], Awaitable[None]]


class Sockets:
    def run(self, story: Story) -> None:
        async def main() -> None:
            async with asyncio.timeout(STORY_SECONDS_MAX):
                await story(self)

        asyncio.run(main())

    def nowhere(self) -> str:
        return f"127.0.0.1:{link_ends.free_port()}"

    def listening(
        self, accept: Accept, limits: Limits | None = None, address: str = ""
    ) -> AbstractAsyncContextManager[str]:
        port = int(address.rpartition(":")[2] or 0)
        return link_ends.listening(accept, limits=limits, port=port)

    def dialling(
        self, address: str, limits: Limits | None = None
    ) -> AbstractAsyncContextManager[Owner]:
        return link_ends.dialling(address, limits=limits)


class Simulation:
    def __init__(self) -> None:
        self._loop = DeterministicLoop(Random(1))
        self._network = Network(self._loop, Random(2))
        self._streams = Streams(self._network)
        self._diallers = 0

    def run(self, story: Story) -> None:
        async def main() -> None:
            await story(self)

        self._loop.run(main())

    def nowhere(self) -> str:
        return B.node

    @contextlib.asynccontextmanager
    async def listening(
        self, accept: Accept, limits: Limits | None = None, address: str = ""
    ) -> AsyncIterator[str]:
        links = SimulatedLinks(self._streams, B, Random(3), accept, limits)
        try:
            yield B.node
        finally:
            self._network.crash(B.node)
            links.stop()

    @contextlib.asynccontextmanager
    async def dialling(self, address: str, limits: Limits | None = None) -> AsyncIterator[Owner]:
        self._diallers += 1
        us = A if self._diallers == 1 else replace(A, node=f"{A.node}{self._diallers}")
        links = SimulatedLinks(self._streams, us, Random(4), None, limits)
        owner = Owner()
        owner.link = links.dial(address, owner)
        try:
            yield owner
        finally:
            owner.link.close()
            links.stop()


def both(story: Story) -> Callable[[type[World]], None]:
    """A test from a story: once in each world."""

    @pytest.mark.parametrize("world", [Sockets, Simulation], ids=["sockets", "simulation"])
    def test(world: type[World]) -> None:
        world().run(story)

    test.__name__ = test.__qualname__ = getattr(story, "__name__", "story")
    return test
