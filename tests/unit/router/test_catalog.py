"""The catalog's short way to a row leads where the long way does, or nowhere."""

from __future__ import annotations

from copy import deepcopy
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import structs

from gramme.errors import GrammeError, ResourceNotFound
from gramme.model.keys import check_key
from gramme.model.table import KeyAttribute, KeyType, Table
from gramme.model.values import normalise_item
from gramme.partitions import GroupId, Partition, PartitionMap, TableId, even_ranges
from gramme.router.catalog import Catalog, CatalogEntry
from gramme.router.operations.keys import locate

NAMESPACE = ("000000000000", "us-east-1")
PARTITIONS = PartitionMap(
    [
        Partition(GroupId(number), TableId(1), start, last, 1)
        for number, (start, last) in enumerate(even_ranges(4))
    ]
)

TEXTS = st.text(st.sampled_from("ab\0\u00e9\u20ac\U0001f600"), max_size=300)
VALUES = st.one_of(
    st.builds(lambda text: {"S": text}, TEXTS),
    st.sampled_from([{"N": "1"}, {"B": "YQ=="}, {"S": 1}, {"S": None}, {}, None, "a", {"L": []}]),
    st.just({"S": "a", "N": "1"}),
)
KEYS = st.dictionaries(st.sampled_from(["id", "at", "other"]), VALUES, max_size=3)


def a_catalog(range_key: str | None = None, hash_type: KeyType = "S") -> Catalog:
    range_attribute = None if range_key is None else KeyAttribute(range_key, "S")
    table = Table(1, *NAMESPACE, "music", KeyAttribute("id", hash_type), range_attribute)
    catalog = Catalog(b"seed")
    catalog.put(CatalogEntry(table, PARTITIONS, {}))
    return catalog


def the_long_way(catalog: Catalog, key: dict[str, Any]) -> tuple[bytes, Partition] | None:
    entry = catalog.find(*NAMESPACE, "music")
    try:
        normalise_item(key)
        check_key(entry.table, key)
    except GrammeError:
        return None
    return locate(catalog.seed, entry, key)


@given(st.lists(KEYS, max_size=4), st.sampled_from([None, "at"]))
def test_keys_are_placed_where_the_long_way_leads_or_not_at_all(
    keys: list[dict[str, Any]], range_key: str | None
) -> None:
    catalog = a_catalog(range_key)

    for key in keys:
        before = deepcopy(key)
        placed = catalog.place(NAMESPACE, "music", key)

        assert key == before
        if placed is not None:
            assert placed[1] == the_long_way(catalog, key)


def test_a_partition_key_met_before_is_placed_as_it_was_the_first_time() -> None:
    catalog = a_catalog("at")
    keys = [{"id": {"S": hash}, "at": {"S": range}} for hash, range in ("ab", "ac", "bb", "ab")]

    places = [catalog.place(NAMESPACE, "music", key) for key in keys]

    assert [place and place[1] for place in places] == [the_long_way(catalog, key) for key in keys]


def test_no_key_is_empty_though_none_was_met_before() -> None:
    assert a_catalog().place(NAMESPACE, "music", {"id": {"S": ""}}) is None


@pytest.mark.parametrize(
    ("range_key", "key"),
    [(None, {"id": {"S": "a"}}), ("at", {"id": {"S": "\u00e9"}, "at": {"S": "b"}})],
    ids=["hash", "hash and range"],
)
def test_short_strings_go_the_short_way(range_key: str | None, key: dict[str, Any]) -> None:
    catalog = a_catalog(range_key)

    placed = catalog.place(NAMESPACE, "music", key)

    assert placed is not None
    assert placed[1] == the_long_way(catalog, key)


def test_an_item_may_have_more_than_its_key() -> None:
    entry = a_catalog("at").find(*NAMESPACE, "music")
    key = {"id": {"S": "a"}, "at": {"S": "b"}}

    place = entry.place({**key, "title": {"S": "c"}}, False)

    assert place is not None
    assert place == entry.place(key, True)
    assert entry.place({**key, "title": {"S": "c"}}, True) is None


def test_number_keys_and_unknown_tables_go_the_long_way() -> None:
    assert a_catalog(hash_type="N").place(NAMESPACE, "music", {"id": {"N": "1"}}) is None
    assert a_catalog().place(NAMESPACE, "film", {"id": {"S": "a"}}) is None
    assert a_catalog().place(("1", "elsewhere"), "music", {"id": {"S": "a"}}) is None


def test_a_table_in_creation_is_described_and_not_used() -> None:
    catalog = a_catalog()
    active = catalog.find(*NAMESPACE, "music")
    creating = structs.replace(active.table, name="new", status="CREATING")

    catalog.put(CatalogEntry(creating, PARTITIONS, {}))

    assert catalog.names(*NAMESPACE) == ["music", "new"]
    assert catalog.find_described(*NAMESPACE, "new").table == creating
    assert catalog.place(NAMESPACE, "new", {"id": {"S": "a"}}) is None
    with pytest.raises(ResourceNotFound):
        catalog.find(*NAMESPACE, "new")

    catalog.put(CatalogEntry(structs.replace(creating, status="ACTIVE"), PARTITIONS, {}))

    assert catalog.names(*NAMESPACE) == ["music", "new"]
    assert catalog.place(NAMESPACE, "new", {"id": {"S": "a"}}) is not None
