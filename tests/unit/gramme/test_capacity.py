from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gramme.capacity import attribute_size, item_size, read_units, write_units
from gramme.errors import ValidationError
from gramme.model.item import Item
from gramme.model.values import DEPTH_MAX, normalise_item

NUMBERS = st.one_of(
    st.integers(min_value=-(10**30), max_value=10**30).map(str),
    st.decimals(
        allow_nan=False, allow_infinity=False, places=4, min_value=-1000, max_value=1000
    ).map(str),
)
BINARIES = st.sampled_from(["", "YQ==", "YWI=", "YWJj"])
SCALARS: st.SearchStrategy[dict[str, Any]] = st.one_of(
    st.text(max_size=8).map(lambda text: {"S": text}),
    NUMBERS.map(lambda number: {"N": number}),
    BINARIES.map(lambda binary: {"B": binary}),
    st.booleans().map(lambda flag: {"BOOL": flag}),
    st.just({"NULL": True}),
    st.sets(st.text(max_size=4), min_size=1, max_size=4).map(lambda texts: {"SS": list(texts)}),
    st.sets(st.integers(-(10**20), 10**20), min_size=1, max_size=4).map(
        lambda ns: {"NS": [str(n) for n in ns]}
    ),
    st.sets(BINARIES, min_size=1).map(lambda binaries: {"BS": list(binaries)}),
)
NAMES = st.text(min_size=1, max_size=6)
VALUES = st.recursive(
    SCALARS,
    lambda values: st.one_of(
        st.lists(values, max_size=3).map(lambda members: {"L": members}),
        st.dictionaries(NAMES, values, max_size=3).map(lambda members: {"M": members}),
    ),
    max_leaves=8,
)


@given(item=st.dictionaries(NAMES.filter(bool), VALUES, max_size=5))
def test_a_stored_item_has_the_size_it_came_in_with(item: Item) -> None:
    size = normalise_item(item)

    assert item_size(item) == size


def test_a_value_is_measured_without_its_name() -> None:
    assert attribute_size({"S": "é"}) == 2


@pytest.mark.parametrize(
    ("size", "consistent", "units"),
    [
        (0, True, 1),
        (0, False, 0.5),
        (4096, True, 1),
        (4097, True, 2),
        (4096, False, 0.5),
        (4097, False, 1),
        (409600, True, 100),
    ],
)
def test_reads_are_paid_in_blocks_of_4_kb(size: int, consistent: bool, units: float) -> None:
    assert read_units(size, consistent) == units


@pytest.mark.parametrize(("size", "units"), [(0, 1), (1, 1), (1024, 1), (1025, 2), (409600, 400)])
def test_writes_are_paid_in_blocks_of_1_kb(size: int, units: float) -> None:
    assert write_units(size) == units


def test_what_nests_too_deep_has_no_size() -> None:
    value: dict[str, object] = {"S": "leaf"}
    for _ in range(DEPTH_MAX - 1):
        value = {"L": [value]}
    assert item_size({"a": value}) > 0

    with pytest.raises(ValidationError, match="Nesting Levels have exceeded supported limits"):
        item_size({"a": {"M": {"b": value}}})
