"""What routers say to a node and hear from it: one stream for each, with many requests and answers in its frames."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Coroutine, Iterator
from typing import Any, Protocol

from gramme.calls import Answers
from gramme.codec.catalog import decode_administration, encode_outcome
from gramme.codec.exchange import ToRouter, decode_to_node, encode_exchange
from gramme.codec.frame import FRAME_BYTES, Answer, BadFrame, Request, decode_requests
from gramme.codec.news import News, Part, parts_of
from gramme.commands import Administration
from gramme.errors import (
    GrammeError,
    InternalServerError,
    OutcomeUnknown,
    SeamError,
    Throttling,
)
from gramme.links.api import Down, Identity, Link
from gramme.model.table import Table
from gramme.node.table_news import NOTHING

# Commands to meta of one router that may be under way: they are rare.
ADMINISTRATION_MAX = 100

_TOO_MANY = "Too many tables are being created, changed or deleted. Try again later."

log = logging.getLogger(__name__)


class Service(Protocol):
    """The node behind the links of its routers."""

    def asked(self, request: Request, answer: Callable[[Answer], None]) -> None: ...

    async def administer(self, command: Administration) -> Table: ...

    def news(self, since: int) -> News:
        """All of them, if `since` is negative."""
        ...


class Routers:
    """The links of all routers. `tasks` own what is done for them."""

    def __init__(self, service: Service, tasks: asyncio.TaskGroup) -> None:
        self._service = service
        self._tasks = tasks
        # By their routers' names.
        self._links: dict[str, RouterLink] = {}
        # Commands to meta under way. A dictionary, because a set has no order.
        self._administering: dict[asyncio.Task[None], None] = {}

    def accept(self, link: Link, identity: Identity) -> RouterLink:
        """Take the link of a router, in the place of the one it had before.

        What is still on its way by that one must not be done after what comes by the new one: the router has given it up,
        and may tell its client that it was refused.
        """
        name = identity.node
        earlier = self._links.get(name)
        if earlier is not None:
            earlier.close("the router has dialled again")
        router = RouterLink(link, self._service, self._begin, lambda: self._forget(name, router))
        self._links[name] = router
        return router

    def _forget(self, name: str, router: RouterLink) -> None:
        if self._links.get(name) is router:
            del self._links[name]

    def tell_news(self) -> None:
        for router in list(self._links.values()):
            router.tell_news()

    def stop(self) -> None:
        """Let go of what is under way: once the node has ended, nobody would end it."""
        for task in list(self._administering):
            task.cancel()

    def _begin(self, work: Coroutine[Any, Any, None]) -> None:
        task = self._tasks.create_task(work)
        self._administering[task] = None
        task.add_done_callback(self._administering.pop)


class RouterLink:
    """One router: the events of its link, and what is to be said to it."""

    def __init__(
        self,
        link: Link,
        service: Service,
        begin: Callable[[Coroutine[Any, Any, None]], None],
        forget: Callable[[], None],
    ) -> None:
        self._link = link
        self._service = service
        self._begin = begin
        self._forget = forget
        self._answers = Answers()
        self._outcomes: list[tuple[int, bytes]] = []
        self._has_news = False
        # The news that are being told, and up to which index of meta's log this router was told.
        self._parts: Iterator[Part] | None = None
        self._told = NOTHING
        # The router has asked whether anybody is there.
        self._owes_a_word = False
        self._scheduled = False
        self._administering = 0

    def tell_news(self) -> None:
        self._has_news = True
        self._stir()

    def close(self, reason: str) -> None:
        self._link.close(reason)
        self._forget()

    def _answer(self, answer: Answer) -> None:
        self._answers.add(answer)
        if self._answers.overfull:
            self._link.reset("too much waits to be read")
        self._stir()

    def _stir(self) -> None:
        if not self._scheduled and self._link.idle:
            self._scheduled = True
            asyncio.get_running_loop().call_soon(self._flush)

    def _flush(self) -> None:
        self._scheduled = False
        if not self._has_something_to_say:
            return
        owed, self._owes_a_word = self._owes_a_word, False
        answers = self._answers.take()
        outcomes: list[tuple[int, bytes]] = []
        news = None
        # An answer that is as large as a frame may be has one of its own.
        if len(answers) <= FRAME_BYTES:
            outcomes, self._outcomes = self._outcomes, []
            if self._has_news or self._parts is not None:
                news = self._next_part()
        if not (answers or outcomes or news or owed):
            return
        if not self._link.send(encode_exchange(ToRouter(answers, outcomes, news))):
            # A router that does not read its answers must ask again.
            self._link.reset("too much waits to be read")
        elif self._has_something_to_say:
            self._stir()

    def _next_part(self) -> Part | None:
        """What is to be told next of meta. What has changed since is told when that is done."""
        if self._parts is None:
            self._has_news = False
            news = self._service.news(self._told)
            self._told = news.index
            if not news.says_something:
                return None
            self._parts = parts_of(news)
        part = next(self._parts)
        if part.is_last:
            self._parts = None
        return part

    def _catch_up(self, known: int) -> None:
        """Tell what has changed since. The router may lack what it was told, and know what others have told it."""
        if self._parts is None:
            self._told = known
            self._has_news = True

    @property
    def _has_something_to_say(self) -> bool:
        to_tell = self._has_news or self._parts is not None
        return bool(self._answers or self._outcomes or to_tell or self._owes_a_word)

    def _administer(self, number: int, encoded: bytes) -> None:
        try:
            command = decode_administration(encoded)
        except BadFrame:
            self._tell_outcome(number, InternalServerError())
            return
        if self._administering >= ADMINISTRATION_MAX:
            self._tell_outcome(number, Throttling(_TOO_MANY))
            return
        self._administering += 1
        self._begin(self._carry_out(number, command))

    async def _carry_out(self, number: int, command: Administration) -> None:
        outcome: Table | Exception
        try:
            outcome = await self._service.administer(command)
        except (GrammeError, SeamError) as error:
            outcome = error
        except Exception as error:
            # What a router sends is no reason to end.
            log.error("a command to meta failed", exc_info=error)
            outcome = OutcomeUnknown("meta failed")
        finally:
            self._administering -= 1
        self._tell_outcome(number, outcome)

    def _tell_outcome(self, number: int, outcome: Table | Exception) -> None:
        self._outcomes.append((number, encode_outcome(outcome)))
        self._stir()

    # Events of the link

    def on_up(self, peer: Identity) -> None:
        self.tell_news()

    def on_frame(self, frame: bytes) -> None:
        try:
            asked = decode_to_node(frame)
            requests = decode_requests(asked.requests) if asked.requests else []
        except BadFrame:
            self._link.reset("that was no frame")
            return
        for request in requests:
            if isinstance(request, Answer):
                self._answer(request)
            else:
                self._service.asked(request, self._answer)
        for number, encoded in asked.administration:
            self._administer(number, encoded)
        if asked.known is not None:
            self._catch_up(asked.known)
        if not (requests or asked.administration):
            self._owes_a_word = True
            self._stir()

    def on_idle(self) -> None:
        if not self._scheduled:
            self._flush()

    def on_down(self, down: Down) -> None:
        self._forget()
