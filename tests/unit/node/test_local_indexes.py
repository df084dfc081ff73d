"""A replica's local indexes: their rows are in the items' batches, and their pages keep the rules of pages."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Mapping
from random import Random

import msgspec
import orjson

from gramme.capacity import item_size
from gramme.codec.item import body_of, version_of
from gramme.codec.key import encode_component
from gramme.commands import (
    PAGE_SIZE_MAX,
    PAGE_STORED_BYTES_MAX,
    Delete,
    LocalRead,
    Page,
    Put,
    Query,
    Scan,
)
from gramme.model.item import Item
from gramme.model.table import KeyAttribute, LocalIndex, Table
from gramme.model.version import Version
from gramme.node.engine.api import Family, Operation, Row
from gramme.node.engine.keyspace import decode_state, encode_state, state_key, table_prefix
from gramme.node.flushed import Flushed
from gramme.node.local_pages import SLICE_FETCHES, LocalPages
from gramme.node.replica import Replica
from gramme.node.table_records import EMPTY_STATE
from gramme.partitions import TOKEN_SPACE
from tests.unit.node.fixtures import GatedEngine, parts, settle

BY_NUMBER = LocalIndex(7, "by-number", KeyAttribute("n", "N"), "KEYS_ONLY")
BY_NOTE = LocalIndex(8, "by-note", KeyAttribute("note", "S"), "ALL")
TABLE = Table(
    1,
    "0" * 12,
    "local",
    "table",
    KeyAttribute("pk", "S"),
    KeyAttribute("sk", "S"),
    local_indexes=(BY_NUMBER, BY_NOTE),
)
TOKEN = b"\0" * 8


def an_item(sort: str, **attributes: str) -> Item:
    tags = {"n": "N"}
    item = {"pk": {"S": "p"}, "sk": {"S": sort}}
    return item | {name: {tags.get(name, "S"): value} for name, value in attributes.items()}


def key_of(sort: str) -> bytes:
    return TOKEN + b"p\0\0" + sort.encode() + b"\0\0"


def a_put(sort: str, **attributes: str) -> Put:
    item = an_item(sort, **attributes)
    return Put(key_of(sort), orjson.dumps(item), item_size(item))


def row_key(index: LocalIndex, item: Item) -> bytes:
    ranged = encode_component(index.range.type, item[index.range.name])
    sorted_by: str = item["sk"]["S"]
    return table_prefix(index.id) + TOKEN + b"p\0\0" + ranged + sorted_by.encode() + b"\0\0"


def a_query(*, fetches: bool = False, forward: bool = True) -> Query:
    return Query(
        TOKEN + b"p\0\0",
        TOKEN + b"p\0\1",
        ("pk", "sk", "n"),
        forward=forward,
        local=LocalRead(BY_NUMBER.id, fetches),
    )


def a_scan(*, fetches: bool = False) -> Scan:
    return Scan(
        0,
        TOKEN_SPACE - 1,
        ("pk", "sk", "n"),
        PAGE_SIZE_MAX,
        PAGE_STORED_BYTES_MAX,
        local=LocalRead(BY_NUMBER.id, fetches),
    )


def items(page: Page) -> list[Item]:
    return [orjson.loads(item) for item in page.items]


async def test_rows_are_in_the_batch_of_their_item() -> None:
    async with parts() as made:
        await made.replica(TABLE).write(a_put("a", n="1", note="x"))

        (batch,) = made.engine.writes
        families = [operation.family for operation in batch]
        assert families == [Family.ITEM, Family.LSI, Family.LSI, Family.RAFT]


async def test_a_row_that_stays_the_same_is_not_written() -> None:
    async with parts() as made:
        replica = made.replica(TABLE)
        await replica.write(a_put("a", n="1"))
        await replica.write(a_put("a", n="1", other="x"))

        assert [operation.family for operation in made.engine.writes[1]] == [
            Family.ITEM,
            Family.RAFT,
        ]
        stored = made.engine.get(Family.LSI, row_key(BY_NUMBER, an_item("a", n="1")))
        assert stored is not None
        assert version_of(stored) == Version(1, 0)


async def test_a_row_moves_with_its_key() -> None:
    async with parts() as made:
        replica = made.replica(TABLE)
        await replica.write(a_put("a", n="1"))
        await replica.write(a_put("a", n="-2"))

        old, new = an_item("a", n="1"), an_item("a", n="-2")
        rows = [row for row in made.engine.writes[1] if isinstance(row, Row)]
        moved = [(row.key, row.value is None) for row in rows if row.family == Family.LSI]
        assert moved == [(row_key(BY_NUMBER, old), True), (row_key(BY_NUMBER, new), False)]


async def test_rows_and_totals_follow_whatever_is_written() -> None:
    seed = 20261118
    print(f"seed {seed}")
    random = Random(seed)
    async with parts() as made:
        replica = made.replica(TABLE)
        model: dict[str, Item] = {}
        for _ in range(200):
            writes = [_draw(random, sort, model) for sort in random.sample("abcdef", 2)]
            if random.random() < 0.5:
                for write in writes:
                    await replica.write(write)
            else:
                for round in replica.begin(writes, 1 << 20).rounds:
                    await round.flushed

        raw = made.engine.get(Family.RAFT, state_key(10))
        assert raw is not None
        rows = dict(made.engine.scan(Family.LSI, b"", b"\xff" * 9))
        shown = {key: orjson.loads(body_of(stored)) for key, stored in rows.items()}
        expected = [_expected(index, model) for index in TABLE.local_indexes]
        assert shown == expected[0] | expected[1]
        assert decode_state(raw).local == tuple(
            (len(of_index), sum(map(item_size, of_index.values()))) for of_index in expected
        )


def _draw(random: Random, sort: str, model: dict[str, Item]) -> Put | Delete:
    if random.random() < 0.3:
        model.pop(sort, None)
        return Delete(key_of(sort))
    attributes = {}
    if random.random() < 0.7:
        attributes["n"] = str(random.randint(-2, 2))
    if random.random() < 0.5:
        attributes["note"] = random.choice("xyz")
    model[sort] = an_item(sort, **attributes)
    return a_put(sort, **attributes)


def _expected(index: LocalIndex, model: Mapping[str, Item]) -> dict[bytes, Item]:
    rows = {row_key(index, i): i for i in model.values() if index.range.name in i}
    if index.projection == "ALL":
        return rows
    names = ("pk", "sk", index.range.name)
    return {key: {name: item[name] for name in names} for key, item in rows.items()}


async def test_a_page_waits_for_rows_that_are_not_flushed() -> None:
    for page in (a_query(), a_query(fetches=True), a_scan(), a_scan(fetches=True)):
        async with parts() as made:
            replica = made.replica(TABLE)
            made.engine.gate.clear()
            put = asyncio.ensure_future(replica.write(a_put("a", n="1", other="x")))
            await settle()
            reading = asyncio.ensure_future(_read(replica, page))
            await settle()
            assert not reading.done()

            made.engine.gate.set()

            assert (await reading).count == 1
            await put


async def _read(replica: Replica, page: Query | Scan) -> Page:
    return await (replica.query(page) if isinstance(page, Query) else replica.scan(page))


async def test_a_query_of_another_partition_key_does_not_wait() -> None:
    async with parts() as made:
        replica = made.replica(TABLE)
        made.engine.gate.clear()
        put = asyncio.ensure_future(replica.write(a_put("a", n="1")))
        await settle()
        other = b"\1" * 8 + b"q\0"
        elsewhere = msgspec.structs.replace(a_query(), lower=other + b"\0", upper=other + b"\1")

        page = await asyncio.wait_for(replica.query(elsewhere), 1)

        assert page.count == 0
        made.engine.gate.set()
        await put


class InterruptedEngine(GatedEngine):
    """Something is written before the second slice of a page of a local index is read."""

    def __init__(self, operations: list[Operation]) -> None:
        super().__init__()
        self.slices = 0
        self._operations = operations

    def scan(
        self, family: Family, lower: bytes, upper: bytes, *, forward: bool = True
    ) -> Iterator[tuple[bytes, bytes]]:
        self.slices += family == Family.LSI
        if family == Family.LSI and self.slices == 2:
            self.write(self._operations)
        return super().scan(family, lower, upper, forward=forward)


async def test_items_that_go_while_a_page_is_read_are_not_looked_for() -> None:
    count = 2 * SLICE_FETCHES
    gone = an_item(f"{count - 1:03}", n=str(count - 1))
    engine = InterruptedEngine(
        [
            Row(Family.ITEM, table_prefix(TABLE.id) + key_of(gone["sk"]["S"]), None),
            Row(Family.LSI, row_key(BY_NUMBER, gone), None),
        ]
    )
    async with parts(engine) as made:
        replica = made.replica(TABLE)
        for number in range(count):
            await replica.write(a_put(f"{number:03}", n=str(number), other="x"))

        page = await replica.query(a_query(fetches=True))

        assert engine.slices == 2
        assert [item["sk"]["S"] for item in items(page)] == [f"{n:03}" for n in range(count - 1)]


async def test_slices_join_in_both_directions() -> None:
    count = 2 * SLICE_FETCHES + 1
    async with parts() as made:
        replica = made.replica(TABLE)
        for number in range(count):
            await replica.write(a_put(f"{number:03}", n=str(number % 3), other="x"))

        forwards = items(await replica.query(a_query(fetches=True)))
        backwards = items(await replica.query(a_query(fetches=True, forward=False)))
        scanned = items(await replica.scan(a_scan(fetches=True)))

        in_order = sorted(forwards, key=lambda item: (item["n"]["N"], item["sk"]["S"]))
        assert len(forwards) == count
        assert forwards == scanned == in_order
        assert backwards == forwards[::-1]


async def test_a_page_that_fetches_waits_for_what_is_written_while_it_reads() -> None:
    waited: list[bytes] = []
    flushed = [None, Flushed()]

    def unflushed(token: bytes) -> Flushed | None:
        waited.append(token)
        return flushed[len(waited) - 1]

    async with parts() as made:
        replica = made.replica(TABLE)
        for number in range(SLICE_FETCHES + 1):
            await replica.write(a_put(f"{number:03}", n=str(number), other="x"))

        pages = LocalPages(made.engine, TABLE, unflushed)
        reading = asyncio.ensure_future(pages.query(a_query(fetches=True)))
        await settle()
        assert waited == [TOKEN, TOKEN]
        assert not reading.done()

        assert flushed[1] is not None
        flushed[1].release()

        assert (await reading).count == SLICE_FETCHES + 1


async def test_a_page_that_fetches_counts_what_it_fetches() -> None:
    async with parts() as made:
        replica = made.replica(TABLE)
        for sort in ("a", "b", "c"):
            await replica.write(a_put(sort, n="1", other="x" * 5000))

        page = await replica.query(a_query(fetches=True))

        assert page.fetched_blocks == 6
        assert page.size == 3 * item_size(an_item("a", n="1"))
        assert page.fetched_size == 3 * item_size(an_item("a", n="1", other="x" * 5000))


def test_the_state_row_of_a_table_without_local_indexes_is_as_it_was() -> None:
    plain = encode_state(EMPTY_STATE)
    with_totals = msgspec.structs.replace(EMPTY_STATE, local=((1, 20), (3, 40)))

    assert len(plain) == 57
    assert decode_state(plain) == EMPTY_STATE
    assert encode_state(with_totals)[:57] == plain
    assert decode_state(encode_state(with_totals)) == with_totals
