"""A crash after any write of an index's life: the next start ends what was begun.

The log of writes may end after any of them. Each test records what the engine holds after each write of one story,
starts a node on every one of these states, and looks at what becomes of it.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Coroutine, Iterable
from contextlib import asynccontextmanager
from typing import Any

import pytest

from gramme.model.table import TableRecord
from gramme.node.engine.api import Family, Operation
from tests.unit.node.fixtures import PLAIN, GatedEngine
from tests.unit.node.indexing import (
    BY_COLOUR,
    BY_SIZE,
    add,
    changes,
    delete,
    equal,
    index_of,
    put,
    remove,
    settled,
    traces,
)
from tests.unit.node.running import Running, running

Rows = dict[Family, dict[bytes, bytes]]
Story = Callable[[Running], Coroutine[Any, Any, None]]


class RecordingEngine(GatedEngine):
    """Keeps what it holds once it is told to, and what it held after each write from then on."""

    def __init__(self, rows: Rows | None = None) -> None:
        super().__init__(rows)
        self.states: list[Rows] = []

    def record(self) -> None:
        self.states.append({family: dict(rows) for family, rows in self._rows.items()})

    def write(self, operations: Iterable[Operation]) -> None:
        super().write(operations)
        if self.states:
            self.record()


@pytest.fixture(autouse=True)
def small_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("gramme.node.tail.backfill.SLICE_ROWS", 2)
    monkeypatch.setattr("gramme.node.tail.backfill.PROGRESS_INTERVAL_S", 0.0)
    monkeypatch.setattr("gramme.node.tail.tailer.CURSOR_INTERVAL_S", 0.0)


async def recorded(before: Story, story: Story) -> tuple[TableRecord, list[Rows]]:
    """The states during `story`, and the table as it was before it."""
    engine = RecordingEngine()
    async with running(engine) as made:
        await made.create(2, PLAIN)
        await before(made)
        record = made.record
        engine.record()
        await story(made)
        return record, list(engine.states)


@asynccontextmanager
async def restarted(rows: Rows) -> AsyncIterator[Running]:
    async with running(GatedEngine(rows)) as made:
        await put(made, "after", colour="red", size="large")
        await settled(made)
        yield made


async def some_items(made: Running) -> None:
    for number in range(8):
        await put(made, f"old-{number}", colour=str(number % 3), size="small")


async def two_indexes(made: Running) -> None:
    await some_items(made)
    for index in (BY_COLOUR, BY_SIZE):
        await add(made, index)
        await settled(made)


async def adding_under_load(made: Running) -> None:
    adding = asyncio.ensure_future(add(made))
    for number in range(8):
        await put(made, f"old-{number}", colour="moved")
        await delete(made, f"old-{7 - number}")
        await put(made, f"new-{number}", colour=str(number))
    await adding
    await settled(made)
    await equal(made, "by-colour")


async def removing_under_load(made: Running) -> None:
    removing = asyncio.ensure_future(remove(made, "by-colour"))
    for number in range(8):
        await put(made, f"old-{number}", colour="moved", size="large")
    await removing
    await settled(made)


async def removing_early(made: Running) -> None:
    await add(made)
    while made.record.table.indexes[0].phase == "ALLOCATING":
        await asyncio.sleep(0)
    await remove(made, "by-colour")
    await settled(made)


async def test_an_index_is_added_whole_or_not_at_all() -> None:
    _, states = await recorded(some_items, adding_under_load)

    outcomes = set()
    for rows in states:
        async with restarted(rows) as made:
            outcomes.add(len(made.record.table.indexes))
            for index in made.record.table.indexes:
                await equal(made, index.name)

    assert outcomes == {0, 1}
    assert len(states) > 20


async def test_an_index_goes_whole_or_not_at_all_and_its_neighbour_stays() -> None:
    record, states = await recorded(two_indexes, removing_under_load)
    gone = index_of(record.table, "by-colour")

    outcomes = set()
    for rows in states:
        async with restarted(rows) as made:
            outcomes.add(len(made.record.table.indexes))
            for index in made.record.table.indexes:
                await equal(made, index.name)
            if made.record.table.index(gone.name) is None:
                assert traces(made.engine, record, gone) == []

    assert outcomes == {1, 2}


async def test_an_index_that_goes_before_it_is_filled_leaves_nothing_behind() -> None:
    _, states = await recorded(some_items, removing_early)

    outcomes = set()
    for rows in states:
        engine = GatedEngine(rows)
        async with running(engine) as made:
            # The record from before the index is gone tells where to look for it.
            record = made.record
            await settled(made)
            outcomes.add(len(made.record.table.indexes))
            for index in record.table.indexes:
                if made.record.table.index(index.name) is not None:
                    await equal(made, index.name)
                    continue
                assert traces(engine, record, index) == []
                await put(made, "unread", colour="red")
                assert changes(engine, made.record) == 0

    assert outcomes == {0, 1}


async def test_a_crash_during_the_work_of_a_restart_is_survived_too() -> None:
    _, states = await recorded(some_items, adding_under_load)
    begun = next(state for state in states if has_index(state))
    engine = RecordingEngine(begun)
    engine.record()
    async with running(engine) as made:
        await settled(made)

    for rows in engine.states:
        async with restarted(rows) as made:
            await equal(made, "by-colour")
    assert len(engine.states) > 5


def has_index(state: Rows) -> bool:
    return any(b"by-colour" in row for row in state[Family.SYS].values())
