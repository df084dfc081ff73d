"""The listening socket and the connections it has accepted."""

from __future__ import annotations

import asyncio

from gramme.clock import Clock, SystemClock
from gramme.router.http.dispatch import Dispatcher
from gramme.router.http.limits import Limits, Usage
from gramme.router.http.reply import LETTERHEAD
from gramme.router.http.wire import Connection, Roster

# As many connections as the kernel may hold for us while the loop is busy.
_BACKLOG = 2048
# How long aborted connections may take to be gone; they need one turn of the loop.
_ABORT_SECONDS = 1.0


class HttpServer:
    """Serves a dispatcher's operations over HTTP. Started once, stopped once."""

    def __init__(
        self, dispatcher: Dispatcher, limits: Limits | None = None, clock: Clock | None = None
    ) -> None:
        """`clock` is what answers are dated by: the system's, unless told otherwise."""
        self._dispatcher = dispatcher
        self._clock = clock or SystemClock()
        self._limits = limits or Limits()
        self._usage = Usage()
        self._roster = Roster()
        self._server: asyncio.Server | None = None
        self._sweep_timer: asyncio.TimerHandle | None = None

    async def start(self, host: str, port: int) -> None:
        """Listen. Port 0 is any free one, see `port`. Raises OSError if the port is taken."""
        loop = asyncio.get_running_loop()
        # Both event loops set TCP_NODELAY on what they accept.
        self._server = await loop.create_server(self._connect, host, port, backlog=_BACKLOG)
        self._sweep(loop)

    @property
    def port(self) -> int:
        """The port listened on."""
        assert self._server is not None, "the server has not been started"
        port: int = self._server.sockets[0].getsockname()[1]
        return port

    @property
    def connections(self) -> int:
        """How many are open."""
        return len(self._roster.connections)

    @property
    def body_bytes(self) -> int:
        """The size of the request bodies held now."""
        return self._usage.body_bytes

    async def stop(self, grace_seconds: float) -> None:
        """Accept no more, answer what has been asked, close; what takes longer than the grace is cut off."""
        if self._server is None:
            return
        self._server.close()
        self._roster.is_open = False
        for connection in list(self._roster.connections):
            connection.retire()
        await self._until_closed(grace_seconds)
        for connection in list(self._roster.connections):
            connection.abort()
        await self._until_closed(_ABORT_SECONDS)
        if self._sweep_timer is not None:
            self._sweep_timer.cancel()
        self._server = None

    def _connect(self) -> Connection:
        return Connection(self._dispatcher.handle, self._limits, self._usage, self._roster)

    async def _until_closed(self, seconds: float) -> None:
        self._roster.emptied.clear()
        if not self._roster.connections:
            return
        try:
            async with asyncio.timeout(seconds):
                await self._roster.emptied.wait()
        except TimeoutError:
            return

    def _sweep(self, loop: asyncio.AbstractEventLoop) -> None:
        """Look at the time for all connections at once: a timer for each request would cost more."""
        LETTERHEAD.turn_to(self._clock.now_ms())
        now = loop.time()
        for connection in list(self._roster.connections):
            connection.check_time(now)
        self._sweep_timer = loop.call_later(self._limits.sweep_seconds, self._sweep, loop)
