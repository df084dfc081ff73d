"""Stands in connections between processes of a cluster, and cuts the network between them without a word.

What is cut goes silent and stays open, as where a firewall drops packets: nobody is told, connections hang, new ones get no
answer, and bytes under way arrive when the network is whole again, as TCP would send them again. Each direction
between two processes can be cut by itself.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Coroutine
from typing import Any, Self, TypeVar

from gramme.cli.ports import LOOPBACK

T = TypeVar("T")

TIMEOUT_S = 10.0
# Read and not yet taken by the other side; then the side that sends has to wait.
HELD_BYTES_MAX = 256 << 10

Direction = tuple[str, str]
"""From a process, to a process, by their names."""


class Cutter:
    """Runs in a thread of its own until the context is left."""

    def __init__(self) -> None:
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)
        self._cut: set[Direction] = set()
        self._pairs: set[_Pair] = set()
        self._servers: list[asyncio.Server] = []

    def way(self, name: str, number: int, address: str) -> str:
        """The address by which a process reaches a node through here."""

        async def listen() -> str:
            server = await self._loop.create_server(
                lambda: self._accept((name, f"node-{number}"), address), LOOPBACK, 0
            )
            self._servers.append(server)
            return f"{LOOPBACK}:{server.sockets[0].getsockname()[1]}"

        return self._do(listen())

    def cut(self, *directions: Direction) -> None:
        async def apply() -> None:
            self._cut |= set(directions)
            self._settle()

        self._do(apply())

    def heal(self) -> None:
        async def apply() -> None:
            self._cut.clear()
            self._settle()

        self._do(apply())

    def is_cut(self, *directions: Direction) -> bool:
        return not self._cut.isdisjoint(directions)

    def _accept(self, direction: Direction, address: str) -> _End:
        pair = _Pair(self, direction, address)
        self._pairs.add(pair)
        return pair.near

    def forget(self, pair: _Pair) -> None:
        self._pairs.discard(pair)

    def _settle(self) -> None:
        for pair in list(self._pairs):
            pair.settle()

    def _do(self, work: Coroutine[Any, Any, T]) -> T:
        return asyncio.run_coroutine_threadsafe(work, self._loop).result(TIMEOUT_S)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *exception: object) -> None:
        async def close() -> None:
            for server in self._servers:
                server.close()
            for pair in list(self._pairs):
                pair.close()
            await asyncio.sleep(0)

        self._do(close())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(TIMEOUT_S)
        self._loop.close()


class _Pair:
    """A connection that was accepted, and the one to where it leads."""

    def __init__(self, cutter: Cutter, direction: Direction, address: str) -> None:
        self._cutter = cutter
        self._there = direction
        self._back = (direction[1], direction[0])
        self._address = address
        self._connecting: asyncio.Task[None] | None = None
        self.near = _End(self.settle, self.close)
        self.far = _End(self.settle, self.close)
        self.near.other, self.far.other = self.far, self.near

    def settle(self) -> None:
        """Carry what may be carried as the network is now."""
        cutter = self._cutter
        if self.far.transport is None:
            # Without both directions there is no handshake.
            self.near.read_if(False)
            if self._connecting is None and not cutter.is_cut(self._there, self._back):
                self._connecting = asyncio.get_running_loop().create_task(self._connect())
            return
        self.near.read_if(not cutter.is_cut(self._there) and self.far.takes)
        self.far.read_if(not cutter.is_cut(self._back) and self.near.takes)

    async def _connect(self) -> None:
        host, _, port = self._address.rpartition(":")
        try:
            await asyncio.get_running_loop().create_connection(lambda: self.far, host, int(port))
        except OSError:
            self.close()

    def close(self) -> None:
        """One end has closed or broken: so has the other. A cut network would have kept it from knowing until it is whole."""
        self._cutter.forget(self)
        for end in (self.near, self.far):
            if end.transport is not None:
                end.transport.close()


class _End(asyncio.Protocol):
    """One side of a pair."""

    other: _End

    def __init__(self, settle: Callable[[], None], lost: Callable[[], None]) -> None:
        self.transport: asyncio.Transport | None = None
        self.takes = True
        self._settle = settle
        self._lost = lost

    def read_if(self, wanted: bool) -> None:
        transport = self.transport
        if transport is None or transport.is_closing() or transport.is_reading() == wanted:
            return
        if wanted:
            transport.resume_reading()
        else:
            transport.pause_reading()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        transport.set_write_buffer_limits(HELD_BYTES_MAX)
        self.transport = transport
        self._settle()

    def data_received(self, data: bytes) -> None:
        if self.other.transport is not None:
            self.other.transport.write(data)

    def pause_writing(self) -> None:
        self.takes = False
        self._settle()

    def resume_writing(self) -> None:
        self.takes = True
        self._settle()

    def connection_lost(self, error: Exception | None) -> None:
        self._lost()
