"""Starting, stopping, and too many connections."""

from __future__ import annotations

import asyncio
import socket
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from gramme.router.http.limits import Limits
from tests.unit.router.http.gateway import Client, Gateway, a_request, running
from tests.unit.router.http.test_wire import release, wait_until_held


def test_a_taken_port_is_an_error_of_the_caller() -> None:
    with running() as gateway:
        other = Gateway(Limits())

        with pytest.raises(OSError, match="in use"):
            gateway.call(other.server.start("127.0.0.1", gateway.port))


def test_answers_are_not_held_back_by_the_kernel() -> None:
    with running() as gateway, gateway.connect() as client:
        client.ask(a_request())
        connection = next(iter(gateway.server._roster.connections))

        its_socket = connection._transport.get_extra_info("socket")

        assert its_socket.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)


def test_sixty_four_clients_are_served_at_once() -> None:
    def ask(number: int) -> list[int]:
        with gateway.connect() as client:
            barrier.wait()
            return [
                client.ask(a_request("Turn", b'{"n":%d}' % number)).json()["n"] for _ in range(20)
            ]

    barrier = threading.Barrier(64)
    with running() as gateway, ThreadPoolExecutor(64) as pool:
        answers = list(pool.map(ask, range(64)))

        assert answers == [[number] * 20 for number in range(64)]


def test_one_connection_too_many_is_closed_at_once() -> None:
    limits = Limits(connections_max=2)
    with running(limits) as gateway, gateway.connect() as first, gateway.connect() as second:
        assert first.ask(a_request()).status == second.ask(a_request()).status == 200

        with gateway.connect() as third:
            assert third.is_closed_by_server()

        assert first.ask(a_request()).status == 200


def test_a_connection_that_ends_makes_room_for_another() -> None:
    with running(Limits(connections_max=1)) as gateway:
        for _ in range(5):
            with gateway.connect() as client:
                assert client.ask(a_request(Connection=b"close")).status == 200
                assert client.is_closed_by_server()


def stop_in_background(gateway: Gateway, grace_seconds: float) -> asyncio.Future[None]:
    return asyncio.run_coroutine_threadsafe(  # type: ignore[return-value]
        gateway.server.stop(grace_seconds), gateway._loop
    )


def wait_until_refused(gateway: Gateway) -> None:
    """Wait until nobody is let in any more."""
    while True:
        try:
            with Client(gateway.port) as client:
                if client.is_closed_by_server():
                    return
        except ConnectionError:
            return


def test_stopping_closes_idle_connections_and_lets_nobody_in() -> None:
    with running() as gateway, gateway.connect() as client:
        client.ask(a_request())

        gateway.call(gateway.server.stop(5.0))

        assert client.is_closed_by_server()
        with pytest.raises(ConnectionError):
            gateway.connect()


def test_stopping_waits_for_what_is_under_way() -> None:
    with running() as gateway, gateway.connect() as waiting, gateway.connect() as sending:
        request = a_request("Echo", b'{"n":2}')
        waiting.send(a_request("Hold", b'{"n":1}'))
        sending.send(request[:-1])
        wait_until_held(gateway, 1)
        stopping = stop_in_background(gateway, 5.0)
        wait_until_refused(gateway)
        sending.send(request[-1:])

        gateway._loop.call_soon_threadsafe(gateway.holding.held[0].set_result, None)

        assert waiting.answer().body == b'{"n":1}'
        assert sending.answer().json()["request"] == {"n": 2}
        assert waiting.is_closed_by_server()
        assert sending.is_closed_by_server()
        stopping.result()
        assert gateway.server.connections == 0


def test_stopping_does_not_wait_longer_than_its_grace() -> None:
    with running() as gateway, gateway.connect() as client:
        client.send(a_request("Hold"))
        wait_until_held(gateway, 1)

        gateway.call(gateway.server.stop(0.05))

        assert client.is_closed_by_server()
        assert gateway.server.connections == 0


def test_a_request_that_is_released_is_answered() -> None:
    with running() as gateway, gateway.connect() as client:
        client.send(a_request("Hold"))
        wait_until_held(gateway, 1)

        assert release(gateway) == 1
        assert client.answer().status == 200
