"""A replica's pages of a scan: their bounds, the room they are given, and what they wait for."""

from __future__ import annotations

import asyncio

import msgspec
import orjson
import pytest

from gramme.commands import Page, Put
from gramme.node.replica import Replica
from gramme.partitions import TOKEN_BYTES, TOKEN_SPACE
from tests.unit.node.fixtures import a_delete, a_put, a_scan, an_item, parts, settle

TOKENS = (0, 5, 6, TOKEN_SPACE - 1)
# The longest row key there could be after all others: nothing in it sorts higher.
HIGH = b"\xff" * 64


def at(token: int, rest: bytes = b"a\0\0") -> Put:
    """A put of an item that is named after its token."""
    body = orjson.dumps(an_item(str(token)))
    return Put(token.to_bytes(TOKEN_BYTES) + rest, body, 100)


async def fill(replica: Replica) -> None:
    for token in TOKENS:
        await replica.write(at(token))


def tokens(page: Page) -> list[int]:
    return [int(orjson.loads(item)["id"]["S"]) for item in page.items]


@pytest.mark.parametrize(
    ("first", "last", "expected"),
    [
        (0, TOKEN_SPACE - 1, [0, 5, 6, TOKEN_SPACE - 1]),
        (0, 4, [0]),
        (1, 4, []),
        (5, 5, [5]),
        (6, TOKEN_SPACE - 1, [6, TOKEN_SPACE - 1]),
        (TOKEN_SPACE - 1, TOKEN_SPACE - 1, [TOKEN_SPACE - 1]),
    ],
)
async def test_both_tokens_are_within_bounds(first: int, last: int, expected: list[int]) -> None:
    async with parts() as made:
        replica = made.replica()
        await fill(replica)

        assert tokens(await replica.scan(a_scan(first, last))) == expected


async def test_the_highest_row_key_is_within_the_last_token() -> None:
    async with parts() as made:
        replica = made.replica()
        await replica.write(at(TOKEN_SPACE - 1, HIGH))

        assert (await replica.scan(a_scan())).count == 1


async def test_scan_goes_on_after_its_start_row() -> None:
    async with parts() as made:
        replica = made.replica()
        await fill(replica)

        assert tokens(await replica.scan(a_scan(5, start=at(5).key))) == [6, TOKEN_SPACE - 1]
        # A start row that lies before the first token takes nothing away.
        assert tokens(await replica.scan(a_scan(6, start=at(0).key))) == [6, TOKEN_SPACE - 1]


async def test_page_ends_where_its_room_does() -> None:
    async with parts() as made:
        replica = made.replica()
        await fill(replica)
        by_size = msgspec.structs.replace(a_scan(), size_max=200)
        by_bytes = msgspec.structs.replace(a_scan(), stored_bytes_max=1)

        page = await replica.scan(by_size)
        assert (tokens(page), page.size) == ([0, 5], 200)
        assert page.last_key == orjson.dumps(an_item("5"))

        page = await replica.scan(by_bytes)
        assert tokens(page) == [0]
        assert page.last_key is not None
        assert page.stored_bytes > 1


async def test_a_scan_that_met_an_unflushed_row_waits_for_it() -> None:
    async with parts() as made:
        replica = made.replica()
        made.engine.gate.clear()
        put = asyncio.ensure_future(replica.write(a_put("a")))
        await settle()
        page = asyncio.ensure_future(replica.scan(a_scan()))
        await settle()
        assert not page.done()

        made.engine.gate.set()

        assert (await page).count == 1
        await put


async def test_a_scan_that_missed_an_unflushed_delete_waits_for_it() -> None:
    async with parts() as made:
        replica = made.replica()
        await replica.write(a_put("a"))
        made.engine.gate.clear()
        delete = asyncio.ensure_future(replica.write(a_delete("a")))
        await settle()
        page = asyncio.ensure_future(replica.scan(a_scan()))
        await settle()
        assert not page.done()

        made.engine.gate.set()

        assert (await page).items == []
        await delete


async def test_a_scan_does_not_wait_for_another_partition() -> None:
    async with parts() as made:
        replica, other = made.replica(), made.replica()
        made.engine.gate.clear()
        put = asyncio.ensure_future(other.write(a_put("a")))
        await settle()

        page = await replica.scan(a_scan(first=1))

        assert page.items == []
        made.engine.gate.set()
        await put
