"""The loop gives one run for one seed, moves time by itself, and says why a run cannot go on."""

from __future__ import annotations

import asyncio
import gc
import os
import subprocess
import sys
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from random import Random
from typing import Any

import pytest

from tests.support.deterministic import Deadlock, DeterministicLoop, TooManySteps, Unhandled
from tests.support.not_simulated import NotSimulated

ROOT = Path(__file__).parents[3]


async def bustle(loop: DeterministicLoop, seed: int) -> None:
    """Something of everything whose order could differ between runs."""
    random = Random(seed)
    queue: asyncio.Queue[int] = asyncio.Queue(3)
    begun = asyncio.Event()

    async def produce(name: str) -> None:
        await begun.wait()
        for number in range(10):
            await asyncio.sleep(random.choice([0, 0.001, 0.002]))
            await queue.put(number)
            loop.trace(f"{name} put {number}")

    async def consume(name: str) -> None:
        while True:
            try:
                async with asyncio.timeout(random.random() / 100):
                    number = await queue.get()
            except TimeoutError:
                loop.trace(f"{name} got nothing")
            else:
                loop.trace(f"{name} got {number}")

    async with asyncio.TaskGroup() as group:
        consumers = {group.create_task(consume(f"consumer {n}")) for n in range(7)}
        producers = {group.create_task(produce(f"producer {n}")) for n in range(5)}
        begun.set()
        await asyncio.gather(*producers)
        waiters = {loop.create_future() for _ in range(20)}
        for number, waiter in enumerate(waiters):
            loop.call_later(random.random(), waiter.set_result, number)
        done, _ = await asyncio.wait(waiters)
        loop.trace(" ".join(str(one.result()) for one in done))
        for consumer in consumers:
            loop.trace(consumer.get_name())
            consumer.cancel()


def digest_of(seed: int, shuffle: bool) -> str:
    loop = DeterministicLoop(Random(seed) if shuffle else None)
    loop.run(bustle(loop, seed))
    return loop.digest


@pytest.mark.parametrize("shuffle", [False, True], ids=["in order", "shuffled"])
def test_one_seed_gives_one_trace(shuffle: bool) -> None:
    first = digest_of(1, shuffle)
    ballast = [object() for _ in range(1000)]

    assert digest_of(1, shuffle) == first
    assert digest_of(2, shuffle) != first
    assert ballast


@pytest.mark.parametrize("hash_seed", ["1", "2"])
def test_a_trace_is_the_same_in_another_process(hash_seed: str) -> None:
    script = (
        "from tests.unit.support.test_deterministic import digest_of; print(digest_of(3, True))"
    )
    environment = {**os.environ, "PYTHONHASHSEED": hash_seed, "PYTHONPATH": str(ROOT)}

    elsewhere = subprocess.run(
        [sys.executable, "-c", script],
        env=environment,
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    ).stdout.strip()

    assert elsewhere == digest_of(3, True)


def test_timers_run_in_the_order_of_their_time_and_take_none() -> None:
    loop = DeterministicLoop()
    seen: list[tuple[str, float]] = []

    async def main() -> None:
        for name, delay in [("last", 3600.0), ("first", 0.5), ("second", 0.5), ("third", 7.0)]:
            loop.call_later(delay, ring, name)
        await asyncio.sleep(4000)

    def ring(name: str) -> None:
        seen.append((name, loop.time()))

    loop.run(main())

    assert seen == [("first", 0.5), ("second", 0.5), ("third", 7.0), ("last", 3600.0)]


def test_time_does_not_move_for_a_cancelled_timer() -> None:
    loop = DeterministicLoop()

    async def main() -> float:
        for _ in range(500):
            loop.call_later(5, print).cancel()
        async with asyncio.timeout(10):
            await asyncio.sleep(1)
        await asyncio.sleep(1)
        return loop.time()

    assert loop.run(main()) == 2


def test_callbacks_run_as_they_were_given_unless_shuffled() -> None:
    def order(shuffle: Random | None) -> list[int]:
        loop = DeterministicLoop(shuffle)
        seen: list[int] = []

        async def main() -> None:
            for number in range(20):
                loop.call_soon(seen.append, number)
            await asyncio.sleep(1)

        loop.run(main())
        return seen

    assert order(None) == list(range(20))
    assert order(Random(1)) != order(Random(2))
    assert sorted(order(Random(1))) == list(range(20))


def test_shuffling_keeps_what_becomes_ready_during_a_turn_for_a_later_one() -> None:
    for seed in range(20):
        loop = DeterministicLoop(Random(seed))
        seen: list[str] = []

        async def main(loop: DeterministicLoop = loop, seen: list[str] = seen) -> None:
            loop.call_soon(lambda: loop.call_soon(seen.append, "later"))
            loop.call_soon(seen.append, "sooner")
            await asyncio.sleep(1)

        loop.run(main())

        assert seen == ["sooner", "later"]


def test_a_set_of_tasks_has_one_order() -> None:
    async def main() -> list[str]:
        async with asyncio.TaskGroup() as group:
            tasks = {group.create_task(asyncio.sleep(0), name=str(n)) for n in range(100)}
        return [task.get_name() for task in tasks]

    first = DeterministicLoop().run(main())
    second = DeterministicLoop().run(main())

    assert first == second
    assert sorted(first, key=int) == [str(n) for n in range(100)]


def test_a_failing_task_cancels_its_group() -> None:
    loop = DeterministicLoop()

    async def fail() -> None:
        await asyncio.sleep(1)
        raise ValueError("broken")

    async def wait() -> None:
        try:
            await asyncio.sleep(100)
        finally:
            loop.trace("cancelled")

    async def main() -> None:
        async with asyncio.TaskGroup() as group:
            group.create_task(wait())
            group.create_task(fail())

    with pytest.raises(ExceptionGroup) as failure:
        loop.run(main())

    assert failure.group_contains(ValueError, match="broken")
    assert list(loop.kept) == ["1.000000000 cancelled"]


def test_what_is_left_at_the_end_is_cancelled() -> None:
    loop = DeterministicLoop()

    async def linger() -> None:
        try:
            await asyncio.sleep(100)
        finally:
            loop.trace("cancelled")

    async def main() -> asyncio.Task[None]:
        task = asyncio.create_task(linger())
        await asyncio.sleep(1)
        return task

    assert loop.run(main()).cancelled()
    assert list(loop.kept) == ["1.000000000 cancelled"]
    assert loop.is_closed()


def test_a_deadlock_names_who_waits_and_where() -> None:
    loop = DeterministicLoop()

    async def wait_for(event: asyncio.Event) -> None:
        await event.wait()

    async def main() -> None:
        async with asyncio.TaskGroup() as group:
            group.create_task(wait_for(asyncio.Event()), name="the follower")

    with pytest.raises(Deadlock, match=r"the follower, in Event.wait at locks.py:\d+"):
        loop.run(main())


def test_going_round_in_circles_reaches_the_step_limit() -> None:
    loop = DeterministicLoop(steps_max=5_000)

    async def spin() -> None:
        while True:
            await asyncio.sleep(0)

    async def main() -> None:
        async with asyncio.TaskGroup() as group:
            group.create_task(spin(), name="the spinner")

    with pytest.raises(TooManySteps, match=r"more than 5000 steps(.|\n)*1000 times the spinner"):
        loop.run(main())


def test_an_exception_in_a_callback_fails_the_run() -> None:
    loop = DeterministicLoop()

    async def main() -> None:
        loop.call_later(1, lambda: 1 // 0)
        await asyncio.sleep(100)

    with pytest.raises(Unhandled, match="ZeroDivisionError"):
        loop.run(main())

    assert loop.time() == 1


def test_an_exception_that_nobody_asked_a_task_for_fails_the_run() -> None:
    loop = DeterministicLoop()

    async def fail() -> None:
        raise ValueError("broken")

    async def main() -> None:
        forgotten = asyncio.create_task(fail())
        await asyncio.sleep(1)
        del forgotten
        await asyncio.sleep(100)

    with pytest.raises(Unhandled, match=r"never retrieved.*broken"):
        loop.run(main())


def test_a_failure_shows_the_end_of_the_trace() -> None:
    loop = DeterministicLoop(lines_kept=2)

    async def main() -> None:
        for number in range(5):
            loop.trace(f"line {number}")
        raise ValueError("broken")

    with pytest.raises(ValueError, match="broken") as failure:
        loop.run(main())

    assert failure.value.__notes__[-1].endswith("0.000000000 line 3\n0.000000000 line 4")


@pytest.mark.parametrize(
    "use",
    [
        lambda loop: loop.run_in_executor(None, print),
        lambda loop: loop.call_soon_threadsafe(print),
        lambda loop: asyncio.to_thread(print),
        lambda loop: asyncio.open_connection("localhost", 80),
        lambda loop: asyncio.start_server(print),
        lambda loop: asyncio.create_subprocess_exec("true"),
        lambda loop: loop.add_signal_handler(15, print),
    ],
    ids=["executor", "from a thread", "to a thread", "connect", "serve", "process", "signal"],
)
def test_the_world_outside_is_refused(use: Callable[[Any], Any]) -> None:
    loop = DeterministicLoop()

    async def main() -> None:
        await use(loop)

    with pytest.raises(NotSimulated):
        loop.run(main())


def test_a_generator_left_in_the_middle_is_closed() -> None:
    loop = DeterministicLoop()

    async def count() -> AsyncIterator[int]:
        try:
            for number in range(10):
                yield number
        finally:
            await asyncio.sleep(1)
            loop.trace("closed")

    async def main() -> None:
        async for number in count():
            if number == 3:
                break
        await asyncio.sleep(5)

    loop.run(main())

    assert list(loop.kept) == ["1.000000000 closed"]


def test_the_collector_runs_at_fixed_steps_only_and_afterwards_as_before() -> None:
    loop = DeterministicLoop()

    async def main() -> bool:
        return gc.isenabled()

    assert not loop.run(main())
    assert gc.isenabled()


def test_an_asyncio_runner_takes_the_loop() -> None:
    async def main() -> float:
        await asyncio.sleep(3)
        return asyncio.get_running_loop().time()

    with asyncio.Runner(loop_factory=DeterministicLoop) as runner:
        assert runner.run(main()) == 3
