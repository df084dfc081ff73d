"""What a table remembers of its units, and rows of tables from before it remembered as much."""

from __future__ import annotations

import msgspec
import pytest

from gramme.model.table import DAY_MS, KeyAttribute, Table, UnitsHistory

NOON_MS = 20_000 * DAY_MS + DAY_MS // 2


@pytest.mark.parametrize(
    ("old", "new", "decreases"),
    [((1, 1), (2, 1), 0), ((2, 2), (1, 2), 1), ((2, 2), (1, 3), 1), ((2, 2), (1, 1), 1)],
    ids=["up", "down", "one of each", "both down"],
)
def test_a_change_that_lowers_anything_is_a_decrease(
    old: tuple[int, int], new: tuple[int, int], decreases: int
) -> None:
    history = UnitsHistory().after(old, new, NOON_MS)

    assert history.decreases_on(NOON_MS) == decreases
    assert (history.increased_at_ms == NOON_MS) == (decreases == 0)
    assert (history.decreased_at_ms == NOON_MS) == (decreases == 1)


def test_decreases_are_counted_by_the_day() -> None:
    history = UnitsHistory().after((9, 9), (8, 8), NOON_MS).after((8, 8), (7, 7), NOON_MS + 1)

    assert history.decreases_on(NOON_MS + 2) == 2
    assert history.decreases_on(NOON_MS + DAY_MS) == 0
    assert history.after((7, 7), (6, 6), NOON_MS + DAY_MS).decreases == 1


def test_a_table_from_before_is_read_with_defaults() -> None:
    stored = {
        "id": 7,
        "account": "000000000000",
        "region": "us-east-1",
        "name": "old",
        "hash": ["id", "S"],
        "range": None,
        "indexes": [],
        "created_at_ms": 1,
        "uuid": "u",
        "provisioned": None,
        "echo": {"TableClass": "STANDARD"},
    }

    table = msgspec.msgpack.decode(msgspec.msgpack.encode(stored), type=Table)

    assert table.hash == KeyAttribute("id", "S")
    assert table.status == "ACTIVE"
    assert table.deletion_protection is False
    assert table.history == UnitsHistory()
