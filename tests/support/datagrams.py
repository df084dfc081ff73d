"""Frames that travel one by one: each may be lost, doubled or late. Harsher than what nodes really talk over.

On an ordered network frames of one link arrive as they were sent, but for those that the reorder fault holds up and for
second copies; on an unordered one each takes its own time.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import inf, nextafter

from tests.support.network import Fault, Network

Receive = Callable[[str, bytes], None]
"""Is given the sender and the frame."""

# How many times the longest usual delay a frame is held up so that later ones overtake it; and the least such delay.
REORDER_DELAYS = 10
REORDER_DELAY_S_MIN = 0.001


@dataclass(slots=True)
class _Way:
    """One link, as long as neither of its nodes crashes."""

    source: str
    target: str
    generations: tuple[int, int]
    in_flight_bytes: int = 0
    last_arrival: float = -inf


class Datagrams:
    def __init__(self, network: Network, ordered: bool = True) -> None:
        self._network = network
        self._ordered = ordered
        self._receivers: dict[str, Receive] = {}
        self._ways: dict[tuple[str, str], _Way] = {}

    def attach(self, node: str, receive: Receive) -> None:
        """Start the node, or start it again after a crash."""
        self._network.start(node)
        self._receivers[node] = receive

    def send(self, source: str, target: str, frame: bytes) -> bool:
        """False means that the link is full, and that nothing was sent. True promises nothing.

        A frame larger than the bound is taken by a link that has nothing else on its way.
        """
        network = self._network
        if not network.is_up(source):
            network.struck(Fault.CRASHED, source, target)
            return True
        way = self._way(source, target)
        full = way.in_flight_bytes + len(frame) > network.in_flight_bytes_max
        if full and way.in_flight_bytes:
            network.struck(Fault.REFUSED, source, target)
            return False
        way.in_flight_bytes += len(frame)
        network.at(source, lambda: self._leave(way, frame))
        return True

    def in_flight_bytes(self, source: str, target: str) -> int:
        return self._way(source, target).in_flight_bytes

    def _way(self, source: str, target: str) -> _Way:
        assert source != target, f"{source} sends to itself"
        generations = self._generations(source, target)
        way = self._ways.get((source, target))
        if way is None or way.generations != generations:
            way = self._ways[source, target] = _Way(source, target, generations)
        return way

    def _generations(self, source: str, target: str) -> tuple[int, int]:
        return self._network.generation(source), self._network.generation(target)

    def _leave(self, way: _Way, frame: bytes) -> None:
        network = self._network
        conditions = network.conditions_of(way.source, way.target)
        if network.is_cut(way.source, way.target):
            self._lose(way, frame, Fault.CUT)
        elif network.happens(conditions.drop):
            self._lose(way, frame, Fault.DROPPED)
        else:
            self._travel(way, frame)
            if network.happens(conditions.duplicate):
                network.struck(Fault.DUPLICATED, way.source, way.target)
                # The sender is not charged for it, so it weighs nothing.
                delay_s = network.delay_s(way.source, way.target)
                network.loop.call_later(delay_s, self._arrive, way, frame, 0)

    def _travel(self, way: _Way, frame: bytes) -> None:
        network = self._network
        conditions = network.conditions_of(way.source, way.target)
        arrival = network.loop.time() + network.delay_s(way.source, way.target)
        if network.happens(conditions.reorder):
            network.struck(Fault.REORDERED, way.source, way.target)
            longest_s = max(conditions.delay_s[1], REORDER_DELAY_S_MIN)
            arrival += network.random.uniform(longest_s, REORDER_DELAYS * longest_s)
        elif self._ordered:
            # Never at the same moment: a shuffling loop would put them out of order.
            arrival = max(arrival, nextafter(way.last_arrival, inf))
            way.last_arrival = arrival
        network.loop.call_at(arrival, self._arrive, way, frame, len(frame))

    def _arrive(self, way: _Way, frame: bytes, charged_bytes: int) -> None:
        network = self._network
        crashed = way.generations != self._generations(way.source, way.target)
        if crashed or not network.is_up(way.target):
            self._lose(way, frame, Fault.CRASHED, charged_bytes)
        elif network.is_cut(way.source, way.target):
            self._lose(way, frame, Fault.CUT, charged_bytes)
        else:
            network.at(way.target, lambda: self._deliver(way, frame, charged_bytes))

    def _deliver(self, way: _Way, frame: bytes, charged_bytes: int) -> None:
        way.in_flight_bytes -= charged_bytes
        self._receivers[way.target](way.source, frame)

    def _lose(
        self, way: _Way, frame: bytes, fault: Fault, charged_bytes: int | None = None
    ) -> None:
        way.in_flight_bytes -= len(frame) if charged_bytes is None else charged_bytes
        self._network.struck(fault, way.source, way.target)
