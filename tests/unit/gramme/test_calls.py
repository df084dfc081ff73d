"""Requests over a link that wait for their answers: which answer is whose, and what is said when none comes."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from functools import wraps
from random import Random

import pytest

from gramme import calls as module
from gramme.calls import SLICE_REQUESTS, Calls
from gramme.codec.frame import FRAME_BYTES, OPERATIONS_MAX, Answer, Request, decode_requests
from gramme.commands import Get, GetTotals, Totals
from gramme.errors import NotLeader, OutcomeUnknown, Unavailable
from tests.support.deterministic import DeterministicLoop

TIMEOUT_S = 10.0


def on_virtual_time(test: Callable[[Parts], Awaitable[None]]) -> Callable[[], None]:
    """Let a test take no time."""

    async def main() -> None:
        await test(Parts())

    @wraps(test, assigned=("__name__", "__doc__", "__module__"), updated=())
    def run() -> None:
        DeterministicLoop(Random(1)).run(main())

    del run.__wrapped__
    return run


class Parts:
    def __init__(self) -> None:
        self.changes = 0
        self.urges = 0
        self.calls = Calls(self._changed, self._urge, TIMEOUT_S)

    def _changed(self) -> None:
        self.changes += 1

    def _urge(self) -> None:
        self.urges += 1

    def ask(self) -> asyncio.Future[Totals]:
        return self.calls.ask(10, 1, True, GetTotals())

    def sent(self) -> list[Request]:
        taken, frame = self.calls.take()
        assert taken == (decode_requests(frame) if frame else [])
        return taken


@on_virtual_time
async def test_answers_are_matched_in_any_order(made: Parts) -> None:
    first, second = made.ask(), made.ask()
    one, other = made.sent()

    made.calls.answered([Answer(other.number, Totals(2, 2)), Answer(one.number, Totals(1, 1))])

    assert (await first, await second) == (Totals(1, 1), Totals(2, 2))


@on_virtual_time
async def test_owner_is_urged_whenever_a_slice_is_full(made: Parts) -> None:
    asked = [made.ask() for _ in range(2 * SLICE_REQUESTS - 1)]
    assert (made.changes, made.urges) == (1, 1)

    asked.append(made.ask())

    assert (made.changes, made.urges) == (1, 2)
    made.calls.answered([Answer(request.number, Totals(1, 1)) for request in made.sent()])
    await asyncio.gather(*asked)


@on_virtual_time
async def test_error_in_an_answer_is_raised(made: Parts) -> None:
    asked = made.ask()
    (request,) = made.sent()

    made.calls.answered([Answer(request.number, None, NotLeader(3))])

    with pytest.raises(NotLeader) as refusal:
        await asked
    assert refusal.value.hint == 3


@on_virtual_time
async def test_owner_is_told_once_until_it_takes(made: Parts) -> None:
    asked = [made.ask(), made.ask()]
    assert made.changes == 1
    made.calls.take()

    asked.append(made.ask())

    assert made.changes == 2
    made.calls.broken("over")
    await asyncio.gather(*asked, return_exceptions=True)


@on_virtual_time
async def test_what_was_sent_and_is_not_answered_in_time_has_an_unknown_outcome(
    made: Parts,
) -> None:
    asked = made.ask()
    made.calls.take()
    began = asyncio.get_running_loop().time()

    with pytest.raises(OutcomeUnknown):
        await asked

    assert TIMEOUT_S <= asyncio.get_running_loop().time() - began <= TIMEOUT_S + 1


@on_virtual_time
async def test_what_could_not_be_sent_in_time_is_never_sent(made: Parts) -> None:
    asked = made.ask()

    with pytest.raises(Unavailable):
        await asked

    assert not made.calls.has_unsent
    assert made.sent() == []


@on_virtual_time
async def test_answer_that_comes_too_late_is_passed_over(made: Parts) -> None:
    asked = made.ask()
    (request,) = made.sent()
    with pytest.raises(OutcomeUnknown):
        await asked

    made.calls.answered([Answer(request.number, Totals(1, 1))])


@on_virtual_time
async def test_broken_link_leaves_what_was_sent_unknown_and_the_rest_undone(made: Parts) -> None:
    sent = made.ask()
    made.calls.take()
    unsent = made.ask()

    made.calls.broken("gone")

    with pytest.raises(OutcomeUnknown):
        await sent
    with pytest.raises(Unavailable):
        await unsent
    assert made.sent() == []


@on_virtual_time
async def test_what_could_not_be_sent_was_not_done(made: Parts) -> None:
    asked = made.ask()

    made.calls.unsent(made.sent(), Unavailable("full"))

    with pytest.raises(Unavailable):
        await asked


@on_virtual_time
async def test_waiter_that_gives_up_disturbs_nobody(made: Parts) -> None:
    gone, stays = made.ask(), made.ask()
    one, other = made.sent()
    gone.cancel()

    made.calls.answered([Answer(one.number, Totals(1, 1)), Answer(other.number, Totals(2, 2))])

    assert await stays == Totals(2, 2)


@on_virtual_time
async def test_no_more_than_so_many_wait(made: Parts) -> None:
    asked = [made.ask() for _ in range(module.WAITING_MAX)]

    with pytest.raises(Unavailable):
        made.ask()

    made.calls.broken("over")
    await asyncio.gather(*asked, return_exceptions=True)


@on_virtual_time
async def test_frame_holds_so_many_requests_and_the_next_one_the_rest(made: Parts) -> None:
    asked = [made.ask() for _ in range(OPERATIONS_MAX + 1)]

    first, second = made.sent(), made.sent()

    assert (len(first), len(second)) == (OPERATIONS_MAX, 1)
    made.calls.broken("over")
    await asyncio.gather(*asked, return_exceptions=True)


@on_virtual_time
async def test_frame_holds_so_many_bytes_and_every_request_leaves_in_its_turn(made: Parts) -> None:
    sizes = [10, FRAME_BYTES // 2, FRAME_BYTES // 2, 3 * FRAME_BYTES, 10, 10]
    asked = [made.calls.ask(10, 1, True, Get(b"x" * size)) for size in sizes]

    frames = []
    while made.calls.has_unsent:
        frames.append([request.number for request in made.sent()])

    assert frames == [[1, 2], [3], [4], [5, 6]]
    made.calls.broken("over")
    await asyncio.gather(*asked, return_exceptions=True)
