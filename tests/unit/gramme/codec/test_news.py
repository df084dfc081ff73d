"""News in parts."""

from __future__ import annotations

import pytest

from gramme.codec.exchange import ToRouter, decode_to_router, encode_exchange
from gramme.codec.frame import BadFrame
from gramme.codec.news import (
    PART_BYTES,
    PART_GONE,
    PART_PRINCIPALS,
    Gathering,
    News,
    Part,
    parts_of,
)
from gramme.model.principal import Principal
from gramme.model.table import KeyAttribute, Table, TableRecord

TABLE = Table(1, "0" * 12, "local", "plain", KeyAttribute("id", "S"), None)


def a_record(id: int, size: int = 0) -> TableRecord:
    return TableRecord(
        Table(id, *("0" * 12, "local", "t"), TABLE.hash, None, echo={"": "x" * size}), (), {}
    )


def principals(count: int) -> list[Principal]:
    keys = [f"AKIA{number:016}".translate(str.maketrans("0189", "QRST")) for number in range(count)]
    return [Principal(key, "n" * 64, "0" * 12, "s" * 40) for key in keys]


@pytest.mark.parametrize(
    ("news", "parts"),
    [
        (News(7, b"seed", [], {1: "a:1"}), 1),
        (News(7, b"seed", [a_record(1), a_record(2)], {1: "a:1"}, [3], is_all=False), 1),
        (News(7, b"seed", [a_record(id, PART_BYTES // 3) for id in range(6)], {}), 3),
        (News(7, b"seed", [a_record(1, 2 * PART_BYTES), a_record(2)], {}, [3], is_all=False), 2),
        (News(7, b"seed", [a_record(1)], {}, list(range(2 * PART_GONE + 1)), is_all=False), 3),
        (News(7, b"seed", [], {}, principals=[]), 1),
        (News(7, b"seed", [a_record(1)], {}, [2], False, principals(PART_PRINCIPALS)), 1),
        (News(7, b"seed", [a_record(1)], {1: "a"}, principals=principals(1_000)), 10),
    ],
    ids=[
        *("nothing", "few", "many", "a large one", "many gone"),
        *("no principals", "some", "many of them"),
    ],
)
def test_parts_put_together_are_what_was_told(news: News, parts: int) -> None:
    made = list(parts_of(news))

    assert len(made) == parts
    gathering = Gathering()
    *early, heard = [gathering.add(part) for part in made]
    assert early == [None] * (parts - 1)
    assert heard == news
    # And nothing is left for the next news.
    assert gathering.add(Part(8, b"seed", False, True)) == News(8, b"seed", [], {}, is_all=False)


def test_parts_of_principals_are_no_larger_than_others() -> None:
    parts = list(parts_of(News(7, b"seed", [], {}, principals=principals(1_000))))

    encoded = [encode_exchange(ToRouter(news=part)) for part in parts]

    assert max(map(len, encoded)) < PART_BYTES
    decoded = [decode_to_router(frame).news for frame in encoded]
    assert decoded == parts


def test_record_that_cannot_be_read_is_no_frame() -> None:
    with pytest.raises(BadFrame):
        Gathering().add(Part(7, b"seed", True, True, [b"\xc1"]))
