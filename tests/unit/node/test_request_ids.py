"""A write takes effect once, however often it is asked for under one id."""

from __future__ import annotations

import asyncio

import pytest

from gramme.commands import Delete, Put, Update
from gramme.errors import ConditionalCheckFailed
from gramme.expressions.placeholders import Placeholders
from gramme.model.item import Values
from gramme.node import request_ids
from gramme.node.engine.api import Family
from gramme.node.request_ids import KEPT_MS, Sweeper
from tests.unit.node.fixtures import a_delete, a_get, a_put, an_item, key_of, parts, settle

ID = b"i" * 16


def an_increment(id: str, *, only_if_there: bool = False) -> Update:
    values: Values = {":one": {"N": "1"}}
    update = Placeholders(None, values).update("ADD n :one")
    there = Placeholders(None, None).condition("attribute_exists(id)") if only_if_there else None
    return Update(key_of(id), an_item(id), update, there, values, "UPDATED_NEW")


async def test_an_increment_that_is_asked_for_twice_adds_once_and_is_answered_alike() -> None:
    async with parts() as made:
        replica = made.replica()

        first = await replica.write(an_increment("a"), ID)
        again = await replica.write(an_increment("a"), ID)
        other = await replica.write(an_increment("a"), b"j" * 16)

        assert first.attributes == again.attributes == b'{"n":{"N":"1"}}'
        assert other.attributes == b'{"n":{"N":"2"}}'


async def test_what_is_asked_for_the_first_time_is_not_looked_for(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async with parts() as made:
        replica = made.replica()
        looked: list[Family] = []
        get = made.engine.get

        def watched_get(family: Family, key: bytes) -> bytes | None:
            looked.append(family)
            return get(family, key)

        monkeypatch.setattr(made.engine, "get", watched_get)

        await replica.write(an_increment("a"), ID, first=True)
        assert Family.DEDUPE not in looked

        again = await replica.write(an_increment("a"), ID)
        assert Family.DEDUPE in looked
        assert again.attributes == b'{"n":{"N":"1"}}'


async def test_asked_for_again_while_it_is_under_way_it_waits_for_the_same_flush() -> None:
    async with parts() as made:
        replica = made.replica()
        made.engine.gate.clear()
        first = asyncio.ensure_future(replica.write(an_increment("a"), ID))
        await settle()
        again = asyncio.ensure_future(replica.write(an_increment("a"), ID))
        await settle()
        assert not first.done()
        assert not again.done()

        made.engine.gate.set()

        assert (await first).attributes == (await again).attributes == b'{"n":{"N":"1"}}'


async def test_an_id_is_known_after_a_restart() -> None:
    async with parts() as made:
        await made.replica().write(an_increment("a"), ID)

        again = await made.replica().write(an_increment("a"), ID)

        assert again.attributes == b'{"n":{"N":"1"}}'


async def test_what_was_refused_did_nothing_and_is_evaluated_again() -> None:
    async with parts() as made:
        replica = made.replica()
        with pytest.raises(ConditionalCheckFailed):
            await replica.write(an_increment("a", only_if_there=True), ID)
        await replica.write(a_put("a"))

        again = await replica.write(an_increment("a", only_if_there=True), ID)

        assert again.attributes == b'{"n":{"N":"1"}}'


async def test_a_batch_asked_for_again_does_not_undo_what_came_between() -> None:
    async with parts() as made:
        replica = made.replica()
        batch: list[Put | Delete] = [a_put("a", by="batch"), a_delete("b")]
        await replica.write(a_put("b", by="before"))
        for round in replica.begin(batch, 1 << 20, ID).rounds:
            await round.flushed
        await replica.write(a_put("a", by="another"))
        await replica.write(a_put("b", by="another"))

        for round in replica.begin(batch, 1 << 20, ID).rounds:
            await round.flushed

        for id in "ab":
            found = (await replica.get(a_get(id))).item
            assert found is not None
            assert b"another" in found


async def test_ids_are_forgotten_when_nobody_can_ask_any_more(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(request_ids, "SLICE_ROWS", 2)
    monkeypatch.setattr(request_ids, "SLICE_PAUSE_S", 0)
    async with parts() as made:
        replica = made.replica()
        for number in range(5):
            await replica.write(an_increment("a"), bytes([number]) * 16)
        made.clock.advance(KEPT_MS)
        await replica.write(an_increment("a"), ID)
        made.clock.advance(1)

        await Sweeper(made.engine, made.clock, replica).sweep()

        kept = list(made.engine.scan(Family.DEDUPE, b"", b"\xff" * 9))
        assert [key[-16:] for key, _ in kept] == [ID]
