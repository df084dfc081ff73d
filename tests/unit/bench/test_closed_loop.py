"""The bench's own generator, against a server of a few lines."""

import socketserver
import threading
from collections.abc import Iterator

import pytest

from bench.epoll import ClosedLoop
from bench.wire import Address, Answer, request_bytes

REQUEST = request_bytes("GetItem", "{}")


class Handler(socketserver.BaseRequestHandler):
    """Answers every request; with an error when its body says so; hangs up when told to."""

    def handle(self) -> None:
        while received := self.request.recv(1 << 16):
            if received.endswith(b"hang up"):
                return
            status = b"500 No" if received.endswith(b"fail") else b"200 OK"
            self.request.sendall(b"HTTP/1.1 " + status + b"\r\nContent-Length: 2\r\n\r\n{}")


@pytest.fixture
def address() -> Iterator[Address]:
    with socketserver.ThreadingTCPServer(("127.0.0.1", 0), Handler) as server:
        server.daemon_threads = True
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield Address("127.0.0.1", server.server_address[1])
        server.shutdown()
        thread.join()


def complaint(answer: Answer) -> str | None:
    return None if answer.status == 200 else f"status {answer.status}"


def test_every_request_is_answered_once(address: Address) -> None:
    tally = ClosedLoop(address, 4, iter([REQUEST] * 50), complaint).run()

    assert (tally.answers, tally.failures, tally.broken) == (50, 0, 0)
    assert len(tally.latencies_s) == 50


def test_an_error_answer_is_counted_with_its_reason(address: Address) -> None:
    requests = [REQUEST, request_bytes("GetItem", "fail"), REQUEST]

    tally = ClosedLoop(address, 1, iter(requests), complaint).run()

    assert (tally.answers, tally.failures, tally.reason) == (3, 1, "status 500")


def test_a_lost_connection_is_counted(address: Address) -> None:
    requests = [REQUEST, request_bytes("GetItem", "hang up")]

    tally = ClosedLoop(address, 1, iter(requests), complaint).run()

    assert (tally.answers, tally.broken) == (1, 1)
