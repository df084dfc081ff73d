"""The answers of one turn of the event loop, which leave together.

Sending to a client that sleeps wakes it, and that costs the sender several microseconds, as much as finding a small
answer. So the first answer of a turn leaves at once, and those that follow in the same turn leave in bursts, the
last at its end: by then the client is awake and takes them as they come. A lone client never waits.
"""

from __future__ import annotations

import asyncio

# Long enough to share the cost of waking a client, short enough that clients and we work at the same time.
BURST = 8


class Outbox:
    """Keeps the order of what is sent to one transport. Flush it before you close or end one."""

    __slots__ = ("_held", "_is_turn_open")

    def __init__(self) -> None:
        self._is_turn_open = False
        self._held: list[tuple[asyncio.Transport, bytes]] = []

    def send(self, transport: asyncio.Transport, data: bytes) -> None:
        if self._is_turn_open:
            self._held.append((transport, data))
            if len(self._held) >= BURST:
                self.flush()
        else:
            self._is_turn_open = True
            asyncio.get_running_loop().call_soon(self._end_turn)
            transport.write(data)

    def flush(self) -> None:
        """Send everything held back, now."""
        held, self._held = self._held, []
        for transport, data in held:
            # A client may have gone since; to write to it would raise, and the others would go unanswered.
            if not transport.is_closing():
                transport.write(data)

    def _end_turn(self) -> None:
        self._is_turn_open = False
        self.flush()
