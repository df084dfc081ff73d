"""Clients that mean no good: whatever they send, the server answers or closes, and serves the next one."""

from __future__ import annotations

import logging
import random
import time

import pytest

from gramme.router.http.limits import Limits
from tests.unit.router.http.gateway import Client, Gateway, a_request, chunked, running

SHORT = Limits(
    head_seconds=0.2,
    body_seconds=0.2,
    idle_seconds=0.4,
    drain_seconds=0.2,
    sweep_seconds=0.05,
)


def statuses(answers: bytes) -> list[int]:
    return [int(line.split()[1]) for line in answers.split(b"\r\n") if line.startswith(b"HTTP/1.1")]


@pytest.mark.parametrize(
    "garbage",
    [
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",
        b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
        b"\x00" * 100,
        b"GET / HTTP/9.9\r\n\r\n",
        b"BREW / HTTP/1.1\r\n\r\n",
        b"GET\r\n\r\n",
        b"GET a b c HTTP/1.1\r\n\r\n",
        b"\xff\xfe\xfd\r\n\r\n",
    ],
    ids=["tls", "http/2", "zeros", "version", "method", "short", "spaces", "bytes"],
)
def test_garbage_is_answered_400_and_closed(client: Client, garbage: bytes) -> None:
    client.send(garbage)

    answer = client.answer()

    assert answer.status == 400
    assert answer.body == b""
    assert client.is_closed_by_server()


@pytest.mark.parametrize(
    "sent",
    [
        a_request()[:30],
        b"POST / HTTP/1.1\r\nX",
        a_request()[:-1],
        b"POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nab",
    ],
    ids=["head", "name", "body", "chunk"],
)
def test_a_request_that_never_ends_is_timed_out(sent: bytes) -> None:
    with running(SHORT) as gateway, gateway.connect() as client:
        client.send(sent)

        assert client.answer().status == 408
        assert client.is_closed_by_server()


def test_a_request_that_comes_in_drops_is_timed_out() -> None:
    with running(SHORT) as gateway, gateway.connect() as client:
        started = time.monotonic()
        client.send(b"POST / HTTP/1.1\r\n")
        client.socket.settimeout(0.03)

        answered = b""
        while not answered and time.monotonic() < started + 2:
            client.send(b"X: y\r\n")
            try:
                answered = client.socket.recv(100)
            except TimeoutError:
                continue

        assert b" 408 " in answered
        assert time.monotonic() - started < 2


def test_an_idle_connection_is_closed_without_a_word() -> None:
    with running(SHORT) as gateway, gateway.connect() as client, gateway.connect() as silent:
        client.ask(a_request())

        assert client.rest() == b""
        assert silent.rest() == b""


def test_a_busy_connection_is_not_taken_for_an_idle_one() -> None:
    with running(SHORT) as gateway, gateway.connect() as client:
        until = time.monotonic() + 0.7
        while time.monotonic() < until:
            assert client.ask(a_request()).status == 200


def test_a_client_that_waits_for_its_answer_is_not_timed_out() -> None:
    with running(SHORT) as gateway, gateway.connect() as client:
        client.send(a_request("Hold") + a_request()[:40])
        client.socket.settimeout(0.6)
        with pytest.raises(TimeoutError):
            client.socket.recv(1)

        with gateway.connect() as other:
            other.ask(a_request("Release"))

        client.socket.settimeout(5)
        assert client.socket.recv(15) == b"HTTP/1.1 200 OK"


def test_a_refused_client_that_never_closes_is_closed() -> None:
    with running(SHORT) as gateway, gateway.connect() as client:
        client.send(b"garbage\r\n\r\n")
        assert client.answer().status == 400
        assert client.is_closed_by_server()

        with gateway.connect() as other:
            while gateway.server.connections > 1:
                other.ask(a_request())


def test_a_second_request_hidden_in_a_first_is_not_served(client: Client) -> None:
    hidden = a_request("Echo", b'{"hidden":1}')
    client.send(
        b"POST / HTTP/1.1\r\nContent-Length: %d\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"
        % (len(hidden) + 5)
        + hidden
    )

    assert statuses(client.rest()) == [400]


def test_a_header_cannot_be_made_to_appear_in_an_answer(client: Client) -> None:
    injected = b"a\r\nX-Injected: 1"
    client.send(b"GET / HTTP/1.1\r\nHost: " + injected + b"\r\nOrigin: a\r\n\r\n")
    answer = client.answer()
    client.send(b"OPTIONS / HTTP/1.1\r\nOrigin: a\r\nAccess-Control-Request-Method: a\rb\r\n\r\n")

    assert "x-injected" not in answer.headers
    assert client.answer().status == 400


def test_a_million_tiny_chunks_are_one_body(client: Client) -> None:
    body = b'{"a":"' + b"x" * 100_000 + b'"}'
    chunks = chunked(*(body[index : index + 1] for index in range(len(body))))

    answer = client.ask(
        a_request("Echo", chunks, Content_Length=None, Transfer_Encoding=b"chunked")
    )

    assert answer.status == 200


# The operations that fail on purpose would hide the failures that are looked for.
FUZZED = ("Echo", "Turn", "Miss", "SayNothing")


def mutate(generator: random.Random, data: bytes) -> bytes:
    """Some bytes changed, left out, doubled or moved."""
    mutated = bytearray(data)
    for _ in range(generator.randint(1, 8)):
        start = generator.randrange(len(mutated) or 1)
        end = start + generator.randint(0, 12)
        choice = generator.randrange(4)
        if choice == 0:
            mutated[start:end] = generator.randbytes(generator.randint(0, 12))
        elif choice == 1:
            del mutated[start:end]
        elif choice == 2:
            mutated[start:start] = mutated[start:end]
        else:
            mutated[start:start] = generator.choice([b"\r\n", b"0\r\n\r\n", b": ", b" ", b"\x00"])
    return bytes(mutated)


def a_fuzzed_request(generator: random.Random) -> bytes:
    if generator.random() < 0.1:
        return generator.randbytes(generator.randint(1, 400))
    operation = generator.choice(FUZZED)
    if generator.random() < 0.3:
        body = chunked(b"{", b'"a":[1]', b"}")
        request = a_request(operation, body, Content_Length=None, Transfer_Encoding=b"chunked")
    else:
        request = a_request(operation, b'{"a":{"S":"b"}}')
    return mutate(generator, request * generator.randint(1, 3))


@pytest.mark.parametrize("seed", range(8))
def test_random_bytes_cause_no_500_no_hang_and_no_trace(
    gateway: Gateway, caplog: pytest.LogCaptureFixture, seed: int
) -> None:
    generator = random.Random(seed)

    with caplog.at_level(logging.WARNING):
        for _ in range(60):
            with gateway.connect() as client:
                client.send(a_fuzzed_request(generator))
                client.socket.shutdown(1)
                try:
                    answers = client.rest()
                except ConnectionResetError:
                    continue
                assert not {500, 503} & set(statuses(answers))

    assert not caplog.records
    with gateway.connect() as client:
        while gateway.server.connections > 1:
            assert client.ask(a_request()).status == 200
        assert gateway.server.body_bytes == 0
