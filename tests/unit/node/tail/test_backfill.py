"""The backfill of one group: what it sends, what it waits for, and where it goes on."""

from __future__ import annotations

import asyncio

import pytest

from gramme.commands import IndexWrite
from gramme.errors import Throttling
from gramme.model.version import Version
from gramme.node.replica import Replica
from gramme.node.tail import backfill
from gramme.node.tail.backfill import NOTHING, Backfill, load_progress, progress_row
from gramme.node.tail.indexes import IndexReader
from gramme.partitions import TOKEN_SPACE, GroupId, Partition, PartitionMap, TableId
from tests.unit.node.fixtures import BY_COLOUR, INDEXED, Parts, a_put, key_of, parts, settle

SEED = b"s" * 16


class Filling:
    """A group with some items, and a backfill that sends to nowhere."""

    def __init__(self, made: Parts) -> None:
        self.made = made
        self.replica: Replica = made.replica(INDEXED)
        self.sent: list[IndexWrite] = []
        self.refusals = 0
        everywhere = PartitionMap([Partition(GroupId(20), TableId(2), 0, TOKEN_SPACE - 1, 1)])
        self.reader = IndexReader(
            self.replica, BY_COLOUR, everywhere, SEED, self.send, filling=True
        )

    async def send(self, group: int, write: IndexWrite) -> None:
        self.sent.append(write)

    def admit(self) -> None:
        if self.refusals:
            self.refusals -= 1
            raise Throttling("no room")

    async def begin(self, *names: str, progress: bytes = NOTHING) -> None:
        for name in names:
            await self.replica.write(a_put(name, colour="red"))
        row = progress_row(self.replica.settings.group, self.reader.id, progress)
        await self.replica.propose_rows([row]).flushed

    async def run(self) -> None:
        turn = asyncio.Lock()
        await Backfill(self.made.engine, self.replica, self.reader, self.admit, turn).run()

    @property
    def progress(self) -> bytes | None:
        return load_progress(self.made.engine, self.replica.settings.group, self.reader.id)

    @property
    def versions(self) -> list[Version]:
        return [row.version for write in self.sent for row in write.rows]


async def test_every_item_is_sent_once_with_its_version_and_the_progress_goes() -> None:
    async with parts() as made:
        filling = Filling(made)
        await filling.begin("a", "b", "c")

        await filling.run()

        assert filling.versions == [Version(1, 0), Version(2, 0), Version(3, 0)]
        assert filling.progress is None


@pytest.mark.parametrize("rows", [1, 2, 3, 4], ids=lambda rows: f"{rows} rows a slice")
async def test_items_are_sent_once_whatever_the_slices(
    rows: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(backfill, "SLICE_ROWS", rows)
    monkeypatch.setattr(backfill, "PROGRESS_INTERVAL_S", 0.0)
    async with parts() as made:
        filling = Filling(made)
        await filling.begin("a", "b", "c")

        await filling.run()

        assert filling.versions == [Version(1, 0), Version(2, 0), Version(3, 0)]


async def test_a_large_item_ends_a_slice(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(backfill, "SLICE_BYTES", 1)
    async with parts() as made:
        filling = Filling(made)
        await filling.begin("a", "b")

        await filling.run()

        assert [len(write.rows) for write in filling.sent if write.rows] == [1, 1]


async def test_it_goes_on_after_the_last_key_that_was_saved() -> None:
    async with parts() as made:
        filling = Filling(made)
        await filling.begin("a", "b", "c", progress=key_of("b"))

        await filling.run()

        assert filling.versions == [Version(3, 0)]


async def test_there_is_nothing_to_do_without_progress() -> None:
    async with parts() as made:
        filling = Filling(made)
        await filling.replica.write(a_put("a", colour="red"))

        await filling.run()

        assert filling.versions == []


async def test_the_progress_is_saved_on_the_way(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(backfill, "SLICE_ROWS", 1)
    monkeypatch.setattr(backfill, "PROGRESS_INTERVAL_S", 0.0)
    async with parts() as made:
        filling = Filling(made)
        await filling.begin("a", "b", "c")
        made.engine.gate.clear()

        running = asyncio.ensure_future(filling.run())
        await settle()

        # It waits until the first step is durable before it takes the next.
        assert filling.progress == key_of("a")
        assert filling.versions == [Version(1, 0)]
        made.engine.gate.set()
        await running
        assert filling.progress is None


async def test_what_is_not_flushed_is_not_sent() -> None:
    async with parts() as made:
        filling = Filling(made)
        await filling.begin()
        made.engine.gate.clear()
        put = asyncio.ensure_future(filling.replica.write(a_put("a", colour="red")))
        await settle()

        running = asyncio.ensure_future(filling.run())
        await settle()
        assert filling.versions == []

        made.engine.gate.set()
        await asyncio.gather(put, running)
        assert len(filling.versions) == 1


async def test_it_waits_while_there_is_no_room() -> None:
    async with parts() as made:
        filling = Filling(made)
        await filling.begin("a")
        filling.refusals = 2

        await filling.run()

        assert filling.refusals == 0
        assert filling.versions == [Version(1, 0)]
