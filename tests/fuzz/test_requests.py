"""Whatever is asked, the answer is one that an SDK can read, and a refusal changes nothing: the short form."""

from __future__ import annotations

from collections.abc import Iterator
from random import Random

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from gramme.embedded import serving
from gramme.router.operations.all import OPERATIONS
from tests.fuzz.requests import KINDS, Request, Requests
from tests.fuzz.rounds import ANSWER_TIMEOUT_S, Round, Tally, run_round
from tests.support.client import Answer, Client

REQUESTS_PER_OPERATION = 30
ROUND = 300


@pytest.fixture(scope="module")
def port() -> Iterator[int]:
    with serving() as server:
        yield int(server.endpoint.rpartition(":")[2])


@pytest.fixture(scope="module")
def playing(port: int) -> Round:
    """Tables that the examples of this file share."""
    shared = Round(port, "short", Tally())
    shared.prepare()
    return shared


@given(st.sampled_from(sorted(OPERATIONS)), st.sampled_from(KINDS), st.randoms())
@settings(
    max_examples=REQUESTS_PER_OPERATION * len(OPERATIONS),
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
def test_any_request_is_answered_in_good_form(
    playing: Round, operation: str, kind: str, random: Random
) -> None:
    request = Requests(random, playing.region).of(operation, kind)

    assert playing.send(request) is None, request


@pytest.mark.parametrize("seed", ["1", "2"])
def test_a_round_of_requests_goes_through(port: int, seed: str) -> None:
    tally = Tally()

    assert run_round(port, seed, ROUND, tally) is None

    taken = sum(count for (_, _, error), count in tally.outcomes.items() if not error)
    assert ROUND / 5 < taken < ROUND, "either nothing or everything is accepted"
    assert tally.watched, "no refused write was looked into"


class Meddler(Client):
    """Writes an item of its own before each request that it is given."""

    def ask(self, operation: str, payload: bytes) -> Answer:
        super().ask("PutItem", b'{"TableName":"simple","Item":{"pk":{"S":"meddled"}}}')
        return super().ask(operation, payload)


def test_a_refused_write_that_changes_something_is_found_out(port: int) -> None:
    meddled = Round(port, "meddled", Tally(), watched_share=1.0)
    meddled.prepare()
    meddled.client = Meddler(port, ANSWER_TIMEOUT_S, meddled.region)

    found = meddled.send(Request("near", "PutItem", b"{}"))

    assert found == "refused with ValidationException, and yet something changed"
