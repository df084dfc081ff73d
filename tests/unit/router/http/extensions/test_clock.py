"""The clock of a server, told and moved over HTTP."""

from __future__ import annotations

from collections.abc import Iterator

import orjson
import pytest

from gramme.clock import LATEST_MS, VirtualClock
from tests.unit.router.http.gateway import Answer, Client, a_request, running

NOW_MS = 1_893_456_000_250
HOUR_MS = 3_600_000
LAST = "9999-12-31T23:59:59.999Z"
BACKWARDS = "time moves forward only, and it is 2030-01-01T00:00:00.250Z"
TOO_FAR = f"time ends at {LAST}"
HOW = 'give {"advance": "48h"} or {"to": "2030-01-01T00:00:00Z"}'


@pytest.fixture
def clock() -> VirtualClock:
    return VirtualClock(NOW_MS)


@pytest.fixture
def moved(clock: VirtualClock) -> Iterator[Client]:
    """A client of the server that goes by `clock`."""
    with running(clock=clock) as gateway, gateway.connect() as client:
        yield client


def move(client: Client, request: object) -> Answer:
    body = request if isinstance(request, bytes) else orjson.dumps(request)
    return client.ask(
        b"POST /_gramme/clock HTTP/1.1\r\nContent-Length: %d\r\n\r\n%b" % (len(body), body)
    )


def test_the_time_is_told(moved: Client) -> None:
    answer = moved.ask(b"GET /_gramme/clock HTTP/1.1\r\n\r\n")

    assert (answer.status, answer.json()) == (
        200,
        {"now": 1893456000.25, "iso": "2030-01-01T00:00:00.250Z", "clock": "virtual"},
    )


@pytest.mark.parametrize(
    ("request_", "expected_ms"),
    [
        ({"advance": "48h"}, NOW_MS + 48 * HOUR_MS),
        ({"advance": 1.5}, NOW_MS + 1_500),
        ({"advance": "0s"}, NOW_MS),
        ({"to": "2030-01-01T01:00:00.250Z"}, NOW_MS + HOUR_MS),
        ({"to": 1893456001}, 1_893_456_001_000),
        ({"to": "1893456000.25"}, NOW_MS),
        ({"to": LAST}, LATEST_MS),
    ],
    ids=str,
)
def test_the_clock_is_moved_forward(
    moved: Client, clock: VirtualClock, request_: object, expected_ms: int
) -> None:
    answer = move(moved, request_)

    assert (answer.status, answer.json()["now"]) == (200, expected_ms / 1000)
    assert answer.json() == moved.ask(b"GET /_gramme/clock HTTP/1.1\r\n\r\n").json()
    assert clock.now_ms() == expected_ms


@pytest.mark.parametrize(
    ("request_", "message"),
    [
        ({"advance": "-1h"}, BACKWARDS),
        ({"advance": -0.001}, BACKWARDS),
        ({"to": "2030-01-01T00:00:00Z"}, BACKWARDS),
        ({"to": "0001-01-01T00:00:00+23:59"}, BACKWARDS),
        ({"to": -1e300}, BACKWARDS),
        ({"to": "9999-12-31T23:59:59-00:01"}, TOO_FAR),
        ({"to": 253402300800}, TOO_FAR),
        ({"advance": "9" * 60 + "d"}, TOO_FAR),
        ({"advance": 1e308}, TOO_FAR),
        (
            {"advance": "soon"},
            "a duration is 48h, 1d12h30m, 250ms or the like, or a number of seconds",
        ),
        (
            {"advance": None},
            "a duration is 48h, 1d12h30m, 250ms or the like, or a number of seconds",
        ),
        (
            {"to": "later"},
            "a time is 2030-01-01T00:00:00Z or the like, or a number of seconds since 1970",
        ),
        ({"advance": "1h", "to": 1}, HOW),
        ({"advance": "1h", "by": 1}, HOW),
        ({"forward": "1h"}, HOW),
        ({}, HOW),
        ([], HOW),
        ("48h", HOW),
        (b"", HOW),
    ],
    ids=str,
)
def test_a_clock_goes_nowhere_else(
    moved: Client, clock: VirtualClock, request_: object, message: str
) -> None:
    answer = move(moved, request_)

    assert (answer.status, answer.json()) == (400, {"message": message})
    assert clock.now_ms() == NOW_MS


@pytest.mark.parametrize("method", [b"GET", b"POST"])
def test_the_systems_clock_is_not_there_to_be_moved(client: Client, method: bytes) -> None:
    answer = client.ask(a_request(head=method + b" /_gramme/clock HTTP/1.1", body=b'{"advance":1}'))

    assert (answer.status, answer.json()) == (
        404,
        {
            "message": "this server goes by the system's clock, which cannot be moved: "
            "start it with gramme serve --clock virtual"
        },
    )


def test_a_clock_takes_two_methods(client: Client) -> None:
    answer = client.ask(a_request(head=b"PUT /_gramme/clock HTTP/1.1"))

    assert (answer.status, answer.headers["allow"]) == (405, "GET, POST")
