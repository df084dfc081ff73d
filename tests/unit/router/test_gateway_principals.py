"""A stream whose key is taken away: what it has begun is answered, and its next message is its last."""

from __future__ import annotations

from gramme.router.http.credentials import Credential
from gramme.v1.gateway_pb2 import Request
from tests.unit.router.gateway_streams import (
    ACCOUNT,
    SECRET,
    a_client,
    a_router,
    a_stranger,
    a_verifier,
    hello_for,
)
from tests.unit.router.test_gateway import error_of, holds

OTHERS = {"OTHER": Credential(ACCOUNT, SECRET)}


async def test_next_message_of_a_stream_whose_key_is_gone_is_refused() -> None:
    verifier = a_verifier()
    async with a_router(verifier) as router, a_client(router) as client:
        await client.ask("Echo")

        verifier.replace_credentials(OTHERS)
        await client.send(Request(number=2, operation="Echo", body=b"{}"))

        frame = await client.frame()
        assert error_of(frame.refusal) == "UnrecognizedClientException"
        assert await client.is_over()


async def test_what_a_stream_had_begun_when_its_key_went_is_answered() -> None:
    verifier = a_verifier()
    async with a_router(verifier) as router, a_client(router) as client:
        await client.send(*holds(1))
        await client.ask("Echo", number=2)

        verifier.replace_credentials(OTHERS)
        await client.send(Request(number=3, operation="Echo", body=b"{}"))
        for held in router.holding.held:
            held.set_result(None)

        assert set(await client.answers(1)) == {1}
        assert error_of((await client.frame()).refusal) == "UnrecognizedClientException"


async def test_stream_of_another_key_goes_on() -> None:
    verifier = a_verifier()
    async with a_router(verifier) as router, a_client(router) as client:
        verifier.replace_credentials({**OTHERS, "AKID": Credential(ACCOUNT, SECRET)})

        assert (await client.ask("Echo")).status == 200


async def test_who_comes_after_the_key_has_gone_is_not_let_in() -> None:
    verifier = a_verifier()
    verifier.replace_credentials({})
    async with a_router(verifier) as router, a_stranger(router) as stream:
        frame = await stream.greet(hello_for(await stream.challenge()))

        assert error_of(frame.refusal) == "UnrecognizedClientException"
