"""Simulated links on a network that loses frames, is cut, and whose nodes crash and pause."""

from __future__ import annotations

import asyncio
from random import Random

import pytest

from gramme.links.api import Down, Events, Identity, Link
from tests.support.deterministic import DeterministicLoop
from tests.support.network import Conditions, Fault, Network
from tests.support.simulated_links import SimulatedLinks
from tests.support.streams import Streams

SECONDS = 60.0
BETWEEN_FRAMES_S = 0.01


class Talker:
    """Counts aloud while its link is up, from 1 in each life of it, and checks that it hears the same."""

    def __init__(self, link: Link | None, loop: asyncio.AbstractEventLoop) -> None:
        self.link = link
        self.heard: list[int] = []
        self.lives = 0
        self._loop = loop
        self._life_heard = self._life_sent = 0

    def on_up(self, peer: Identity) -> None:
        self.lives += 1
        self._life_heard = self._life_sent = 0
        self._say(self.lives)

    def on_frame(self, frame: bytes) -> None:
        number = int(frame)
        assert number == self._life_heard + 1, "a frame is missing, or came twice"
        self._life_heard = number
        self.heard.append(number)

    def on_idle(self) -> None:
        pass

    def on_down(self, down: Down) -> None:
        assert self.link is not None
        assert not self.link.up

    def _say(self, life: int) -> None:
        assert self.link is not None
        if life == self.lives and self.link.up:
            if self.link.send(b"%d" % (self._life_sent + 1)):
                self._life_sent += 1
            self._loop.call_later(BETWEEN_FRAMES_S, self._say, life)


@pytest.mark.parametrize("seed", range(5))
def test_whatever_happens_each_life_of_a_link_is_a_prefix_of_what_was_sent(seed: int) -> None:
    trace, heard, counts = _run(seed)

    assert _run(seed)[0] == trace
    assert heard > 500
    assert counts[Fault.DROPPED]
    assert counts[Fault.BROKEN] > counts[Fault.DROPPED]


def _run(seed: int) -> tuple[str, int, dict[Fault, int]]:
    loop = DeterministicLoop(Random(f"{seed}/loop"))
    network = Network(loop, Random(seed), Conditions(drop=0.005), trace=loop.trace)
    heard = 0

    async def main() -> None:
        nonlocal heard
        streams = Streams(network)
        talkers: list[Talker] = []

        def accept(link: Link, _: Identity) -> Events:
            talkers.append(Talker(link, loop))
            return talkers[-1]

        def start(node: str) -> SimulatedLinks:
            identity = Identity("c", node, "node", 1)
            links = SimulatedLinks(streams, identity, Random(f"{seed}/{node}"), accept)
            if node == "a":
                talkers.append(Talker(None, loop))
                talkers[-1].link = links.dial("b", talkers[-1])
            return links

        running = {node: start(node) for node in ("b", "a")}
        random = Random(f"{seed}/faults")
        while loop.time() < SECONDS:
            await asyncio.sleep(random.uniform(0.5, 3))
            node = random.choice("ab")
            match random.choice(("crash", "pause", "cut", "calm")):
                case "crash":
                    network.crash(node)
                    running[node].stop()
                    await asyncio.sleep(random.uniform(0, 3))
                    running[node] = start(node)
                case "pause":
                    network.pause(node)
                    await asyncio.sleep(random.uniform(0, 8))
                    network.resume(node)
                case "cut":
                    network.cut(random.sample(network.between("a", "b"), random.randint(1, 2)))
                    await asyncio.sleep(random.uniform(0, 4))
                    network.heal()
        before = sum(len(talker.heard) for talker in talkers)
        network.change(Conditions())
        await asyncio.sleep(10)
        heard = sum(len(talker.heard) for talker in talkers)
        assert heard - before > 500, "all is well again, and still they do not talk"

    loop.run(main())
    return loop.digest, heard, dict(network.counts)
