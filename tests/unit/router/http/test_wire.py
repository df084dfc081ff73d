"""One connection: the order of answers, when to read, when to wait and when to close."""

from __future__ import annotations

import socket

import pytest

from gramme.router.http.limits import Limits
from tests.unit.router.http.gateway import Client, Gateway, a_request, chunked, running


def wait_until_held(gateway: Gateway, number: int) -> None:
    """Wait until so many requests are held, by asking: each answer comes after what was sent before."""
    with gateway.connect() as observer:
        while len(gateway.holding.held) < number:
            assert observer.ask(a_request()).status == 200


def release(gateway: Gateway) -> int:
    with gateway.connect() as other:
        return int(other.ask(a_request("Release")).body)


def test_many_requests_go_over_one_connection(client: Client) -> None:
    for number in range(100):
        body = b'{"n":%d}' % number
        assert client.ask(a_request("Echo", body)).json()["request"] == {"n": number}


def test_answers_leave_in_the_order_of_the_requests(gateway: Gateway, client: Client) -> None:
    client.send(a_request("Hold", b'{"n":1}') + a_request("Turn", b'{"n":2}'))
    client.send(a_request("Grow", b'{"Bytes":3}'))
    wait_until_held(gateway, 1)

    released = release(gateway)

    assert released == 1
    assert [client.answer().body for _ in range(3)] == [b'{"n":1}', b'{"n":2}', b'"x"']


def test_one_that_waits_does_not_hold_up_other_connections(
    gateway: Gateway, client: Client
) -> None:
    client.send(a_request("Hold"))
    wait_until_held(gateway, 1)

    with gateway.connect() as other:
        answer = other.ask(a_request())

    assert answer.status == 200
    release(gateway)
    assert client.answer().status == 200


def test_reading_stops_while_too_many_requests_are_unanswered(gateway: Gateway) -> None:
    unanswered_max = Limits().unanswered_max
    with gateway.connect() as client:
        client.send(a_request("Hold") * (3 * unanswered_max))
        wait_until_held(gateway, unanswered_max)

        released = [release(gateway)]
        while sum(released) < 3 * unanswered_max:
            released.append(release(gateway))

        assert max(released) == unanswered_max
        assert all(client.answer().body == b"{}" for _ in range(3 * unanswered_max))


def test_a_thousand_pipelined_requests_are_all_answered(client: Client) -> None:
    for _ in range(10):
        client.send(a_request("Turn") * 50 + a_request() * 50)

    assert all(client.answer().status == 200 for _ in range(1000))


def test_a_client_that_does_not_read_is_not_read_from() -> None:
    limits = Limits(write_seconds=0.2, sweep_seconds=0.05)
    with running(limits) as gateway, gateway.connect() as client:
        client.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        client.socket.settimeout(0.3)
        request = a_request("Grow", b'{"Bytes":1000000}')

        with pytest.raises((TimeoutError, ConnectionError)):
            for _ in range(100_000):
                client.send(request)


def test_large_answers_come_whole_and_in_order(client: Client) -> None:
    sizes = [1_000_000 + number for number in range(8)]
    client.send(b"".join(a_request("Grow", b'{"Bytes":%d}' % size) for size in sizes))

    assert [len(client.answer().body) for _ in sizes] == sizes


@pytest.mark.parametrize(
    ("head", "connection", "headers"),
    [
        (b"POST / HTTP/1.1", b"close", "close"),
        (b"POST / HTTP/1.0", None, "close"),
    ],
)
def test_the_connection_ends_when_the_client_says_so(
    client: Client, head: bytes, connection: bytes | None, headers: str
) -> None:
    answer = client.ask(a_request(head=head, Connection=connection) + a_request())

    assert answer.status == 200
    assert answer.headers["connection"] == headers
    assert client.is_closed_by_server()


def test_an_old_client_may_keep_its_connection(client: Client) -> None:
    request = a_request(head=b"POST / HTTP/1.0", Connection=b"keep-alive")

    first, second = client.ask(request), client.ask(request)

    assert first.headers["connection"] == second.headers["connection"] == "keep-alive"


def test_a_connection_to_be_closed_is_closed_only_after_its_answer(gateway: Gateway) -> None:
    with gateway.connect() as client:
        client.send(a_request("Hold", Connection=b"close") + b"more of what nobody reads")
        wait_until_held(gateway, 1)
        release(gateway)

        assert client.answer().status == 200
        assert client.is_closed_by_server()


def test_a_body_may_come_in_chunks(client: Client) -> None:
    body = chunked(b'{"a"', b":", b"1}")

    answer = client.ask(a_request("Echo", body, Content_Length=None, Transfer_Encoding=b"chunked"))

    assert answer.json()["request"] == {"a": 1}


def test_a_client_is_told_to_go_on_with_its_body(client: Client) -> None:
    request = a_request("Echo", b'{"a":1}', Expect=b"100-continue")
    client.send(request[:-7])

    told = client.socket.recv(100)
    answer = client.ask(request[-7:])

    assert told == b"HTTP/1.1 100 Continue\r\n\r\n"
    assert answer.json()["request"] == {"a": 1}


def test_a_client_is_told_to_go_on_only_after_the_answers_before(
    gateway: Gateway, client: Client
) -> None:
    request = a_request("Echo", b'{"a":1}', Expect=b"100-continue")
    client.send(a_request("Hold") + request[:-7])
    wait_until_held(gateway, 1)
    release(gateway)

    first = client.answer()
    told = client.answer()
    client.send(request[-7:])

    assert (first.status, told.status, client.answer().status) == (200, 100, 200)


def test_a_client_that_expects_to_send_too_much_is_told_not_to(client: Client) -> None:
    answer = client.ask(
        b"POST / HTTP/1.1\r\nExpect: 100-continue\r\nContent-Length: 17000000\r\n\r\n"
    )

    assert answer.status == 413


def test_a_client_that_has_closed_its_half_is_answered(gateway: Gateway, client: Client) -> None:
    client.send(a_request("Hold", b'{"n":1}') + a_request())
    wait_until_held(gateway, 1)
    client.socket.shutdown(socket.SHUT_WR)
    release(gateway)

    assert client.answer().body == b'{"n":1}'
    assert client.answer().status == 200
    assert client.is_closed_by_server()


@pytest.mark.parametrize("sent", [b"", b"POST / HTTP", a_request()[:-1]])
def test_a_client_that_stops_in_the_middle_is_not_answered(client: Client, sent: bytes) -> None:
    client.send(sent)
    client.socket.shutdown(socket.SHUT_WR)

    assert client.rest() == b""


def test_an_operation_finishes_though_its_client_is_gone(gateway: Gateway) -> None:
    with gateway.connect() as client:
        client.send(a_request("Hold", b'{"n":1}'))
        wait_until_held(gateway, 1)

    assert release(gateway) == 1
    with gateway.connect() as other:
        assert other.ask(a_request()).status == 200


def test_a_body_of_the_largest_size_is_taken(client: Client) -> None:
    body = b'{"a":"' + b"x" * (16 * 1024 * 1024 - 8) + b'"}'

    answer = client.ask(a_request("SayNothing", body))

    assert answer.status == 200


@pytest.mark.parametrize("is_chunked", [False, True], ids=["content-length", "chunked"])
def test_a_client_that_sends_too_much_can_read_why_it_is_refused(
    client: Client, is_chunked: bool
) -> None:
    body = b'{"a":"' + b"x" * (20 * 1024 * 1024) + b'"}'
    if is_chunked:
        client.send(
            a_request(Content_Length=None, Transfer_Encoding=b"chunked", body=chunked(body))
        )
    else:
        client.send(a_request(body=body))

    answer = client.answer()

    assert answer.status == 413
    assert answer.headers["connection"] == "close"
    assert client.is_closed_by_server()


def test_a_refusal_waits_for_the_answers_before_it(gateway: Gateway, client: Client) -> None:
    client.send(a_request("Hold") + a_request() + b"POST / HTTP/1.1\r\nContent-Length: x\r\n\r\n")
    wait_until_held(gateway, 1)
    release(gateway)

    assert [client.answer().status for _ in range(3)] == [200, 200, 400]
    assert client.is_closed_by_server()


def test_a_client_that_never_stops_sending_is_cut_off() -> None:
    limits = Limits(body_bytes_max=1000, drain_bytes_max=1_000_000)
    with running(limits) as gateway, gateway.connect() as client:
        client.send(b"POST / HTTP/1.1\r\nContent-Length: 1001\r\n\r\n")
        answer = client.answer()

        with pytest.raises(ConnectionError):
            for _ in range(1000):
                client.send(bytes(1_000_000))

        assert answer.status == 413


def test_bodies_are_refused_when_too_much_is_held_already() -> None:
    with running(Limits(buffered_bytes_max=10_000, buffered_bytes_exempt=1000)) as gateway:
        with gateway.connect() as first, gateway.connect() as second:
            first.send(a_request(body=b"x" * 8000)[:-1])
            while gateway.server.body_bytes < 7999:
                second.ask(a_request())

            refused = second.ask(a_request(body=b"x" * 8000))

            assert refused.status == 503
        with gateway.connect() as third:
            while gateway.server.body_bytes > 2:
                third.ask(a_request())
            assert third.ask(a_request("Echo", b'{"a":"%b"}' % (b"x" * 8000))).status == 200
