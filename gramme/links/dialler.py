"""The end that dials: links that are brought up, and up again, each on a connection of its own."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from random import Random

import grpc
from grpc import aio

from gramme.links import channels
from gramme.links.api import Down, Events, Identity
from gramme.links.backoff import Backoff
from gramme.links.failures import report
from gramme.links.limits import Limits
from gramme.links.memory import keep_memory
from gramme.links.metadata import introduction, presented_identity
from gramme.links.security import Security
from gramme.links.services import Service
from gramme.links.stream import Over, Stream

Call = aio.StreamStreamCall[bytes, bytes]
Sleep = Callable[[float], Awaitable[None]]

_REFUSALS = (
    grpc.StatusCode.UNAUTHENTICATED,
    grpc.StatusCode.FAILED_PRECONDITION,
    grpc.StatusCode.UNIMPLEMENTED,
)


class Dialler:
    """Makes links of one service and owns them: `close` leaves none."""

    def __init__(
        self,
        service: Service,
        identity: Identity,
        security: Security,
        random: Random,
        limits: Limits | None = None,
        sleep: Sleep = asyncio.sleep,
    ) -> None:
        keep_memory()
        self.service = service
        self.identity = identity
        self.security = security
        self.random = random
        self.limits = limits or Limits()
        self.sleep = sleep
        # In the order of dialling.
        self._tasks: dict[asyncio.Task[None], Dialled] = {}

    def dial(self, address: str, events: Events) -> Dialled:
        dialled = Dialled(self, address, events)
        task = asyncio.get_running_loop().create_task(dialled.run())
        dialled.task = task
        self._tasks[task] = dialled
        task.add_done_callback(self._forget)
        return dialled

    async def close(self) -> None:
        """End all links, and wait until nothing of them is left."""
        tasks = list(self._tasks)
        for dialled in list(self._tasks.values()):
            dialled.close()
        if tasks:
            await asyncio.wait(tasks)

    def _forget(self, task: asyncio.Task[None]) -> None:
        del self._tasks[task]
        if not task.cancelled() and (error := task.exception()) is not None:
            report("a link that was dialled", error)


class Dialled:
    """A link to one address; made by `Dialler.dial`."""

    task: asyncio.Task[None]

    def __init__(self, dialler: Dialler, address: str, events: Events) -> None:
        self.address = address
        self._dialler = dialler
        self._events = events
        self._backoff = Backoff(dialler.limits, dialler.random)
        self._stream: Stream | None = None
        self._closed = False

    @property
    def up(self) -> bool:
        return self._stream is not None

    @property
    def idle(self) -> bool:
        return self._stream is not None and not self._stream.queued_frames

    @property
    def queued_bytes(self) -> int:
        return 0 if self._stream is None else self._stream.queued_bytes

    def send(self, frame: bytes) -> bool:
        return self._stream is not None and self._stream.send(frame)

    def reset(self, reason: str) -> None:
        if self._stream is not None:
            self._stream.close(reason)

    def close(self, reason: str = "") -> None:
        """The other end is not told `reason`: a call that is cancelled says nothing."""
        self._closed = True
        if self._stream is not None:
            self._stream.close(reason)
            self._stream = None
        self.task.cancel()

    async def run(self) -> None:
        """Keep the link up until it is closed."""
        loop = asyncio.get_running_loop()
        while not self._closed:
            began = loop.time()
            down = await self._attempt()
            if self._closed:
                return
            self._events.on_down(down)
            await self._dialler.sleep(self._backoff.after(loop.time() - began))

    async def _attempt(self) -> Down:
        """Bring the link up, keep it while it lasts, and say why it did not."""
        dialler = self._dialler
        channel = channels.channel(self.address, dialler.security.tls, dialler.limits)
        try:
            path = f"/{dialler.service.name}/{dialler.service.method}"
            call: Call = channel.stream_stream(path)(
                metadata=introduction(dialler.identity, dialler.security.secret)
            )
            try:
                async with asyncio.timeout(dialler.limits.connect_seconds):
                    peer = await _accepted_by(call)
            except TimeoutError:
                return Down(f"no answer within {dialler.limits.connect_seconds:g} s")
            if peer is None:
                return _down(await call.code(), await call.details())
            return await self._carry(call, peer)
        finally:
            await channel.close()

    async def _carry(self, call: Call, peer: Identity) -> Down:
        stream = self._stream = Stream(self._dialler.service, self._events, self._dialler.limits)
        try:
            self._events.on_up(peer)
            await stream.carry(call)
        except Over as over:
            return Down(over.reason, dropped=stream.queued_frames)
        except aio.AioRpcError as error:
            return _down(error.code(), error.details(), stream.queued_frames)
        except Exception as error:  # noqa: BLE001 (handed to the loop)
            report(f"the link to {self.address}", error)
            return Down("a mistake of this end", dropped=stream.queued_frames)
        finally:
            self._stream = None
        raise AssertionError("a stream ended without a reason")


async def _accepted_by(call: Call) -> Identity | None:
    """Who accepted; None once the call is over."""
    metadata = await call.initial_metadata()
    peer = presented_identity(metadata)
    if peer is None:
        # Who answers and says no more is not one of us; that ends with the time for connecting.
        await call.code()
    return peer


def _down(code: grpc.StatusCode, details: str | None, dropped: int = 0) -> Down:
    return Down(details or code.name, code in _REFUSALS, dropped)
