"""A node that says nothing is noticed within a second, and asked nothing more until it is heard again."""

from __future__ import annotations

import asyncio

from gramme.codec.exchange import ToRouter, decode_to_node
from gramme.codec.frame import Answer, encode_answers
from gramme.commands import CreateTable, Get, Written
from gramme.errors import NotLeader
from gramme.links.api import Identity
from tests.unit.router.test_remote_nodes import (
    FOUND,
    PART,
    SILENCE,
    TABLE,
    WRITTEN,
    Parts,
    now,
    run,
)


def test_write_to_a_leader_that_falls_silent_goes_to_the_next_within_a_second() -> None:
    async def story(made: Parts) -> None:
        made.led_by(1, lambda request: WRITTEN)
        await made.write()
        made.node(1).mute = True
        made.led_by(2, lambda request: WRITTEN)
        began = now()

        assert await made.write() == WRITTEN

        assert now() - began < 1.05
        requests = [request for link in made.links for request in link.asked]
        assert len({request.id for request in requests[1:]}) == 1

    run(story)


def test_eventual_reads_leave_a_replica_that_says_nothing_within_a_second() -> None:
    async def story(made: Parts) -> None:
        made.node(2).mute = True

        found = [await made.router.get(PART, Get(b"k")) for _ in range(50)]

        assert found == [FOUND] * 50
        assert now() < 1.2
        # It is asked no more than it was before anybody knew.
        assert len(made.node(2).asked) == 1

    run(story)


def test_node_that_is_heard_again_is_asked_again() -> None:
    async def story(made: Parts) -> None:
        made.node(2).mute = True
        for _ in range(50):
            await made.router.get(PART, Get(b"k"))

        made.node(2).wake()
        await asyncio.sleep(0.01)
        for _ in range(50):
            await made.router.get(PART, Get(b"k"))

        assert len(made.node(2).asked) > 5

    run(story)


def test_late_answer_of_a_silent_node_is_passed_over() -> None:
    async def story(made: Parts) -> None:
        made.led_by(1, lambda request: Written(b"late", 0, 0))
        made.node(1).mute = True
        asked = asyncio.ensure_future(made.write())
        await asyncio.sleep(1.0)
        made.led_by(2, lambda request: WRITTEN if now() > 1.5 else NotLeader(0))
        made.node(1).wake()

        assert await asked == WRITTEN

    run(story)


def test_node_that_answers_slowly_and_gives_a_word_is_waited_for() -> None:
    async def story(made: Parts) -> None:
        made.led_by(1, lambda request: SILENCE)
        asked = asyncio.ensure_future(made.write())
        await asyncio.sleep(2.0)
        (request,) = made.node(1).asked

        answers = encode_answers([Answer(request.number, WRITTEN)])
        made.node(1).tell(ToRouter(answers))

        assert await asked == WRITTEN
        assert made.asked() == [1, 0, 0]

    run(story)


def test_node_that_is_sent_much_may_be_busy_reading_it() -> None:
    async def story(made: Parts) -> None:
        made.led_by(1, lambda request: WRITTEN)
        made.node(1).mute = True
        made.node(1).queued_bytes = 2 << 20
        asyncio.get_running_loop().call_later(2.0, made.node(1).wake)

        assert await made.write() == WRITTEN

        assert now() > 2.0

    run(story)


def test_all_nodes_silent_for_a_while_are_waited_for() -> None:
    async def story(made: Parts) -> None:
        made.led_by(1, lambda request: WRITTEN)
        for link in made.links:
            link.mute = True
            asyncio.get_running_loop().call_later(5.0, link.wake)

        assert await made.write() == WRITTEN

        assert 5.0 < now() < 6.0

    run(story)


def test_nobody_is_asked_for_a_word_while_nothing_is_waited_for() -> None:
    async def story(made: Parts) -> None:
        made.led_by(1, lambda request: WRITTEN)
        await made.write()
        sent = len(made.node(1).sent)

        await asyncio.sleep(10.0)

        assert len(made.node(1).sent) == sent

    run(story)


def test_command_to_meta_that_waits_for_a_silent_node_is_not_sent_to_it_later() -> None:
    async def story(made: Parts) -> None:
        for link in made.links:
            link.outcome = TABLE
        stuck = made.node(1)
        stuck.mute = True
        asked = asyncio.ensure_future(made.router.get(PART, Get(b"k", True)))
        await asyncio.sleep(0.01)
        stuck.busy = True
        administered = asyncio.ensure_future(made.router.administer(CreateTable(TABLE, 1)))

        assert await administered == TABLE
        assert await asked == FOUND
        stuck.busy = False
        stuck.wake()
        stuck.events.on_idle()
        await asyncio.sleep(1.0)

        assert not any(decode_to_node(frame).administration for frame in stuck.sent)

    run(story)


def test_node_behind_another_one_s_address_is_not_asked() -> None:
    async def story(made: Parts) -> None:
        made.led_by(1, lambda request: WRITTEN)
        stranger = made.node(1)

        stranger.events.on_up(Identity("test", "2.disk", "node", 1))
        made.led_by(3, lambda request: WRITTEN, hint=0)
        assert await made.write() == WRITTEN

        assert stranger.asked == []
        assert stranger.resets == ["the address of node 1 is that of node 2"]

    run(story)


def test_router_whose_addresses_are_all_wrong_is_told_so() -> None:
    async def story(made: Parts) -> None:
        said: list[str] = []
        made.router.on_refused = said.append
        for link in made.links:
            link.events.on_up(Identity("test", f"{link.number % 3 + 1}.disk", "node", 1))
            link.go_down()

        assert said == ["node 1 refuses this router: the address of node 1 is that of node 2"]

    run(story)


def test_node_that_has_its_address_again_is_asked() -> None:
    async def story(made: Parts) -> None:
        made.led_by(1, lambda request: WRITTEN)
        made.node(1).events.on_up(Identity("test", "2.disk", "node", 1))
        made.node(1).events.on_up(Identity("test", "1.disk", "node", 1))

        assert await made.write() == WRITTEN

    run(story)
