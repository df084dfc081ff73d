"""What routers say to a node and hear from it: one stream for each, with many requests and answers in its frames."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any, Protocol

from gramme.codec.catalog import decode_administration, encode_outcome
from gramme.codec.exchange import News, ToRouter, decode_to_node, encode_exchange
from gramme.codec.frame import (
    OPERATIONS_MAX,
    Answer,
    BadFrame,
    Request,
    decode_requests,
    encode_answers,
)
from gramme.commands import Administration
from gramme.errors import GrammeError, OutcomeUnknown, SeamError
from gramme.links.api import Down, Identity, Link
from gramme.model.table import Table

# Commands to meta of one router that may be under way: they are rare.
ADMINISTRATION_MAX = 100


class Service(Protocol):
    """The node behind the links of its routers."""

    def asked(self, request: Request, answer: Callable[[Answer], None]) -> None: ...

    async def administer(self, command: Administration) -> Table: ...

    def news(self) -> News: ...


class Routers:
    """The links of all routers. `tasks` own what is done for them."""

    def __init__(self, service: Service, tasks: asyncio.TaskGroup) -> None:
        self._service = service
        self._tasks = tasks
        self._links: dict[RouterLink, None] = {}
        # Commands to meta under way. A dictionary, because a set has no order.
        self._administering: dict[asyncio.Task[None], None] = {}

    def accept(self, link: Link, identity: Identity) -> RouterLink:
        router = RouterLink(link, self._service, self._begin, self._links)
        self._links[router] = None
        return router

    def tell_news(self) -> None:
        for router in list(self._links):
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
        links: dict[RouterLink, None],
    ) -> None:
        self._link = link
        self._service = service
        self._begin = begin
        self._links = links
        self._answers: list[Answer] = []
        self._outcomes: list[tuple[int, bytes]] = []
        self._has_news = False
        self._scheduled = False
        self._administering = 0

    def tell_news(self) -> None:
        self._has_news = True
        self._stir()

    def _answer(self, answer: Answer) -> None:
        self._answers.append(answer)
        self._stir()

    def _stir(self) -> None:
        if not self._scheduled and (self._link.idle or len(self._answers) >= OPERATIONS_MAX):
            self._scheduled = True
            asyncio.get_running_loop().call_soon(self._flush)

    def _flush(self) -> None:
        self._scheduled = False
        if not (self._answers or self._outcomes or self._has_news):
            return
        answers = self._answers[:OPERATIONS_MAX]
        self._answers = self._answers[OPERATIONS_MAX:]
        outcomes, self._outcomes = self._outcomes, []
        news = self._service.news() if self._has_news else None
        self._has_news = False
        frame = ToRouter(encode_answers(answers) if answers else b"", outcomes, news)
        if not self._link.send(encode_exchange(frame)):
            # A router that does not read its answers must ask again.
            self._link.close("too much waits to be read")
        elif self._answers:
            self._stir()

    async def _administer(self, number: int, command: Administration) -> None:
        outcome: Table | Exception
        try:
            outcome = await self._service.administer(command)
        except (GrammeError, SeamError) as error:
            outcome = error
        except Exception:
            self._outcomes.append((number, encode_outcome(OutcomeUnknown("meta failed"))))
            self._stir()
            raise
        finally:
            self._administering -= 1
        self._outcomes.append((number, encode_outcome(outcome)))
        self._stir()

    # Events of the link

    def on_up(self, peer: Identity) -> None:
        self.tell_news()

    def on_frame(self, frame: bytes) -> None:
        try:
            asked = decode_to_node(frame)
            requests = decode_requests(asked.requests) if asked.requests else []
            commands = [
                (number, decode_administration(encoded)) for number, encoded in asked.administration
            ]
        except BadFrame:
            self._link.close("that was no frame")
            return
        for request in requests:
            if isinstance(request, Answer):
                self._answer(request)
            else:
                self._service.asked(request, self._answer)
        for number, command in commands:
            if self._administering >= ADMINISTRATION_MAX:
                self._link.close("too many commands to meta")
                return
            self._administering += 1
            self._begin(self._administer(number, command))

    def on_idle(self) -> None:
        if not self._scheduled:
            self._flush()

    def on_down(self, down: Down) -> None:
        self._links.pop(self, None)
