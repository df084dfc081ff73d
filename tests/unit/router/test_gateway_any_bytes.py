"""Whatever a client sends, its stream ends in one of the ways in which streams end, and every request is answered once."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Sequence
from contextlib import suppress
from typing import cast

import orjson
from hypothesis import given, settings
from hypothesis import strategies as st

from gramme.links.api import Refused
from gramme.links.gateway import Broken, Messages
from gramme.router.gateway import Gateway
from gramme.router.http.verifier import Verifier
from gramme.router.operations.context import Context
from gramme.v1.gateway_pb2 import ClientFrame, Hello, Request, Requests, RouterFrame
from tests.support.examples import examples
from tests.unit.router.gateway_streams import a_verifier, hello_for
from tests.unit.router.http.gateway import answer_nonsense, break_down, echo, fail

OPERATIONS = {"Echo": echo, "Fail": fail, "Break": break_down, "AnswerNonsense": answer_nonsense}
LET_IN = ClientFrame(hello=hello_for(b"x" * 32)).SerializeToString()

NUMBERS = st.integers(0, 2**64 - 1)
BODIES = st.binary(max_size=20) | st.sampled_from([b"{}", b'{"a":1}', b"[]", b"null", b"[" * 3000])
REQUESTS = st.builds(
    Request,
    number=NUMBERS,
    operation=st.text(max_size=8) | st.sampled_from(sorted(OPERATIONS)),
    body=BODIES,
    timeout_ms=st.sampled_from([0, 1000, 2**32 - 1]),
)
HELLOS = st.builds(
    Hello,
    host=st.text(max_size=10),
    date=st.text(max_size=10) | st.just("20260101T000000Z"),
    authorization=st.text(max_size=40)
    | st.text(max_size=10).map(
        lambda text: (
            f"AWS4-HMAC-SHA256 Credential=AKID/20260101/{text}/dynamodb/aws4_request, "
            f"SignedHeaders=host;x-amz-date;x-amz-target, Signature={text}"
        )
    ),
    security_token=st.text(max_size=10),
)
GOOD = st.lists(REQUESTS, max_size=4).map(
    lambda requests: ClientFrame(requests=Requests(requests=requests).SerializeToString())
)
FRAMES = GOOD | st.builds(ClientFrame, hello=HELLOS) | st.builds(ClientFrame, requests=st.binary())
MESSAGES = st.binary(max_size=60) | FRAMES.map(lambda frame: frame.SerializeToString())


class Script:
    """A client that sends these messages and closes its side."""

    def __init__(self, messages: Sequence[bytes]) -> None:
        self._messages = list(messages)
        self.written: list[RouterFrame] = []

    async def read(self) -> bytes | None:
        await asyncio.sleep(0)
        return self._messages.pop(0) if self._messages else None

    async def write(self, message: bytes) -> None:
        self.written.append(RouterFrame.FromString(message))


def serve(messages: Sequence[bytes], verifier: Verifier | None) -> list[RouterFrame]:
    script = Script(messages)

    async def run() -> None:
        gateway = Gateway(cast(Context, None), OPERATIONS, verifier)
        with suppress(Refused, Broken):
            await gateway._serve(cast(Messages, script))

    asyncio.run(asyncio.wait_for(run(), 10.0))
    return script.written


@given(st.lists(MESSAGES, max_size=3))
@settings(max_examples=examples(100), deadline=None)
def test_without_a_good_signature_nothing_is_answered(messages: list[bytes]) -> None:
    written = serve(messages, a_verifier())

    for frame in written[1:]:
        assert frame.HasField("refusal")
        assert orjson.loads(frame.refusal.body)["__type"]


@given(st.lists(GOOD.map(lambda frame: frame.SerializeToString()), max_size=3), MESSAGES)
@settings(max_examples=examples(100), deadline=None)
def test_every_request_before_garbage_is_answered_once(good: list[bytes], last: bytes) -> None:
    written = serve([LET_IN, *good, last], None)

    asked = Counter(
        request.number
        for message in good
        for request in Requests.FromString(ClientFrame.FromString(message).requests).requests
    )
    answered = Counter(answer.number for frame in written for answer in frame.answers.answers)
    assert asked <= answered
    for frame in written:
        for answer in frame.answers.answers:
            assert answer.status in (200, 400, 500)
