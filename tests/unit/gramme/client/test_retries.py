"""What is asked again, and what is never."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from random import Random
from typing import cast

import pytest

from gramme.client import retries
from gramme.client.connection import Connection, Lost, Reply
from gramme.client.errors import (
    DeadlineExceeded,
    Disconnected,
    OutcomeUnknown,
    RequestTooLarge,
)
from gramme.client.retries import ATTEMPTS_MAX, BODY_BYTES_MAX, Retrying
from gramme.errors import InternalServerError, Throttling, ValidationError
from gramme.router.refusals import json_of

OK: Reply = (200, b"{}")
THROTTLED: Reply = (400, json_of(Throttling("busy")))
BROKEN: Reply = (500, json_of(InternalServerError()))
WRONG: Reply = (400, json_of(ValidationError("wrong")))


class Scripted:
    """Answers as it was told, and with the last of it from then on."""

    def __init__(self, *outcomes: Reply | Exception) -> None:
        self.outcomes: Sequence[Reply | Exception] = outcomes
        self.asked = 0

    def ask(self, operation: str, body: bytes, deadline: float) -> asyncio.Future[Reply]:
        outcome = self.outcomes[min(self.asked, len(self.outcomes) - 1)]
        self.asked += 1
        answered: asyncio.Future[Reply] = asyncio.get_running_loop().create_future()
        if isinstance(outcome, Exception):
            answered.set_exception(outcome)
        else:
            answered.set_result(outcome)
        return answered


def retrying(script: Scripted, in_flight_max: int = 4) -> Retrying:
    return Retrying(cast(Connection, script), Random(1), in_flight_max)


@pytest.fixture(autouse=True)
def at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(retries, "PAUSE_S", 0.001)
    monkeypatch.setattr(retries, "PAUSE_S_MAX", 0.001)


@pytest.mark.parametrize(
    ("operation", "outcome"),
    [
        ("PutItem", THROTTLED),
        ("GetItem", THROTTLED),
        ("GetItem", BROKEN),
        ("GetItem", Lost("gone")),
        ("Query", Lost("gone")),
        ("DescribeTable", BROKEN),
    ],
    ids=str,
)
async def test_what_was_not_done_or_only_read_is_asked_again(
    operation: str, outcome: Reply | Exception
) -> None:
    script = Scripted(outcome, outcome, OK)

    assert await retrying(script).ask(operation, b"{}", 10.0) == b"{}"
    assert script.asked == 3


@pytest.mark.parametrize("operation", ["PutItem", "UpdateItem", "DeleteItem", "BatchWriteItem"])
@pytest.mark.parametrize("outcome", [BROKEN, Lost("gone")], ids=str)
async def test_a_write_that_may_have_happened_is_not_repeated(
    operation: str, outcome: Reply | Exception
) -> None:
    script = Scripted(outcome, OK)

    with pytest.raises(OutcomeUnknown, match="may have been done"):
        await retrying(script).ask(operation, b"{}", 10.0)
    assert script.asked == 1


@pytest.mark.parametrize(
    ("outcome", "error"),
    [
        (WRONG, ValidationError),
        (Disconnected("nobody"), Disconnected),
        (DeadlineExceeded("late"), DeadlineExceeded),
    ],
    ids=str,
)
async def test_what_will_not_change_is_asked_once(
    outcome: Reply | Exception, error: type[Exception]
) -> None:
    script = Scripted(outcome, OK)

    with pytest.raises(error):
        await retrying(script).ask("GetItem", b"{}", 10.0)
    assert script.asked == 1


async def test_attempts_have_an_end() -> None:
    script = Scripted(THROTTLED)

    with pytest.raises(Throttling):
        await retrying(script).ask("PutItem", b"{}", 10.0)
    assert script.asked == ATTEMPTS_MAX


async def test_nothing_is_asked_again_after_the_deadline(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(retries, "PAUSE_S", 5.0)
    script = Scripted(THROTTLED)

    with pytest.raises(Throttling):
        await retrying(script).ask("PutItem", b"{}", 1.0)
    assert script.asked == 1


async def test_who_comes_when_all_places_are_taken_waits() -> None:
    class Silent(Scripted):
        def ask(self, operation: str, body: bytes, deadline: float) -> asyncio.Future[Reply]:
            self.asked += 1
            return asyncio.get_running_loop().create_future()

    script = Silent(OK)
    calls = retrying(script, in_flight_max=2)
    waiting = [asyncio.ensure_future(calls.ask("PutItem", b"{}", 5.0)) for _ in range(2)]
    await asyncio.sleep(0)

    with pytest.raises(DeadlineExceeded, match="too many calls"):
        await calls.ask("PutItem", b"{}", 0.01)

    assert script.asked == 2
    waiting[0].cancel()
    third = asyncio.ensure_future(calls.ask("PutItem", b"{}", 5.0))
    await asyncio.sleep(0.01)
    assert script.asked == 3
    for task in (waiting[1], third):
        task.cancel()


async def test_a_request_of_more_than_16_mb_is_not_sent() -> None:
    script = Scripted(OK)

    with pytest.raises(RequestTooLarge):
        await retrying(script).ask("PutItem", b"x" * (BODY_BYTES_MAX + 1), 1.0)
    assert script.asked == 0
