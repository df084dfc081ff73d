"""A router that says what it knows is told what it lacks, whatever it was told before."""

from __future__ import annotations

from gramme.codec.exchange import ToNode, ToRouter, encode_exchange
from gramme.codec.news import PART_BYTES
from tests.unit.node.fixtures import settle
from tests.unit.node.test_service import a_record, ids, parts, said, told


def knowing(index: int) -> bytes:
    return encode_exchange(ToNode(known=index))


async def test_router_that_knows_everything_is_answered_in_a_few_bytes() -> None:
    async with parts() as made:
        made.service.change(7, a_record(1))
        link, router = made.connect()
        await settle()
        link.sent.clear()

        router.on_frame(knowing(7))
        await settle()
        # Others know more than this node.
        router.on_frame(knowing(9))
        await settle()

        assert said(link) == [ToRouter()] * 2
        assert max(map(len, link.sent)) < 10


async def test_router_that_lost_what_it_was_told_is_told_again() -> None:
    async with parts() as made:
        link, router = made.connect()
        made.service.change(6, a_record(1), a_record(2))
        made.routers.tell_news()
        made.service.change(8, a_record(2))
        made.routers.tell_news()
        await settle()
        link.sent.clear()

        router.on_frame(knowing(6))
        router.on_frame(knowing(6))
        await settle()
        router.on_frame(knowing(-1))
        await settle()

        assert [ids(news) for news in told(link)] == [([], [1]), ([2], [])]
        assert [news.is_all for news in told(link)] == [False, True]


async def test_router_that_others_have_told_is_told_what_came_after() -> None:
    async with parts() as made:
        link, router = made.connect()
        await settle()
        link.sent.clear()
        made.service.change(6, a_record(1))
        made.service.change(8, a_record(1), a_record(2))

        router.on_frame(knowing(6))
        await settle()

        assert [ids(news) for news in told(link)] == [([2], [])]


async def test_router_that_is_being_told_is_not_told_twice() -> None:
    async with parts() as made:
        made.service.change(3, *(a_record(id, PART_BYTES) for id in range(1, 6)))
        link, router = made.connect()
        link.busy = True
        await settle()
        assert len(link.sent) == 1

        router.on_frame(knowing(-1))
        link.busy = False
        router.on_idle()
        await settle()

        assert [ids(news) for news in told(link)] == [([1, 2, 3, 4, 5], [])]
