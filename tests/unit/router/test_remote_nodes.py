"""The seam by links: who is asked, what is asked again, and what a caller is told when nobody can say."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable, Coroutine
from random import Random
from typing import Any

import pytest
from msgspec.structs import replace

from gramme.codec.catalog import encode_outcome
from gramme.codec.exchange import ToRouter, decode_to_node, encode_exchange
from gramme.codec.frame import Answer, Request, decode_requests, encode_answers
from gramme.codec.news import News, parts_of
from gramme.commands import (
    AllWritten,
    AlterTable,
    CreateTable,
    Delete,
    Found,
    Get,
    Result,
    Totals,
    WriteAll,
    Written,
)
from gramme.errors import (
    ConditionalCheckFailed,
    InternalServerError,
    NotLeader,
    OutcomeUnknown,
    ResourceNotFound,
    StalePartition,
    Throttling,
    Unavailable,
)
from gramme.links.api import Down, Events, Identity, Link
from gramme.model.table import KeyAttribute, Table, TableRecord
from gramme.partitions import GroupId, Partition, TableId, even_ranges
from gramme.router.remote_nodes import DEADLINE_S, RemoteNodes
from tests.support.deterministic import DeterministicLoop
from tests.support.fake_link import FakeLink

NODES = 3
ROUND_TRIP_S = 0.001
TABLE = Table(1, "0" * 12, "local", "plain", KeyAttribute("id", "S"), None)
PARTITIONS = tuple(
    Partition(GroupId(10 + position), TableId(1), start, last, 1)
    for position, (start, last) in enumerate(even_ranges(2))
)
PART, OTHER = PARTITIONS
RECORD = TableRecord(TABLE, PARTITIONS, {}, {part.group: {1: 1, 2: 2, 3: 3} for part in PARTITIONS})
FOUND = Found(b"{}", 2)
WRITTEN = Written(None, 0, 0)

Respond = Callable[[Request], Result | Exception]
# Says nothing.
SILENCE = OutcomeUnknown("silence")


class FakeNode(FakeLink):
    """Answers as `respond` says."""

    def __init__(self, number: int, events: Events) -> None:
        super().__init__()
        self.number = number
        self.events = events
        self.asked: list[Request] = []
        self.respond: Respond = lambda request: FOUND
        self.outcome: Table | Exception = NotLeader(0)
        # Takes everything and says nothing, as a process that was stopped.
        self.mute = False
        self.not_heard: list[ToRouter] = []

    def send(self, frame: bytes) -> bool:
        if not super().send(frame):
            return False
        said = decode_to_node(frame)
        requests = decode_requests(said.requests) if said.requests else []
        answers = []
        for request in requests:
            assert isinstance(request, Request)
            self.asked.append(request)
            result = self.respond(request)
            if isinstance(result, Exception):
                if result is not SILENCE:
                    answers.append(Answer(request.number, None, result))
            else:
                answers.append(Answer(request.number, result))
        outcomes = [(number, encode_outcome(self.outcome)) for number, _ in said.administration]
        self.tell(ToRouter(encode_answers(answers) if answers else b"", outcomes))
        return True

    def tell(self, frame: ToRouter) -> None:
        loop = asyncio.get_running_loop()
        if self.mute:
            self.not_heard.append(frame)
        else:
            loop.call_later(ROUND_TRIP_S, self.events.on_frame, encode_exchange(frame))

    def wake(self) -> None:
        self.mute = False
        frames, self.not_heard = self.not_heard, []
        for frame in frames:
            self.tell(frame)

    def go_down(self) -> None:
        self.up = False
        self.events.on_down(Down("gone"))


class Parts:
    """A router and the nodes it has links to."""

    def __init__(self) -> None:
        self.news: list[News] = []
        self.router = RemoteNodes(Random(1), self)
        self.links: list[FakeNode] = []
        self.router.dial([str(number) for number in range(1, NODES + 1)], self)
        for link in self.links:
            link.events.on_up(Identity("test", f"{link.number}.disk", "node", 1))
        self.tell(1, RECORD)

    def dial(self, address: str, events: Events) -> Link:
        link = FakeNode(int(address), events)
        self.links.append(link)
        return link

    def learn(self, news: News) -> None:
        self.news.append(news)

    def tell(self, index: int, *records: TableRecord, node: int = 1) -> None:
        self.tell_news(News(index, b"seed", list(records), {}), node)

    def tell_news(self, news: News, node: int = 1) -> None:
        for part in parts_of(news):
            self.node(node).events.on_frame(encode_exchange(ToRouter(news=part)))

    def node(self, number: int) -> FakeNode:
        return self.links[number - 1]

    def led_by(self, leader: int, respond: Respond, hint: int | None = None) -> None:
        """Let all nodes but the leader refuse."""
        refusal = NotLeader(leader if hint is None else hint)
        for link in self.links:
            link.respond = respond if link.number == leader else lambda request: refusal

    def asked(self) -> list[int]:
        """How often each node was asked."""
        return [len(link.asked) for link in self.links]

    def write(self) -> Coroutine[Any, Any, Written]:
        return self.router.write(PART, Delete(b"k"))


def run(story: Callable[[Parts], Coroutine[Any, Any, None]]) -> None:
    async def main() -> None:
        await story(Parts())

    DeterministicLoop(Random(1), 1_000_000).run(main())


def now() -> float:
    return asyncio.get_running_loop().time()


def test_hint_is_followed_at_once_and_remembered() -> None:
    async def story(made: Parts) -> None:
        made.led_by(3, lambda request: WRITTEN)

        await made.write()
        assert made.asked() == [1, 0, 1]
        assert now() < 0.01

        await made.write()
        assert made.asked() == [1, 0, 2]

    run(story)


def test_write_is_meant_for_the_term_that_the_leader_was_last_heard_of_in() -> None:
    async def story(made: Parts) -> None:
        term = 5

        def respond(request: Request) -> Result | Exception:
            return WRITTEN if request.term == term else NotLeader(3, term)

        made.led_by(3, respond, hint=0)
        made.node(1).respond = lambda request: NotLeader(3, 4)

        await made.write()
        await made.write()
        term = 6
        await made.write()

        assert [request.term for request in made.node(1).asked] == [0]
        assert [request.term for request in made.node(3).asked] == [4, 5, 5, 5, 6]
        assert now() < 0.01

    run(story)


def test_replica_that_cannot_be_reached_is_passed_over() -> None:
    async def story(made: Parts) -> None:
        made.led_by(2, lambda request: WRITTEN, hint=0)
        made.node(1).up = False

        assert await made.write() == WRITTEN

        assert made.asked() == [0, 1, 0]
        assert now() < 0.01

    run(story)


def test_leader_is_asked_again_until_it_serves() -> None:
    async def story(made: Parts) -> None:
        made.led_by(2, lambda request: WRITTEN if now() > 2 else NotLeader(2))

        assert await made.write() == WRITTEN

        assert 2 < now() < 3

    run(story)


def test_hints_that_lead_in_circles_do_not_make_a_storm() -> None:
    async def story(made: Parts) -> None:
        made.node(1).respond = lambda request: NotLeader(2)
        made.node(2).respond = lambda request: NotLeader(1)
        made.node(3).respond = lambda request: NotLeader(1)

        with pytest.raises(InternalServerError):
            await made.write()

        assert sum(made.asked()) < 500

    run(story)


def test_eventual_reads_spread_over_the_replicas() -> None:
    async def story(made: Parts) -> None:
        for _ in range(300):
            await made.router.get(PART, Get(b"k"))

        assert all(70 < asked < 130 for asked in made.asked())

    run(story)


def test_eventual_read_leaves_a_replica_that_hears_no_leader() -> None:
    async def story(made: Parts) -> None:
        made.node(2).respond = lambda request: Unavailable("hears no leader")

        for _ in range(50):
            assert await made.router.get(PART, Get(b"k")) == FOUND

        assert now() < 1

    run(story)


def test_write_with_unknown_outcome_is_asked_for_again_under_the_same_id() -> None:
    async def story(made: Parts) -> None:
        answers: list[Result | Exception] = [SILENCE, OutcomeUnknown("it ceased to lead"), WRITTEN]
        for link in made.links:
            link.respond = lambda request: answers.pop(0)

        assert await made.write() == WRITTEN

        requests = [request for link in made.links for request in link.asked]
        assert len(requests) == 3
        assert len({request.id for request in requests}) == 1
        assert len(requests[0].id) == 16
        assert [request.first for request in requests] == [True, False, False]

    run(story)


def test_two_writes_have_two_ids() -> None:
    async def story(made: Parts) -> None:
        made.led_by(1, lambda request: WRITTEN)

        await made.write()
        await made.write()

        assert len({request.id for request in made.node(1).asked}) == 2

    run(story)


def test_write_of_which_nobody_knows_failed_on_our_side() -> None:
    async def story(made: Parts) -> None:
        for link in made.links:
            link.respond = lambda request: SILENCE

        with pytest.raises(InternalServerError):
            await made.write()

        assert DEADLINE_S <= now() < DEADLINE_S + 0.1

    run(story)


def test_table_whose_news_do_not_come_is_not_waited_for_beyond_the_deadline() -> None:
    async def story(made: Parts) -> None:
        made.node(2).outcome = TABLE
        made.node(2).up = False
        asyncio.get_running_loop().call_later(5, setattr, made.node(2), "up", True)

        assert await made.router.administer(AlterTable(TABLE, TABLE)) == TABLE

        assert DEADLINE_S <= now() < DEADLINE_S + 0.1

    run(story)


def test_throttling_after_an_unknown_outcome_is_not_said_to_be_a_refusal() -> None:
    async def story(made: Parts) -> None:
        answers: list[Result | Exception] = [OutcomeUnknown("who knows")]
        made.led_by(1, lambda request: answers.pop() if answers else Throttling("full"))

        with pytest.raises(InternalServerError):
            await made.write()

    run(story)


def test_throttling_is_told_at_once() -> None:
    async def story(made: Parts) -> None:
        made.led_by(1, lambda request: Throttling("full"))

        with pytest.raises(Throttling):
            await made.write()

        assert now() < 0.01

    run(story)


def test_errors_of_the_caller_are_told_as_they_are() -> None:
    async def story(made: Parts) -> None:
        made.led_by(1, lambda request: ConditionalCheckFailed(b"{}"))

        with pytest.raises(ConditionalCheckFailed) as failure:
            await made.write()

        assert failure.value.item == b"{}"

    run(story)


def test_nobody_to_ask_until_the_deadline_is_a_failure_on_our_side() -> None:
    async def story(made: Parts) -> None:
        for link in made.links:
            link.up = False

        with pytest.raises(InternalServerError):
            await made.router.get(PART, Get(b"k", True))

        assert DEADLINE_S <= now() < DEADLINE_S + 1

    run(story)


def test_partition_that_no_table_has_is_not_asked_for() -> None:
    async def story(made: Parts) -> None:
        unknown = Partition(GroupId(99), TableId(9), 0, 1, 1)

        with pytest.raises(ResourceNotFound):
            await made.router.get(unknown, Get(b"k"))

        assert made.asked() == [0, 0, 0]

    run(story)


def test_request_to_a_table_that_is_dropped_meanwhile_finds_none() -> None:
    async def story(made: Parts) -> None:
        for link in made.links:
            link.respond = lambda request: Unavailable("not here")
        asyncio.get_running_loop().call_later(1, made.tell, 2)

        with pytest.raises(ResourceNotFound):
            await made.write()

        assert 1 <= now() < 2

    run(story)


def test_other_epoch_is_tried_elsewhere() -> None:
    async def story(made: Parts) -> None:
        made.led_by(2, lambda request: WRITTEN, hint=0)
        made.node(1).respond = lambda request: StalePartition(2)

        assert await made.write() == WRITTEN

    run(story)


def test_batch_goes_to_each_partition_once_and_answers_keep_their_order() -> None:
    async def story(made: Parts) -> None:
        def respond(request: Request) -> Result:
            assert isinstance(request.command, WriteAll)
            return AllWritten.of([Written(write.key, 0, 0) for write in request.command.writes])

        made.led_by(1, respond)
        writes = [(PART, b"a"), (OTHER, b"b"), (PART, b"c"), (OTHER, b"d")]

        done = await made.router.write_all([(part, Delete(key)) for part, key in writes])

        assert [one.attributes for one in done if isinstance(one, Written)] == [
            b"a",
            b"b",
            b"c",
            b"d",
        ]
        assert Counter(request.group for request in made.node(1).asked) == {10: 1, 11: 1}

    run(story)


def test_batch_that_is_refused_in_part_says_which_part() -> None:
    async def story(made: Parts) -> None:
        def respond(request: Request) -> Result | Exception:
            if request.group == OTHER.group:
                return Throttling("full")
            return AllWritten.of([WRITTEN, Throttling("full")])

        made.led_by(1, respond)
        places = [PART, OTHER, PART, OTHER]

        done = await made.router.write_all([(part, Delete(b"k")) for part in places])

        assert [type(one) for one in done] == [Written, Throttling, Throttling, Throttling]

    run(story)


def test_totals_are_summed() -> None:
    async def story(made: Parts) -> None:
        local = (Totals(1, 2),)
        for link in made.links:
            link.respond = lambda request: Totals(request.group, 100, local)

        assert await made.router.totals(PARTITIONS) == Totals(21, 200, (Totals(2, 4),))

    run(story)


def test_create_waits_until_its_own_news_are_here() -> None:
    async def story(made: Parts) -> None:
        created = replace(TABLE, id=2, name="new")
        made.node(2).outcome = created
        record = TableRecord(created, (), {})
        asyncio.get_running_loop().call_later(1, made.tell, 2, RECORD, record)

        assert await made.router.administer(CreateTable(TABLE, 1)) == created

        assert 1 <= now() < 1.1
        assert [news.index for news in made.news] == [1, 2]

    run(story)


def test_older_news_are_passed_over() -> None:
    async def story(made: Parts) -> None:
        made.tell(5, RECORD)
        made.tell(4, node=2)

        assert [news.index for news in made.news] == [1, 5]

    run(story)


def test_changes_are_put_to_what_is_known_whoever_told_it() -> None:
    async def story(made: Parts) -> None:
        second, third = (
            TableRecord(replace(TABLE, id=id), (), {}, {group: {1: 1}})
            for id, group in ((2, 20), (3, 30))
        )
        made.tell(5, RECORD, second, node=1)
        made.tell(4, RECORD, node=2)

        made.tell_news(News(6, b"seed", [second, third], {}, gone=[1], is_all=False), node=2)

        assert made.router._placement == {20: [1], 30: [1]}
        assert [news.gone for news in made.news] == [[], [], [1]]
        made.tell(7, third)
        assert made.router._placement == {30: [1]}
        assert made.news[-1].gone == [2]

    run(story)


def test_news_in_parts_are_taken_together_and_not_across_a_broken_link() -> None:
    async def story(made: Parts) -> None:
        records = [
            TableRecord(replace(TABLE, id=id, echo={"": "x" * 200_000}), (), {}) for id in (2, 3)
        ]
        first, last = parts_of(News(2, b"seed", records, {}))
        link = made.node(1)

        link.events.on_frame(encode_exchange(ToRouter(news=first)))
        assert [news.index for news in made.news] == [1]
        link.go_down()
        link.events.on_up(Identity("test", "1.disk", "node", 1))
        link.events.on_frame(encode_exchange(ToRouter(news=first)))
        link.events.on_frame(encode_exchange(ToRouter(news=last)))

        assert [record.table.id for record in made.news[-1].records] == [2, 3]

    run(story)


def test_command_to_meta_that_was_not_sent_is_sent_to_somebody_else() -> None:
    async def story(made: Parts) -> None:
        for link in made.links:
            link.outcome = TABLE
        made.node(1).busy = True
        asyncio.get_running_loop().call_later(0.5, made.node(1).go_down)

        assert await made.router.administer(CreateTable(TABLE, 1)) == TABLE

    run(story)


def test_garbage_ends_the_stream_for_a_while_only() -> None:
    async def story(made: Parts) -> None:
        link = made.node(1)

        link.events.on_frame(b"\xc1")

        assert link.resets
        assert link.closed is None

    run(story)


def test_outcome_that_cannot_be_read_spoils_no_other() -> None:
    async def story(made: Parts) -> None:
        made.led_by(1, lambda request: SILENCE)
        made.node(1).outcome = SILENCE
        asked = asyncio.ensure_future(made.write())
        await asyncio.sleep(0.01)
        (request,) = made.node(1).asked

        answers = encode_answers([Answer(request.number, WRITTEN)])
        made.node(1).events.on_frame(encode_exchange(ToRouter(answers, [(77, b"\xc1")])))

        assert await asked == WRITTEN
        assert not made.node(1).resets

    run(story)


def test_what_is_remembered_of_groups_goes_with_them() -> None:
    async def story(made: Parts) -> None:
        made.led_by(3, lambda request: WRITTEN)
        await made.write()
        assert made.router._leaders
        assert made.router._terms

        made.tell(2)

        assert made.router._leaders == made.router._terms == {}

    run(story)
