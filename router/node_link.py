"""A router's end of its stream to one node: what is asked, what has come back, and whether anybody is there.

A process that is stopped, or whose packets get lost, leaves a stream that looks well for seconds. So while something is waited
for, a node that says nothing is asked for a word, which it gives whatever its disk and its groups do. If it gives none, what it was
asked has an unknown outcome, and nothing more is asked of it until it is heard again.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from gramme.calls import Calls
from gramme.codec.catalog import decode_outcome, encode_administration
from gramme.codec.exchange import ToNode, decode_to_router, encode_exchange
from gramme.codec.frame import BadFrame, decode_answers
from gramme.codec.news import Gathering, News
from gramme.commands import Administration
from gramme.errors import OutcomeUnknown, Unavailable
from gramme.links.api import Down, Identity, Link
from gramme.model.table import Table

# A node that lives and has not answered by now does not know more than others: they are asked.
ANSWER_S = 3.0
# How often it is looked whether a node has said something, while something is waited for. Looks are counted, not seconds: a
# router that was stopped itself looks once when it goes on.
LOOK_S = 0.2
# Looks without a word until one is asked for, and until the node is taken for silent, which takes 0.8 to 1 second.
ASK_FOR_A_WORD = 2
SILENT = 4
# Who is being sent more than this may be busy reading it.
BUSY_BYTES = 1 << 20

_ASKING_FOR_A_WORD = encode_exchange(ToNode())


log = logging.getLogger(__name__)


class NodeLink:
    """One node: the events of its link, and what is asked of it."""

    def __init__(
        self, number: int, on_news: Callable[[News], None], on_down: Callable[[], None]
    ) -> None:
        self.number = number
        self.link: Link | None = None
        # Why it is down; None while it is up and before it was tried.
        self.down: Down | None = None
        self.calls = Calls(self._stir, self._hurry, ANSWER_S)
        self._on_news = on_news
        self._on_down = on_down
        self._administration: list[tuple[int, bytes]] = []
        self._scheduled = False
        # Why the process behind the address is not the node it should be.
        self._mistaken = ""
        self._gathering = Gathering()
        self._looking = False
        self._heard = False
        self._quiet_looks = 0

    @property
    def serves(self) -> bool:
        """Whether it is worth asking."""
        up = self.link is not None and self.link.up and not self._mistaken
        return up and self._quiet_looks < SILENT

    def administer(self, command: Administration) -> asyncio.Future[Any]:
        number = self.calls.next_number()
        self._administration.append((number, encode_administration(command)))
        answered = self.calls.wait_for(number)
        self._stir()
        return answered

    def refresh(self, known: int) -> bool:
        """Ask what has changed since an index of meta's log; False if this is not the moment. Nobody waits for an answer."""
        if not self.serves or self.link is None or not self.link.idle:
            return False
        return self.link.send(encode_exchange(ToNode(known=known)))

    def _stir(self) -> None:
        if not self._scheduled and (self.link is None or self.link.idle or not self.link.up):
            self._scheduled = True
            asyncio.get_running_loop().call_soon(self._flush)

    def _hurry(self) -> None:
        if self.link is not None and self.link.idle:
            self._flush()

    def _flush(self) -> None:
        self._scheduled = False
        requests, encoded = self.calls.take()
        administration, self._administration = self._administration, []
        if not (requests or administration):
            return
        frame = ToNode(encoded, administration)
        if self.link is None or not self.link.send(encode_exchange(frame)):
            refused = Unavailable(f"node {self.number} cannot be reached")
            self.calls.unsent(requests, refused)
            for number, _ in administration:
                self.calls.settle(number, refused)
        elif not self._looking:
            self._heard = False
            self._look_later()
        if self.calls.has_unsent:
            self._stir()

    # Silence

    def _look_later(self) -> None:
        self._looking = True
        asyncio.get_running_loop().call_later(LOOK_S, self._look)

    def _look(self) -> None:
        self._looking = False
        if self.link is None or not self.link.up:
            return
        if self._heard:
            self._forget_silence()
        elif self._quiet_looks < SILENT and self.link.queued_bytes <= BUSY_BYTES:
            self._quiet_looks += 1
            if self._quiet_looks == SILENT:
                self._give_up(f"node {self.number} says nothing")
        if self._quiet_looks >= ASK_FOR_A_WORD and self.link.idle:
            self.link.send(_ASKING_FOR_A_WORD)
        if self.calls.waited_for or self._quiet_looks == SILENT:
            self._look_later()

    def _give_up(self, reason: str) -> None:
        """Nobody will answer what was asked; what was not sent was not done."""
        unsent, self._administration = self._administration, []
        for number, _ in unsent:
            self.calls.settle(number, Unavailable(reason))
        self.calls.broken(reason)

    def _forget_silence(self) -> None:
        self._heard = False
        self._quiet_looks = 0

    # Events of the link

    def on_up(self, peer: Identity) -> None:
        self.down = None
        self._gathering = Gathering()
        self._forget_silence()
        number = peer.node.partition(".")[0]
        known, self._mistaken = self._mistaken, ""
        if number != str(self.number) and self.link is not None:
            self._mistaken = f"the address of node {self.number} is that of node {number}"
            if known != self._mistaken:
                log.warning("%s: members are given in the order of numbers", self._mistaken)
            # Dialled again, it may be somebody else's.
            self.link.reset(self._mistaken)

    def on_frame(self, frame: bytes) -> None:
        if self._mistaken:
            return
        self._heard = True
        if self._quiet_looks:
            self._quiet_looks = 0
        try:
            said = decode_to_router(frame)
            answers = decode_answers(said.answers) if said.answers else []
            news = None if said.news is None else self._gathering.add(said.news)
        except BadFrame:
            if self.link is not None:
                self.link.reset("that was no frame")
            return
        self.calls.answered(answers)
        for number, outcome in said.outcomes:
            self.calls.settle(number, _outcome(outcome))
        if news is not None:
            self._on_news(news)

    def on_idle(self) -> None:
        if not self._scheduled:
            self._flush()

    def on_down(self, down: Down) -> None:
        self._give_up(down.reason)
        self.down = replace(down, reason=self._mistaken, refused=True) if self._mistaken else down
        self._forget_silence()
        self._on_down()


def _outcome(encoded: bytes) -> Table | Exception:
    try:
        return decode_outcome(encoded)
    except BadFrame as error:
        return OutcomeUnknown(f"the outcome cannot be read: {error}")
