"""Who gets in, and who is told what."""

from __future__ import annotations

import asyncio
import logging

import pytest
from grpc import StatusCode, aio

from gramme.links.limits import Limits
from gramme.links.listener import Listener, ListenRefused
from gramme.links.metadata import introduction
from gramme.links.security import Secret, Security, SecurityRefused
from gramme.links.services import PEER
from tests.support.link_ends import SECRET, A, B, Host, dialling, link_of, listening
from tests.unit.gramme.links.strangers import calling

NONE = Security()
WRONG = Security(Secret(b"correct horse battery stapler"))


@pytest.mark.parametrize("presented", [NONE, WRONG], ids=["missing", "wrong"])
async def test_who_does_not_know_the_secret_is_refused(
    presented: Security, caplog: pytest.LogCaptureFixture
) -> None:
    host = Host()
    with caplog.at_level(logging.INFO):
        async with listening(host.accept) as address, dialling(address, presented) as near:
            await near.hears("down")

    assert near.downs[0].reason == "the cluster's secret is wrong or missing"
    assert near.downs[0].refused
    assert host.owners == []
    assert "refused a stream from ipv4:127.0.0.1" in caplog.text
    assert "correct horse" not in caplog.text


async def test_nothing_is_read_of_what_comes_without_the_secret() -> None:
    host = Host()
    async with listening(host.accept) as address, calling(address, introduction(A)) as call:
        with pytest.raises((aio.AioRpcError, asyncio.InvalidStateError)):
            while True:
                await call.write(PEER.encode(b"let me in"))

        # INTERNAL is how grpc puts it when a write is under way.
        assert await call.code() in (StatusCode.UNAUTHENTICATED, StatusCode.INTERNAL)
        assert host.owners == []


async def test_who_does_not_say_who_it_is_is_refused() -> None:
    assert SECRET.secret is not None
    secret_only = introduction(A, SECRET.secret)[-1:]
    host = Host()
    async with listening(host.accept) as address, calling(address, secret_only) as call:
        assert await call.code() is StatusCode.FAILED_PRECONDITION
        assert await call.details() == "it is not said who speaks"
        assert host.owners == []


async def test_on_loopback_processes_may_do_without_a_secret() -> None:
    host = Host()
    async with listening(host.accept, NONE) as address, dialling(address, NONE) as near:
        await near.hears("up")


@pytest.mark.parametrize("host", ["", "0.0.0.0", "::"])
async def test_nobody_listens_beyond_the_machine_without_a_secret(host: str) -> None:
    listener = Listener(B, NONE, {PEER: Host().accept})

    with pytest.raises(ListenRefused) as refused:
        await listener.start(host, 0)

    assert str(refused.value) == (
        f"without the cluster's secret everybody who can reach {host or 'any address'} could do everything: "
        "give one, or listen on 127.0.0.1"
    )


async def test_with_a_secret_a_process_listens_beyond_the_machine() -> None:
    listener = Listener(B, SECRET, {PEER: Host().accept})
    try:
        port = await listener.start("0.0.0.0", 0)

        async with dialling(f"127.0.0.1:{port}") as near:
            await near.hears("up")
    finally:
        await listener.close()


async def test_a_port_has_one_listener() -> None:
    async with listening(Host().accept) as address:
        second = Listener(B, SECRET, {PEER: Host().accept})

        with pytest.raises(ListenRefused, match=f"^cannot listen on {address}: "):
            await second.start("127.0.0.1", int(address.rpartition(":")[2]))


async def test_a_host_that_does_not_exist_is_refused_in_one_line() -> None:
    listener = Listener(B, SECRET, {PEER: Host().accept})

    with pytest.raises(ListenRefused, match=r"^cannot listen on no\.such\.host\.invalid:0: .+$"):
        await listener.start("no.such.host.invalid", 0)


async def test_streams_beyond_the_limit_are_refused_and_the_others_stay() -> None:
    host = Host()
    limits = Limits(streams_max=1)
    async with listening(host.accept, limits=limits) as address, dialling(address) as first:
        await first.hears("up")
        async with dialling(address) as second:
            await second.hears("down")
            assert second.downs[0].reason == "too many streams are open here"

            link_of(first).send(b"still here")
            await (await host.owner()).hears("frame")

            link_of(first).close()
            await second.hears("up")


def test_a_secret_does_not_show_itself() -> None:
    assert SECRET.secret is not None
    assert "horse" not in f"{SECRET} {SECRET.secret!r} {SECRET.secret}"


def test_an_empty_secret_is_none() -> None:
    with pytest.raises(SecurityRefused, match=r"^the cluster's secret is empty$"):
        Secret(b"")
