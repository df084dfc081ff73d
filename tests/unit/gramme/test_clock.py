"""Clocks, and those who wait for them."""

from __future__ import annotations

import asyncio
from threading import Thread

import pytest

from gramme.clock import LATEST_MS, CannotMove, SystemClock, VirtualClock, iso_of
from tests.support.deterministic import DeterministicLoop

NOW_MS = 1_893_456_000_000
DAY_MS = 86_400_000


class Machine(SystemClock):
    """The clock of a machine whose time is the loop's, until somebody sets it."""

    def __init__(self) -> None:
        self.set_by_ms = 0

    def now_ms(self) -> int:
        return NOW_MS + self.set_by_ms + int(asyncio.get_running_loop().time() * 1000)


def test_virtual_time_stands_still_until_it_is_moved() -> None:
    clock = VirtualClock(NOW_MS)

    clock.advance(250)
    clock.move_to(NOW_MS + 1_000)

    assert clock.now_ms() == clock.now_ms() == NOW_MS + 1_000


@pytest.mark.parametrize(
    ("by_ms", "why"), [(-1, "forward only"), (LATEST_MS, "time ends at 9999-12-31")]
)
def test_what_cannot_be_moved_is_left_where_it_was(by_ms: int, why: str) -> None:
    kept: list[int] = []
    clock = VirtualClock(NOW_MS, kept.append)

    with pytest.raises(CannotMove, match=why):
        clock.advance(by_ms)

    assert (clock.now_ms(), kept) == (NOW_MS, [])


def test_a_time_is_kept_before_anybody_sees_it() -> None:
    seen: list[tuple[int, int]] = []
    clock = VirtualClock(NOW_MS, lambda now_ms: seen.append((now_ms, clock.now_ms())))

    clock.advance(DAY_MS)

    assert seen == [(NOW_MS + DAY_MS, NOW_MS)]


def test_who_waits_for_a_virtual_clock_goes_on_when_it_is_there() -> None:
    async def wait() -> list[float]:
        loop, clock = asyncio.get_running_loop(), VirtualClock(NOW_MS)
        waiting = asyncio.create_task(clock.wait_until(NOW_MS + DAY_MS))
        ended: list[float] = []
        waiting.add_done_callback(lambda _: ended.append(loop.time()))
        await asyncio.sleep(5.0)
        clock.advance(DAY_MS - 1)
        await asyncio.sleep(5.0)
        clock.advance(1)
        await waiting
        return ended

    assert DeterministicLoop().run(wait()) == [pytest.approx(10.0, abs=0.1)]


def test_a_virtual_clock_may_be_moved_by_another_thread() -> None:
    async def wait() -> None:
        clock = VirtualClock(NOW_MS)
        thread = Thread(target=clock.advance, args=(DAY_MS,))
        waiting = asyncio.create_task(clock.wait_until(NOW_MS + DAY_MS))
        await asyncio.sleep(0)
        thread.start()
        await waiting
        thread.join()

    asyncio.run(asyncio.wait_for(wait(), 10.0))


@pytest.mark.parametrize("clock", [VirtualClock(NOW_MS), SystemClock()], ids=["virtual", "system"])
async def test_nobody_waits_for_what_has_been(clock: VirtualClock | SystemClock) -> None:
    waiting = clock.wait_until(clock.now_ms())

    with pytest.raises(StopIteration):
        waiting.send(None)


def test_who_waits_for_the_systems_clock_sleeps_until_then() -> None:
    async def wait() -> float:
        await Machine().wait_until(NOW_MS + DAY_MS)
        return asyncio.get_running_loop().time()

    assert DeterministicLoop().run(wait()) == pytest.approx(DAY_MS / 1000, abs=0.01)


def test_who_waits_for_the_systems_clock_notices_that_it_was_set() -> None:
    async def wait() -> float:
        machine = Machine()
        waiting = asyncio.create_task(machine.wait_until(NOW_MS + DAY_MS))
        await asyncio.sleep(1.0)
        machine.set_by_ms = DAY_MS
        await waiting
        return asyncio.get_running_loop().time()

    assert DeterministicLoop().run(wait()) == pytest.approx(10.0, abs=0.1)


@pytest.mark.parametrize(
    ("at_ms", "iso"),
    [
        (0, "1970-01-01T00:00:00.000Z"),
        (NOW_MS + 999, "2030-01-01T00:00:00.999Z"),
        (LATEST_MS, "9999-12-31T23:59:59.999Z"),
    ],
)
def test_a_time_is_written_in_utc(at_ms: int, iso: str) -> None:
    assert iso_of(at_ms) == iso
