"""One connection: requests out, answers in, and everything about when to read, to wait and to close.

A complete request joins `_parsed`. `_serve` hands the requests on, moving each to `_unanswered`, where it stays until
its answer and those of all before it have left. So answers leave in the order of the requests, whichever is ready
first. Reading stops while too many requests are unanswered or the client does not read.

A connection takes no more requests after one that says `Connection: close`, after one that is refused, and when the
client has sent its last byte. A client that was refused may still be writing. Closing then would make its kernel
throw our answer away unread, so we only end our own direction, and read on for a while without looking.

This module does not know DynamoDB: neither what a request means nor what an answer says.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable
from typing import cast

from gramme.loopback import is_loopback_address
from gramme.router.http.exchange import Exchange
from gramme.router.http.limits import Limits, Usage
from gramme.router.http.names import HeaderNames
from gramme.router.http.outbox import Outbox
from gramme.router.http.reader import BODY, ENDED, IDLE, Refused, RequestReader
from gramme.router.http.reply import CONTINUE

Handler = Callable[[Exchange], None]

_NO_NAMES = HeaderNames(())


class Roster:
    """The open connections of one server."""

    __slots__ = ("connections", "emptied", "is_open", "outbox")

    def __init__(self) -> None:
        self.connections: set[Connection] = set()
        # Whether another may join. The loop may still accept some after it was told to stop.
        self.is_open = True
        # Set when the last connection leaves.
        self.emptied = asyncio.Event()
        self.outbox = Outbox()

    def leave(self, connection: Connection) -> None:
        self.connections.discard(connection)
        if not self.connections:
            self.emptied.set()


class Connection(asyncio.Protocol):
    __slots__ = (
        "_closing",
        "_drained_bytes",
        "_ended",
        "_eof",
        "_handle",
        "_limits",
        "_parsed",
        "_reader",
        "_reading_paused",
        "_refused",
        "_roster",
        "_seen",
        "_seen_at",
        "_send",
        "_serving",
        "_stalled",
        "_transport",
        "_unanswered",
        "_usage",
        "_write_paused",
    )

    def __init__(self, handle: Handler, limits: Limits, usage: Usage, roster: Roster) -> None:
        self._handle = handle
        self._limits = limits
        self._usage = usage
        self._roster = roster
        self._send = roster.outbox.send
        self._parsed: deque[Exchange] = deque()
        self._unanswered: deque[Exchange] = deque()
        self._reader = RequestReader(self, limits, usage, self._parsed)
        # Whether reading or a `100 Continue` waits for answers to leave.
        self._stalled = False
        self._serving = False
        self._reading_paused = False
        self._write_paused = False
        self._refused = False
        self._eof = False
        # Whether the last answer has been written, and whether the transport is closed or about to be.
        self._ended = False
        self._closing = False
        self._drained_bytes = 0
        self._seen: tuple[object, ...] = ()
        self._seen_at = 0.0

    # Called by the event loop.

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)
        roster = self._roster
        if not roster.is_open or len(roster.connections) >= self._limits.connections_max:
            self.abort()
            return
        roster.connections.add(self)

    def data_received(self, data: bytes) -> None:
        if self._reader.phase == ENDED:
            self._drain(data)
            return
        try:
            self._reader.feed(data)
        except Refused as refused:
            self._refuse(refused.status)
            return
        if self._parsed:
            self._serve()
        if self._reader.continue_due:
            self._settle()

    def eof_received(self) -> bool:
        """The client sends no more. It may still read, so what it has asked for is answered."""
        self._eof = True
        return self._finish_after_last()

    def pause_writing(self) -> None:
        self._write_paused = True
        self._settle()

    def resume_writing(self) -> None:
        self._write_paused = False
        self._serve()

    def connection_lost(self, error: Exception | None) -> None:
        """Forget everything. Operations under way finish by themselves; their answers are dropped."""
        self._closing = True
        for queue in (self._parsed, self._unanswered):
            self._usage.body_bytes -= sum(len(exchange.body) for exchange in queue)
            queue.clear()
        self._reader.close()
        self._roster.leave(self)

    # Requests out, answers in.

    def _serve(self) -> None:
        """Hand on the requests that may be handed on now."""
        parsed = self._parsed
        unanswered = self._unanswered
        unanswered_max = self._limits.unanswered_max
        self._serving = True
        while parsed and len(unanswered) < unanswered_max and not self._write_paused:
            exchange = parsed.popleft()
            unanswered.append(exchange)
            if exchange.refusal:
                exchange.reply(exchange.refusal, b"", b"")
            else:
                self._handle(exchange)
        self._serving = False
        if parsed or unanswered or self._stalled:
            self._settle()

    def answered(self) -> None:
        """Write every answer whose turn it is."""
        unanswered = self._unanswered
        while unanswered:
            exchange = unanswered[0]
            if exchange.answer is None:
                return
            unanswered.popleft()
            self._usage.body_bytes -= len(exchange.body)
            self._send(self._transport, exchange.answer)
            if exchange.is_last:
                self._end()
                return
        if self._stalled and not self._serving:
            self._serve()

    def is_local(self) -> bool:
        # There is none once the client has gone.
        peer = self._transport.get_extra_info("peername")
        return bool(peer) and is_loopback_address(peer[0])

    def _settle(self) -> None:
        """Stop or resume reading, and send a `100 Continue` whose turn has come."""
        if self._closing:
            return
        block = (
            self._write_paused
            or bool(self._parsed)
            or len(self._unanswered) >= self._limits.unanswered_max
        )
        if block and not self._reading_paused:
            self._transport.pause_reading()
        elif self._reading_paused and not block:
            self._transport.resume_reading()
        self._reading_paused = block
        reader = self._reader
        if reader.continue_due and not self._parsed and not self._unanswered:
            reader.continue_due = False
            if reader.phase == BODY:
                self._send(self._transport, CONTINUE)
        self._stalled = block or reader.continue_due

    # Ending.

    def retire(self) -> None:
        """Finish what has been asked or is being asked, and close."""
        if self._reader.phase in (IDLE, ENDED):
            if not self._finish_after_last() and not self._ended:
                self._close()
        else:
            self._reader.retiring = True

    def abort(self) -> None:
        self._closing = True
        self._transport.abort()

    def _finish_after_last(self) -> bool:
        """Take no more requests; close after the last answer. False if there is none to wait for."""
        self._roster.outbox.flush()
        waiting = self._parsed or self._unanswered
        if waiting and self._reader.phase != ENDED:
            waiting[-1].make_last()
        self._reader.end()
        return bool(waiting)

    def _refuse(self, status: int) -> None:
        """Answer `status` when it is its turn, and close."""
        self._refused = True
        refusal = Exchange(self, b"", b"", _NO_NAMES, {}, b"")
        refusal.refusal = status
        refusal.make_last()
        self._parsed.append(refusal)
        self._serve()

    def _end(self) -> None:
        """The last answer has been sent."""
        self._roster.outbox.flush()
        self._ended = True
        if self._eof or not (self._refused or self._drained_bytes):
            self._close()
        elif not self._transport.is_closing():
            self._transport.write_eof()
            self._settle()

    def _drain(self, data: bytes) -> None:
        self._drained_bytes += len(data)
        if self._drained_bytes > self._limits.drain_bytes_max:
            self.abort()

    def _close(self) -> None:
        self._roster.outbox.flush()
        self._closing = True
        self._transport.close()

    def check_time(self, now: float) -> None:
        """Called now and then with the loop's time: end the connection if it has stood still too long."""
        reader = self._reader
        waits = bool(self._parsed or self._unanswered)
        seen = (reader.phase, reader.requests, waits, self._write_paused, self._ended)
        if seen != self._seen:
            self._seen = seen
            self._seen_at = now
            return
        limit_seconds = self._patience_seconds(waits)
        if limit_seconds is None or now - self._seen_at < limit_seconds:
            return
        if self._ended or self._write_paused or self._closing:
            self.abort()
        elif reader.phase == IDLE:
            self._close()
        else:
            reader.end()
            self._refuse(408)

    def _patience_seconds(self, waits: bool) -> float | None:
        """How long the connection may stay as it is; None while it is we who keep it waiting."""
        limits = self._limits
        phase = self._reader.phase
        if self._write_paused or self._closing:
            return limits.write_seconds
        if self._ended:
            return limits.drain_seconds
        if waits:
            return None
        if phase == BODY:
            return limits.body_seconds
        return limits.idle_seconds if phase == IDLE else limits.head_seconds
