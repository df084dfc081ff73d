"""Frames on one stream per pair of nodes, as nodes really talk: in order, each once, or the stream breaks.

A frame that is dropped or out of order breaks the stream, and both directions lose what was on its way. Each end is told,
once, but not at the same moment, and what it sends before it is told is lost as well. Then the next frame that either
sends makes a new stream. An end hears of the break before it receives anything on the new stream. A duplicate is nothing
a stream would let through, so that fault does not strike here.

A cut link holds frames up; only when it has done so for a while does the stream break. A cut that nobody sends across
is not noticed.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from math import inf, nextafter

from tests.support.datagrams import Receive
from tests.support.network import Fault, Network

Broken = Callable[[str], None]
"""Is given the node at the other end."""

# How often a frame is sent again across a cut, and how long until the stream breaks, like TCP with a user timeout.
RESEND_S = 0.05
PATIENCE_S = 2.0


@dataclass(slots=True)
class _Way:
    """One direction. `queue` holds frames with the time at which they arrive, at the earliest."""

    source: str
    target: str
    queue: deque[tuple[float, bytes]] = field(default_factory=deque)
    in_flight_bytes: int = 0
    last_arrival: float = -inf
    timer: asyncio.TimerHandle | None = None
    stalled_since: float | None = None


@dataclass(slots=True, eq=False)
class _Stream:
    """`ways` by the node that sends."""

    ways: dict[str, _Way]
    broken: bool = False


class Streams:
    def __init__(self, network: Network, patience_s: float = PATIENCE_S) -> None:
        self._network = network
        self._patience_s = patience_s
        self._ends: dict[str, tuple[Receive, Broken]] = {}
        self._live: dict[frozenset[str], _Stream] = {}
        # By node and peer, the stream that the node believes in. It may be broken already.
        self._believed: dict[tuple[str, str], _Stream] = {}
        network.on_crash(self._crashed)

    def attach(self, node: str, receive: Receive, broken: Broken) -> None:
        """Start the node, or start it again after a crash."""
        self._network.start(node)
        self._ends[node] = (receive, broken)

    def send(self, source: str, target: str, frame: bytes) -> bool:
        """False means that the stream is full, and that nothing was sent. True promises nothing.

        A frame larger than the bound is taken by a stream that has nothing else on its way there.
        """
        network = self._network
        if not network.is_up(source):
            network.struck(Fault.CRASHED, source, target)
            return True
        stream = self._stream(source, target)
        way = stream.ways[source]
        full = way.in_flight_bytes + len(frame) > network.in_flight_bytes_max
        if full and way.in_flight_bytes and not stream.broken:
            network.struck(Fault.REFUSED, source, target)
            return False
        way.in_flight_bytes += len(frame)
        network.at(source, lambda: self._leave(stream, way, frame))
        return True

    def in_flight_bytes(self, source: str, target: str) -> int:
        return self._stream(source, target).ways[source].in_flight_bytes

    def _stream(self, source: str, target: str) -> _Stream:
        """The stream that `source` believes in, made anew if there is none."""
        assert source != target, f"{source} sends to itself"
        believed = self._believed.get((source, target))
        if believed is not None:
            return believed
        pair = frozenset((source, target))
        stream = self._live.get(pair)
        if stream is None:
            ways = {source: _Way(source, target), target: _Way(target, source)}
            stream = self._live[pair] = _Stream(ways)
        if self._network.is_up(target):
            # The other end keeps to a broken stream until it is told.
            self._believed.setdefault((target, source), stream)
        self._believed[source, target] = stream
        return stream

    def _leave(self, stream: _Stream, way: _Way, frame: bytes) -> None:
        network = self._network
        if stream.broken:
            network.struck(Fault.LOST, way.source, way.target)
            return
        conditions = network.conditions_of(way.source, way.target)
        arrival = network.loop.time() + network.delay_s(way.source, way.target)
        way.last_arrival = arrival = max(arrival, nextafter(way.last_arrival, inf))
        way.queue.append((arrival, frame))
        for fault, probability in (
            (Fault.DROPPED, conditions.drop),
            (Fault.REORDERED, conditions.reorder),
        ):
            if network.happens(probability):
                network.struck(fault, way.source, way.target)
                self._break(stream)
                return
        if way.timer is None:
            self._schedule(stream, way)

    def _schedule(self, stream: _Stream, way: _Way) -> None:
        if way.queue:
            arrival = max(way.queue[0][0], self._network.loop.time())
            way.timer = self._network.loop.call_at(arrival, self._arrive, stream, way)

    def _arrive(self, stream: _Stream, way: _Way) -> None:
        network = self._network
        way.timer = None
        if not network.is_up(way.target):
            self._break(stream)
        elif network.is_cut(way.source, way.target):
            self._stall(stream, way)
        else:
            way.stalled_since = None
            _, frame = way.queue.popleft()
            self._schedule(stream, way)
            network.at(way.target, lambda: self._deliver(stream, way, frame))

    def _stall(self, stream: _Stream, way: _Way) -> None:
        now = self._network.loop.time()
        if way.stalled_since is None:
            way.stalled_since = now
        if now - way.stalled_since >= self._patience_s:
            self._network.struck(Fault.CUT, way.source, way.target)
            self._break(stream)
        else:
            way.timer = self._network.loop.call_later(RESEND_S, self._arrive, stream, way)

    def _deliver(self, stream: _Stream, way: _Way, frame: bytes) -> None:
        if stream.broken:
            # It broke while the receiver was paused.
            self._network.struck(Fault.LOST, way.source, way.target)
            return
        way.in_flight_bytes -= len(frame)
        end = (way.target, way.source)
        believed = self._believed.get(end)
        if believed is not None and believed is not stream:
            self._told(*end, believed)
        self._believed[end] = stream
        self._ends[way.target][0](way.source, frame)

    def _break(self, stream: _Stream) -> None:
        network = self._network
        stream.broken = True
        del self._live[frozenset(stream.ways)]
        for way in stream.ways.values():
            network.struck(Fault.LOST, way.source, way.target, len(way.queue))
            if way.timer is not None:
                way.timer.cancel()
        source, target = stream.ways
        network.struck(Fault.BROKEN, source, target)
        for node, peer in ((source, target), (target, source)):
            # Across a cut nobody is told anything; there it is the node's own patience that ends.
            cut = network.is_cut(peer, node)
            delay_s = self._patience_s if cut else network.delay_s(peer, node)
            network.loop.call_later(delay_s, self._tell, node, peer, stream)

    def _tell(self, node: str, peer: str, stream: _Stream) -> None:
        self._network.at(node, lambda: self._told(node, peer, stream))

    def _told(self, node: str, peer: str, stream: _Stream) -> None:
        if self._believed.get((node, peer)) is stream:
            del self._believed[node, peer]
            self._ends[node][1](peer)

    def _crashed(self, node: str) -> None:
        """Break the node's streams. What it believed itself is gone with it."""
        for pair, stream in list(self._live.items()):
            if node in pair:
                self._break(stream)
        for end in [end for end in self._believed if end[0] == node]:
            del self._believed[end]
