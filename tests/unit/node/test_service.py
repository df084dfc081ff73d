"""What a node does with the frames of a router, and what it says unasked."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

from gramme.codec.catalog import decode_outcome, encode_administration
from gramme.codec.exchange import News, ToNode, ToRouter, decode_to_router, encode_exchange
from gramme.codec.frame import Answer, Request, decode_answers
from gramme.commands import Administration, DeleteTable, Found, Get
from gramme.errors import ResourceNotFound
from gramme.links.api import Identity
from gramme.model.table import Table
from gramme.node.service import RouterLink, Routers
from tests.support.fake_link import FakeLink
from tests.unit.node.fixtures import settle

ROUTER = Identity("test", "router", "router", 1)
DROP = DeleteTable("0" * 12, "local", "plain")
DROP_ENCODED = encode_administration(DROP)


class FakeService:
    """Answers what it is asked with nothing found; administration waits until the test lets it go."""

    def __init__(self) -> None:
        self.answers = True
        self.asked_for: list[Request] = []
        self.open_answers: list[Callable[[Answer], None]] = []
        self.administered: list[Administration] = []
        self.outcome: Exception = ResourceNotFound("no such table")
        self.may_go_on = asyncio.Event()
        self.index = 0

    def asked(self, request: Request, answer: Callable[[Answer], None]) -> None:
        self.asked_for.append(request)
        self.open_answers.append(answer)
        if self.answers:
            answer(Answer(request.number, Found(None, 0)))

    async def administer(self, command: Administration) -> Table:
        self.administered.append(command)
        await self.may_go_on.wait()
        raise self.outcome

    def news(self) -> News:
        return News(self.index, b"seed", [], {})


class Parts:
    def __init__(self, tasks: asyncio.TaskGroup) -> None:
        self.service = FakeService()
        self.routers = Routers(self.service, tasks)

    def connect(self) -> tuple[FakeLink, RouterLink]:
        link = FakeLink()
        router = self.routers.accept(link, ROUTER)
        router.on_up(ROUTER)
        return link, router


@asynccontextmanager
async def parts() -> AsyncIterator[Parts]:
    async with asyncio.TaskGroup() as tasks:
        made = Parts(tasks)
        yield made
        made.routers.stop()


def said(link: FakeLink) -> list[ToRouter]:
    return [decode_to_router(frame) for frame in link.sent]


def answers(link: FakeLink) -> list[Answer]:
    return [one for frame in said(link) if frame.answers for one in decode_answers(frame.answers)]


def outcomes(link: FakeLink) -> dict[int, object]:
    return {
        number: decode_outcome(encoded)
        for frame in said(link)
        for number, encoded in frame.outcomes
    }


def a_request(number: int) -> Request:
    return Request(number, 10, 1, True, Get(b"k"))


async def test_stop_lets_go_of_commands_that_wait_for_meta() -> None:
    async with asyncio.timeout(5), parts() as made:
        _, router = made.connect()
        router.on_frame(encode_exchange(ToNode(administration=[(1, DROP_ENCODED)])))
        await settle()

        made.routers.stop()

    # Then the group of tasks has ended, which it did not while one of them waited.
    assert made.service.administered == [DROP]
