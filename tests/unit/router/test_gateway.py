"""The gateway: who is let in, what is answered, and what one client can do to others."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, cast

import orjson
import pytest

from gramme.clock import SystemClock
from gramme.links.gateway import Broken
from gramme.router import gateway as gateway_module
from gramme.router.gateway_session import SLICE_REQUESTS, Terms
from gramme.v1.gateway_pb2 import Answer, ClientFrame, Hello, Request, Requests
from tests.unit.router.gateway_streams import (
    ACCOUNT,
    PATIENCE_S,
    REGION,
    Router,
    Stream,
    a_client,
    a_router,
    a_stranger,
    a_verifier,
    hello_for,
)


def error_of(answer: Answer) -> str:
    name: str = orjson.loads(answer.body)["__type"].rpartition("#")[2]
    return name


async def until(condition: Callable[[], bool]) -> None:
    async with asyncio.timeout(PATIENCE_S):
        while not condition():
            await asyncio.sleep(0.005)


def holds(count: int, first: int = 1) -> list[Request]:
    numbers = range(first, first + count)
    return [Request(number=number, operation="Hold", body=b"{}") for number in numbers]


# Answers


async def test_answers_come_with_the_numbers_of_their_requests() -> None:
    async with a_router() as router, a_client(router) as client:
        await client.send(
            *holds(1),
            Request(number=7, operation="Echo", body=b'{"a":1}'),
            Request(number=9, operation="Release", body=b"{}"),
        )

        answers = await client.answers(3)

    assert orjson.loads(answers[7].body)["request"] == {"a": 1}
    assert {number: answer.status for number, answer in answers.items()} == {1: 200, 7: 200, 9: 200}


async def test_what_is_answered_at_once_is_answered_together() -> None:
    requests = [
        Request(number=number, operation="Echo", body=b"{}")
        for number in range(1, SLICE_REQUESTS + 1)
    ]
    async with a_router() as router, a_client(router) as client:
        await client.send(*requests)

        frame = await client.frame()

    assert [answer.number for answer in frame.answers.answers] == [
        request.number for request in requests
    ]


async def test_a_message_of_many_requests_is_begun_in_slices() -> None:
    async with a_router() as router, a_client(router) as client:
        await client.send(
            *(
                Request(number=number, operation="Echo", body=b"{}")
                for number in range(1, 3 * SLICE_REQUESTS + 1)
            )
        )

        sizes: list[int] = []
        while sum(sizes) < 3 * SLICE_REQUESTS:
            sizes.append(len((await client.frame()).answers.answers))

    assert max(sizes) <= 2 * SLICE_REQUESTS


async def test_the_namespace_is_that_of_the_signature() -> None:
    async with a_router(a_verifier()) as router, a_client(router) as client:
        answer = await client.ask("Echo")

    assert orjson.loads(answer.body)["caller"] == [ACCOUNT, REGION]


@pytest.mark.parametrize(
    ("operation", "body", "status", "error"),
    [
        ("Echo", b"{", 400, "SerializationException"),
        ("Echo", b"", 400, "SerializationException"),
        ("Echo", b"[]", 400, "SerializationException"),
        ("Dance", b"{}", 400, "UnknownOperationException"),
        ("Dance", b"[", 400, "SerializationException"),
        ("Fail", b"{}", 400, "ThrottlingException"),
        ("Miss", b"{}", 400, "ConditionalCheckFailedException"),
    ],
)
async def test_an_error_is_that_of_http(
    operation: str, body: bytes, status: int, error: str
) -> None:
    async with a_router() as router, a_client(router) as client:
        answer = await client.ask(operation, body)
        after = await client.ask("Echo")

    assert (answer.status, error_of(answer)) == (status, error)
    assert after.status == 200


async def test_a_request_that_is_too_large_costs_nothing_else() -> None:
    terms = Terms(body_bytes_max=1000)
    async with a_router(terms=terms) as router, a_client(router) as client:
        answer = await client.ask("Echo", b'{"a":"%b"}' % (b"x" * 1000))
        after = await client.ask("Echo")

    assert (answer.status, answer.body, after.status) == (413, b"", 200)


async def test_an_answer_that_is_too_large_costs_nothing_else() -> None:
    async with (
        a_router(terms=Terms(frame_bytes_max=100_000)) as router,
        a_client(router) as client,
    ):
        answer = await client.ask("Grow", b'{"Bytes":100000}')
        after = await client.ask("Grow", b'{"Bytes":99000}')

    assert (answer.status, error_of(answer), after.status) == (400, "ValidationException", 200)


async def test_a_client_that_asks_no_more_gets_its_answers() -> None:
    async with a_router() as router, a_client(router) as client:
        await client.send(*holds(1))
        await until(lambda: len(router.holding.held) == 1)
        await cast(Any, client.messages._call).done_writing()
        async with a_client(router) as other:
            await other.ask("Release")

        assert (await client.answers(1))[1].status == 200
        assert await client.is_over()


# Who is let in


@dataclass
class Late(SystemClock):
    """Some minutes before or after the client's."""

    minutes: int

    def now_ms(self) -> int:
        return super().now_ms() + self.minutes * 60_000


@pytest.mark.parametrize(
    ("credentials", "error"),
    [
        ({"secret": "guess"}, "InvalidSignatureException"),
        ({"access_key": "NOBODY"}, "UnrecognizedClientException"),
        ({"access_key": "TEMPORARY"}, "UnrecognizedClientException"),
        ({"access_key": "TEMPORARY", "token": "guess"}, "UnrecognizedClientException"),
        ({"target": "DynamoDB_20120810.ListTables"}, "InvalidSignatureException"),
    ],
    ids=str,
)
async def test_a_bad_signature_is_refused_as_over_http(
    credentials: dict[str, str], error: str
) -> None:
    async with a_router(a_verifier()) as router, a_stranger(router) as stream:
        frame = await stream.greet(hello_for(await stream.challenge(), **credentials))

        assert error_of(frame.refusal) == error
        assert await stream.is_over()


async def test_a_session_token_is_good_with_its_key() -> None:
    async with a_router(a_verifier()) as router, a_stranger(router) as stream:
        hello = hello_for(await stream.challenge(), "TEMPORARY", token="token")

        assert (await stream.greet(hello)).HasField("welcome")
        assert (await stream.ask("Echo")).status == 200


@pytest.mark.parametrize("minutes", [-16, 16])
async def test_a_clock_may_be_off_by_a_quarter_of_an_hour(minutes: int) -> None:
    async with a_router(a_verifier(Late(minutes))) as router, a_stranger(router) as stream:
        frame = await stream.greet(hello_for(await stream.challenge()))

    assert error_of(frame.refusal) == "InvalidSignatureException"
    assert b"Signature" in frame.refusal.body


async def test_a_hello_opens_one_stream() -> None:
    async with a_router(a_verifier()) as router:
        async with a_client(router) as client:
            heard = client.hello
        async with a_stranger(router) as stream:
            await stream.challenge()

            frame = await stream.greet(heard)

    assert error_of(frame.refusal) == "InvalidSignatureException"


async def test_without_credentials_the_form_of_a_signature_is_all() -> None:
    async with a_router() as router:
        async with a_stranger(router) as stream:
            frame = await stream.greet(hello_for(await stream.challenge(), secret="any"))
            assert frame.HasField("welcome")
        async with a_stranger(router) as stream:
            await stream.challenge()
            frame = await stream.greet(Hello(host="localhost", date="20260101T000000Z"))
            assert error_of(frame.refusal) == "MissingAuthenticationTokenException"


def changed(stream: Stream, content: bytes) -> bytes:
    frame = ClientFrame.FromString(stream.signed(content))
    frame.requests = frame.requests.replace(b"Echo", b"Fail")
    return frame.SerializeToString()


def unsigned(stream: Stream, content: bytes) -> bytes:
    return ClientFrame(requests=content).SerializeToString()


def after_one_that_is_missing(stream: Stream, content: bytes) -> bytes:
    stream.signed(content)
    return stream.signed(content)


@pytest.mark.parametrize("forge", [changed, unsigned, after_one_that_is_missing])
async def test_a_forged_message_ends_the_stream(forge: Callable[[Stream, bytes], bytes]) -> None:
    content = Requests(
        requests=[Request(number=2, operation="Echo", body=b"{}")]
    ).SerializeToString()
    async with a_router(a_verifier()) as router, a_client(router) as client:
        await client.ask("Echo")

        await client.messages.write(forge(client, content))

        assert error_of((await client.frame()).refusal) == "InvalidSignatureException"
        assert await client.is_over()


async def test_a_repeated_message_ends_the_stream() -> None:
    content = Requests(
        requests=[Request(number=2, operation="Echo", body=b"{}")]
    ).SerializeToString()
    async with a_router(a_verifier()) as router, a_client(router) as client:
        message = client.signed(content)
        await client.messages.write(message)
        await client.answers(1)

        await client.messages.write(message)

        assert error_of((await client.frame()).refusal) == "InvalidSignatureException"


# What one client can do to others


@pytest.mark.parametrize(
    "message",
    [
        b"\xff\xff\xff",
        b"",
        ClientFrame(requests=b"\xff\xff").SerializeToString(),
        ClientFrame(hello=Hello(host="again")).SerializeToString(),
    ],
    ids=["garbage", "nothing", "garbage inside", "a second hello"],
)
async def test_garbage_ends_its_stream_and_no_other(message: bytes) -> None:
    async with a_router() as router, a_client(router) as bystander, a_client(router) as client:
        await client.messages.write(message)

        with pytest.raises(Broken, match="no frame"):
            await client.frame()
        assert (await bystander.ask("Echo")).status == 200
        await until(lambda: router.gateway.streams == 1)


@pytest.mark.parametrize(
    "message",
    [
        b"\xff",
        ClientFrame(requests=b"").SerializeToString(),
        ClientFrame(hello=Hello(host="x" * 20_000)).SerializeToString(),
    ],
    ids=["garbage", "requests", "too long"],
)
async def test_who_does_not_say_hello_is_not_listened_to(message: bytes) -> None:
    async with a_router() as router, a_stranger(router) as stream:
        await stream.challenge()
        await stream.messages.write(message)

        with pytest.raises(Broken, match="no hello"):
            await stream.frame()


async def test_who_says_nothing_is_not_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gateway_module, "HELLO_SECONDS", 0.05)
    async with a_router() as router, a_stranger(router) as stream:
        await stream.challenge()

        with pytest.raises(Broken, match="no hello came within"):
            await stream.frame()


async def test_a_message_beyond_the_bound_ends_its_stream_and_no_other() -> None:
    terms = Terms(frame_bytes_max=100_000)
    async with (
        a_router(terms=terms) as router,
        a_client(router) as bystander,
        a_client(router) as client,
    ):
        await client.send(Request(number=1, operation="Echo", body=b"x" * 200_000))

        with pytest.raises(Broken):
            await client.frame()
        assert (await bystander.ask("Echo")).status == 200


async def test_connections_that_say_nothing_are_closed_beyond_a_number() -> None:
    async with a_router(terms=Terms(streams_max=3)) as router, a_client(router) as client:
        silent = [await asyncio.open_connection("127.0.0.1", router.gateway.port) for _ in range(8)]
        ends = [asyncio.create_task(reader.read(-1)) for reader, _ in silent]
        await until(lambda: sum(end.done() for end in ends) == 6)

        assert (await client.ask("Echo")).status == 200

        for _, writer in silent:
            writer.close()
        await asyncio.wait(ends)


async def test_no_more_is_begun_than_may_wait_for_answers() -> None:
    terms = Terms(requests_max=4)
    async with a_router(terms=terms) as router, a_client(router) as client:
        await client.send(*holds(10))
        await until(lambda: len(router.holding.held) == 4)
        async with a_client(router) as other:
            assert (await other.ask("Echo")).status == 200
            assert len(router.holding.held) == 4

            for _ in range(3):
                await other.ask("Release")
                await asyncio.sleep(0.05)
        await until(lambda: not router.holding.held)

        assert len(await client.answers(10)) == 10


async def test_who_does_not_read_holds_up_itself_only() -> None:
    terms = Terms(answers_bytes_max=1 << 20)
    size = 1 << 20
    grow = [
        Request(number=number, operation="Grow", body=b'{"Bytes":%d}' % size)
        for number in range(1, 201)
    ]
    async with a_router(terms=terms) as router, a_client(router) as deaf:
        await deaf.send(*grow)
        async with a_client(router) as other:
            await asyncio.sleep(0.2)
            assert (await other.ask("Echo")).status == 200
        session = next(iter(router.gateway._sessions))
        assert session._answers_bytes <= 4 * size

        # And nothing is lost for one that begins to read.
        assert len(await deaf.answers(200)) == 200


async def test_who_never_reads_is_given_up_on() -> None:
    terms = Terms(answers_bytes_max=1 << 20, write_seconds=0.1)
    grow = [
        Request(number=number, operation="Grow", body=b'{"Bytes":1048576}')
        for number in range(1, 101)
    ]
    async with a_router(terms=terms) as router, a_client(router) as deaf:
        await deaf.send(*grow)

        await until(lambda: router.gateway.streams == 0)


async def test_beyond_what_may_be_held_large_messages_are_refused() -> None:
    terms = Terms(held_bytes_max=100_000, held_bytes_exempt=1000)
    async with a_router(terms=terms) as router, a_client(router) as client:
        answer = await client.ask("Echo", b'{"a":"%b"}' % (b"x" * 200_000))
        small = await client.ask("Echo")

    assert (error_of(answer), small.status) == ("ThrottlingException", 200)


async def test_what_waited_for_longer_than_its_deadline_is_not_begun() -> None:
    terms = Terms(requests_max=1)
    async with a_router(terms=terms) as router, a_client(router) as client:
        late = Request(number=2, operation="Echo", body=b"{}", timeout_ms=1)
        patient = Request(number=3, operation="Echo", body=b"{}", timeout_ms=60_000)
        await client.send(*holds(1), late, patient)
        await until(lambda: len(router.holding.held) == 1)
        await asyncio.sleep(0.01)
        async with a_client(router) as other:
            await other.ask("Release")

        answers = await client.answers(3)

    assert error_of(answers[2]) == "ThrottlingException"
    assert answers[3].status == 200


async def test_a_gateway_that_stops_answers_what_it_has_begun() -> None:
    async with a_router() as router, a_client(router) as client:
        await client.send(*holds(1))
        await until(lambda: len(router.holding.held) == 1)

        stopping = asyncio.create_task(router.gateway.stop(PATIENCE_S))
        await asyncio.sleep(0.05)
        await client.send(Request(number=2, operation="Echo", body=b"{}"))
        refused = await client.answers(1)
        await release(router)

        assert error_of(refused[2]) == "ThrottlingException"
        assert (await client.answers(1))[1].status == 200
        assert await client.is_over()
        await stopping


async def release(router: Router) -> None:
    for future in router.holding.held:
        future.set_result(None)
    router.holding.held.clear()
