"""A link between two ends: up, frames, down, up again."""

from __future__ import annotations

import asyncio
from typing import cast

import pytest
from grpc import aio

from gramme.links.api import Identity
from gramme.links.limits import Limits
from gramme.links.listener import Accepted
from gramme.links.metadata import introduction
from gramme.links.services import PEER, STORAGE, Service
from gramme.links.stream import Stream
from tests.support.link_ends import A, B, Host, Owner, dialling, free_port, link_of, listening
from tests.unit.gramme.links.worlds import World, both


@pytest.mark.parametrize("service", [PEER, STORAGE], ids=["peer", "storage"])
async def test_both_ends_know_each_other_and_talk(service: Service) -> None:
    host = Host()
    async with (
        listening(host.accept, service=service) as address,
        dialling(address, service=service) as near,
    ):
        await near.hears("up")
        far = await host.owner()
        far.echoes = True

        assert link_of(near).send(b"hello")
        await near.hears("frame")

        assert (near.peer, far.peer) == (B, A)
        assert far.frames == near.frames == [b"hello"]


@both
async def test_frames_arrive_in_order_and_each_once(world: World) -> None:
    host = Host()
    frames = [b"%d" % number + b"x" * (number * 37 % 3000) for number in range(500)]
    async with world.listening(host.accept) as address, world.dialling(address) as near:
        await near.hears("up")
        far = await host.owner()
        far.echoes = True

        assert all(link_of(near).send(frame) for frame in frames)
        await near.hears("frame", len(frames))

        assert far.frames == near.frames == frames


@both
async def test_an_empty_frame_and_the_largest_one_arrive(world: World) -> None:
    host = Host()
    limits = Limits(frame_bytes_max=1_000_000, queue_bytes_max=2_000_000)
    async with (
        world.listening(host.accept, limits) as address,
        world.dialling(address, limits) as near,
    ):
        await near.hears("up")
        far = await host.owner()

        assert link_of(near).send(b"")
        assert link_of(near).send(bytes(1_000_000))
        await far.hears("frame", 2)

        assert [len(frame) for frame in far.frames] == [0, 1_000_000]


@both
async def test_too_large_a_frame_is_a_mistake_of_who_sends_it(world: World) -> None:
    host = Host()
    limits = Limits(frame_bytes_max=10)
    async with world.listening(host.accept) as address, world.dialling(address, limits) as near:
        await near.hears("up")

        with pytest.raises(ValueError, match="a frame of 11 bytes"):
            link_of(near).send(bytes(11))


@both
async def test_idle_is_told_when_all_is_written_so_that_frames_can_be_gathered(
    world: World,
) -> None:
    host = Host()
    async with world.listening(host.accept) as address, world.dialling(address) as near:
        await near.hears("up")
        link = link_of(near)
        assert link.idle

        link.send(b"first")
        link.send(b"second")
        assert not link.idle
        assert link.queued_bytes > len(b"firstsecond")
        await near.hears("idle")

        assert link.idle
        assert link.queued_bytes == 0
        assert near.told == ["up", "idle"]


@both
async def test_nothing_is_sent_on_a_link_that_is_down(world: World) -> None:
    async with world.dialling(world.nowhere()) as near:
        assert not link_of(near).send(b"lost")

        await near.hears("down")
        assert not link_of(near).send(b"lost")
        assert not link_of(near).up
        assert near.downs[0].dropped == 0


@both
async def test_a_dialled_link_comes_up_when_the_other_end_does_and_again(world: World) -> None:
    address = world.nowhere()
    host = Host()
    async with world.dialling(address) as near:
        await near.hears("down")
        async with world.listening(host.accept, address=address):
            await near.hears("up")
            link_of(near).send(b"one")
            await (await host.owner(0)).hears("frame")
            downs = near.told.count("down")
        await near.hears("down", downs + 1)

        async with world.listening(host.accept, address=address):
            await near.hears("up", 2)
            link_of(near).send(b"two")
            second = await host.owner(1)
            await second.hears("frame")

            assert second.frames == [b"two"]


@both
async def test_a_full_queue_takes_nothing_and_then_empties(world: World) -> None:
    host = Host()
    limits = Limits(queue_bytes_max=100_000)
    async with world.listening(host.accept) as address, world.dialling(address, limits) as near:
        await near.hears("up")
        link = link_of(near)

        sent = 0
        while link.send(bytes(9_000)):
            sent += 1
        assert sent == 10
        assert link.queued_bytes <= limits.queue_bytes_max

        await near.hears("idle")
        assert link.send(b"one more")
        await (await host.owner()).hears("frame", sent + 1)


@both
async def test_an_accepted_link_is_over_when_its_dialler_has_gone(world: World) -> None:
    host = Host()
    async with world.listening(host.accept) as address:
        async with world.dialling(address) as near:
            await near.hears("up")
            far = await host.owner()
        await far.hears("down")

        assert far.downs[0].reason == "the connection is gone"
        assert not link_of(far).up
        assert not link_of(far).send(b"lost")


@both
async def test_an_accepted_link_is_closed_with_a_reason_and_dialled_again(world: World) -> None:
    host = Host()
    async with world.listening(host.accept) as address, world.dialling(address) as near:
        await near.hears("up")
        far = await host.owner()

        link_of(far).close("this node has left the cluster")
        await near.hears("down")

        assert near.downs[0].reason == "this node has left the cluster"
        assert not near.downs[0].refused
        assert "down" not in far.told
        await near.hears("up", 2)


@both
async def test_a_link_that_is_reset_goes_down_at_both_ends_and_comes_up_again(world: World) -> None:
    host = Host()
    async with world.listening(host.accept) as address, world.dialling(address) as near:
        await near.hears("up")
        far = await host.owner(0)

        link_of(near).reset("lost count")
        assert not link_of(near).send(b"too late")
        await near.hears("down")
        await far.hears("down")

        assert near.downs[0].reason == "lost count"
        await near.hears("up", 2)
        second = await host.owner(1)
        await second.hears("up")
        link_of(second).reset("cannot go on")
        await second.hears("down")
        await near.hears("down", 2)
        assert (near.downs[1].reason, second.downs[0].reason) == ("cannot go on", "cannot go on")


@both
async def test_a_closed_link_tells_its_owner_nothing_more(world: World) -> None:
    host = Host()
    async with world.listening(host.accept) as address, world.dialling(address) as near:
        await near.hears("up")
        far = await host.owner()

        link_of(near).close()
        await far.hears("down")

        assert near.told == ["up"]
        assert not link_of(near).send(b"lost")


@both
async def test_a_refusal_is_surfaced_and_asked_about_again(world: World) -> None:
    host = Host(refuse="another cluster: c2")
    async with world.listening(host.accept) as address, world.dialling(address) as near:
        await near.hears("down", 2)
        host.refuse = None
        await near.hears("up")

        assert near.downs[0].reason == "another cluster: c2"
        assert near.downs[0].refused
        assert near.told[:2] == ["down", "down"]


@both
async def test_who_is_asked_to_accept_sees_who_dials(world: World) -> None:
    seen: list[Identity] = []

    def accept(link: object, peer: Identity) -> Owner:
        seen.append(peer)
        return Owner()

    async with world.listening(accept) as address, world.dialling(address) as near:
        await near.hears("up")

        assert seen == [A]


@both
async def test_a_link_that_is_closed_when_it_is_accepted_never_comes_up(world: World) -> None:
    host = Host()

    def accept(link: object, peer: Identity) -> object:
        owner = host.accept(link, peer)  # type: ignore[arg-type]
        host.owners[-1].link.close("too busy")  # type: ignore[union-attr]
        return owner

    async with world.listening(accept) as address, world.dialling(address) as near:  # type: ignore[arg-type]
        await near.hears("down")

        assert near.downs[0].reason == "too busy"
        assert host.owners[0].told == []


async def test_the_waits_between_attempts_grow_to_a_bound_and_scatter() -> None:
    waits: list[float] = []
    enough = asyncio.Event()

    async def sleep(seconds: float) -> None:
        waits.append(seconds)
        if len(waits) == 12:
            enough.set()
            await asyncio.Event().wait()

    async with dialling(f"127.0.0.1:{free_port()}", sleep=sleep):
        async with asyncio.timeout(10):
            await enough.wait()

    limits = Limits()
    expected = limits.backoff_seconds_min
    for wait in waits:
        assert expected / 2 <= wait <= expected
        expected = min(expected * 2, limits.backoff_seconds_max)
    assert len(set(waits)) == len(waits)


async def test_closing_leaves_nothing_running() -> None:
    host = Host()
    before = asyncio.all_tasks()
    async with (
        listening(host.accept) as address,
        dialling(address) as near,
        dialling(f"127.0.0.1:{free_port()}") as never_up,
    ):
        await near.hears("up")
        await never_up.hears("down")
        link_of(near).send(b"on its way")

    # What grpc has begun for itself takes a turn or two to end.
    for _ in range(10):
        await asyncio.sleep(0)
    assert asyncio.all_tasks() == before


async def test_a_mistake_in_a_callback_reaches_the_loop_and_ends_that_link_only() -> None:
    class Careless(Owner):
        def on_frame(self, frame: bytes) -> None:
            if frame == b"surprise":
                raise AssertionError("what is this")
            super().on_frame(frame)

    mistakes: list[object] = []
    asyncio.get_running_loop().set_exception_handler(
        lambda _, context: mistakes.append(context.get("exception"))
    )
    careless: list[Careless] = []

    def accept(link: object, peer: Identity) -> Careless:
        careless.append(Careless())
        return careless[-1]

    async with listening(accept) as address, dialling(address) as near, dialling(address) as other:
        await near.hears("up")
        await other.hears("up")
        link_of(near).send(b"surprise")
        await near.hears("down")

        # grpc itself may have something to say about the loops of earlier tests.
        ours = [str(mistake) for mistake in mistakes if isinstance(mistake, AssertionError)]
        assert ours == ["what is this"]
        link_of(other).send(b"still there")
        for owner in careless:
            if "down" not in owner.told:
                await owner.hears("frame")
        assert "down" not in other.told


async def test_who_accepted_hears_of_a_dialler_that_left_before_it_was_welcome() -> None:
    class Leaving:
        """The call of a dialler that is gone by now."""

        async def send_initial_metadata(self, _: object) -> None:
            raise asyncio.CancelledError

    owner = Owner()
    context = cast(aio.ServicerContext[bytes, bytes], Leaving())
    stream = Stream(PEER, owner, Limits())

    with pytest.raises(asyncio.CancelledError):
        await Accepted().carry(context, introduction(B), stream, owner, A)

    assert owner.told == ["down"]
