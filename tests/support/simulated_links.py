"""Links over a simulated network: what `Dialler` and `Listener` are on a real one, for all of one node's links.

A stream of the simulated network comes up by itself and has no beginning, so the ends introduce themselves as they do in
metadata: the one that dials says hello, the other welcome, or why not. Each attempt to dial has a number, and what belongs
to an earlier one is passed over. An address is the name of a node, and of two nodes only one may dial the other.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable
from random import Random
from typing import Literal

import msgspec

from gramme.links.api import Accept, Down, Events, Identity, Refused
from gramme.links.backoff import Backoff
from gramme.links.limits import Limits
from gramme.links.stream import GONE, QUEUED_FRAME_BYTES
from tests.support.streams import Streams

# How long a full stream is left alone.
FULL_S = 0.001

Kind = Literal["hello", "welcome", "refused", "frame", "over"]


class Said(msgspec.Struct, array_like=True):
    """What travels in a frame of the simulated network."""

    kind: Kind
    attempt: int
    content: bytes = b""


_encode = msgspec.msgpack.encode
_decode = msgspec.msgpack.Decoder(Said).decode


class SimulatedLinks:
    """All links of one node, from one start of it to the next. Is a `Dial`; `accept` is asked about those who dial."""

    def __init__(
        self,
        streams: Streams,
        identity: Identity,
        random: Random,
        accept: Accept | None = None,
        limits: Limits | None = None,
        name: str = "",
    ) -> None:
        """`name` is the node's address on the network, where that is not what it says it is."""
        self.streams = streams
        self.identity = identity
        self.name = name or identity.node
        self.random = random
        self.limits = limits or Limits()
        self.loop = asyncio.get_running_loop()
        self._accept = accept
        self._links: dict[str, SimulatedLink] = {}
        streams.attach(self.name, self._receive, self._broken)

    def dial(self, address: str, events: Events) -> SimulatedLink:
        assert address not in self._links, f"{address} has dialled this node, or was dialled before"
        link = self._links[address] = SimulatedLink(self, address, events, None)
        self.loop.call_soon(link.attempt)
        return link

    def stop(self) -> None:
        """To be called when the node crashes: its timers are gone with it."""
        for link in self._links.values():
            link.abandon()
        self._links.clear()

    def say(self, peer: str, said: Said) -> bool:
        return self.streams.send(self.name, peer, _encode(said))

    def _receive(self, peer: str, frame: bytes) -> None:
        said = _decode(frame)
        if said.kind == "hello":
            self._greeted(peer, said)
            return
        link = self._links.get(peer)
        if link is not None and link.attempt_number == said.attempt:
            link.hear(said)

    def _broken(self, peer: str) -> None:
        link = self._links.get(peer)
        if link is not None:
            link.go_down(GONE)

    def _greeted(self, peer: str, said: Said) -> None:
        earlier = self._links.get(peer)
        if earlier is not None:
            assert not earlier.dialled, f"{peer} and {self.name} dial each other"
            earlier.go_down(GONE)
        identity = msgspec.msgpack.decode(said.content, type=Identity)
        link = SimulatedLink(self, peer, None, said.attempt)
        try:
            if self._accept is None:
                raise Refused("nobody listens here")
            link.events = self._accept(link, identity)
        except Refused as refused:
            self.say(peer, Said("refused", said.attempt, str(refused).encode()))
            return
        if link.closed is not None:
            self.say(peer, Said("over", said.attempt, link.closed.encode()))
            return
        self._links[peer] = link
        self.say(peer, Said("welcome", said.attempt, _encode(self.identity)))
        link.come_up(identity)

    def forget(self, peer: str, link: SimulatedLink) -> None:
        if self._links.get(peer) is link:
            del self._links[peer]


class SimulatedLink:
    """One end. `attempt_number` is given by who dials."""

    def __init__(
        self, links: SimulatedLinks, peer: str, events: Events | None, attempt: int | None
    ) -> None:
        self.events = events
        self.closed: str | None = None
        self.dialled = attempt is None
        self.attempt_number = attempt or 0
        self.up = False
        self.queued_bytes = 0
        self._links = links
        self._peer = peer
        self._backoff = Backoff(links.limits, links.random)
        self._began = links.loop.time()
        self._trying = False
        self._queue: deque[bytes] = deque()
        self._timers: dict[str, asyncio.Handle] = {}

    @property
    def idle(self) -> bool:
        return self.up and not self._queue

    def send(self, frame: bytes) -> bool:
        if len(frame) > self._links.limits.frame_bytes_max:
            raise ValueError(f"a frame of {len(frame)} bytes is larger than a frame may be")
        if not self.up or "reset" in self._timers:
            return False
        queued_bytes = self.queued_bytes + len(frame) + QUEUED_FRAME_BYTES
        if queued_bytes > self._links.limits.queue_bytes_max and self._queue:
            return False
        self._queue.append(frame)
        self.queued_bytes = queued_bytes
        if len(self._queue) == 1:
            self._after(0, "write", self._write)
        return True

    def reset(self, reason: str) -> None:
        if self.up and "reset" not in self._timers:
            self._after(0, "reset", lambda: self._reset(reason))

    def close(self, reason: str = "") -> None:
        if self.closed is None:
            self.closed = reason
            if self.up or self._trying:
                self._links.say(self._peer, Said("over", self.attempt_number, reason.encode()))
            self.abandon()
            self._links.forget(self._peer, self)

    # What the links of the node tell it.

    def attempt(self) -> None:
        """Say hello, and give up if nobody answers."""
        self.attempt_number += 1
        self._began = self._links.loop.time()
        self._trying = True
        patience_s = self._links.limits.connect_seconds
        self._after(
            patience_s, "patience", lambda: self.go_down(f"no answer within {patience_s:g} s")
        )
        hello = Said("hello", self.attempt_number, _encode(self._links.identity))
        if not self._links.say(self._peer, hello):
            self.go_down("the stream is full")

    def come_up(self, peer: Identity) -> None:
        self._cancel("patience")
        self._trying = False
        self.up = True
        self._owner.on_up(peer)

    def hear(self, said: Said) -> None:
        if said.kind == "frame" and self.up and "reset" not in self._timers:
            self._owner.on_frame(said.content)
        elif said.kind == "welcome" and self._trying:
            self.come_up(msgspec.msgpack.decode(said.content, type=Identity))
        elif said.kind == "refused" and self._trying:
            self.go_down(said.content.decode(), refused=True)
        elif said.kind == "over":
            self.go_down(said.content.decode() or GONE)

    def go_down(self, reason: str, refused: bool = False) -> None:
        if not (self.up or self._trying):
            return
        down = Down(reason, refused, len(self._queue))
        self.abandon()
        if not self.dialled:
            self._links.forget(self._peer, self)
        self._owner.on_down(down)
        if self.dialled and self.closed is None:
            up_s = self._links.loop.time() - self._began
            self._after(self._backoff.after(up_s), "attempt", self.attempt)

    def abandon(self) -> None:
        """Be down, and say nothing of it."""
        for name in list(self._timers):
            self._cancel(name)
        self.up = self._trying = False
        self._queue.clear()
        self.queued_bytes = 0

    @property
    def _owner(self) -> Events:
        assert self.events is not None
        return self.events

    def _reset(self, reason: str) -> None:
        self._links.say(self._peer, Said("over", self.attempt_number, reason.encode()))
        self.go_down(reason)

    def _write(self) -> None:
        while self._queue:
            if not self._links.say(self._peer, Said("frame", self.attempt_number, self._queue[0])):
                self._after(FULL_S, "write", self._write)
                return
            self.queued_bytes -= len(self._queue.popleft()) + QUEUED_FRAME_BYTES
        self._owner.on_idle()

    def _after(self, seconds: float, name: str, then: Callable[[], None]) -> None:
        loop = self._links.loop
        if seconds:
            self._timers[name] = loop.call_later(seconds, self._due, name, then)
        else:
            self._timers[name] = loop.call_soon(self._due, name, then)

    def _due(self, name: str, then: Callable[[], None]) -> None:
        del self._timers[name]
        then()

    def _cancel(self, name: str) -> None:
        timer = self._timers.pop(name, None)
        if timer is not None:
            timer.cancel()
