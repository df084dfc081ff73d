"""A process of the loop that is killed takes no further step, and one that is paused takes its steps later, in their order."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from random import Random
from typing import Any

import pytest

from tests.support.deterministic import Unhandled
from tests.support.processes import Process, ProcessLoop, current_process

Scenario = Callable[[ProcessLoop, Process], Coroutine[Any, Any, None]]


def simulated(scenario: Scenario, shuffle: Random | None = None) -> None:
    loop = ProcessLoop(shuffle)
    loop.run(scenario(loop, loop.process("p")))


def test_what_a_process_begins_belongs_to_it() -> None:
    async def scenario(loop: ProcessLoop, process: Process) -> None:
        owners: list[Process | None] = []

        async def child() -> None:
            await asyncio.sleep(0.1)
            owners.append(current_process())
            loop.call_later(0.1, lambda: owners.append(current_process()))

        async def parent() -> None:
            async with asyncio.TaskGroup() as tasks:
                tasks.create_task(child())

        await process.create_task(parent())
        await asyncio.sleep(1)

        assert owners == [process, process]
        assert current_process() is None

    simulated(scenario)


def test_killed_process_takes_no_step_not_even_to_clean_up() -> None:
    async def scenario(loop: ProcessLoop, process: Process) -> None:
        done: list[str] = []

        async def work() -> None:
            try:
                while True:
                    await asyncio.sleep(0.1)
                    done.append("worked")
            finally:
                done.append("cleaned up")

        process.create_task(work())
        await asyncio.sleep(0.25)
        process.kill()
        await asyncio.sleep(1)

        assert done == ["worked", "worked"]

    simulated(scenario)


def test_process_that_kills_itself_gets_to_the_end_of_its_step_only() -> None:
    async def scenario(loop: ProcessLoop, process: Process) -> None:
        done: list[str] = []

        async def work() -> None:
            process.kill()
            done.append("this step")
            await asyncio.sleep(0)
            done.append("the next")

        process.create_task(work())
        await asyncio.sleep(1)

        assert done == ["this step"]

    simulated(scenario)


def test_failure_of_a_task_of_the_dead_is_nobodys_mistake() -> None:
    async def scenario(loop: ProcessLoop, process: Process) -> None:
        async def fails() -> None:
            process.kill()
            raise ValueError

        process.create_task(fails())
        await asyncio.sleep(1)

    simulated(scenario)


def test_failure_of_a_task_of_the_living_is_one() -> None:
    async def scenario(loop: ProcessLoop, process: Process) -> None:
        async def fails() -> None:
            raise ValueError

        process.create_task(fails())
        await asyncio.sleep(1)

    with pytest.raises(Unhandled):
        simulated(scenario)


def test_paused_process_goes_on_where_it_was_and_its_timers_are_late() -> None:
    async def scenario(loop: ProcessLoop, process: Process) -> None:
        ticks: list[float] = []

        async def work() -> None:
            while True:
                await asyncio.sleep(1)
                ticks.append(loop.time())

        process.create_task(work())
        await asyncio.sleep(1.5)
        process.pause()
        await asyncio.sleep(2)
        process.resume()
        await asyncio.sleep(1.25)

        assert ticks == [1.0, 3.5, 4.5]
        process.kill()

    simulated(scenario)


@pytest.mark.parametrize("seed", range(5))
def test_what_happens_to_a_paused_process_keeps_its_order(seed: int) -> None:
    async def scenario(loop: ProcessLoop, process: Process) -> None:
        happened: list[int] = []

        def event(number: int) -> Callable[[], None]:
            return lambda: happened.append(number)

        process.pause()
        for number in range(5):
            assert not process.take(event(number))
        process.resume()
        # It has not caught up yet.
        assert not process.take(event(5))
        await asyncio.sleep(0.1)
        assert process.take(event(6))

        assert happened == list(range(7))

    simulated(scenario, Random(seed))
