"""What a node does with the frames of a router, and what it says unasked."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

import msgspec

from gramme.codec.catalog import decode_outcome, encode_administration
from gramme.codec.exchange import ToNode, ToRouter, decode_to_router, encode_exchange
from gramme.codec.frame import Answer, Request, decode_answers, encode_requests
from gramme.codec.news import PART_BYTES, Gathering, News
from gramme.commands import Administration, DeleteTable, Found, Get, Written
from gramme.errors import InternalServerError, OutcomeUnknown, ResourceNotFound, Throttling
from gramme.links.api import Down, Identity
from gramme.model.table import Table, TableRecord
from gramme.node.service import ADMINISTRATION_MAX, RouterLink, Routers
from gramme.node.table_news import TableNews
from tests.support.fake_link import FakeLink
from tests.unit.node.fixtures import PLAIN, settle

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
        self.tables = TableNews()
        self.change(0)

    def asked(self, request: Request, answer: Callable[[Answer], None]) -> None:
        self.asked_for.append(request)
        self.open_answers.append(answer)
        if self.answers:
            answer(Answer(request.number, Found(None, 0)))

    async def administer(self, command: Administration) -> Table:
        self.administered.append(command)
        await self.may_go_on.wait()
        raise self.outcome

    def change(self, index: int, *records: TableRecord) -> None:
        self.tables.update(index, records)

    def news(self, since: int) -> News:
        records, gone, is_all = self.tables.since(since)
        return News(self.tables.index, b"seed", records, {}, gone, is_all)


class Parts:
    def __init__(self, tasks: asyncio.TaskGroup) -> None:
        self.service = FakeService()
        self.routers = Routers(self.service, tasks)

    def connect(self, name: str = "router") -> tuple[FakeLink, RouterLink]:
        link, identity = FakeLink(), Identity("test", name, "router", 1)
        router = self.routers.accept(link, identity)
        router.on_up(identity)
        return link, router


@asynccontextmanager
async def parts() -> AsyncIterator[Parts]:
    async with asyncio.TaskGroup() as tasks:
        made = Parts(tasks)
        yield made
        made.routers.stop()


def said(link: FakeLink) -> list[ToRouter]:
    return [decode_to_router(frame) for frame in link.sent]


def told(link: FakeLink) -> list[News]:
    gathering = Gathering()
    news = [gathering.add(frame.news) for frame in said(link) if frame.news]
    return [one for one in news if one is not None]


def ids(news: News) -> tuple[list[int], list[int]]:
    """Of the tables that are new or changed, and of those that are gone."""
    return [record.table.id for record in news.records], news.gone


def a_record(id: int, size: int = 0) -> TableRecord:
    table = msgspec.structs.replace(PLAIN, id=id, name=f"t{id}", echo={"text": "x" * size})
    return TableRecord(table, (), {})


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


async def test_answers_of_one_turn_leave_in_one_frame() -> None:
    async with parts() as made:
        link, router = made.connect()
        await settle()
        sent_before = len(link.sent)

        router.on_frame(asking(*(a_request(number) for number in (1, 2, 3))))
        await settle()

        assert len(link.sent) == sent_before + 1
        assert [answer.number for answer in answers(link)] == [1, 2, 3]


async def test_answers_wait_while_a_frame_is_written() -> None:
    async with parts() as made:
        link, router = made.connect()
        await settle()
        link.busy = True
        router.on_frame(asking(a_request(1)))
        router.on_frame(asking(a_request(2)))
        await settle()
        assert answers(link) == []

        link.busy = False
        router.on_idle()

        assert [answer.number for answer in answers(link)] == [1, 2]


async def test_what_is_no_frame_ends_the_link_and_leaves_nothing_behind() -> None:
    async with parts() as made:
        link, router = made.connect()
        other, _ = made.connect("another")
        await settle()

        router.on_frame(b"\xc1 garbage")
        router.on_frame(encode_exchange(ToNode(b"\x01")))

        assert link.resets
        router.on_down(Down("reset"))
        made.service.change(1, a_record(1))
        made.routers.tell_news()
        await settle()
        assert (len(said(link)), len(said(other))) == (1, 2)


async def test_request_that_cannot_be_read_is_answered_alone() -> None:
    async with parts() as made:
        link, router = made.connect()
        unreadable = [2, 10, 1, True, [99, b"no such command"]]
        frame = msgspec.msgpack.encode([a_request(1), unreadable, a_request(3)])

        router.on_frame(encode_exchange(ToNode(frame)))
        await settle()

        errors = {answer.number: type(answer.error) for answer in answers(link)}
        assert errors == {1: type(None), 2: InternalServerError, 3: type(None)}


async def test_command_to_meta_that_cannot_be_read_is_answered_alone() -> None:
    async with parts() as made:
        link, router = made.connect()

        router.on_frame(
            encode_exchange(
                ToNode(encode_requests([a_request(1)]), [(2, b"\xc1"), (3, DROP_ENCODED)])
            )
        )
        made.service.may_go_on.set()
        await settle()

        assert not link.resets
        assert link.closed is None
        assert [answer.number for answer in answers(link)] == [1]
        assert {number: type(error) for number, error in outcomes(link).items()} == {
            2: InternalServerError,
            3: ResourceNotFound,
        }


async def test_news_come_when_a_router_connects_and_whenever_they_change() -> None:
    async with parts() as made:
        link, _ = made.connect()
        await settle()
        made.service.change(7, a_record(1))

        made.routers.tell_news()
        await settle()

        assert [(news.index, news.is_all) for news in told(link)] == [(0, True), (7, False)]


async def test_nothing_is_said_if_nothing_has_changed() -> None:
    async with parts() as made:
        link, _ = made.connect()
        await settle()
        made.service.change(7)

        made.routers.tell_news()
        await settle()

        assert len(link.sent) == 1


async def test_each_router_is_told_what_has_changed_since_it_was_told_last() -> None:
    async with parts() as made:
        first, _ = made.connect("first")
        await settle()
        made.service.change(1, a_record(1))
        made.routers.tell_news()
        second, _ = made.connect("second")
        await settle()

        made.service.change(2, a_record(1), a_record(2))
        made.routers.tell_news()
        await settle()
        made.service.change(3, a_record(2))
        made.routers.tell_news()
        await settle()

        assert [ids(news) for news in told(first)] == [([], []), ([1], []), ([2], []), ([], [1])]
        assert [ids(news) for news in told(second)] == [([1], []), ([2], []), ([], [1])]


async def test_news_of_many_tables_leave_in_many_frames_with_answers_among_them() -> None:
    async with parts() as made:
        made.service.change(1, *(a_record(id, 1_000) for id in range(1, 2_001)))
        link, router = made.connect()
        link.busy = True
        await settle()
        router.on_frame(asking(a_request(1)))
        made.service.change(2, a_record(1))
        made.routers.tell_news()
        while len(told(link)) < 2:
            router.on_idle()
            await settle()

        assert max(map(len, link.sent)) < 1.1 * PART_BYTES
        everything, change = told(link)
        assert ids(everything) == (list(range(1, 2_001)), [])
        assert ids(change) == ([1], list(range(2, 2_001)))
        assert [answer.number for answer in answers(link)] == [1]
        assert said(link)[1].answers


async def test_news_that_change_while_a_frame_is_written_are_told_once() -> None:
    async with parts() as made:
        link, router = made.connect()
        await settle()
        link.busy = True
        for index in (1, 2, 3):
            made.service.change(index, a_record(index))
            made.routers.tell_news()
        await settle()

        link.busy = False
        router.on_idle()

        assert [news.index for news in told(link)] == [0, 3]


async def test_commands_to_meta_are_refused_beyond_the_bound_and_nothing_else_suffers() -> None:
    async with parts() as made:
        link, router = made.connect()
        many = [(number, DROP_ENCODED) for number in range(1, ADMINISTRATION_MAX + 6)]

        router.on_frame(encode_exchange(ToNode(encode_requests([a_request(1_000)]), many)))
        await settle()

        assert len(made.service.administered) == ADMINISTRATION_MAX
        refused = {number for number, error in outcomes(link).items()}
        assert refused == set(range(ADMINISTRATION_MAX + 1, ADMINISTRATION_MAX + 6))
        assert all(isinstance(error, Throttling) for error in outcomes(link).values())
        assert [answer.number for answer in answers(link)] == [1_000]
        assert link.closed is None


async def test_mistake_in_a_command_to_meta_is_answered_and_ends_nothing() -> None:
    async with parts() as made:
        link, router = made.connect()
        made.service.outcome = AssertionError("the shape of a table was altered")
        made.service.may_go_on.set()

        router.on_frame(encode_exchange(ToNode(administration=[(1, DROP_ENCODED)])))
        await settle()
        router.on_frame(asking(a_request(2)))
        await settle()

        assert isinstance(outcomes(link)[1], OutcomeUnknown)
        assert [answer.number for answer in answers(link)] == [2]


async def test_answers_that_are_large_together_leave_in_several_frames() -> None:
    async with parts() as made:
        link, router = made.connect()
        made.service.answers = False
        router.on_frame(asking(*(a_request(number) for number in range(40))))
        await settle()

        for number, answer in enumerate(made.service.open_answers):
            answer(Answer(number, Found(b"x" * (1 << 20), 0)))
        await settle()
        while len(answers(link)) < 40:
            router.on_idle()
            await settle()

        assert max(map(len, link.sent)) < 4 << 20
        assert [answer.number for answer in answers(link)] == list(range(40))


async def test_answer_too_large_for_a_frame_is_one_that_failed() -> None:
    async with parts() as made:
        link, router = made.connect()
        made.service.answers = False
        router.on_frame(asking(a_request(1), a_request(2)))

        made.service.open_answers[0](Answer(1, Found(b"x" * (18 << 20), 0)))
        made.service.open_answers[1](Answer(2, Found(None, 0)))
        await settle()
        router.on_idle()

        errors = {answer.number: type(answer.error) for answer in answers(link)}
        assert errors == {1: InternalServerError, 2: type(None)}


async def test_router_that_does_not_read_is_refused_what_it_reads_and_told_what_it_wrote() -> None:
    async with parts() as made:
        link, router = made.connect()
        made.service.answers = False
        await settle()
        router.on_frame(asking(*(a_request(number) for number in range(102))))
        link.busy = True

        for number, answer in enumerate(made.service.open_answers[:100]):
            answer(Answer(number, Found(b"x" * (1 << 20), 0)))
        made.service.open_answers[100](Answer(100, Written(None, 0, 0)))

        link.busy = False
        while len(answers(link)) < 101:
            router.on_idle()
            await settle()
        refused = [answer.number for answer in answers(link) if answer.error is not None]
        assert refused == list(range(63, 100))
        assert answers(link)[100].result == Written(None, 0, 0)


async def test_router_that_reads_nothing_loses_its_link() -> None:
    async with parts() as made:
        link, router = made.connect()
        made.service.answers = False
        await settle()
        router.on_frame(asking(*(a_request(number) for number in range(200))))
        link.busy = True

        for number, answer in enumerate(made.service.open_answers):
            answer(Answer(number, Written(b"x" * (1 << 20), 0, 0)))

        assert link.resets


def asking(*requests: Request) -> bytes:
    return encode_exchange(ToNode(encode_requests(list(requests))))


async def test_router_that_asks_for_a_word_is_given_one() -> None:
    async with parts() as made:
        link, router = made.connect()
        await settle()
        link.sent.clear()

        router.on_frame(encode_exchange(ToNode()))
        await settle()

        assert said(link) == [ToRouter()]


async def test_router_that_dials_again_is_not_heard_by_its_link_of_before() -> None:
    async with parts() as made:
        first, _ = made.connect()
        another, _ = made.connect("another")

        second, router = made.connect()

        assert first.closed is not None
        assert another.closed is second.closed is None
        await settle()
        assert [len(said(link)) for link in (first, another, second)] == [0, 1, 1]
        router.on_down(Down("gone"))
        made.service.change(1, a_record(1))
        made.routers.tell_news()
        await settle()
        assert [len(said(link)) for link in (first, another, second)] == [0, 2, 1]
