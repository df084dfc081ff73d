"""Running a coroutine without a task."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Generator
from typing import Any

import pytest
import uvloop

from gramme.drive import drive

Outcome = tuple[str, int | None, BaseException | None]


class Finished:
    """Remembers what `drive` reports."""

    def __init__(self) -> None:
        self.outcomes: list[Outcome] = []

    def __call__(self, tag: str, value: int | None, error: BaseException | None) -> None:
        self.outcomes.append((tag, value, error))


class Bare:
    """An awaitable that yields whatever it is given."""

    def __init__(self, thing: object) -> None:
        self.thing = thing

    def __await__(self) -> Generator[Any, Any, None]:
        yield self.thing


def run(scenario: Callable[[], Awaitable[None]]) -> None:
    async def main() -> None:
        await scenario()

    uvloop.run(main())


async def answer(awaited: Awaitable[int]) -> int:
    return await awaited + 1


def test_an_answer_that_waits_for_nothing_is_there_at_once() -> None:
    finished = Finished()

    async def immediate() -> int:
        return 7

    drive(immediate(), finished, "tag")

    assert finished.outcomes == [("tag", 7, None)]


def test_an_exception_is_handed_over_at_once() -> None:
    finished = Finished()
    error = ValueError("no")

    async def wrong() -> int:
        raise error

    drive(wrong(), finished, "tag")

    assert finished.outcomes == [("tag", None, error)]


def test_a_coroutine_goes_on_when_its_future_is_done() -> None:
    async def scenario() -> None:
        finished = Finished()
        future: asyncio.Future[int] = asyncio.get_running_loop().create_future()

        drive(answer(future), finished, "tag")
        before = list(finished.outcomes)
        future.set_result(1)
        await asyncio.sleep(0)

        assert before == []
        assert finished.outcomes == [("tag", 2, None)]

    run(scenario)


def test_the_exception_of_a_future_reaches_the_coroutine() -> None:
    async def scenario() -> None:
        finished = Finished()
        future: asyncio.Future[int] = asyncio.get_running_loop().create_future()
        error = OSError("lost")

        drive(answer(future), finished, "tag")
        future.set_exception(error)
        await asyncio.sleep(0)

        assert finished.outcomes == [("tag", None, error)]

    run(scenario)


def test_a_cancelled_future_is_reported_as_such() -> None:
    async def scenario() -> None:
        finished = Finished()
        future: asyncio.Future[int] = asyncio.get_running_loop().create_future()

        drive(answer(future), finished, "tag")
        future.cancel()
        await asyncio.sleep(0)

        assert isinstance(finished.outcomes[0][2], asyncio.CancelledError)

    run(scenario)


def test_a_task_a_done_future_and_a_bare_turn_can_all_be_awaited() -> None:
    async def scenario() -> None:
        finished = Finished()
        loop = asyncio.get_running_loop()
        done = loop.create_future()
        done.set_result(1)

        async def one_more() -> int:
            await asyncio.sleep(0)
            return 1

        async def many() -> int:
            total: int = await done
            for _ in range(3):
                await asyncio.sleep(0)
                total += await loop.create_task(one_more())
            return total

        drive(many(), finished, "tag")
        while not finished.outcomes:
            await asyncio.sleep(0)

        assert finished.outcomes == [("tag", 4, None)]

    run(scenario)


@pytest.mark.parametrize("thing", [42, "text", object()])
def test_yielding_what_is_no_future_is_a_mistake_the_coroutine_is_told_of(thing: object) -> None:
    finished = Finished()

    async def mistaken() -> int:
        await Bare(thing)
        return 1

    drive(mistaken(), finished, "tag")

    assert isinstance(finished.outcomes[0][2], RuntimeError)


def test_a_coroutine_may_survive_its_mistake() -> None:
    finished = Finished()

    async def mistaken() -> int:
        try:
            await Bare(42)
        except RuntimeError:
            return 1
        return 2

    drive(mistaken(), finished, "tag")

    assert finished.outcomes == [("tag", 1, None)]


def test_an_exception_of_finish_is_not_taken_for_the_coroutines() -> None:
    calls: list[BaseException | None] = []

    def broken(tag: str, value: int | None, error: BaseException | None) -> None:
        calls.append(error)
        raise ArithmeticError

    async def immediate() -> int:
        return 7

    with pytest.raises(ArithmeticError):
        drive(immediate(), broken, "tag")

    assert calls == [None]
