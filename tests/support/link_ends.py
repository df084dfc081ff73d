"""Both ends of links, in one loop: what the tests talk with, and wait for."""

from __future__ import annotations

import asyncio
import contextlib
import socket
from collections.abc import AsyncIterator, Callable
from random import Random

from gramme.links.api import Accept, Down, Events, Identity, Link, Refused
from gramme.links.dialler import Dialler, Sleep
from gramme.links.limits import Limits
from gramme.links.listener import Listener
from gramme.links.security import Secret, Security
from gramme.links.services import PEER, Service

SECRET = Security(Secret(b"correct horse battery staple"))
WAIT_S = 10.0
FILLING_BYTES = 50_000

A = Identity("c1", "a", "node", 1)
B = Identity("c1", "b", "node", 1)


class Owner:
    """Takes down what a link tells it. `told` has something new whenever `changed` is set."""

    def __init__(self) -> None:
        self.link: Link | None = None
        self.peer: Identity | None = None
        self.told: list[str] = []
        self.frames: list[bytes] = []
        self.downs: list[Down] = []
        self.echoes = False
        self._changed = asyncio.Event()

    def on_up(self, peer: Identity) -> None:
        self.peer = peer
        self._tell("up")

    def on_frame(self, frame: bytes) -> None:
        self.frames.append(frame)
        if self.echoes:
            assert self.link is not None
            self.link.send(frame)
        self._tell("frame")

    def on_idle(self) -> None:
        self._tell("idle")

    def on_down(self, down: Down) -> None:
        self.downs.append(down)
        self._tell("down")

    def _tell(self, what: str) -> None:
        self.told.append(what)
        self._changed.set()

    async def hears(self, what: str, times: int = 1) -> None:
        """Wait until it was told `what` so often in all."""
        await self.sees(lambda: self.told.count(what) >= times, f"{what} x {times}")

    async def sees(self, condition: Callable[[], bool], what: str) -> None:
        """Wait until `condition`, looking whenever the link says something."""
        try:
            async with asyncio.timeout(WAIT_S):
                while not condition():
                    self._changed.clear()
                    await self._changed.wait()
        except TimeoutError:
            raise AssertionError(f"never: {what}; told: {self.told[-20:]} {self.downs}") from None


class Host:
    """Accepts all links, or refuses all, and keeps their owners in the order in which they came."""

    def __init__(self, refuse: str | None = None) -> None:
        self.owners: list[Owner] = []
        self.refuse = refuse
        self._came = asyncio.Event()

    def accept(self, link: Link, peer: Identity) -> Events:
        if self.refuse is not None:
            raise Refused(self.refuse)
        owner = Owner()
        owner.link = link
        self.owners.append(owner)
        self._came.set()
        return owner

    async def owner(self, number: int = 0) -> Owner:
        async with asyncio.timeout(WAIT_S):
            while len(self.owners) <= number:
                self._came.clear()
                await self._came.wait()
        return self.owners[number]


@contextlib.asynccontextmanager
async def listening(
    accept: Accept,
    security: Security = SECRET,
    limits: Limits | None = None,
    port: int = 0,
    service: Service = PEER,
) -> AsyncIterator[str]:
    """The address of a listener."""
    listener = Listener(B, security, {service: accept}, limits)
    port = await listener.start("127.0.0.1", port)
    try:
        yield f"127.0.0.1:{port}"
    finally:
        await listener.close()


@contextlib.asynccontextmanager
async def dialling(
    address: str,
    security: Security = SECRET,
    limits: Limits | None = None,
    sleep: Sleep = asyncio.sleep,
    service: Service = PEER,
) -> AsyncIterator[Owner]:
    """The owner of a link to `address`."""
    dialler = Dialler(service, A, security, Random(1), limits, sleep)
    owner = Owner()
    owner.link = dialler.dial(address, owner)
    try:
        yield owner
    finally:
        await dialler.close()


def link_of(owner: Owner) -> Link:
    assert owner.link is not None
    return owner.link


def free_port() -> int:
    """A port that nobody listens on, and hardly anybody will within a test."""
    with socket.create_server(("127.0.0.1", 0)) as listening_socket:
        port: int = listening_socket.getsockname()[1]
        return port


async def fill(owner: Owner) -> int:
    """Send until no more is taken, and nothing has been written since: how many frames were taken."""
    link = link_of(owner)
    taken = 0
    while True:
        while link.send(bytes(FILLING_BYTES)):
            taken += 1
        before = link.queued_bytes
        # As long as something is written, room is made within this time.
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(0.2):
                while link.queued_bytes == before:
                    await asyncio.sleep(0.005)
        if link.queued_bytes == before:
            return taken
