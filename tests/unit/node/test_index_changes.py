"""The life of an index that is added to a table with items in it, and removed again."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any

import pytest
from msgspec.structs import replace

from gramme.commands import AlterTable, DeleteTable, Update
from gramme.errors import ResourceInUse, ResourceNotFound, ValidationError
from gramme.expressions.placeholders import Placeholders
from gramme.model.item import Item
from gramme.node.engine.api import Family, Row
from gramme.node.engine.keyspace import cursor_key, decode_position, settings_key
from gramme.node.groups import GROUPS_PER_TURN
from tests.unit.node.fixtures import PLAIN, a_scan, an_item, settle
from tests.unit.node.indexing import (
    BY_COLOUR,
    BY_SIZE,
    add,
    changes,
    delete,
    equal,
    ids,
    index_of,
    key_of,
    partition_of,
    put,
    put_item,
    remove,
    settled,
    traces,
    view,
)
from tests.unit.node.running import TIMEOUT_S, Running, running, until

DELETE = DeleteTable(PLAIN.account, PLAIN.region, PLAIN.name)
LASTS_MS = 1000


@pytest.fixture(autouse=True)
def no_polling(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever waits for the clock looks at it in every turn of the loop."""
    monkeypatch.setattr("gramme.clock.POLL_S", 0)


async def filled(made: Running, partitions: int = 2, items: int = 20) -> None:
    await made.create(partitions, PLAIN)
    for number in range(items):
        await put(made, f"old-{number}", colour=str(number % 3), size=str(number % 2))


def phases(made: Running) -> list[str]:
    """The phases that the router was told of, each once."""
    found = [index.phase for record in made.records for index in record.table.indexes]
    return list(dict.fromkeys(found))


async def test_items_from_before_are_in_a_new_index_with_their_own_versions() -> None:
    async with running() as made:
        await filled(made)

        await add(made)
        await settled(made)

        index = index_of(made.record.table, "by-colour")
        assert ids(made.engine, index.id) == {f"old-{number}" for number in range(20)}
        base = view(made.engine, made.record.table.id)
        versions = {item["id"]["S"]: version for item, version in base.values()}
        for item, version in view(made.engine, index.id).values():
            assert item.keys() == {"id", "colour"}
            assert version == versions[item["id"]["S"]]


async def test_an_index_is_told_of_in_each_of_its_phases() -> None:
    async with running() as made:
        await filled(made)

        await add(made)
        await settled(made)
        await remove(made, "by-colour")
        await settled(made)

        assert phases(made) == ["ALLOCATING", "BACKFILLING", "ACTIVE", "DELETING"]
        assert made.record.table.indexes == ()
        assert made.record.index_partitions == {}


@pytest.mark.parametrize(
    "colour",
    [{"N": "1"}, {"NULL": True}, {"S": ""}, {"S": "x" * 2049}, {"SS": ["red"]}],
    ids=["a number", "null", "empty", "too long", "a set"],
)
async def test_an_item_that_cannot_be_indexed_is_passed_over(colour: Item) -> None:
    async with running() as made:
        await made.create(1, PLAIN)
        await put_item(made, an_item("odd") | {"colour": colour})
        await put(made, "usual", colour="red")

        await add(made)
        await settled(made)
        await delete(made, "odd")
        await put(made, "later", colour="red")
        await equal(made, "by-colour")

        index = index_of(made.record.table, "by-colour")
        assert ids(made.engine, index.id) == {"usual", "later"}


async def test_an_update_is_held_to_the_index_as_soon_as_it_is_added() -> None:
    async with running() as made:
        await made.create(1, PLAIN)
        values = {":n": {"N": "1"}}
        update = Placeholders(None, values).update("SET colour = :n")
        command = Update(key_of("a"), an_item("a"), update, values=values)

        await add(made, lasts_ms=LASTS_MS)

        with pytest.raises(ValidationError, match="to unsupported type"):
            await made.node.write(partition_of(made, "a"), command)


async def test_a_group_begins_to_leave_changes_with_an_entry_of_its_own() -> None:
    async with running() as made:
        partition = await made.create(1, PLAIN)
        await put(made, "before", colour="red")
        written = len(made.engine.writes)

        await add(made, lasts_ms=LASTS_MS)

        index = index_of(made.record.table, "by-colour")
        keys = (settings_key(partition.group), cursor_key(partition.group, index.id))

        def entries() -> list[dict[bytes, bytes | None]]:
            return [
                {row.key: row.value for row in batch if isinstance(row, Row) and row.key in keys}
                for batch in made.engine.writes[written:]
                if any(isinstance(row, Row) and row.key == keys[0] for row in batch)
            ]

        await until(lambda: bool(entries()), "the group has an entry")
        [entry] = entries()
        cursor = entry[keys[1]]
        # The write was the first entry of the group, and this is the second.
        assert cursor is not None and decode_position(cursor).apply_index == 2
        assert changes(made.engine, made.record) == 0
        await put(made, "after", colour="red")
        assert changes(made.engine, made.record) == 1


async def test_an_index_is_fed_by_changes_and_items_at_the_same_time() -> None:
    async with running() as made:
        await filled(made, items=200)

        adding = asyncio.ensure_future(add(made))
        for number in range(0, 200, 2):
            await put(made, f"old-{number}", colour="new")
            await delete(made, f"old-{number + 1}")
            await put(made, f"new-{number}", colour="new")
        await adding
        await settled(made)

        await equal(made, "by-colour")


async def test_states_last_as_long_as_they_are_told_to() -> None:
    async with running() as made:
        await filled(made)
        await add(made, lasts_ms=LASTS_MS)
        await settle(100)
        assert phases(made) == ["ALLOCATING"]

        made.clock.advance(LASTS_MS)
        await until(lambda: phases(made)[-1] == "BACKFILLING", "the backfill goes on")
        await settle(200)
        assert phases(made)[-1] == "BACKFILLING"
        made.clock.advance(LASTS_MS)
        await settled(made)

        assert phases(made)[-1] == "ACTIVE"


async def test_an_index_is_active_when_it_has_the_changes_from_before_its_backfill() -> None:
    async with running(index_delay_ms=3 * LASTS_MS) as made:
        await filled(made, items=3)
        await add(made, lasts_ms=LASTS_MS)
        await put(made, "old-1", colour="moved")
        for _ in range(2):
            made.clock.advance(LASTS_MS)
            await until(lambda: phases(made)[-1] == "BACKFILLING", "the backfill goes on")
            await settle(200)
        assert phases(made)[-1] == "BACKFILLING"

        # Now the change is due.
        made.clock.advance(LASTS_MS)
        await settled(made)

        await equal(made, "by-colour")


async def test_states_go_on_after_a_restart() -> None:
    async with running() as made:
        await filled(made)
        await add(made, lasts_ms=LASTS_MS)
        engine = made.engine

    async with running(engine) as made:
        await put(made, "new", colour="red")
        assert phases(made) == ["ALLOCATING"]
        made.clock.advance(LASTS_MS)
        await until(lambda: phases(made)[-1] == "BACKFILLING", "the backfill goes on")
        made.clock.advance(LASTS_MS)
        await settled(made)
        await equal(made, "by-colour")


async def test_whoever_brings_an_index_further_tells_of_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("gramme.node.table_driver.POLL_S", 2 * TIMEOUT_S)
    async with running() as made:
        await filled(made)

        await add(made)
        await settled(made)
        await remove(made, "by-colour")
        await settled(made)

        assert made.record.table.indexes == ()


async def test_a_removed_index_leaves_nothing_behind() -> None:
    async with running() as made:
        await filled(made)
        await add(made)
        await settled(made)
        # Moved rows leave tombstones.
        await put(made, "old-1", colour="moved")
        await equal(made, "by-colour")
        record, index = made.record, index_of(made.record.table, "by-colour")

        await remove(made, "by-colour")
        await settled(made)

        assert traces(made.engine, record, index) == []
        assert changes(made.engine, made.record) == 0
        await put(made, "unread", colour="red")
        assert changes(made.engine, made.record) == 0
        with pytest.raises(ResourceNotFound):
            await made.node.scan(record.index_partitions["by-colour"][0], a_scan())


async def test_one_index_goes_and_the_other_stays() -> None:
    async with running() as made:
        await filled(made)
        for index in (BY_COLOUR, BY_SIZE):
            await add(made, index)
            await settled(made)
        record, gone = made.record, index_of(made.record.table, "by-colour")

        await remove(made, "by-colour")
        await put(made, "old-0", colour="blue", size="large")
        await settled(made)

        await equal(made, "by-size")
        assert traces(made.engine, record, gone) == []


async def test_an_index_comes_again_under_the_same_name() -> None:
    async with running() as made:
        await filled(made)
        await add(made)
        await settled(made)
        first = index_of(made.record.table, "by-colour")
        await remove(made, "by-colour")
        await settled(made)

        await add(made, replace(BY_SIZE, name="by-colour"))
        await settled(made)

        await equal(made, "by-colour")
        assert index_of(made.record.table, "by-colour").id > first.id


async def test_an_index_is_removed_while_it_is_filled(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("gramme.node.tail.backfill.SLICE_ROWS", 1)
    async with running() as made:
        await filled(made, items=100)
        await add(made)
        index = index_of(made.record.table, "by-colour")
        await until(lambda: len(ids(made.engine, index.id)) > 3, "the backfill goes on")
        record = made.record

        await remove(made, "by-colour")
        await settled(made)

        assert phases(made) == ["ALLOCATING", "BACKFILLING", "DELETING"]
        assert traces(made.engine, record, index) == []
        await put(made, "unread", colour="red")
        assert changes(made.engine, made.record) == 0


@pytest.mark.parametrize("step", ["adding", "removing"])
async def test_other_alterations_do_not_disturb_the_work(step: str) -> None:
    async with running() as made:
        await filled(made)
        await add(made, lasts_ms=LASTS_MS if step == "adding" else 0)
        if step == "removing":
            await settled(made)
            await remove(made, "by-colour", LASTS_MS)
        for number in range(3):
            table = made.record.table
            altered = replace(table, echo={"Tags": [{"Key": "a", "Value": str(number)}]})
            await made.node.administer(AlterTable(table, altered))

        await settle()
        made.clock.advance(LASTS_MS)
        if step == "adding":
            await until(lambda: phases(made)[-1] == "BACKFILLING", "the backfill goes on")
            made.clock.advance(LASTS_MS)
        await settled(made)

        assert made.record.table.echo == {"Tags": [{"Key": "a", "Value": "2"}]}
        assert len(made.record.table.indexes) == (1 if step == "adding" else 0)


async def test_a_table_is_not_deleted_while_an_index_is_added_or_removed() -> None:
    async with running() as made:
        await filled(made)
        await add(made, lasts_ms=LASTS_MS)

        with pytest.raises(ResourceInUse, match="while indexes are being created, updated"):
            await made.node.administer(DELETE)

        made.clock.advance(LASTS_MS)
        await until(lambda: phases(made)[-1] == "BACKFILLING", "the backfill goes on")
        made.clock.advance(LASTS_MS)
        await settled(made)
        await made.node.administer(DELETE)
        assert list(made.engine.scan(Family.ITEM, b"", b"\xff" * 9)) == []


async def test_a_node_stops_in_the_middle_of_a_backfill(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("gramme.node.tail.backfill.SLICE_ROWS", 1)
    async with running() as made:
        await filled(made, items=100)
        await add(made)
        index = index_of(made.record.table, "by-colour")
        await until(lambda: len(ids(made.engine, index.id)) > 3, "the backfill goes on")

        made.node.stop()
        await made.task

        assert made.record.table.unsettled_index is not None

    async with running(made.engine) as made:
        await settled(made)
        await equal(made, "by-colour")


@pytest.mark.parametrize("work", [add, lambda made: remove(made, "by-size")], ids=["add", "remove"])
async def test_a_node_stops_at_any_moment_of_an_index_change(
    work: Callable[[Running], Coroutine[Any, Any, None]],
) -> None:
    for turns in range(60):
        async with running() as made:
            # So many that it takes several turns of the loop to tell them all.
            await filled(made, partitions=2 * GROUPS_PER_TURN + 1, items=3)
            await add(made, BY_SIZE)
            await settled(made)
            working = asyncio.ensure_future(work(made))
            await settle(turns)

            made.node.stop()
            async with asyncio.timeout(TIMEOUT_S):
                await made.task
            working.cancel()

        async with running(made.engine) as made:
            await settled(made)
            for index in made.record.table.indexes:
                await equal(made, index.name)
