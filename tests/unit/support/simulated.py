"""Nodes on a simulated network that do nothing but write down what reaches them, and when."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from random import Random

from tests.support.datagrams import Datagrams
from tests.support.deterministic import DeterministicLoop
from tests.support.network import Conditions, Network
from tests.support.streams import Streams

# Every frame takes this long, unless a test says otherwise.
DELAY_S = 0.01
STEADY = Conditions(delay_s=(DELAY_S, DELAY_S))


class Laboratory:
    """Call `after` to say what happens when, then `run`."""

    def __init__(
        self,
        conditions: Conditions = STEADY,
        seed: int = 1,
        in_flight_bytes_max: int = 1 << 20,
        shuffle: bool = False,
    ) -> None:
        self.loop = DeterministicLoop(Random(f"{seed}/loop") if shuffle else None)
        self.network = Network(
            self.loop, Random(seed), conditions, in_flight_bytes_max, self.loop.trace
        )
        self.seen: dict[str, list[str]] = {}
        self.arrived_at: list[float] = []

    def receiver(self, node: str) -> Callable[[str, bytes], None]:
        self.seen.setdefault(node, [])

        def receive(source: str, frame: bytes) -> None:
            self.seen[node].append(frame.decode())
            self.arrived_at.append(self.loop.time())
            self.loop.trace(f"{node} received {frame.decode()} from {source}")

        return receive

    def datagrams(self, *nodes: str, ordered: bool = True) -> Datagrams:
        datagrams = Datagrams(self.network, ordered)
        for node in nodes:
            datagrams.attach(node, self.receiver(node))
        return datagrams

    def streams(self, *nodes: str) -> Streams:
        streams = Streams(self.network)
        for node in nodes:
            self.attach(streams, node)
        return streams

    def attach(self, streams: Streams, node: str) -> None:
        def broken(peer: str) -> None:
            self.seen[node].append(f"broken with {peer}")
            self.loop.trace(f"{node} is told of {peer}")

        streams.attach(node, self.receiver(node), broken)

    def after(self, seconds: float, action: Callable[[], object]) -> None:
        self.loop.call_later(seconds, action)

    def run(self, seconds: float = 100) -> None:
        self.loop.run(asyncio.sleep(seconds))
