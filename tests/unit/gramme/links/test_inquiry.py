"""Calls about a process itself: who is answered, and what is wrong with one of them stays there."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable

import pytest
from grpc import StatusCode, aio

from gramme.links.api import Answerer, Identity, Refused
from gramme.links.inquiry import NoAnswer, inquire
from gramme.links.listener import Listener
from gramme.links.security import Secret, Security
from gramme.links.services import ADMINISTRATION, PEER, STATUS, Call
from tests.support.link_ends import SECRET, A, B, Host, dialling, free_port, link_of
from tests.unit.gramme.links.strangers import OURS

TIMEOUT_S = 5.0


@contextlib.asynccontextmanager
async def describing(
    describe: Callable[[Identity], bytes] | None, host: Host | None = None
) -> AsyncIterator[str]:
    accept = (host or Host()).accept
    answerers: dict[Call, Answerer] = {}
    if describe is not None:

        async def say(peer: Identity, question: bytes) -> bytes:
            return describe(peer) + question

        answerers[STATUS] = say
    listener = Listener(B, SECRET, {PEER: accept}, answerers=answerers)
    port = await listener.start("127.0.0.1", 0)
    try:
        yield f"127.0.0.1:{port}"
    finally:
        await listener.close()


async def test_who_asks_is_told() -> None:
    asked: list[Identity] = []

    def describe(peer: Identity) -> bytes:
        asked.append(peer)
        return b"well"

    async with describing(describe) as address:
        assert await inquire(STATUS, address, A, SECRET, TIMEOUT_S) == b"well"
    assert asked == [A]


async def test_a_question_comes_with_the_call() -> None:
    async with describing(lambda peer: b"you asked ") as address:
        assert await inquire(STATUS, address, A, SECRET, TIMEOUT_S, b"why") == b"you asked why"


@pytest.mark.parametrize(
    "security", [Security(), Security(Secret(b"wrong"))], ids=["none", "wrong"]
)
async def test_who_does_not_know_the_secret_is_told_nothing(security: Security) -> None:
    async with describing(lambda peer: b"well") as address:
        with pytest.raises(NoAnswer, match="the cluster's secret is wrong or missing"):
            await inquire(STATUS, address, A, security, TIMEOUT_S)


async def test_a_refusal_says_why() -> None:
    def refuse(peer: Identity) -> bytes:
        raise Refused("another release")

    async with describing(refuse) as address:
        with pytest.raises(NoAnswer, match="another release"):
            await inquire(STATUS, address, A, SECRET, TIMEOUT_S)


async def test_nobody_at_an_address_is_said_at_once() -> None:
    with pytest.raises(NoAnswer, match="cannot be reached"):
        await inquire(STATUS, f"127.0.0.1:{free_port()}", A, SECRET, TIMEOUT_S)


async def test_who_is_silent_is_waited_for_in_vain() -> None:
    silent = await asyncio.start_server(lambda reader, writer: None, "127.0.0.1", 0)
    async with silent:
        port = silent.sockets[0].getsockname()[1]
        with pytest.raises(NoAnswer, match=r"no answer within 0\.2 s"):
            await inquire(STATUS, f"127.0.0.1:{port}", A, SECRET, 0.2)


async def test_garbage_ends_its_own_call_only() -> None:
    host = Host()
    async with describing(lambda peer: b"well", host) as address, dialling(address) as near:
        await near.hears("up")
        async with aio.insecure_channel(address) as channel:
            ask: aio.UnaryUnaryMultiCallable[bytes, bytes]
            ask = channel.unary_unary(f"/{ADMINISTRATION}/{STATUS.method}")
            with pytest.raises(aio.AioRpcError) as failure:
                await ask(b"\xff\xff\xff", metadata=OURS)
            assert failure.value.code() is StatusCode.INVALID_ARGUMENT
            assert await ask(b"", metadata=OURS)

        assert link_of(near).send(b"still here")
        await (await host.owner()).hears("frame")
        assert "down" not in near.told


async def test_a_mistake_of_ours_ends_its_own_call_and_is_reported() -> None:
    reported: list[str] = []
    asyncio.get_running_loop().set_exception_handler(
        lambda loop, context: reported.append(context["message"])
    )

    def fail(peer: Identity) -> bytes:
        raise AssertionError("oops")

    async with describing(fail) as address:
        with pytest.raises(NoAnswer, match="a mistake of this end"):
            await inquire(STATUS, address, A, SECRET, TIMEOUT_S)
    assert reported == ["a call failed"]


async def test_who_has_nothing_to_report_is_not_asked() -> None:
    async with describing(None) as address:
        with pytest.raises(NoAnswer):
            await inquire(STATUS, address, A, SECRET, TIMEOUT_S)
