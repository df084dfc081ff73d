"""A closed-loop generator of our own: raw sockets, one epoll, one thread.

It fills tables, and it is the load generator where wrk is not installed. Each connection has one
request out at a time; every answer is checked by the caller's function.
"""

import select
import socket
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from bench.wire import Address, Answer, answer_in, connect

RECEIVE_BYTES_MAX = 1 << 18
STALL_TIMEOUT_S = 30.0


@dataclass(slots=True)
class Tally:
    """What a closed loop saw."""

    answers: int = 0
    failures: int = 0
    broken: int = 0
    reason: str = ""
    seconds: float = 0.0
    latencies_s: list[float] = field(default_factory=list)

    def note(self, reason: str) -> None:
        self.reason = self.reason or reason


@dataclass(slots=True)
class Connection:
    socket: socket.socket
    sent_at: float = 0.0
    received: bytearray = field(default_factory=bytearray)


class ClosedLoop:
    """Sends each request of `requests` once, over `connections` sockets, until they run out."""

    def __init__(
        self,
        address: Address,
        connections: int,
        requests: Iterator[bytes],
        complaint: Callable[[Answer], str | None],
        keep_latencies: bool = True,
    ) -> None:
        self._address = address
        self._connections = connections
        self._requests = requests
        self._complaint = complaint
        self._keep_latencies = keep_latencies
        self._epoll = select.epoll()
        self._open: dict[int, Connection] = {}
        self._tally = Tally()

    def run(self, on_answer: Callable[[], None] | None = None) -> Tally:
        started_at = time.perf_counter()
        try:
            for _ in range(self._connections):
                self._send_next(self._connect())
            while self._open:
                events = self._epoll.poll(STALL_TIMEOUT_S)
                if not events:
                    self._tally.broken += len(self._open)
                    self._tally.note(f"no answer for {STALL_TIMEOUT_S:.0f} s")
                    break
                for descriptor, _ in events:
                    if self._receive(self._open[descriptor]) and on_answer:
                        on_answer()
        finally:
            for connection in list(self._open.values()):
                self._close(connection)
            self._epoll.close()
        self._tally.seconds = time.perf_counter() - started_at
        return self._tally

    def _connect(self) -> Connection:
        connection = Connection(connect(self._address))
        self._open[connection.socket.fileno()] = connection
        self._epoll.register(connection.socket.fileno(), select.EPOLLIN)
        return connection

    def _send_next(self, connection: Connection) -> None:
        request = next(self._requests, None)
        if request is None:
            self._close(connection)
            return
        connection.sent_at = time.perf_counter()
        connection.socket.sendall(request)

    def _receive(self, connection: Connection) -> bool:
        """Take what has arrived; return whether it completed an answer."""
        try:
            part = connection.socket.recv(RECEIVE_BYTES_MAX)
        except OSError:
            part = b""
        if not part:
            self._tally.broken += 1
            self._tally.note("the server closed a connection with a request out")
            self._close(connection)
            return False
        connection.received += part
        complete = answer_in(connection.received)
        if complete is None:
            return False
        answer, stays = complete
        self._tally.answers += 1
        if self._keep_latencies:
            self._tally.latencies_s.append(time.perf_counter() - connection.sent_at)
        if (complaint := self._complaint(answer)) is not None:
            self._tally.failures += 1
            self._tally.note(complaint)
        connection.received.clear()
        if not stays:
            self._close(connection)
            connection = self._connect()
        self._send_next(connection)
        return True

    def _close(self, connection: Connection) -> None:
        descriptor = connection.socket.fileno()
        del self._open[descriptor]
        self._epoll.unregister(descriptor)
        connection.socket.close()
