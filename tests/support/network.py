"""A simulated network: which nodes are up, which links are cut, and how bad the others are.

It moves no frames itself. `Datagrams` and `Streams` do, and share what is said here: a frame that crosses a cut link
does not arrive, a paused node neither sends nor receives until it is resumed, a crashed one loses what was on its way to
and from it. All chance comes from the one `Random`, so on a deterministic loop a run repeats itself.

A paused node is a stopped process whose kernel still takes what arrives. Its timers are the simulator's business: to the
others it is silent whatever it does meanwhile, and what it sends then leaves when it is resumed.
"""

from __future__ import annotations

import asyncio
from collections import Counter, defaultdict, deque
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from enum import StrEnum
from itertools import permutations
from random import Random
from typing import Protocol, TypeVarTuple

Ts = TypeVarTuple("Ts")

Link = tuple[str, str]
"""From the first node to the second."""

Event = Callable[[], None]

# About what the kernel takes on both sides of a connection before its writer has to wait.
IN_FLIGHT_BYTES_MAX = 1 << 20


class Fault(StrEnum):
    """What can happen to frames, named as it is counted."""

    DROPPED = "dropped"
    DUPLICATED = "duplicated"
    REORDERED = "reordered"
    CUT = "cut"
    CRASHED = "crashed"
    REFUSED = "refused"
    HELD = "held"
    BROKEN = "broken"
    LOST = "lost"


class Timers(Protocol):
    """A loop, as far as the network needs one."""

    def time(self) -> float: ...

    def call_soon(self, callback: Callable[[*Ts], object], *args: *Ts) -> asyncio.Handle: ...

    def call_later(
        self, delay: float, callback: Callable[[*Ts], object], *args: *Ts
    ) -> asyncio.TimerHandle: ...

    def call_at(
        self, when: float, callback: Callable[[*Ts], object], *args: *Ts
    ) -> asyncio.TimerHandle: ...


@dataclass(frozen=True, slots=True)
class Conditions:
    """What a link does to frames: how long they take, and how probable each fault is for each of them."""

    delay_s: tuple[float, float] = (0.0002, 0.002)
    drop: float = 0.0
    duplicate: float = 0.0
    reorder: float = 0.0


@dataclass(slots=True)
class _Node:
    """`held` waits until the node is resumed. A crash makes a new generation."""

    up: bool = False
    paused: bool = False
    generation: int = 0
    held: deque[Event] = field(default_factory=deque)


class Network:
    """`counts` says how often each fault struck, so that a test can tell whether it tested anything."""

    def __init__(
        self,
        loop: Timers,
        random: Random,
        conditions: Conditions | None = None,
        in_flight_bytes_max: int = IN_FLIGHT_BYTES_MAX,
        trace: Callable[[str], None] | None = None,
    ) -> None:
        self.loop = loop
        self.random = random
        self.in_flight_bytes_max = in_flight_bytes_max
        self.counts: Counter[Fault] = Counter()
        self._trace = trace
        self._usual = conditions or Conditions()
        self._conditions: dict[Link, Conditions] = {}
        # A node that was never started is one that is down.
        self._nodes: defaultdict[str, _Node] = defaultdict(_Node)
        self._cut: set[Link] = set()
        self._flaps: dict[Link, object] = {}
        self._crash_watchers: list[Callable[[str], None]] = []

    def struck(self, fault: Fault, source: str, target: str, times: int = 1) -> None:
        self.counts[fault] += times
        if self._trace is not None:
            self._trace(f"{fault} {source} -> {target}, {times}")

    # Links.

    def between(self, *nodes: str) -> list[Link]:
        """All links among these nodes, in both directions."""
        return list(permutations(nodes, 2))

    def around(self, node: str) -> list[Link]:
        """All links to and from this node."""
        return [link for link in self.between(*self._nodes) if node in link]

    def change(self, conditions: Conditions, links: Iterable[Link] | None = None) -> None:
        """Let the links be like this from now on; without `links`, all of them."""
        if links is None:
            self._usual = conditions
            self._conditions.clear()
        else:
            self._conditions.update((link, conditions) for link in links)

    def cut(self, links: Iterable[Link]) -> None:
        for link in links:
            self._flaps.pop(link, None)
            self._cut.add(link)

    def heal(self, links: Iterable[Link] | None = None) -> None:
        """Mend these links, and let them flap no more; without `links`, all of them."""
        for link in [*self._cut, *self._flaps] if links is None else list(links):
            self._flaps.pop(link, None)
            self._cut.discard(link)

    def flap(
        self, links: Iterable[Link], up_s: tuple[float, float], down_s: tuple[float, float]
    ) -> None:
        """Cut these links now, mend them, and so on, all together, until `cut` or `heal` names them."""
        links = list(links)
        mark = object()
        self.heal(links)
        self._flaps.update((link, mark) for link in links)
        self._flip(mark, up_s, down_s)

    def _flip(self, mark: object, up_s: tuple[float, float], down_s: tuple[float, float]) -> None:
        links = [link for link, owner in self._flaps.items() if owner is mark]
        if not links:
            return
        if self._cut.isdisjoint(links):
            self._cut.update(links)
            lasts_s = down_s
        else:
            self._cut.difference_update(links)
            lasts_s = up_s
        self.loop.call_later(self.random.uniform(*lasts_s), self._flip, mark, up_s, down_s)

    def is_cut(self, source: str, target: str) -> bool:
        return (source, target) in self._cut

    def conditions_of(self, source: str, target: str) -> Conditions:
        return self._conditions.get((source, target), self._usual)

    def delay_s(self, source: str, target: str) -> float:
        return self.random.uniform(*self.conditions_of(source, target).delay_s)

    def happens(self, probability: float) -> bool:
        return self.random.random() < probability

    # Nodes.

    def start(self, node: str) -> None:
        """Begin, or begin again after a crash."""
        self._nodes[node].up = True

    def pause(self, node: str) -> None:
        self._nodes[node].paused = True

    def resume(self, node: str) -> None:
        state = self._nodes[node]
        state.paused = False
        self.loop.call_soon(self._catch_up, state)

    def crash(self, node: str) -> None:
        """Stop the node, and lose all that is on its way to and from it."""
        state = self._nodes[node]
        self.struck(Fault.CRASHED, "held", node, len(state.held))
        self._nodes[node] = _Node(generation=state.generation + 1)
        state.held.clear()
        for watch in self._crash_watchers:
            watch(node)

    def on_crash(self, watch: Callable[[str], None]) -> None:
        self._crash_watchers.append(watch)

    def is_up(self, node: str) -> bool:
        return self._nodes[node].up

    def generation(self, node: str) -> int:
        return self._nodes[node].generation

    def at(self, node: str, event: Event) -> None:
        """Let `event` happen at this node: now, or when it is resumed, or never if it crashes before that."""
        state = self._nodes[node]
        if not state.up:
            return
        if state.paused or state.held:
            self.counts[Fault.HELD] += 1
            state.held.append(event)
        else:
            event()

    def _catch_up(self, state: _Node) -> None:
        # What the node receives may make it send, or pause it again.
        while state.held and not state.paused:
            state.held.popleft()()
