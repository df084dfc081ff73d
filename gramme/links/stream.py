"""One end of one stream while it lives: a queue of frames, one task that writes them and one that reads.

The two ends of a gRPC call have the same `read` and `write`, so this is the same code for both. A write returns when the
other end's window has taken the frame, or nearly: then the queue moves on. So a peer that does not read fills its own
queue, and no other.
"""

from __future__ import annotations

import asyncio
from collections import deque
from typing import Any, Protocol

from grpc import aio

from gramme.links.api import Events
from gramme.links.limits import Limits
from gramme.links.services import NotAFrame, Service

# What a queued frame takes beside its bytes, so that a bound on bytes also bounds a queue of tiny frames.
QUEUED_FRAME_BYTES = 100
# An end that listens cannot tell a peer that hung up from a network that broke: it is told in either way of both.
GONE = "the connection is gone"


class Wire(Protocol):
    """What both ends of a call can do."""

    async def read(self) -> Any:
        """A message, or `aio.EOF`."""
        ...

    async def write(self, message: bytes, /) -> None: ...


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
        self._wake: asyncio.Future[None] | None = None
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
        if self._wake is not None:
            self._wake.set_result(None)
            self._wake = None
        return True

    def close(self, reason: str) -> None:
        self._ended = True
        if not self._closed.done():
            self._closed.set_result(reason)

    async def carry(self, wire: Wire) -> None:
        """Carry frames both ways until the stream ends. Raises Over, or the AioRpcError that ended it."""
        try:
            async with asyncio.TaskGroup() as tasks:
                tasks.create_task(self._read(wire))
                tasks.create_task(self._write(wire))
                raise Over(await self._closed)
        except BaseExceptionGroup as group:
            task = asyncio.current_task()
            if task is not None and task.cancelling():
                # A task group forgets that it was cancelled if something else went wrong too.
                raise asyncio.CancelledError from group
            raise _cause(group) from group
        finally:
            self._ended = True

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

    async def _write(self, wire: Wire) -> None:
        queue, encode = self._queue, self._service.encode
        loop = asyncio.get_running_loop()
        while True:
            if not queue:
                self._wake = loop.create_future()
                await self._wake
            while queue:
                try:
                    await wire.write(encode(queue[0]))
                except (asyncio.InvalidStateError, aio.UsageError, aio.InternalError):
                    # The call is over, and who reads is told why.
                    return
                self.queued_bytes -= len(queue.popleft()) + QUEUED_FRAME_BYTES
            if not self._ended:
                self._events.on_idle()


def _cause(group: BaseExceptionGroup[BaseException]) -> BaseException:
    """Of what several tasks raised, what says most about why."""
    causes = sorted(group.exceptions, key=lambda cause: isinstance(cause, (Over, aio.AioRpcError)))
    return causes[0]
