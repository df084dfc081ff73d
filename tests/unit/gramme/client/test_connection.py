"""A client's stream: what it puts into messages, and what becomes of requests when it breaks."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from random import Random

import orjson
import pytest

from gramme.client.client import Client
from gramme.client.connection import Connection, Lost
from gramme.client.errors import DeadlineExceeded, Disconnected, OutcomeUnknown, RequestTooLarge
from gramme.client.hello import Credentials
from gramme.clock import Clock, SystemClock, VirtualClock
from gramme.errors import InvalidSignature, Throttling, UnrecognizedClient
from gramme.links.gateway import ClientListener, Messages
from gramme.links.limits import Limits
from gramme.router.gateway_session import Terms
from gramme.v1.gateway_pb2 import Answer, Answers, ClientFrame, Requests, RouterFrame, Welcome
from tests.unit.router.gateway_streams import (
    ACCOUNT,
    PATIENCE_S,
    REGION,
    SECRET,
    Router,
    a_router,
    a_verifier,
)

GOOD = Credentials(REGION, "AKID", SECRET)


def client_of(
    port: int, credentials: Credentials = GOOD, timeout_s: float = 5.0, clock: Clock | None = None
) -> Client:
    address = f"127.0.0.1:{port}"
    return Client(address, credentials, None, timeout_s, 1024, clock or SystemClock(), Random(1))


class FakeRouter:
    """Welcomes everybody, and answers what it is told to."""

    def __init__(self) -> None:
        self.frames: list[Requests] = []
        self.streams = 0
        self.answers = True
        self.reads = True
        self.breaks_after_frames = 0
        self.requests_max = 100
        self.frame_bytes_max = 1 << 20

    async def serve(self, messages: Messages) -> None:
        self.streams += 1
        await messages.write(RouterFrame(challenge=b"x" * 32).SerializeToString())
        await messages.read()
        welcome = Welcome(requests_max=self.requests_max, frame_bytes_max=self.frame_bytes_max)
        await messages.write(RouterFrame(welcome=welcome).SerializeToString())
        while (message := await messages.read()) is not None:
            requests = Requests.FromString(ClientFrame.FromString(message).requests)
            self.frames.append(requests)
            if self.breaks_after_frames and len(self.frames) >= self.breaks_after_frames:
                self.breaks_after_frames = 0
                return
            if self.answers:
                await messages.write(answers_to(requests))


def answers_to(requests: Requests) -> bytes:
    answers = [
        Answer(number=request.number, status=200, body=b"{}") for request in requests.requests
    ]
    return RouterFrame(answers=Answers(answers=answers)).SerializeToString()


@asynccontextmanager
async def fake(router: FakeRouter) -> AsyncIterator[int]:
    listener = ClientListener(router.serve, Limits(), None)
    port = await listener.start("127.0.0.1", 0)
    try:
        yield port
    finally:
        await listener.stop(0)


async def test_calls_of_one_turn_leave_in_one_message() -> None:
    router = FakeRouter()
    async with fake(router) as port, client_of(port) as client:
        await asyncio.gather(*(client.call("Echo", {}) for _ in range(50)))

    assert [len(frame.requests) for frame in router.frames] == [50]


async def test_a_message_is_no_larger_than_it_should_be() -> None:
    router = FakeRouter()
    async with fake(router) as port, client_of(port) as client:
        body = {"a": "x" * 400_000}
        await asyncio.gather(*(client.call("Echo", body) for _ in range(6)))

    assert [len(frame.requests) for frame in router.frames] == [2, 2, 2]


async def test_no_more_is_sent_than_the_router_takes() -> None:
    router = FakeRouter()
    router.requests_max = 4
    router.answers = False
    async with fake(router) as port, client_of(port, timeout_s=0.3) as client:
        calls = [asyncio.ensure_future(client.call("PutItem", {})) for _ in range(10)]
        await asyncio.wait(calls)

    assert sum(len(frame.requests) for frame in router.frames) == 4
    kinds = [type(call.exception()) for call in calls]
    # What was sent may have been done, and what was not was not.
    assert kinds == [OutcomeUnknown] * 4 + [DeadlineExceeded] * 6


async def test_a_request_that_the_router_would_not_take_is_not_sent() -> None:
    router = FakeRouter()
    router.frame_bytes_max = 1000
    async with fake(router) as port, client_of(port) as client:
        with pytest.raises(RequestTooLarge):
            await client.call("Echo", {"a": "x" * 1000})
        assert await client.call("Echo", {}) == {}


async def test_a_stream_that_breaks_is_opened_again_and_reads_are_repeated() -> None:
    router = FakeRouter()
    router.breaks_after_frames = 1
    async with fake(router) as port, client_of(port) as client:
        assert await client.get("t", {"id": "a"}) is None
        assert await client.get("t", {"id": "a"}) is None

    assert router.streams == 2
    assert len(router.frames) == 3


async def test_a_write_whose_answer_is_lost_is_not_repeated() -> None:
    router = FakeRouter()
    router.breaks_after_frames = 1
    async with fake(router) as port, client_of(port) as client:
        with pytest.raises(OutcomeUnknown):
            await client.put("t", {"id": "a"})
        await client.put("t", {"id": "b"})

    assert router.streams == 2
    assert [request.body for frame in router.frames for request in frame.requests] == [
        orjson.dumps({"TableName": "t", "Item": {"id": {"S": id}}}) for id in "ab"
    ]


async def test_what_was_not_sent_when_a_stream_broke_is_sent_over_the_next() -> None:
    router = FakeRouter()
    router.requests_max = 1
    router.breaks_after_frames = 1
    async with fake(router) as port, client_of(port) as client:
        first, second = await asyncio.gather(
            client.put("t", {"id": "a"}), client.put("t", {"id": "b"}), return_exceptions=True
        )

    assert isinstance(first, OutcomeUnknown)
    assert second is None


async def test_without_a_router_calls_wait_and_then_say_why() -> None:
    router = FakeRouter()
    async with fake(router) as port:
        client = client_of(port, timeout_s=0.3)
        await client.__aenter__()
        await client.get("t", {"id": "a"})
    await until_down(client)
    try:
        with pytest.raises(Disconnected):
            await client.put("t", {"id": "a"})
    finally:
        await client.__aexit__(None, None, None)


async def test_a_router_that_comes_back_is_found_again() -> None:
    router = FakeRouter()
    async with fake(router) as port:
        client = client_of(port)
        await client.__aenter__()
    await until_down(client)
    call = asyncio.ensure_future(client.put("t", {"id": "a"}))
    await asyncio.sleep(0.1)
    listener = ClientListener(router.serve, Limits(), None)
    await listener.start("127.0.0.1", port)
    try:
        async with asyncio.timeout(PATIENCE_S):
            await call
    finally:
        await client.__aexit__(None, None, None)
        await listener.stop(0)


async def test_who_is_not_there_at_first_is_said_at_once() -> None:
    router = FakeRouter()
    async with fake(router) as port:
        pass
    with pytest.raises(Disconnected, match=f"127.0.0.1:{port}"):
        async with client_of(port):
            pass


async def test_garbage_from_a_router_ends_the_stream() -> None:
    async def serve(messages: Messages) -> None:
        await messages.write(b"\xff\xff")
        await messages.read()

    listener = ClientListener(serve, Limits(), None)
    port = await listener.start("127.0.0.1", 0)
    try:
        with pytest.raises(Disconnected, match="no frame"):
            async with client_of(port):
                pass
    finally:
        await listener.stop(0)


async def test_calls_end_with_their_client() -> None:
    router = FakeRouter()
    router.answers = False
    async with fake(router) as port:
        async with client_of(port) as client:
            call = asyncio.ensure_future(client.put("t", {"id": "a"}))
            while not router.frames:
                await asyncio.sleep(0.005)
        with pytest.raises(OutcomeUnknown, match="closed"):
            await call
        with pytest.raises(Disconnected, match="closed"):
            await client.get("t", {"id": "a"})


async def test_a_call_that_is_cancelled_before_it_leaves_is_not_sent() -> None:
    router = FakeRouter()
    async with fake(router) as port, client_of(port) as client:
        call = asyncio.ensure_future(client.put("t", {"id": "a"}))
        await asyncio.sleep(0)
        call.cancel()
        await client.put("t", {"id": "b"})

    assert sum(len(frame.requests) for frame in router.frames) == 1


async def test_a_router_that_owes_answers_for_long_is_given_up_on(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("gramme.client.connection.STUCK_S", 0.1)
    router = FakeRouter()
    router.answers = False
    async with fake(router) as port, client_of(port) as client:
        with pytest.raises(OutcomeUnknown):
            await client.call("PutItem", {}, timeout_s=0.05)
        async with asyncio.timeout(PATIENCE_S):
            while client._connection._waiting:
                await asyncio.sleep(0.01)
        router.answers = True
        await client.put("t", {"id": "a"})

    assert router.streams == 2


async def test_a_request_has_the_time_that_is_left_to_its_caller() -> None:
    router = FakeRouter()
    async with fake(router) as port, client_of(port) as client:
        await client.call("Echo", {}, timeout_s=2.0)

    assert 1000 < router.frames[0].requests[0].timeout_ms <= 2000


# With a gateway


async def test_what_is_signed_is_let_in() -> None:
    async with a_router(a_verifier()) as router, client_of(router.gateway.port) as client:
        answers = [await client.call("Echo", {"n": n}) for n in range(3)]

    assert [answer["request"]["n"] for answer in answers] == [0, 1, 2]
    assert answers[0]["caller"] == [ACCOUNT, REGION]


async def test_a_session_token_is_shown() -> None:
    temporary = Credentials(REGION, "TEMPORARY", SECRET, "token")
    async with (
        a_router(a_verifier()) as router,
        client_of(router.gateway.port, temporary) as client,
    ):
        assert (await client.call("Echo", {}))["caller"] == [ACCOUNT, REGION]


async def test_bad_credentials_are_refused_in_dynamodbs_words() -> None:
    async with a_router(a_verifier()) as router:
        port = router.gateway.port
        with pytest.raises(InvalidSignature, match="does not match"):
            async with client_of(port, Credentials(REGION, "AKID", "guess")):
                pass
        with pytest.raises(UnrecognizedClient):
            async with client_of(port, Credentials(REGION, "NOBODY", SECRET)):
                pass
        late = VirtualClock(SystemClock().now_ms() - 16 * 60_000)
        with pytest.raises(InvalidSignature, match="Signature expired"):
            async with client_of(port, clock=late):
                pass


async def test_many_more_calls_than_the_router_takes_at_once_all_end() -> None:
    async with (
        a_router(a_verifier(), Terms(requests_max=8)) as router,
        client_of(router.gateway.port) as client,
    ):
        answers = await asyncio.gather(*(client.call("Echo", {"n": n}) for n in range(500)))

    assert [answer["request"]["n"] for answer in answers] == list(range(500))


async def test_throttling_is_given_up_on_in_the_end() -> None:
    async with a_router() as router, client_of(router.gateway.port) as client:
        with pytest.raises(Throttling):
            await client.call("Fail", {}, timeout_s=0.2)


async def test_a_stopping_router_is_asked_no_more() -> None:
    async with a_router() as router:
        client = client_of(router.gateway.port, timeout_s=0.5)
        async with client:
            held = asyncio.ensure_future(client.call("Hold", {}, timeout_s=PATIENCE_S))
            await until_held(router)
            stopping = asyncio.ensure_future(router.gateway.stop(PATIENCE_S))
            await asyncio.sleep(0.05)

            with pytest.raises(Throttling, match="stopping"):
                await client.call("Echo", {}, timeout_s=0.05)
            router.holding.held.pop().set_result(None)

            assert await held == {}
            await stopping


async def until_down(client: Client) -> None:
    async with asyncio.timeout(PATIENCE_S):
        while not client._connection._down:
            await asyncio.sleep(0.005)


async def until_held(router: Router) -> None:
    async with asyncio.timeout(PATIENCE_S):
        while not router.holding.held:
            await asyncio.sleep(0.005)


async def test_lost_is_no_error_of_a_caller() -> None:
    """It is made into one that says whether something may have been done."""
    router = FakeRouter()
    router.answers = False
    async with fake(router) as port, client_of(port) as client:
        connection: Connection = client._connection
        loop = asyncio.get_running_loop()
        with pytest.raises(Lost):
            await connection.ask("GetItem", b"{}", loop.time() + 0.05)
        with pytest.raises(DeadlineExceeded):
            await client.call("GetItem", {}, timeout_s=0.05)


def test_the_client_needs_nothing_of_the_servers() -> None:
    program = (
        "import sys, gramme.client;"
        "print([name for name in sys.modules"
        " if name.startswith(('gramme.node', 'gramme.router', 'rocksdict', 'uvloop'))])"
    )

    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True, timeout=60
    )

    assert done.stdout == "[]\n"
