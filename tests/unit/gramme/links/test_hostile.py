"""What is wrong with one stream, or one connection, stays there."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator
from random import Random

import grpc
import pytest
from grpc import StatusCode, aio

from gramme.links.limits import Limits
from gramme.links.metadata import introduction
from gramme.links.services import PEER
from tests.support.link_ends import (
    FILLING_BYTES,
    B,
    Host,
    dialling,
    fill,
    link_of,
    listening,
)
from tests.unit.gramme.links.strangers import (
    OURS,
    calling,
    connecting,
    http2_call,
    http2_frame,
)

LIMITS = Limits(frame_bytes_max=100_000, queue_bytes_max=1_000_000)
DATA = 0


@contextlib.asynccontextmanager
async def unharmed(host: Host) -> AsyncIterator[str]:
    """An address to do harm to, beside a link that must not notice: neither end is told that it is down."""
    async with listening(host.accept, limits=LIMITS) as address, dialling(address) as near:
        await near.hears("up")
        far = await host.owner()
        far.echoes = True
        yield address
        for turn in range(3):
            assert link_of(near).send(b"%d" % turn)
            await near.hears("frame", turn + 1)
        assert "down" not in near.told + far.told


@pytest.mark.parametrize(
    "garbage",
    [
        b"GET / HTTP/1.1\r\nHost: x\r\n\r\n",
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + bytes(500),
        Random(7).randbytes(100_000),
        b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + Random(8).randbytes(10_000),
        http2_call(OURS) + http2_frame(DATA, 0, 3, b"a stream that was never begun"),
        http2_call(OURS) + Random(9).randbytes(10_000),
    ],
    ids=["HTTP/1", "TLS", "random", "random after preface", "other stream", "random in a call"],
)
async def test_garbage_ends_its_own_connection(garbage: bytes) -> None:
    host = Host()
    async with unharmed(host) as address, connecting(address) as stranger:
        with contextlib.suppress(OSError):
            stranger.writer.write(garbage)
            await stranger.writer.drain()
            stranger.writer.write_eof()

        await stranger.is_closed_by_the_other_end()
        assert all(owner.frames == [] for owner in host.owners[1:])


async def test_a_truncated_frame_is_no_frame() -> None:
    host = Host()
    announced = b"\x00" + (5_000).to_bytes(4)
    async with unharmed(host) as address, connecting(address) as stranger:
        begun = http2_call(OURS) + http2_frame(DATA, 0, 1, announced + PEER.encode(b"x" * 4_000))
        stranger.writer.write(begun)
        far = await host.owner(1)
        await far.hears("up")

        stranger.writer.write_eof()
        await far.hears("down")

        assert far.frames == []


async def test_too_large_a_frame_ends_its_stream() -> None:
    host = Host()
    async with unharmed(host) as address, calling(address) as call:
        await (await host.owner(1)).hears("up")
        with contextlib.suppress(aio.AioRpcError, asyncio.InvalidStateError):
            await call.write(PEER.encode(bytes(1_000_000)))

        assert await call.code() is StatusCode.RESOURCE_EXHAUSTED
        far = await host.owner(1)
        await far.hears("down")
        assert far.frames == []


async def test_what_is_no_message_ends_its_stream() -> None:
    host = Host()
    async with unharmed(host) as address, calling(address) as call:
        await call.write(b"\xff\xff\xff\xff")

        assert await call.code() is StatusCode.ABORTED
        assert await call.details() == "what came was not a frame"
        far = await host.owner(1)
        await far.hears("down")
        assert far.downs[0].reason == "what came was not a frame"


async def test_a_peer_that_stops_reading_fills_its_own_queue_and_no_other() -> None:
    host = Host()
    async with unharmed(host) as address, calling(address):
        stalled = await host.owner(1)
        await stalled.hears("up")

        taken = await fill(stalled)

        assert link_of(stalled).queued_bytes <= LIMITS.queue_bytes_max
        assert taken * FILLING_BYTES > LIMITS.queue_bytes_max
        assert not link_of(stalled).idle


async def test_a_link_to_a_stalled_peer_can_be_closed_at_once() -> None:
    host = Host()
    async with unharmed(host) as address, calling(address):
        stalled = await host.owner(1)
        await stalled.hears("up")
        await fill(stalled)

        link_of(stalled).close("too slow")

        assert link_of(stalled).queued_bytes == 0
        assert "down" not in stalled.told


async def test_what_is_queued_when_a_stream_breaks_is_dropped_and_counted() -> None:
    host = Host()
    async with unharmed(host) as address:
        async with calling(address):
            stalled = await host.owner(1)
            await stalled.hears("up")
            taken = await fill(stalled)
        await stalled.hears("down")

        assert LIMITS.queue_bytes_max // FILLING_BYTES - 1 <= stalled.downs[0].dropped <= taken
        assert link_of(stalled).queued_bytes == 0


async def test_a_listener_that_stops_reading_holds_up_only_who_dialled_it() -> None:
    async with listening_deaf() as deaf, unharmed(Host()), dialling(deaf, limits=LIMITS) as near:
        await near.hears("up")

        await fill(near)

        assert LIMITS.queue_bytes_max - 2 * FILLING_BYTES <= link_of(near).queued_bytes
        assert link_of(near).queued_bytes <= LIMITS.queue_bytes_max


async def test_who_listens_and_never_answers_is_given_up_after_a_while() -> None:
    limits = Limits(connect_seconds=0.2)
    mute = await asyncio.start_server(lambda *_: None, "127.0.0.1", 0)
    async with mute:
        port = mute.sockets[0].getsockname()[1]
        async with dialling(f"127.0.0.1:{port}", limits=limits) as near:
            await near.hears("down")

            assert near.downs[0].reason == "no answer within 0.2 s"
            assert not near.downs[0].refused


@contextlib.asynccontextmanager
async def listening_deaf() -> AsyncIterator[str]:
    """A listener that accepts and then reads nothing."""

    async def exchange(_requests: object, context: aio.ServicerContext[bytes, bytes]) -> None:
        await context.send_initial_metadata(introduction(B))
        await asyncio.Event().wait()

    method: grpc.RpcMethodHandler[bytes, bytes] = grpc.stream_stream_rpc_method_handler(exchange)
    server = aio.server()
    handler = grpc.method_handlers_generic_handler(PEER.name, {PEER.method: method})
    server.add_generic_rpc_handlers([handler])
    port = server.add_insecure_port("127.0.0.1:0")
    await server.start()
    try:
        yield f"127.0.0.1:{port}"
    finally:
        await server.stop(None)
