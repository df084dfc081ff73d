"""One end of one stream while it lives: a queue of frames, what writes them, and a task that reads.

The two ends of a gRPC call have the same `read` and `write`, so this is the same code for both. A write returns when the
other end's window has taken the frame, or nearly: then the queue moves on. So a peer that does not read fills its own
queue, and no other.

A frame that need not wait for others is on its way before `send` returns. A task would begin to write it in a later turn of
the loop, and a turn is long when a hundred sockets have something: the other end would idle meanwhile.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Coroutine
from typing import Any, Protocol

from grpc import aio

from gramme.drive import drive
from gramme.links.api import Events
from gramme.links.limits import Limits
from gramme.links.services import NotAFrame, Service

# What a queued frame takes beside its bytes, so that a bound on bytes also bounds a queue of tiny frames.
QUEUED_FRAME_BYTES = 100
# An end that listens cannot tell a peer that hung up from a network that broke: it is told in either way of both.
GONE = "the connection is gone"
# What a write raises whose call is over.
_OVER = (asyncio.InvalidStateError, asyncio.CancelledError, aio.UsageError, aio.InternalError)


class Wire(Protocol):
    """What both ends of a call can do."""

    async def read(self) -> Any:
        """A message, or `aio.EOF`."""
        ...

    def write(self, message: bytes, /) -> Coroutine[Any, Any, None]: ...


class Over(Exception):
    """The stream has ended; the message says why. `ours` means that this end chose to end it."""

    def __init__(self, reason: str, ours: bool = True) -> None:
        super().__init__(reason)
        self.reason = reason
        self.ours = ours


class Stream:
    def __init__(self, service: Service, events: Events, limits: Limits) -> None:
        self._service = service
        self._events = events
        self._limits = limits
        # The first frame stays here while it is written.
        self._queue: deque[bytes] = deque()
        self.queued_bytes = 0
        self._ended = False
        # While frames are carried.
        self._wire: Wire | None = None
        self._closed: asyncio.Future[str] = asyncio.get_running_loop().create_future()

    @property
    def queued_frames(self) -> int:
        return len(self._queue)

    def send(self, frame: bytes) -> bool:
        size_bytes = len(frame)
        if size_bytes > self._limits.frame_bytes_max:
            raise ValueError(f"a frame of {size_bytes} bytes is larger than a frame may be")
        if self._ended:
            return False
        queued_bytes = self.queued_bytes + size_bytes + QUEUED_FRAME_BYTES
        if queued_bytes > self._limits.queue_bytes_max and self._queue:
            return False
        self._queue.append(frame)
        self.queued_bytes = queued_bytes
        if len(self._queue) == 1:
            self._write()
        return True

    def close(self, reason: str) -> None:
        self._ended = True
        if not self._closed.done():
            self._closed.set_result(reason)

    async def carry(self, wire: Wire) -> None:
        """Carry frames both ways until the stream ends. Raises Over, or the AioRpcError that ended it."""
        self._wire = wire
        self._write()
        try:
            async with asyncio.TaskGroup() as tasks:
                tasks.create_task(self._read(wire))
                raise Over(await self._closed)
        except BaseExceptionGroup as group:
            task = asyncio.current_task()
            if task is not None and task.cancelling():
                # A task group forgets that it was cancelled if something else went wrong too.
                raise asyncio.CancelledError from group
            raise _cause(group) from group
        finally:
            self._ended = True
            self._wire = None

    async def _read(self, wire: Wire) -> None:
        decode, on_frame = self._service.decode, self._events.on_frame
        while True:
            message = await wire.read()
            if message is aio.EOF:
                raise Over(GONE, ours=False)
            try:
                frame = decode(message)
            except NotAFrame:
                raise Over("what came was not a frame") from None
            if self._ended:
                # A callback closed the stream, and its owner is not to hear more of what came before that.
                return
            on_frame(frame)

    def _write(self) -> None:
        """Begin to write the first frame, if there is one and something to write it to."""
        if self._wire is not None and self._queue:
            drive(self._wire.write(self._service.encode(self._queue[0])), self._written, None)

    def _written(self, _: None, __: None, error: BaseException | None) -> None:
        if error is not None:
            # When the call is over, who reads is told why.
            if not isinstance(error, _OVER) and not self._closed.done():
                self._closed.set_exception(error)
            return
        self.queued_bytes -= len(self._queue.popleft()) + QUEUED_FRAME_BYTES
        if self._queue:
            self._write()
        elif not self._ended:
            try:
                self._events.on_idle()
            except Exception as mistake:  # noqa: BLE001 (of ours, and raised by who carries)
                if not self._closed.done():
                    self._closed.set_exception(mistake)


def _cause(group: BaseExceptionGroup[BaseException]) -> BaseException:
    """Of what several tasks raised, what says most about why."""
    causes = sorted(group.exceptions, key=lambda cause: isinstance(cause, (Over, aio.AioRpcError)))
    return causes[0]
