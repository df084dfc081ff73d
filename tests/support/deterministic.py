"""An event loop on which the same code and the same seed give the same run, in any process, and no time passes.

Time is virtual: it stands still while anything is ready, then jumps to the next timer. There are no threads and no
sockets. Tasks and futures hash by serial number, so a set of them has one order; the loop makes them so. The garbage
collector runs at fixed steps only, because what it finds may run code. What remains for the code under test: no other
clock, no other randomness, and no order taken from a set of strings or of objects that hash by address.

asyncio promises that callbacks given to `call_soon` run in the order in which they were given, and nothing about timers
that are due at one moment, nor about which of several sockets is read first. With `shuffle` all that is ready when a turn
of the loop begins runs in any order. For timers and for wake-ups by different causes that is what a real process
may do; for two calls of `call_soon` in a row it is more, so leave it off where code relies on those. In either case what
becomes ready during a turn runs in a later one.

A run fails on the first exception that no task and no `await` takes, when all tasks wait and no timer is left, and after
`steps_max` steps. What left the loop open is cancelled, as `asyncio.run` does it.
"""

from __future__ import annotations

import asyncio
import gc
import sys
import weakref
from collections import Counter, deque
from collections.abc import AsyncGenerator, Awaitable, Callable, Coroutine, Generator, Iterator
from contextlib import contextmanager
from contextvars import Context
from hashlib import blake2b
from heapq import heapify, heappop, heappush
from random import Random
from typing import Any, TypeVar, TypeVarTuple

from tests.support.descriptions import described, place_of
from tests.support.not_simulated import NotSimulatedLoop
from tests.support.steps import Step, TimedStep

T = TypeVar("T")
Ts = TypeVarTuple("Ts")

# Some twenty seconds of callbacks that do little.
STEPS_MAX = 10_000_000
# At the step limit the callbacks of so many steps are counted, to say what goes round in circles.
STEPS_OBSERVED = 1_000
# Often enough for memory, and seldom enough for speed.
STEPS_BETWEEN_COLLECTIONS = 100_000
LINES_KEPT = 50
CANCELLED_TIMERS_MAX = 100
Timers = list[tuple[float, int, asyncio.TimerHandle]]


class SimulationFailed(AssertionError):
    """The run cannot go on."""


class Deadlock(SimulationFailed):
    """All tasks wait and nothing is left that could wake one."""


class TooManySteps(SimulationFailed):
    """The step limit was reached."""


class Unhandled(SimulationFailed):
    """An exception that nobody took."""


class SerialTask(asyncio.Task[T]):
    """Hashes alike on every run."""

    def __init__(self, serial: int, coroutine: Coroutine[Any, Any, T], **options: Any) -> None:
        # Before all else: asyncio puts the task into a set while it is made.
        self.serial = serial
        super().__init__(coroutine, **options)

    def __hash__(self) -> int:
        return self.serial


class SerialFuture(asyncio.Future[T]):
    """Hashes alike on every run."""

    def __init__(self, serial: int, loop: asyncio.AbstractEventLoop) -> None:
        self.serial = serial
        super().__init__(loop=loop)

    def __hash__(self) -> int:
        return self.serial


class DeterministicLoop(NotSimulatedLoop):
    """`run` a coroutine on it, once. `digest` tells runs apart; `kept` are the last lines of the trace."""

    def __init__(
        self,
        shuffle: Random | None = None,
        steps_max: int = STEPS_MAX,
        lines_kept: int = LINES_KEPT,
    ) -> None:
        self.steps = 0
        self.kept: deque[str] = deque(maxlen=lines_kept)
        self._hash = blake2b(digest_size=16)
        self._shuffle = shuffle
        self._steps_max = steps_max
        self._now = 0.0
        self._serial = 0
        self._ready: deque[asyncio.Handle] = deque()
        self._timers: Timers = []
        self._timers_cancelled = 0
        self._observed: Counter[str] = Counter()
        self._failure: Unhandled | None = None
        self._generators: dict[int, weakref.ref[AsyncGenerator[Any, Any]]] = {}
        self._running = False
        self._stopping = False
        self._closed = False

    # The trace.

    def trace(self, text: str) -> None:
        line = f"{self._now:.9f} {text}"
        self._hash.update(line.encode() + b"\n")
        self.kept.append(line)

    @property
    def digest(self) -> str:
        return self._hash.hexdigest()

    # Running.

    def run(self, main: Coroutine[Any, Any, T]) -> T:
        """Run `main` to its end, cancel what is left, and close the loop."""
        try:
            result = self.run_until_complete(main)
            self._cancel_tasks()
            self.run_until_complete(self.shutdown_asyncgens())
            # A failed task that nobody asked may be part of a cycle. All that this run made is still young.
            gc.collect(0)
            self._raise_failure()
        except BaseException as error:
            self._abandon()
            error.add_note(self._report())
            raise
        finally:
            self.close()
        return result

    def run_until_complete(self, future: Awaitable[T] | Generator[Any, None, T]) -> T:
        task: asyncio.Future[T] = asyncio.ensure_future(future, loop=self)  # type: ignore[arg-type]
        self._run_until(task.done)
        if not task.done():
            raise RuntimeError("the loop was stopped before the end")
        return task.result()

    def run_forever(self) -> None:
        self._run_until(lambda: False)

    def stop(self) -> None:
        self._stopping = True

    def is_running(self) -> bool:
        return self._running

    def is_closed(self) -> bool:
        return self._closed

    def close(self) -> None:
        if self._running:
            raise RuntimeError("the loop is running")
        self._closed = True
        self._ready.clear()
        self._timers.clear()

    def _run_until(self, ended: Callable[[], bool]) -> None:
        with self._in_charge():
            while not ended() and not self._stopping:
                self._turn()
            self._stopping = False

    @contextmanager
    def _in_charge(self) -> Iterator[None]:
        """Make this the running loop, and keep the collector from running when it likes."""
        if self._closed or self._running or asyncio._get_running_loop() is not None:
            raise RuntimeError("this loop is closed, or a loop is running already")
        collecting = gc.isenabled()
        hooks = sys.get_asyncgen_hooks()
        gc.disable()
        sys.set_asyncgen_hooks(firstiter=self._generator_begins, finalizer=self._generator_ends)
        asyncio._set_running_loop(self)
        self._running = True
        try:
            yield
        finally:
            self._running = False
            asyncio._set_running_loop(None)
            sys.set_asyncgen_hooks(*hooks)
            if collecting:
                gc.enable()

    def _turn(self) -> None:
        """Run all that is ready now; or, if nothing is, all that is due next."""
        ready = self._ready
        if self._timers_cancelled:
            self._drop_cancelled_timers()
        timers, now = self._timers, self._now
        if not ready:
            if not timers:
                raise Deadlock(f"nothing is left to happen, and these wait:\n{self._waiting()}")
            if timers[0][0] > now:
                now = self._now = timers[0][0]
        while timers and timers[0][0] <= now:
            ready.append(heappop(timers)[2])
        if self._shuffle is not None and len(ready) > 1:
            shuffled = list(ready)
            self._shuffle.shuffle(shuffled)
            self._ready = ready = deque(shuffled)
        for _ in range(len(ready)):
            handle = ready.popleft()
            if not handle._cancelled:
                self._step(handle)

    def _step(self, handle: Any) -> None:
        """What `handle._run()` does, and what is to be done before and after."""
        self.steps += 1
        if self.steps > self._steps_max - STEPS_OBSERVED:
            self._observe(handle)
        try:
            handle._context.run(handle._callback, *handle._args)
        except (SystemExit, KeyboardInterrupt):
            raise
        except BaseException as error:  # noqa: BLE001 - whatever it is, it ends the run
            self.call_exception_handler({"message": described(handle), "exception": error})
        if self.steps % STEPS_BETWEEN_COLLECTIONS == 0:
            gc.collect()
        if self._failure is not None:
            self._raise_failure()

    def _raise_failure(self) -> None:
        if self._failure is not None:
            failure, self._failure = self._failure, None
            raise failure

    def _observe(self, handle: asyncio.Handle) -> None:
        if self.steps > self._steps_max:
            busiest = "\n".join(
                f"  {count} times {what}" for what, count in self._observed.most_common(5)
            )
            raise TooManySteps(f"more than {self._steps_max} steps. Of the last:\n{busiest}")
        self._observed[described(handle)] += 1

    # What asyncio asks of a loop.

    def time(self) -> float:
        return self._now

    def call_soon(
        self,
        callback: Callable[[*Ts], object],
        *args: *Ts,
        context: Context | None = None,
    ) -> asyncio.Handle:
        handle = Step(callback, args, self, context)
        if self._closed:
            self._refuse_when_closed()
        self._ready.append(handle)
        return handle

    def call_later(
        self,
        delay: float,
        callback: Callable[[*Ts], object],
        *args: *Ts,
        context: Context | None = None,
    ) -> asyncio.TimerHandle:
        return self.call_at(self._now + delay, callback, *args, context=context)

    def call_at(
        self,
        when: float,
        callback: Callable[[*Ts], object],
        *args: *Ts,
        context: Context | None = None,
    ) -> asyncio.TimerHandle:
        handle = TimedStep(when, callback, args, self, context)
        if self._closed:
            self._refuse_when_closed()
        self._serial += 1
        heappush(self._timers, (when, self._serial, handle))
        return handle

    def _timer_handle_cancelled(self, handle: asyncio.TimerHandle) -> None:
        self._timers_cancelled += 1

    def create_future(self) -> asyncio.Future[Any]:
        return SerialFuture(self._next_serial(), self)

    def create_task(
        self,
        coro: Coroutine[Any, Any, T] | Generator[Any, None, T],
        *,
        name: str | None = None,
        context: Context | None = None,
        **options: Any,
    ) -> asyncio.Task[T]:
        if self._closed:
            self._refuse_when_closed()
        serial = self._next_serial()
        # asyncio would number unnamed tasks through all loops of the process.
        name = f"task {serial}" if name is None else name
        return SerialTask(serial, coro, loop=self, name=name, context=context, **options)  # type: ignore[arg-type]

    def get_task_factory(self) -> None:
        return None

    def get_exception_handler(self) -> None:
        return None

    def default_exception_handler(self, context: dict[str, Any]) -> None:
        self.call_exception_handler(context)

    def call_exception_handler(self, context: dict[str, Any]) -> None:
        if self._failure is None and not self._closed:
            error = context.get("exception")
            self._failure = Unhandled(f"{context.get('message')}: {error!r}")
            self._failure.__cause__ = error

    def get_debug(self) -> bool:
        return False

    def set_debug(self, enabled: bool) -> None:
        """There is nothing to watch: callbacks take no time here, and threads have no way in."""

    async def shutdown_default_executor(self, timeout: float | None = None) -> None:
        """There is none."""

    async def shutdown_asyncgens(self) -> None:
        while self._generators:
            _, reference = self._generators.popitem()
            generator = reference()
            if generator is not None:
                await generator.aclose()

    def _generator_begins(self, generator: AsyncGenerator[Any, Any]) -> None:
        self._generators[id(generator)] = weakref.ref(generator)

    def _generator_ends(self, generator: AsyncGenerator[Any, Any]) -> None:
        self._generators.pop(id(generator), None)
        if not self._closed:
            self.call_soon(self.create_task, generator.aclose())

    def _next_serial(self) -> int:
        self._serial += 1
        return self._serial

    def _refuse_when_closed(self) -> None:
        raise RuntimeError("the loop is closed")

    def _drop_cancelled_timers(self) -> None:
        """Before looking for the next timer: time must not move for one that will not run."""
        timers = self._timers
        while timers and timers[0][2].cancelled():
            heappop(timers)
            self._timers_cancelled -= 1
        if self._timers_cancelled > max(CANCELLED_TIMERS_MAX, len(timers) // 2):
            self._timers = [timer for timer in timers if not timer[2].cancelled()]
            heapify(self._timers)
            self._timers_cancelled = 0

    # The end.

    def _tasks(self) -> list[SerialTask[Any]]:
        tasks = [task for task in asyncio.all_tasks(self) if isinstance(task, SerialTask)]
        return sorted(tasks, key=lambda task: task.serial)

    def _cancel_tasks(self) -> None:
        tasks = self._tasks()
        for task in tasks:
            task.cancel("the run is over")
        self._run_until(lambda: all(task.done() for task in tasks))
        for task in tasks:
            if not task.cancelled() and (error := task.exception()) is not None:
                raise Unhandled(f"{task.get_name()}, when it was cancelled: {error!r}") from error

    def _abandon(self) -> None:
        """After a failure: give tasks a chance to clean up, and care for nothing they do."""
        self._steps_max = self.steps + STEPS_OBSERVED
        try:
            self._cancel_tasks()
        except (SimulationFailed, RuntimeError):
            self._failure = None

    def _report(self) -> str:
        lines = "\n".join(self.kept) or "none"
        return f"after {self.steps} steps, {self._now:.9f} s; the last lines of the trace:\n{lines}"

    def _waiting(self) -> str:
        return "\n".join(f"  {task.get_name()}, {place_of(task)}" for task in self._tasks())
