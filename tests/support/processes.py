"""Processes on one deterministic loop: each can be stopped, held up or killed with all that it is about to do.

Whatever a process schedules belongs to it: the mark of the process is a context variable, and asyncio hands contexts on from a
callback to the callbacks, timers and tasks that it makes. So a process that is killed never takes another step: no
`finally` of it runs, nothing is flushed, nobody is told. One that is paused, like by SIGSTOP, takes its steps later, all that
have come up, in the order in which they came up.

What is of no process, the network and whoever strikes at it, goes through `Outside`.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Coroutine, Generator
from contextlib import suppress
from contextvars import Context, ContextVar
from random import Random
from typing import Any, TypeVar, TypeVarTuple

from tests.support.deterministic import STEPS_MAX, DeterministicLoop, SerialFuture, SerialTask
from tests.support.network import IN_FLIGHT_BYTES_MAX, Conditions, Event, Fault, Network
from tests.support.steps import Step

T = TypeVar("T")
Ts = TypeVarTuple("Ts")

_process: ContextVar[Process | None] = ContextVar("process", default=None)


def current_process() -> Process | None:
    """Whose step is under way."""
    return _process.get()


class Process:
    """Made by `ProcessLoop.process`. What is given to `run` belongs to it, and all that comes of that."""

    def __init__(self, loop: ProcessLoop, name: str) -> None:
        self.name = name
        self.alive = True
        self.paused = False
        # Kept until the run is over: what the collector finds must not run a `finally` of the dead.
        self.remains: list[object] = []
        self._loop = loop
        self._held: deque[asyncio.Handle] = deque()
        # What comes from others keeps its order, though the loop may shuffle all else.
        self._happened: deque[Event] = deque()
        self._context = Context()
        self._context.run(_process.set, self)

    def run(self, callback: Callable[[*Ts], T], *args: *Ts) -> T:
        """Do something now, as a step of this process."""
        return self._context.copy().run(callback, *args)

    def create_task(self, work: Coroutine[Any, Any, T]) -> asyncio.Task[T]:
        return self.run(self._loop.create_task, work)

    def take(self, event: Event) -> bool:
        """Something happens to it: now, or when it goes on, or never if it is dead. Returns whether it was now."""
        if not self.alive:
            return False
        if self.paused or self._happened:
            self._happened.append(event)
            return False
        self.run(event)
        return True

    def hold(self, handle: asyncio.Handle) -> None:
        if self.alive:
            self._held.append(handle)

    def pause(self) -> None:
        self.paused = self.alive

    def resume(self) -> None:
        self.paused = False
        held, self._held = self._held, deque()
        if self._happened:
            held.append(Step(self._catch_up, (), self._loop, self._context))
        self._loop.make_ready(held)

    def _catch_up(self) -> None:
        while self._happened and self.alive and not self.paused:
            event = self._happened[0]
            self.run(event)
            # Only now, so that what it causes comes after all else.
            if self._happened:
                self._happened.popleft()

    def kill(self) -> None:
        """No step after the one under way, if that is its own."""
        self.alive = self.paused = False
        self._held.clear()
        self._happened.clear()
        self.remains += self._loop.tasks_of(self)
        self._loop.bury(self)


class ProcessLoop(DeterministicLoop):
    """`outside` schedules what is of no process."""

    def __init__(
        self, shuffle: Random | None = None, steps_max: int = STEPS_MAX, lines_kept: int = 50
    ) -> None:
        super().__init__(shuffle, steps_max, lines_kept)
        self.outside = Outside(self)
        self._dead: list[Process] = []
        self._buried = False

    def process(self, name: str) -> Process:
        return Process(self, name)

    def make_ready(self, handles: deque[asyncio.Handle]) -> None:
        self._ready.extend(handles)

    def bury(self, process: Process) -> None:
        self._dead.append(process)

    def tasks_of(self, process: Process) -> list[asyncio.Task[Any]]:
        """Those that are not done."""
        tasks = super()._tasks()
        return [task for task in tasks if getattr(task, "process", None) is process]

    def _step(self, handle: Any) -> None:
        process = handle._context.get(_process)
        if process is None or (process.alive and not process.paused):
            super()._step(handle)
        elif process.alive:
            process.hold(handle)

    def create_future(self) -> asyncio.Future[Any]:
        future: SerialFuture[Any] = SerialFuture(self._next_serial(), self)
        future.process = _process.get()  # type: ignore[attr-defined]
        return future

    def create_task(
        self,
        coro: Coroutine[Any, Any, T] | Generator[Any, None, T],
        *,
        name: str | None = None,
        context: Context | None = None,
        **options: Any,
    ) -> asyncio.Task[T]:
        task = super().create_task(coro, name=name, context=context, **options)
        task.process = _process.get()  # type: ignore[attr-defined]
        return task

    def call_exception_handler(self, context: dict[str, Any]) -> None:
        """What a process left behind when it was killed is nobody's mistake."""
        owner = getattr(context.get("task") or context.get("future"), "process", None)
        if owner is None or owner.alive:
            super().call_exception_handler(context)

    def _tasks(self) -> list[SerialTask[Any]]:
        """All but those of the dead, which would never hear that they are cancelled."""
        alive = []
        for task in super()._tasks():
            process = getattr(task, "process", None)
            if process is None or process.alive:
                alive.append(task)
        return alive

    def close(self) -> None:
        super().close()
        self._buried = True
        for process in self._dead:
            for task in process.remains:
                if isinstance(task, asyncio.Task):
                    task._log_destroy_pending = False  # type: ignore[attr-defined]
                    with suppress(BaseException):
                        task.get_coro().close()
        self._dead.clear()
        self._ready.clear()
        self._timers.clear()

    def _refuse_when_closed(self) -> None:
        if not self._buried:
            super()._refuse_when_closed()


class Outside:
    """The loop, for what is of no process, whoever causes it."""

    def __init__(self, loop: ProcessLoop) -> None:
        self._loop = loop
        self._context = Context()

    def time(self) -> float:
        return self._loop.time()

    def call_soon(self, callback: Callable[[*Ts], object], *args: *Ts) -> asyncio.Handle:
        return self._loop.call_soon(callback, *args, context=self._context)

    def call_later(
        self, delay: float, callback: Callable[[*Ts], object], *args: *Ts
    ) -> asyncio.TimerHandle:
        return self._loop.call_later(delay, callback, *args, context=self._context)

    def call_at(
        self, when: float, callback: Callable[[*Ts], object], *args: *Ts
    ) -> asyncio.TimerHandle:
        return self._loop.call_at(when, callback, *args, context=self._context)


class ProcessNetwork(Network):
    """A network whose nodes are processes, by their names."""

    def __init__(
        self,
        loop: ProcessLoop,
        random: Random,
        in_flight_bytes_max: int = IN_FLIGHT_BYTES_MAX,
        conditions: Conditions | None = None,
    ) -> None:
        super().__init__(loop.outside, random, conditions, in_flight_bytes_max, loop.trace)
        self.processes: dict[str, Process] = {}

    def at(self, node: str, event: Event) -> None:
        process = self.processes.get(node)
        if process is not None and self.is_up(node) and not process.take(event):
            self.counts[Fault.HELD] += 1
