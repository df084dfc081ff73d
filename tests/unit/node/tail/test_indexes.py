"""What a change does to an index, and what a target makes of messages late, twice or out of turn."""

from __future__ import annotations

import asyncio

import orjson
import pytest

from gramme.codec.json import decode_item
from gramme.commands import IndexRow, IndexWrite
from gramme.errors import StaleSource
from gramme.model.change import Change
from gramme.model.item import Item
from gramme.model.version import Stamp, Version
from gramme.node.engine.api import Family, RangeDelete
from gramme.node.engine.keyspace import decode_position
from gramme.node.replica import Replica
from gramme.node.tail import tailer
from gramme.node.tail.indexes import IndexReader, index_rows
from gramme.node.tail.tailer import Cursors, Tailer
from gramme.node.tail.target import IndexTarget
from gramme.partitions import TOKEN_SPACE, GroupId, Partition, PartitionMap, TableId
from tests.unit.node.fixtures import (
    BY_COLOUR,
    INDEXED,
    Parts,
    a_delete,
    a_put,
    an_item,
    key_of,
    parts,
    settle,
)
from tests.unit.node.running import until

SEED = b"s" * 16


def a_change(old: Item | None, new: Item | None, index: int = 1) -> Change:
    return Change(
        key_of("a"),
        Version(index, 0),
        Stamp(1, 0),
        None if old is None else orjson.dumps(old),
        None if new is None else orjson.dumps(new),
    )


def effects(old: Item | None, new: Item | None) -> list[Item | None]:
    rows = index_rows(INDEXED, BY_COLOUR, SEED, a_change(old, new))
    return [None if row.body is None else decode_item(row.body) for row in rows]


def test_a_new_item_is_put_with_its_projected_attributes_only() -> None:
    assert effects(None, an_item("a", colour="red", n="1", secret="x")) == [
        an_item("a", colour="red", n="1")
    ]


def test_an_item_without_the_index_key_is_not_indexed() -> None:
    assert effects(None, an_item("a", n="1")) == []


def test_a_changed_key_moves_the_row() -> None:
    assert effects(an_item("a", colour="red"), an_item("a", colour="blue")) == [
        None,
        an_item("a", colour="blue"),
    ]


def test_a_change_outside_the_projection_does_nothing() -> None:
    assert effects(an_item("a", colour="red", x="1"), an_item("a", colour="red", x="2")) == []


def test_losing_the_key_or_the_item_deletes_the_row() -> None:
    assert effects(an_item("a", colour="red"), an_item("a")) == [None]
    assert effects(an_item("a", colour="red"), None) == [None]


def a_row(version: int, text: str | None) -> IndexRow:
    body = None if text is None else orjson.dumps(an_item("a", colour=text))
    return IndexRow(key_of("red-a"), body, 10, Version(version, 0))


def a_write(*rows: IndexRow, watermark: int = 0, term: int = 1) -> IndexWrite:
    return IndexWrite(10, 1, term, list(rows), Version(watermark, 0))


def a_target(made: Parts) -> tuple[IndexTarget, Replica]:
    replica = made.replica(INDEXED, "by-colour")
    return IndexTarget(made.engine, replica), replica


def shown(made: Parts, replica: Replica) -> str | None:
    stored = made.engine.get(Family.ITEM, replica.row_key(key_of("red-a")))
    return None if stored is None else str(decode_item(stored[36:])["colour"]["S"])


async def test_an_older_version_never_replaces_a_newer_one() -> None:
    async with parts() as made:
        target, replica = a_target(made)
        await target.apply(a_write(a_row(5, "new")))

        await target.apply(a_write(a_row(4, "old"), a_row(5, "same")))

        assert shown(made, replica) == "new"


async def test_a_repeated_put_does_not_bring_back_a_deleted_row() -> None:
    async with parts() as made:
        target, replica = a_target(made)
        await target.apply(a_write(a_row(4, "x"), a_row(5, None)))

        await target.apply(a_write(a_row(4, "x")))

        assert shown(made, replica) is None


async def test_a_delete_of_a_row_that_never_came_is_remembered_over_a_restart() -> None:
    async with parts() as made:
        target, replica = a_target(made)
        await target.apply(a_write(a_row(5, None)))

        restarted = IndexTarget(made.engine, replica)
        await restarted.apply(a_write(a_row(4, "x")))

        assert shown(made, replica) is None


async def test_tombstones_go_when_their_source_has_passed_them() -> None:
    async with parts() as made:
        target, _ = a_target(made)
        await target.apply(a_write(a_row(5, None)))
        assert len(list(made.engine.scan(Family.DEDUPE, b"", b"\xff" * 9))) == 1

        await target.apply(a_write(watermark=5))

        assert list(made.engine.scan(Family.DEDUPE, b"", b"\xff" * 9)) == []


async def test_a_watermark_spares_the_tombstone_of_a_later_delete() -> None:
    async with parts() as made:
        target, replica = a_target(made)
        await target.apply(a_write(a_row(5, None)))
        await target.apply(a_write(a_row(6, "x"), a_row(7, None)))

        await target.apply(a_write(watermark=5))
        await target.apply(a_write(a_row(6, "x")))

        assert shown(made, replica) is None


async def test_a_source_of_an_older_term_is_refused_even_after_a_restart() -> None:
    async with parts() as made:
        target, replica = a_target(made)
        await target.apply(a_write(a_row(5, "x"), term=2))

        restarted = IndexTarget(made.engine, replica)

        with pytest.raises(StaleSource):
            await restarted.apply(a_write(a_row(6, "y"), term=1))


async def test_rows_of_one_message_see_each_other() -> None:
    async with parts() as made:
        target, replica = a_target(made)

        await target.apply(a_write(a_row(1, "a"), a_row(2, None), a_row(3, "c")))

        assert shown(made, replica) == "c"
        assert replica.state.item_count == 1


def a_reader(base: Replica, target: IndexTarget, *, filling: bool = False) -> IndexReader:
    async def send(group: int, write: IndexWrite) -> None:
        await target.apply(write)

    everywhere = PartitionMap([Partition(GroupId(20), TableId(2), 0, TOKEN_SPACE - 1, 1)])
    return IndexReader(base, BY_COLOUR, everywhere, SEED, send, filling=filling)


def a_tailer(made: Parts, base: Replica, target: IndexTarget) -> Tailer:
    reader = a_reader(base, target)
    base.watched = True
    return Tailer(made.engine, base, Cursors(made.engine, base, [2]), reader, made.clock)


async def test_a_tailer_carries_changes_and_sees_none_before_its_flush() -> None:
    async with parts() as made:
        base = made.replica(INDEXED)
        target, index = a_target(made)
        tailing = asyncio.ensure_future(a_tailer(made, base, target).run())
        made.engine.gate.clear()
        put = asyncio.ensure_future(base.write(a_put("a", colour="red")))
        await settle()
        assert index.state.item_count == 0

        made.engine.gate.set()
        await put
        await settle()
        assert index.state.item_count == 1

        await base.write(a_delete("a"))
        await settle()
        assert index.state.item_count == 0
        tailing.cancel()


async def test_a_saved_cursor_is_where_a_new_tailer_goes_on_and_what_is_passed_is_trimmed() -> None:
    async with parts() as made:
        base = made.replica(INDEXED)
        target, _ = a_target(made)
        cursors = Cursors(made.engine, base, [2])
        base.watched = True
        await base.write(a_put("a", colour="red"))
        await base.write(a_put("b", colour="red"))

        await cursors.save(2, Version(1, 0)).flushed

        assert a_tailer(made, base, target).position == Version(1, 0)
        assert len(list(made.engine.scan(Family.CHANGE, b"", b"\xff" * 9))) == 1


@pytest.mark.parametrize("count", [3, 3000], ids=["one by one", "by range"])
async def test_whatever_its_length_the_passed_log_is_removed(
    count: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tailer, "RANGE_TRIM_CHANGES_MIN", 100)
    async with parts() as made:
        base = made.replica(INDEXED)
        base.watched = True
        cursors = Cursors(made.engine, base, [2])
        await asyncio.gather(*(base.write(a_put(str(n), colour="red")) for n in range(count)))
        *_, (newest, _) = made.engine.scan(Family.CHANGE, b"", b"\xff" * 9)
        last = decode_position(newest[8:])

        await cursors.save(2, Version(last.apply_index, last.ordinal - 1)).flushed

        assert len(list(made.engine.scan(Family.CHANGE, b"", b"\xff" * 9))) == 1
        by_range = any(
            isinstance(operation, RangeDelete)
            for batch in made.engine.writes
            for operation in batch
        )
        assert by_range == (count > 100)


async def test_a_new_tailer_says_how_far_the_last_one_had_come() -> None:
    async with parts() as made:
        base = made.replica(INDEXED)
        target, _ = a_target(made)
        await target.apply(a_write(a_row(5, None)))
        base.watched = True
        await Cursors(made.engine, base, [2]).save(2, Version(5, 0)).flushed

        tailing = asyncio.ensure_future(a_tailer(made, base, target).run())
        await settle()

        assert list(made.engine.scan(Family.DEDUPE, b"", b"\xff" * 9)) == []
        tailing.cancel()


async def test_changes_that_are_not_even_written_go_with_the_last_reader() -> None:
    async with parts() as made:
        base = made.replica(INDEXED)
        base.watched = True
        cursors = Cursors(made.engine, base, [2])
        await base.write(a_put("a", colour="red"))
        put = asyncio.ensure_future(base.write(a_put("b", colour="red")))
        await asyncio.sleep(0)

        await base.propose_rows(cursors.drop(2)).flushed
        await put

        assert list(made.engine.scan(Family.CHANGE, b"", b"\xff" * 9)) == []


async def test_what_only_a_dropped_reader_needed_is_removed() -> None:
    async with parts() as made:
        base = made.replica(INDEXED)
        base.watched = True
        cursors = Cursors(made.engine, base, [2, 3])
        for id in ("a", "b", "c"):
            await base.write(a_put(id, colour="red"))
        await cursors.save(3, Version(2, 0)).flushed

        await base.propose_rows(cursors.drop(2)).flushed

        assert len(list(made.engine.scan(Family.CHANGE, b"", b"\xff" * 9))) == 1
        assert Cursors(made.engine, base, [2, 3]).saved(3) == Version(2, 0)


async def test_no_tombstone_goes_while_the_index_is_filled() -> None:
    async with parts() as made:
        base = made.replica(INDEXED)
        target, _ = a_target(made)
        reader = a_reader(base, target, filling=True)
        await target.apply(a_write(a_row(5, None)))

        await reader.passed(Version(5, 0))
        assert len(list(made.engine.scan(Family.DEDUPE, b"", b"\xff" * 9))) == 1

        await reader.filled()
        assert list(made.engine.scan(Family.DEDUPE, b"", b"\xff" * 9)) == []


async def test_a_tailer_knows_up_to_which_entry_it_is_complete(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(tailer, "BATCH_CHANGES_MAX", 2)
    async with parts() as made:
        base = made.replica(INDEXED)
        target, index = a_target(made)
        tailing = a_tailer(made, base, target)
        writes = [a_put(str(number), colour="red") for number in range(5)]
        for round in base.begin(writes, 1 << 20).rounds:
            await round.flushed

        task = asyncio.ensure_future(tailing.run())
        await until(lambda: tailing.complete >= 1, "everything is delivered")

        assert index.state.item_count == 5
        task.cancel()
