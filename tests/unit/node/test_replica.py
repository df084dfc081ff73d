"""No answer drawn from unflushed state leaves a replica, and what is answered stays."""

from __future__ import annotations

import asyncio
from zlib import crc32

import orjson
import pytest

from gramme.codec.item import body_of, version_of
from gramme.errors import ConditionalCheckFailed
from gramme.expressions.placeholders import Placeholders
from gramme.model.version import Version
from gramme.node.engine.api import Family
from gramme.node.engine.keyspace import decode_change, decode_state, state_key
from tests.unit.node.fixtures import (
    INDEXED,
    a_delete,
    a_get,
    a_put,
    a_query,
    an_item,
    key_of,
    parts,
    settle,
)


def body(id: str, **attributes: str) -> bytes:
    return orjson.dumps(an_item(id, **attributes))


async def test_a_put_is_answered_only_after_its_flush() -> None:
    async with parts() as made:
        made.engine.gate.clear()
        put = asyncio.ensure_future(made.replica().write(a_put("a")))
        await settle()
        assert not put.done()

        made.engine.gate.set()

        assert (await put).new_size > 0


async def test_a_read_of_an_unflushed_item_waits_and_then_shows_it() -> None:
    async with parts() as made:
        replica = made.replica()
        await replica.write(a_put("a", colour="red"))
        made.engine.gate.clear()
        put = asyncio.ensure_future(replica.write(a_put("a", colour="blue")))
        await settle()
        read = asyncio.ensure_future(replica.get(a_get("a")))
        await settle()
        assert not read.done()

        made.engine.gate.set()

        assert (await read).item == body("a", colour="blue")
        await put


async def test_a_read_of_another_item_does_not_wait() -> None:
    async with parts() as made:
        replica = made.replica()
        await replica.write(a_put("b"))
        made.engine.gate.clear()
        put = asyncio.ensure_future(replica.write(a_put("a")))
        await settle()

        assert (await replica.get(a_get("b"))).item == body("b")

        made.engine.gate.set()
        await put


async def test_a_page_that_met_an_unflushed_row_waits_for_it() -> None:
    async with parts() as made:
        replica = made.replica()
        made.engine.gate.clear()
        put = asyncio.ensure_future(replica.write(a_put("a")))
        await settle()
        page = asyncio.ensure_future(replica.query(a_query()))
        await settle()
        assert not page.done()

        made.engine.gate.set()

        assert (await page).items == [body("a")]
        await put


async def test_a_page_that_missed_an_unflushed_delete_waits_for_it() -> None:
    async with parts() as made:
        replica = made.replica()
        await replica.write(a_put("a"))
        made.engine.gate.clear()
        delete = asyncio.ensure_future(replica.write(a_delete("a")))
        await settle()
        page = asyncio.ensure_future(replica.query(a_query()))
        await settle()
        assert not page.done()

        made.engine.gate.set()

        assert (await page).items == []
        await delete


async def test_a_condition_that_fails_on_an_unflushed_item_waits_too() -> None:
    condition = Placeholders(None, None).condition("attribute_not_exists(id)")
    async with parts() as made:
        replica = made.replica()
        made.engine.gate.clear()
        first = asyncio.ensure_future(replica.write(a_put("a")))
        await settle()
        put = a_put("a")
        second = asyncio.ensure_future(
            replica.write(type(put)(put.key, put.item, put.size, condition=condition))
        )
        await settle()
        assert not second.done()

        made.engine.gate.set()

        with pytest.raises(ConditionalCheckFailed):
            await second
        await first


async def test_a_cancelled_waiter_does_not_call_off_the_flush_for_others() -> None:
    async with parts() as made:
        replica = made.replica()
        made.engine.gate.clear()
        first = asyncio.ensure_future(replica.write(a_put("a")))
        second = asyncio.ensure_future(replica.write(a_put("b")))
        await settle()

        first.cancel()
        await settle()
        made.engine.gate.set()

        assert (await second).new_size > 0


async def test_writes_of_one_item_are_evaluated_against_each_other() -> None:
    async with parts() as made:
        replica = made.replica()
        made.engine.gate.clear()
        writes = [asyncio.ensure_future(replica.write(a_put("a", n=str(n)))) for n in range(5)]
        await settle()
        made.engine.gate.set()

        answers = await asyncio.gather(*writes)

        assert [bool(answer.old_size) for answer in answers] == [False, True, True, True, True]
        assert (await replica.get(a_get("a"))).item == body("a", n="4")


async def test_versions_grow_and_are_stored_with_the_item() -> None:
    async with parts() as made:
        replica = made.replica()
        await replica.write(a_put("a"))
        await replica.write(a_put("a", n="2"))

        stored = made.engine.get(Family.ITEM, replica.row_key(key_of("a")))

        assert stored is not None
        assert version_of(stored) == Version(2, 0)
        assert body_of(stored) == body("a", n="2")


async def test_stamps_grow_though_the_clock_stands_still() -> None:
    async with parts() as made:
        replica = made.replica()
        await replica.write(a_put("a"))
        first = replica.state.clock

        await replica.write(a_put("a", n="2"))

        assert replica.state.clock == first + 1


async def test_nothing_is_written_to_the_change_log_while_nobody_reads() -> None:
    async with parts() as made:
        await made.replica().write(a_put("a"))

        assert list(made.engine.scan(Family.CHANGE, b"", b"\xff" * 9)) == []


async def test_a_watched_partition_leaves_one_change_per_effective_write() -> None:
    async with parts() as made:
        replica = made.replica(INDEXED)
        replica.watched = True
        await replica.write(a_put("a", colour="red", n="1"))
        reordered = b'{"n":{"S":"1"},"colour":{"S":"red"},"id":{"S":"a"}}'
        put = a_put("a", colour="red", n="1")
        await replica.write(type(put)(put.key, reordered, put.size))
        await replica.write(a_delete("a"))
        await replica.write(a_delete("a"))

        changes = [
            decode_change(raw) for _, raw in made.engine.scan(Family.CHANGE, b"", b"\xff" * 9)
        ]

        item = body("a", colour="red", n="1")
        assert [(change.old, change.new) for change in changes] == [(None, item), (item, None)]


async def test_an_item_and_its_change_and_its_state_are_in_one_write() -> None:
    async with parts() as made:
        replica = made.replica(INDEXED)
        replica.watched = True

        await replica.write(a_put("a", colour="red"))

        (batch,) = made.engine.writes
        assert [operation.family for operation in batch] == [
            Family.ITEM,
            Family.CHANGE,
            Family.RAFT,
        ]


async def test_the_state_row_sums_up_the_rows() -> None:
    async with parts() as made:
        replica = made.replica()
        for n in range(4):
            await replica.write(a_put("a", n=str(n)))
            await replica.write(a_put(f"b{n}"))
        await replica.write(a_delete("b0"))

        raw = made.engine.get(Family.RAFT, state_key(10))
        rows = list(made.engine.scan(Family.ITEM, b"", b"\xff" * 9))

        assert raw is not None
        state = decode_state(raw)
        assert state.index == 9
        assert state.item_count == len(rows) == 4
        assert state.checksum == sum(crc32(stored, crc32(key)) for key, stored in rows)
