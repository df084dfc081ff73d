"""Running a coroutine without a task.

Most operations answer without waiting for anything. A task would make each of them wait for a turn of the event
loop, so the caller takes the first step itself: `drive` sends into the coroutine at once, and if the answer is
there, `finish` is called before `drive` returns. A coroutine that does wait is resumed from the callback of the
future it waits for, as `asyncio.Task` would do.

What a coroutine loses by having no task: nobody can cancel it, and `asyncio.current_task()` is None, so
`asyncio.timeout` and `asyncio.TaskGroup` do not work directly inside it. It may await a task that uses them.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any, Generic, TypeVar

Value = TypeVar("Value")
Tag = TypeVar("Tag")

# Called exactly once, with the tag, and either the value returned or the exception raised.
Finish = Callable[[Tag, Value | None, BaseException | None], None]


def drive(coroutine: Coroutine[Any, Any, Value], finish: Finish[Tag, Value], tag: Tag) -> None:
    """Run `coroutine`, from here on and for as long as it does not wait; then whenever it can go on."""
    try:
        awaited = coroutine.send(None)
    except StopIteration as returned:
        value: Value = returned.value
    except (Exception, asyncio.CancelledError) as error:  # noqa: BLE001 - handed on
        finish(tag, None, error)
        return
    else:
        _Suspended(coroutine, finish, tag).wait_for(awaited)
        return
    finish(tag, value, None)


class _Suspended(Generic[Value, Tag]):
    """A coroutine between two of its steps."""

    __slots__ = ("_coroutine", "_finish", "_tag")

    def __init__(
        self, coroutine: Coroutine[Any, Any, Value], finish: Finish[Tag, Value], tag: Tag
    ) -> None:
        self._coroutine = coroutine
        self._finish = finish
        self._tag = tag

    def wait_for(self, awaited: Any) -> None:
        """Arrange for the next step, given what the coroutine has yielded."""
        # A future marks itself as being awaited just before it is yielded, and whoever runs the coroutine
        # takes the mark away. Anything unmarked was yielded by mistake, except for the bare None with which
        # `asyncio.sleep(0)` asks for one turn of the loop.
        if getattr(awaited, "_asyncio_future_blocking", None):
            awaited._asyncio_future_blocking = False
            awaited.add_done_callback(self._resume)
        elif awaited is None:
            asyncio.get_running_loop().call_soon(self._resume)
        else:
            mistake = RuntimeError(f"a driven coroutine yielded {awaited!r}, which is no future")
            self._step(mistake)

    def _resume(self, _: object = None) -> None:
        self._step(None)

    def _step(self, mistake: RuntimeError | None) -> None:
        # A future's own iterator raises its exception when the coroutine goes on, so `send` is all it takes.
        try:
            if mistake is None:
                awaited = self._coroutine.send(None)
            else:
                awaited = self._coroutine.throw(mistake)
        except StopIteration as returned:
            value: Value = returned.value
        except (Exception, asyncio.CancelledError) as error:  # noqa: BLE001 - handed on
            self._finish(self._tag, None, error)
            return
        else:
            self.wait_for(awaited)
            return
        self._finish(self._tag, value, None)
