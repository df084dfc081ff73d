"""The commit loop shares flushes, bounds its writes and its queue, and stops at the first failure."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable

import pytest

from gramme.errors import Throttling
from gramme.node import commit, proposals
from gramme.node.engine.api import Family, Operation, WriteStall
from tests.unit.node.fixtures import GatedEngine, Parts, a_get, a_put, parts, settle


async def test_writes_that_arrive_during_a_flush_share_the_next_one() -> None:
    async with parts() as made:
        replica = made.replica()
        made.engine.gate.clear()
        first = asyncio.ensure_future(replica.write(a_put("first")))
        await settle()
        others = [asyncio.ensure_future(replica.write(a_put(f"{n}"))) for n in range(50)]
        await settle()
        made.engine.gate.set()

        await asyncio.gather(first, *others)

        assert made.engine.flushes == 2


async def test_a_large_round_is_cut_into_bounded_writes_with_whole_entries(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(proposals, "ENTRY_BYTES_MAX", 500)
    monkeypatch.setattr(commit, "WRITE_BYTES_MAX", 1000)
    async with parts() as made:
        replica = made.replica()

        await asyncio.gather(*(replica.write(a_put(f"{n}", text="x" * 300)) for n in range(10)))

        for batch in made.engine.writes:
            assert batch[-1].family == Family.RAFT
            assert sum(operation.family == Family.ITEM for operation in batch) <= 3
        assert len(made.engine.writes) >= 4


async def test_past_its_bound_the_queue_refuses_with_a_retryable_error(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(commit, "PROPOSED_BYTES_MAX", 100)
    async with parts() as made:
        replica = made.replica()
        made.engine.gate.clear()
        first = asyncio.ensure_future(replica.write(a_put("a", text="x" * 200)))
        await settle()

        with pytest.raises(Throttling):
            await replica.write(a_put("b"))

        made.engine.gate.set()
        await first
        assert (await replica.write(a_put("b"))).new_size > 0


class StallingEngine(GatedEngine):
    stalls = 3

    def write(self, operations: Iterable[Operation]) -> None:
        if self.stalls:
            self.stalls -= 1
            raise WriteStall
        super().write(operations)


async def test_a_stalled_write_is_tried_again_until_it_is_taken() -> None:
    made = Parts(StallingEngine())
    async with asyncio.TaskGroup() as tasks:
        loop = tasks.create_task(made.commits.run())
        replica = made.replica()

        await replica.write(a_put("a"))

        assert (await replica.get(a_get("a"))).item is not None
        assert made.failures == []
        loop.cancel()


class BrokenEngine(GatedEngine):
    async def flush(self) -> None:
        raise OSError(5, "Input/output error")


async def test_a_failed_flush_is_reported_and_answers_nobody() -> None:
    made = Parts(BrokenEngine())
    loop = asyncio.ensure_future(made.commits.run())
    put = asyncio.ensure_future(made.replica().write(a_put("a")))
    await settle()

    assert put.cancelled()
    assert made.failures == ["writing to disk failed: [Errno 5] Input/output error"]
    with pytest.raises(OSError, match="Input/output"):
        await loop


async def test_a_stop_finishes_what_was_proposed() -> None:
    made = Parts(GatedEngine())
    loop = asyncio.ensure_future(made.commits.run())
    put = asyncio.ensure_future(made.replica().write(a_put("a")))
    await asyncio.sleep(0)

    made.commits.stop()
    await loop

    assert (await put).new_size > 0
