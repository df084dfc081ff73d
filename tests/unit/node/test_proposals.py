"""A round's writes for a group share an entry, and are told apart by their ordinals."""

from __future__ import annotations

import asyncio

import pytest

from gramme.codec.item import version_of
from gramme.model.version import Version
from gramme.node import proposals
from gramme.node.engine.api import Family, Row
from gramme.node.engine.keyspace import decode_state
from tests.unit.node.fixtures import INDEXED, Parts, a_put, parts, settle


def versions(made: Parts) -> list[Version]:
    rows = (operation for batch in made.engine.writes for operation in batch)
    return [
        version_of(row.value)
        for row in rows
        if isinstance(row, Row) and row.family == Family.ITEM and row.value
    ]


async def test_writes_of_a_round_are_one_entry_and_those_of_the_next_another() -> None:
    async with parts() as made:
        replica = made.replica()

        await asyncio.gather(*(replica.write(a_put(f"{n}")) for n in range(3)))
        await replica.write(a_put("later"))

        assert versions(made) == [Version(1, 0), Version(1, 1), Version(1, 2), Version(2, 0)]
        assert replica.flushed_index == 2


async def test_a_large_entry_is_followed_by_another_in_the_same_round(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(proposals, "ENTRY_BYTES_MAX", 100)
    async with parts() as made:
        replica = made.replica()

        await asyncio.gather(*(replica.write(a_put(f"{n}", text="x" * 100)) for n in range(2)))

        assert versions(made) == [Version(1, 0), Version(2, 0)]
        assert made.engine.flushes == 1


async def test_settings_change_in_an_entry_of_their_own() -> None:
    async with parts() as made:
        replica = made.replica()
        before = asyncio.ensure_future(replica.write(a_put("a")))
        await settle(0)
        made.engine.gate.clear()
        await settle()

        unwatched = asyncio.ensure_future(replica.write(a_put("b")))
        await settle(1)
        settings = replica.settings.__class__(10, INDEXED, None, 0, 2**64 - 1, 10)
        changed = replica.change_settings(settings, [])
        watched = asyncio.ensure_future(replica.write(a_put("c")))
        await settle(1)
        made.engine.gate.set()
        await asyncio.gather(before, unwatched, changed.flushed, watched)

        assert versions(made) == [Version(1, 0), Version(2, 0), Version(4, 0)]
        changes = list(made.engine.scan(Family.CHANGE, b"", b"\xff" * 9))
        assert len(changes) == 1


async def test_the_state_that_is_written_sums_up_all_writes_of_the_entry() -> None:
    async with parts() as made:
        replica = made.replica()

        await asyncio.gather(*(replica.write(a_put(f"{n}")) for n in range(3)))

        raw = made.engine.get(Family.RAFT, replica.state_key)
        assert raw is not None
        state = decode_state(raw)
        assert (state.index, state.item_count) == (1, 3)
        assert state == replica.state == replica.flushed_state


async def test_what_is_behind_is_counted_in_changes_though_they_share_an_entry() -> None:
    async with parts() as made:
        replica = made.replica(INDEXED)
        replica.watched = True

        await asyncio.gather(*(replica.write(a_put(f"{n}")) for n in range(3)))

        assert replica.changes == 3
        assert replica.flushed_index == 1
