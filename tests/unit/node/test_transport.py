"""What nodes say to each other over the one stream of each pair, and what becomes of it when the stream is gone."""

from __future__ import annotations

from collections.abc import Callable

import msgspec
import pytest

from gramme.codec.frame import Answer, Request, decode_answers, decode_requests
from gramme.commands import Get, GetTotals, Totals
from gramme.errors import InternalServerError, OutcomeUnknown, Unavailable
from gramme.links.api import Down, Events, Identity, Link, Refused
from gramme.node.raft.messages import AppendEntries, Entry, EntryKind, Heartbeat, Message, ReplicaId
from gramme.node.transport import QUEUE_BYTES_MAX, Peer, PeerFrame, Transport, Who, who_is
from tests.support.fake_link import FakeLink
from tests.unit.node.fixtures import settle

ME = 2
BEAT = Heartbeat(ReplicaId(20), ReplicaId(10), 1, 0, 0)
TOTALS = Totals(1, 2)


class FakeListener:
    def __init__(self) -> None:
        self.messages: list[tuple[int, int, Message]] = []
        self.requests: list[Request] = []
        self.answer: list[Callable[[Answer], None]] = []
        self.losses: list[int] = []
        self.broken: list[int] = []
        self.reaches: list[int] = []

    def heard(self, node: int, messages: list[tuple[int, Message]]) -> None:
        self.messages += [(node, group, message) for group, message in messages]

    def asked(self, request: Request, answer: Callable[[Answer], None]) -> None:
        self.requests.append(request)
        self.answer.append(answer)

    def reached(self, node: int) -> None:
        self.reaches.append(node)

    def lost(self, node: int, broken: bool) -> None:
        self.losses.append(node)
        if broken:
            self.broken.append(node)


class Dialled:
    """Takes down who is dialled."""

    def __init__(self) -> None:
        self.addresses: list[str] = []

    def dial(self, address: str, events: Events) -> Link:
        self.addresses.append(address)
        return FakeLink(up=False)


class Parts:
    """Node 2 of a cluster, to which node 1 has a stream."""

    def __init__(self) -> None:
        self.listener = FakeListener()
        self.notes: list[str] = []
        self.transport = Transport(ME, self.listener, self.notes.append)
        self.link, self.peer = self.connect()

    def connect(self, number: int = 1) -> tuple[FakeLink, Peer]:
        link = FakeLink()
        peer = self.transport.accept(link, node(number))
        peer.on_up(node(number))
        return link, peer


def node(number: int) -> Identity:
    return Identity("test", f"{number}.disk", "node", 1)


def frames(link: FakeLink) -> list[PeerFrame]:
    return [msgspec.msgpack.decode(frame, type=PeerFrame) for frame in link.sent]


def groups(link: FakeLink) -> list[int]:
    return [group for frame in frames(link) for group, _ in frame.messages]


def answers(link: FakeLink) -> list[Answer]:
    return [one for frame in frames(link) if frame.answers for one in decode_answers(frame.answers)]


def asking(*numbers: int) -> bytes:
    requests = [Request(number, 10, 1, True, Get(b"k")) for number in numbers]
    return msgspec.msgpack.encode(PeerFrame([], msgspec.msgpack.encode(requests)))


def answering(*results: Answer) -> bytes:
    return msgspec.msgpack.encode(PeerFrame([], b"", msgspec.msgpack.encode(list(results))))


def large(size: int) -> AppendEntries:
    entries = [Entry(1, 1, EntryKind.NORMAL, b"x" * size)]
    return AppendEntries(ReplicaId(20), ReplicaId(10), 1, 0, 0, 0, entries)


async def test_node_dials_those_of_higher_numbers_only() -> None:
    dialled = Dialled()

    Parts().transport.dial({1: "a", ME: "b", 3: "c", 4: "d"}, dialled)

    assert dialled.addresses == ["c", "d"]


@pytest.mark.parametrize("who", ["2.disk", "3.disk", "0.disk", "x.disk", "", "-1.disk", "9" * 40])
async def test_node_is_dialled_by_those_of_lower_numbers_only(who: str) -> None:
    made = Parts()

    with pytest.raises(Refused):
        made.transport.accept(FakeLink(), Identity("test", who, "node", 1))


@pytest.mark.parametrize(
    ("said", "who"),
    [
        ("1.disk", Who(1, "disk")),
        ("1.disk.40", Who(1, "disk", 40)),
        ("1.disk.x", Who(1, "disk")),
        ("1.disk." + "9" * 40, Who(1, "disk")),
        ("", Who(0, "")),
    ],
)
async def test_node_says_who_it_is(said: str, who: Who) -> None:
    assert who_is(Identity("test", said, "node", 1)) == who
    assert who_is(Identity("test", str(who), "node", 1)) == who


async def test_node_that_is_not_the_one_it_was_is_refused() -> None:
    made = Parts()

    def recognise(number: int, directory: str, replica: int) -> None:
        raise Refused("another disk")

    made.transport.recognise = recognise

    with pytest.raises(Refused):
        made.transport.accept(FakeLink(), node(1))
    assert made.link.closed is None


async def test_who_is_reached_again_is_told_of() -> None:
    made = Parts()
    assert made.listener.reaches == [1]

    made.connect()

    assert made.listener.reaches == [1, 1]


async def test_address_that_is_another_nodes_is_dialled_again() -> None:
    made = Parts()

    made.peer.on_up(node(7))

    assert made.listener.reaches == [1]
    assert made.link.resets
    assert made.link.closed is None


async def test_messages_of_one_turn_leave_in_one_frame() -> None:
    made = Parts()

    for group in (5, 6, 7):
        made.transport.send(1, group, BEAT)
    await settle()

    assert [[group for group, _ in frame.messages] for frame in frames(made.link)] == [[5, 6, 7]]


async def test_frames_grow_while_one_is_written() -> None:
    made = Parts()
    made.link.busy = True
    for group in (5, 6, 7):
        made.transport.send(1, group, BEAT)
        await settle()
    assert made.link.sent == []

    made.link.busy = False
    made.peer.on_idle()

    assert [[group for group, _ in frame.messages] for frame in frames(made.link)] == [[5, 6, 7]]


async def test_messages_that_are_large_together_leave_in_several_frames() -> None:
    made = Parts()

    for group in range(40):
        made.transport.send(1, group, large(1 << 20))
    await settle(100)

    assert groups(made.link) == list(range(QUEUE_BYTES_MAX // (1 << 20)))
    assert max(map(len, made.link.sent)) < 2 << 20
    assert made.listener.losses == [1]


async def test_node_that_is_down_is_told_of_once_for_all_messages() -> None:
    made = Parts()
    made.link.up = False

    for group in range(100):
        made.transport.send(1, group, BEAT)
    assert made.listener.losses == []
    await settle()

    assert made.listener.losses == [1]
    assert made.listener.broken == []


async def test_stream_that_breaks_is_told_of_as_broken() -> None:
    made = Parts()
    made.link.up = False

    made.peer.on_down(Down("gone"))

    assert made.listener.broken == [1]


async def test_nothing_said_on_one_stream_is_said_on_the_next() -> None:
    made = Parts()
    made.link.busy = True
    made.transport.send(1, 5, BEAT)
    made.link.up = False
    made.peer.on_down(Down("gone"))

    link, _ = made.connect()
    made.transport.send(1, 6, BEAT)
    await settle()

    assert groups(link) == [6]
    assert made.listener.losses == [1]


async def test_request_and_its_answer_find_each_other() -> None:
    made = Parts()
    asked = made.transport.calls(1).ask(10, 1, True, GetTotals())
    await settle()
    (request,) = decode_requests(frames(made.link)[0].requests)

    made.peer.on_frame(answering(Answer(request.number, TOTALS)))

    assert await asked == TOTALS


async def test_request_to_a_node_that_is_down_was_not_done() -> None:
    made = Parts()
    made.link.up = False

    with pytest.raises(Unavailable):
        await made.transport.calls(1).ask(10, 1, True, GetTotals())


async def test_request_on_a_stream_that_breaks_has_an_unknown_outcome() -> None:
    made = Parts()
    asked = made.transport.calls(1).ask(10, 1, True, GetTotals())
    await settle()

    made.peer.on_down(Down("gone"))

    with pytest.raises(OutcomeUnknown):
        await asked


async def test_request_under_way_when_the_node_dials_again_has_an_unknown_outcome() -> None:
    made = Parts()
    asked = made.transport.calls(1).ask(10, 1, True, GetTotals())
    await settle()

    made.connect()

    assert made.link.closed is not None
    with pytest.raises(OutcomeUnknown):
        await asked


async def test_late_answer_is_not_given_to_a_node_that_was_started_again() -> None:
    made = Parts()
    made.peer.on_frame(asking(1))
    made.peer.on_down(Down("gone"))
    link, peer = made.connect()
    peer.on_frame(asking(1))

    made.listener.answer[0](Answer(1, Totals(0, 0)))
    made.listener.answer[1](Answer(1, TOTALS))
    await settle()

    assert [answer.result for answer in answers(link)] == [TOTALS]


async def test_request_that_cannot_be_read_is_answered_alone() -> None:
    made = Parts()
    unreadable = [2, 10, 1, True, [99]]
    requests = msgspec.msgpack.encode([Request(1, 10, 1, True, Get(b"k")), unreadable])

    made.peer.on_frame(msgspec.msgpack.encode(PeerFrame([(5, BEAT)], requests)))
    await settle()

    assert [type(answer.error) for answer in answers(made.link)] == [InternalServerError]
    assert len(made.listener.requests) == len(made.listener.messages) == 1


@pytest.mark.parametrize(
    "garbage",
    [b"", b"\xc1", b"\x93", msgspec.msgpack.encode(PeerFrame([], b"\x01"))],
    ids=["empty", "reserved", "cut short", "requests that are none"],
)
async def test_garbage_ends_the_stream_and_nothing_else(garbage: bytes) -> None:
    made = Parts()

    made.peer.on_frame(garbage)

    assert made.link.resets
    assert made.listener.messages == []


async def test_request_too_large_for_a_frame_is_refused_alone() -> None:
    made = Parts()
    calls = made.transport.calls(1)
    before = calls.ask(10, 1, True, GetTotals())
    too_large = calls.ask(10, 1, True, Get(b"x" * (18 << 20)))
    after = calls.ask(10, 1, True, GetTotals())
    await settle()

    with pytest.raises(InternalServerError):
        await too_large
    assert not before.done()
    assert not after.done()
    requests = [one for frame in frames(made.link) for one in decode_requests(frame.requests)]
    assert len(requests) == 2
