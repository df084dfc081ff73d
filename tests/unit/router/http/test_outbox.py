"""The first answer of a turn leaves at once, the others together at its end, each client's in order."""

from __future__ import annotations

import asyncio
from typing import cast

from gramme.router.http.outbox import Outbox


class Recorder:
    def __init__(self, name: str, log: list[tuple[str, bytes]]) -> None:
        self._name = name
        self._log = log

    def write(self, data: bytes) -> None:
        self._log.append((self._name, data))

    def is_closing(self) -> bool:
        return False


class Gone:
    def write(self, data: bytes) -> None:
        raise RuntimeError("the handler is closed")

    def is_closing(self) -> bool:
        return True


def transports() -> tuple[asyncio.Transport, asyncio.Transport, list[tuple[str, bytes]]]:
    log: list[tuple[str, bytes]] = []
    one, other = Recorder("one", log), Recorder("other", log)
    return cast(asyncio.Transport, one), cast(asyncio.Transport, other), log


async def test_a_lone_answer_leaves_at_once() -> None:
    one, _, log = transports()
    outbox = Outbox()
    for n in range(3):
        outbox.send(one, b"%d" % n)
        assert log[-1] == ("one", b"%d" % n)
        await asyncio.sleep(0)


async def test_further_answers_of_a_turn_leave_at_its_end_in_order() -> None:
    one, other, log = transports()
    outbox = Outbox()
    outbox.send(one, b"1")
    outbox.send(other, b"2")
    outbox.send(one, b"3")
    assert log == [("one", b"1")]

    await asyncio.sleep(0)

    assert log == [("one", b"1"), ("other", b"2"), ("one", b"3")]


async def test_a_flush_sends_what_was_held_and_only_once() -> None:
    one, other, log = transports()
    outbox = Outbox()
    outbox.send(one, b"1")
    outbox.send(other, b"2")

    outbox.flush()
    await asyncio.sleep(0)

    assert log == [("one", b"1"), ("other", b"2")]


async def test_a_client_that_is_gone_costs_the_others_nothing() -> None:
    one, other, log = transports()
    gone = cast(asyncio.Transport, Gone())
    outbox = Outbox()
    outbox.send(one, b"1")
    outbox.send(gone, b"2")
    outbox.send(other, b"3")

    await asyncio.sleep(0)

    assert log == [("one", b"1"), ("other", b"3")]
