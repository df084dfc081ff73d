"""The targets of coverage-guided fuzzing, briefly and without the guide: their seeds, and those changed at random."""

from __future__ import annotations

from decimal import Decimal

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from tests.fuzz.targets import TARGETS, Wrong, number
from tests.support.keys import decode_component

SEEDS = {name: sorted(target.seeds()) for name, target in TARGETS.items()}


@pytest.mark.parametrize("name", TARGETS)
def test_a_target_has_nothing_against_its_seeds(name: str) -> None:
    assert SEEDS[name]

    for seed in SEEDS[name]:
        TARGETS[name].run(seed)


@pytest.mark.parametrize("name", TARGETS)
@given(st.data())
@settings(max_examples=100, deadline=None)
def test_a_target_has_nothing_against_changed_seeds(name: str, data: st.DataObject) -> None:
    seed = data.draw(st.sampled_from(SEEDS[name]))
    first = data.draw(st.integers(0, len(seed)))
    last = data.draw(st.integers(first, len(seed)))

    TARGETS[name].run(seed[:first] + data.draw(st.binary(max_size=8)) + seed[last:])


@given(st.binary(max_size=60))
@example(b"")
def test_any_bytes_will_do(data: bytes) -> None:
    for target in TARGETS.values():
        target.run(data)


def test_a_wrong_number_is_found_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tests.fuzz.targets.normalise_number", lambda text: text.rstrip("0"))

    with pytest.raises(Wrong):
        number(b"10")


@pytest.mark.parametrize(
    ("kind", "encoded", "value"),
    [("S", b"a\0\xffb\0\0", b"a\0b"), ("N", b"\x80", 0), ("N", b"\xff\x82\x13\0", Decimal("1.2"))],
    ids=["zero byte", "zero", "fraction"],
)
def test_keys_are_read_by_the_page_on_the_disk_format(
    kind: str, encoded: bytes, value: object
) -> None:
    assert decode_component(kind, encoded + b"rest") == (value, b"rest")
