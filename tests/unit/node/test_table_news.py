"""Which tables have changed since when."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from gramme.model.table import TableRecord
from gramme.node import table_news
from gramme.node.table_news import NOTHING, TableNews
from tests.unit.node.fixtures import PLAIN


def a_record(id: int, name: str = "plain") -> TableRecord:
    return TableRecord(replace(PLAIN, id=id, name=name), (), {})


A, B, C = a_record(1), a_record(2), a_record(3)


def test_who_was_told_nothing_is_told_of_all_there_is() -> None:
    news = TableNews()
    news.update(5, [A, B])
    news.update(6, [B])

    assert news.since(NOTHING) == ([B], [], True)


def test_changes_come_in_their_order_and_each_table_once() -> None:
    news = TableNews()
    changed = a_record(1, "changed")
    news.update(5, [A])
    news.update(6, [A, B])
    news.update(7, [changed, B, C])
    news.update(8, [changed, C])

    assert news.since(5) == ([changed, C], [2], False)
    assert news.since(7) == ([], [2], False)
    assert news.since(8) == ([], [], False)


def test_equal_record_is_no_change() -> None:
    news = TableNews()
    news.update(5, [A])

    news.update(6, [a_record(1)])

    assert news.since(5) == ([], [], False)


def test_who_is_behind_where_this_began_is_told_of_all_there_is() -> None:
    news = TableNews()
    # A table may have gone before, and nothing is known of it here.
    news.update(5, [A])

    assert news.since(4) == ([A], [], True)
    assert news.since(5) == ([], [], False)


def test_who_is_behind_what_is_forgotten_is_told_of_all_there_is(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(table_news, "GONE_MAX", 2)
    news = TableNews()
    news.update(1, [A, B, C])
    news.update(2, [B, C])
    news.update(3, [C])

    assert news.since(2) == ([], [2], False)
    news.update(4, [])

    assert news.since(1) == ([], [], True)
    assert news.since(2) == ([], [2, 3], False)
    assert news.since(3) == ([], [3], False)
