"""A node tidies up in pauses, once for each burst of writes."""

from __future__ import annotations

import asyncio

import pytest

from gramme.errors import Throttling
from gramme.node import pauses
from gramme.node.pauses import tidy_in_pauses
from gramme.node.space import RESERVE_BYTES
from tests.unit.node.fixtures import GatedEngine, Parts, a_get, a_put, settle


class TidiedEngine(GatedEngine):
    def __init__(self) -> None:
        super().__init__()
        self.tidied = 0
        self.relieved = 0
        self.error: Exception | None = None

    async def tidy(self) -> None:
        self.tidied += 1
        if self.error is not None:
            raise self.error

    async def relieve(self) -> None:
        self.relieved += 1


@pytest.fixture(autouse=True)
def no_waiting(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pauses, "PAUSE_S", 1e-6)


async def test_one_burst_of_writes_is_tidied_once_and_an_idle_node_does_nothing() -> None:
    engine = TidiedEngine()
    made = Parts(engine)
    committing = asyncio.ensure_future(made.commits.run())
    tidying = asyncio.ensure_future(tidy_in_pauses(engine, made.commits, made.failures.append))
    await settle()
    assert engine.tidied == 0

    replica = made.replica()
    await asyncio.gather(*(replica.write(a_put(f"{n}")) for n in range(10)))
    await settle(100)
    assert engine.tidied == 1

    await replica.write(a_put("more"))
    await settle(100)
    assert engine.tidied == 2
    tidying.cancel()
    committing.cancel()


async def test_a_disk_that_fails_while_tidying_is_told_of() -> None:
    engine = TidiedEngine()
    engine.error = OSError("No space left on device")
    made = Parts(engine)
    committing = asyncio.ensure_future(made.commits.run())
    tidying = asyncio.ensure_future(tidy_in_pauses(engine, made.commits, made.failures.append))
    # Its first look: what there was before it started is not its concern.
    await settle()

    await made.replica().write(a_put("a"))

    with pytest.raises(OSError, match="No space"):
        await tidying
    assert made.failures == ["tidying the disk failed: No space left on device"]
    committing.cancel()


async def test_writes_are_refused_while_the_disk_has_too_little_room_and_taken_again() -> None:
    engine = TidiedEngine()
    made = Parts(engine)
    committing = asyncio.ensure_future(made.commits.run())
    tidying = asyncio.ensure_future(tidy_in_pauses(engine, made.commits, made.failures.append))
    replica = made.replica()

    engine.free_bytes = RESERVE_BYTES - 1
    await settle()
    with pytest.raises(Throttling, match="disk of the server is nearly full"):
        await replica.write(a_put("a"))
    # A little more would be used up at once.
    engine.free_bytes = RESERVE_BYTES + 1
    await settle()
    with pytest.raises(Throttling):
        await replica.write(a_put("a"))
    assert (await replica.get(a_get("a"))).item is None
    assert engine.relieved > 0

    engine.free_bytes = RESERVE_BYTES * 2
    await settle()
    await replica.write(a_put("a"))
    tidying.cancel()
    committing.cancel()
