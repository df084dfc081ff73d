"""Bytes to requests, without a socket."""

from __future__ import annotations

import random
from collections import deque

import pytest

from gramme.router.http.exchange import Exchange
from gramme.router.http.limits import Limits, Usage
from gramme.router.http.reader import BODY, ENDED, HEAD, IDLE, Refused, RequestReader
from tests.unit.router.http.gateway import a_request, chunked

LIMITS = Limits(body_bytes_max=1000, buffered_bytes_max=3000, buffered_bytes_exempt=500)


class NoLine:
    def answered(self) -> None:
        raise AssertionError("nobody answers here")

    def is_local(self) -> bool:
        return False


class Reading:
    """A reader and what it has read."""

    def __init__(self, limits: Limits = LIMITS) -> None:
        self.parsed: deque[Exchange] = deque()
        self.usage = Usage()
        self.reader = RequestReader(NoLine(), limits, self.usage, self.parsed)

    def status_of(self, data: bytes) -> int:
        """The status with which `data` is refused."""
        with pytest.raises(Refused) as refused:
            self.reader.feed(data)
        assert self.reader.phase == ENDED
        return refused.value.status


def test_a_request_is_read_whole() -> None:
    reading = Reading()

    reading.reader.feed(a_request("Echo", b'{"a":1}'))

    exchange = reading.parsed[0]
    assert (exchange.method, exchange.target) == (b"POST", b"/")
    assert exchange.header(b"x-amz-target") == b"DynamoDB_20120810.Echo"
    assert exchange.header(b"origin") is None
    assert exchange.body == b'{"a":1}'
    assert reading.reader.phase == IDLE


@pytest.mark.parametrize("seed", range(5))
def test_it_does_not_matter_how_the_bytes_are_cut(seed: int) -> None:
    generator = random.Random(seed)
    bodies = [b"", b"{}", b"x" * 999, b'{"a":1}']
    wire = b"".join(a_request("Echo", body) for body in bodies)
    wire += a_request(
        "Echo", chunked(b"ab", b"c"), Content_Length=None, Transfer_Encoding=b"chunked"
    )
    reading = Reading()

    while wire:
        size = generator.choice([1, 2, 3, 50, 500])
        reading.reader.feed(wire[:size])
        wire = wire[size:]

    assert [bytes(exchange.body) for exchange in reading.parsed] == [*bodies, b"abc"]
    assert reading.reader.phase == IDLE


def test_header_names_may_be_spelled_in_any_way() -> None:
    reading = Reading()

    for name in (b"X-Amz-Target", b"x-amz-target", b"X-AMZ-TARGET", b"x-AmZ-tArGeT"):
        reading.reader.feed(b"POST / HTTP/1.1\r\n%b: t\r\n\r\n" % name)

    assert [exchange.header(b"x-amz-target") for exchange in reading.parsed] == [b"t"] * 4
    assert all(exchange.headers[exchange.names.target] == b"t" for exchange in reading.parsed)


@pytest.mark.parametrize(
    ("head", "is_last", "connection"),
    [
        (b"POST / HTTP/1.1\r\n\r\n", False, b""),
        (b"POST / HTTP/1.1\r\nConnection: keep-alive\r\n\r\n", False, b""),
        (b"POST / HTTP/1.1\r\nConnection: close\r\n\r\n", True, b"Connection: close\r\n"),
        (b"POST / HTTP/1.1\r\nConnection: CLOSE\r\n\r\n", True, b"Connection: close\r\n"),
        (b"POST / HTTP/1.0\r\n\r\n", True, b"Connection: close\r\n"),
        (
            b"POST / HTTP/1.0\r\nConnection: keep-alive\r\n\r\n",
            False,
            b"Connection: keep-alive\r\n",
        ),
    ],
)
def test_a_connection_is_kept_as_the_version_and_the_client_say(
    head: bytes, is_last: bool, connection: bytes
) -> None:
    reading = Reading()

    reading.reader.feed(head)

    assert reading.parsed[0].is_last == is_last
    assert reading.parsed[0].connection == connection
    assert (reading.reader.phase == ENDED) == is_last


def test_what_follows_the_last_request_is_not_read() -> None:
    reading = Reading()

    reading.reader.feed(a_request(Connection=b"close") + a_request())

    assert len(reading.parsed) == 1


@pytest.mark.parametrize(
    "framing",
    [
        b"Content-Length: 2\r\nTransfer-Encoding: chunked\r\n",
        b"Transfer-Encoding: chunked\r\nContent-Length: 2\r\n",
        b"Content-Length: 2\r\nContent-Length: 3\r\n",
        b"Content-Length: 2\r\ncontent-length: 2\r\n",
        b"Content-Length: +2\r\n",
        b"Content-Length: -2\r\n",
        b"Content-Length: 0x2\r\n",
        b"Content-Length: 2, 2\r\n",
        b"Content-Length : 2\r\n",
        b"Content-Length: 99999999999999999999999\r\n",
        b"Transfer-Encoding: chunked, identity\r\n",
        b"Transfer-Encoding: identity\r\n",
        b"Transfer-Encoding: xchunked\r\n",
        b"Transfer-Encoding\x0b: chunked\r\n",
        b"X: y\r\n Transfer-Encoding: chunked\r\n",
        b"X: y\nTransfer-Encoding: chunked\r\n",
        b"X: y\rTransfer-Encoding: chunked\r\n",
        b"X: \x00\r\n",
        b": y\r\n",
    ],
)
def test_framing_that_can_be_read_in_two_ways_is_refused(framing: bytes) -> None:
    reading = Reading()

    status = reading.status_of(b"POST / HTTP/1.1\r\n" + framing + b"\r\n{}")

    assert status in (400, 501)
    assert not reading.parsed


@pytest.mark.parametrize(
    "body",
    [
        b"zz\r\n{}\r\n0\r\n\r\n",
        b"-2\r\n{}\r\n0\r\n\r\n",
        b"fffffffffffffffff\r\n{}\r\n0\r\n\r\n",
        b"2\r\n{}x\r\n0\r\n\r\n",
        b"2\n{}\n0\n\n",
        b"\r\n{}\r\n0\r\n\r\n",
        b" 2\r\n{}\r\n0\r\n\r\n",
    ],
)
def test_a_bad_chunk_is_refused(body: bytes) -> None:
    reading = Reading()

    status = reading.status_of(b"POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n" + body)

    assert status == 400
    assert not reading.parsed


def test_trailers_are_not_headers() -> None:
    reading = Reading()
    body = b"2\r\n{}\r\n0\r\nX-Amz-Target: evil\r\nOrigin: evil\r\n\r\n"

    reading.reader.feed(
        b"POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n" + body + a_request()
    )

    assert [exchange.header(b"origin") for exchange in reading.parsed] == [None, None]
    assert reading.parsed[0].header(b"x-amz-target") is None


def test_the_body_of_a_request_may_be_as_large_as_the_limit_and_no_larger() -> None:
    assert Reading().status_of(a_request(body=b"x" * 1001)) == 413
    assert Reading().status_of(b"POST / HTTP/1.1\r\nContent-Length: 0001001\r\n\r\n") == 413

    reading = Reading()
    reading.reader.feed(a_request(body=b"x" * 1000))
    assert len(reading.parsed[0].body) == 1000


def test_a_chunked_body_is_refused_once_it_is_too_large() -> None:
    reading = Reading()
    reading.reader.feed(b"POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n")
    reading.reader.feed(chunked(b"x" * 600)[:-5])

    status = reading.status_of(chunked(b"x" * 600))

    assert status == 413


def test_the_good_requests_before_a_bad_one_are_read() -> None:
    reading = Reading()

    reading.status_of(a_request() + a_request() + b"garbage\r\n\r\n")

    assert len(reading.parsed) == 2


@pytest.mark.parametrize("cut", [50_000, 10_000], ids=["at once", "in pieces"])
@pytest.mark.parametrize(
    "head",
    [
        b"GET /" + b"a" * 17_000 + b" HTTP/1.1\r\n\r\n",
        b"GET / HTTP/1.1\r\nX: " + b"a" * 17_000 + b"\r\n\r\n",
        b"GET / HTTP/1.1\r\n" + b"".join(b"X%d: a\r\n" % n for n in range(2000)) + b"\r\n",
    ],
    ids=["line", "value", "many"],
)
def test_a_head_has_a_largest_size(head: bytes, cut: int) -> None:
    reading = Reading()

    with pytest.raises(Refused) as refused:
        for start in range(0, len(head), cut):
            reading.reader.feed(head[start : start + cut])

    assert refused.value.status == 400


def test_a_head_that_fits_is_read_though_much_is_read_at_once() -> None:
    reading = Reading(Limits())
    filled = b"GET / HTTP/1.1\r\nX: " + b"a" * 16_000 + b"\r\n\r\n"

    reading.reader.feed(filled * 10)

    assert len(reading.parsed) == 10


@pytest.mark.parametrize(
    "start",
    [
        b"GET / HTTP/1.1\r\nX: ",
        b"GET / HTTP/1.1\r\nX",
        b"POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n0\r\nX: ",
    ],
    ids=["value", "name", "trailer"],
)
def test_a_head_without_end_is_refused_before_it_fills_the_memory(start: bytes) -> None:
    reading = Reading()
    reading.reader.feed(start)

    with pytest.raises(Refused) as refused:
        for _ in range(40):
            reading.reader.feed(b"a" * 1000)

    assert refused.value.status == 400


def test_bodies_are_counted_until_they_are_answered() -> None:
    reading = Reading()

    reading.reader.feed(a_request(body=b"x" * 1000) + a_request(body=b"x" * 1000)[:-500])

    assert reading.usage.body_bytes == 1500
    reading.reader.end()
    assert reading.usage.body_bytes == 1000


def test_a_body_is_refused_when_too_much_is_held_already() -> None:
    reading = Reading()

    status = reading.status_of(a_request(body=b"x" * 1000) * 4)

    assert status == 503
    assert len(reading.parsed) == 3
    assert reading.usage.body_bytes == 3000


def test_a_small_body_is_taken_however_much_is_held() -> None:
    reading = Reading()
    reading.reader.feed(a_request(body=b"x" * 1000) * 3)

    reading.reader.feed(a_request(body=b"x" * 500))

    assert len(reading.parsed) == 4


def test_an_upgrade_to_http_2_is_not_taken_up() -> None:
    reading = Reading()
    upgrade = a_request(
        body=b'{"a":1}',
        Connection=b"Upgrade, HTTP2-Settings",
        Upgrade=b"h2c",
        HTTP2_Settings=b"AAMA",
    )

    reading.reader.feed(upgrade[:-3])
    reading.reader.feed(upgrade[-3:] + a_request())

    assert [exchange.body for exchange in reading.parsed] == [b'{"a":1}', b"{}"]
    assert not reading.parsed[0].is_last


def test_a_tunnel_is_refused() -> None:
    assert Reading().status_of(b"CONNECT example.com:443 HTTP/1.1\r\n\r\nhello") == 400


@pytest.mark.parametrize("expect", [b"100-continue", b"100-Continue "])
def test_a_client_that_waits_to_be_told_to_go_on_is_noticed(expect: bytes) -> None:
    reading = Reading()

    reading.reader.feed(a_request(Expect=expect)[:-2])

    assert reading.reader.continue_due
    assert reading.reader.phase == BODY


def test_a_request_just_begun_is_noticed() -> None:
    reading = Reading()

    reading.reader.feed(b"POST / HTT")

    assert reading.reader.phase == HEAD
