"""One thread that does one kind of call for the event loop.

An executor would do, but it makes two futures, takes several locks and wakes the loop through a chain of callbacks for
each call. A flush happens thousands of times a second, so it has a queue and a wake-up, and nothing else.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from queue import SimpleQueue
from threading import Thread


class Worker:
    """Runs `call` once for each time it is asked to."""

    def __init__(self, call: Callable[[], None], name: str) -> None:
        self._call = call
        self._asked: SimpleQueue[asyncio.Future[None] | None] = SimpleQueue()
        self._thread = Thread(target=self._work, name=name, daemon=True)
        self._thread.start()

    async def run(self) -> None:
        """Returns when the call has, or raises what it raised."""
        done: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._asked.put(done)
        await done

    def stop(self) -> None:
        """Finish what was asked for, and end the thread."""
        self._asked.put(None)
        self._thread.join()

    def _work(self) -> None:
        while (done := self._asked.get()) is not None:
            error: Exception | None = None
            try:
                self._call()
            except Exception as raised:  # noqa: BLE001 (handed to whoever waits)
                error = raised
            done.get_loop().call_soon_threadsafe(_finish, done, error)


def _finish(done: asyncio.Future[None], error: Exception | None) -> None:
    if done.cancelled():
        return
    if error is None:
        done.set_result(None)
    else:
        done.set_exception(error)
