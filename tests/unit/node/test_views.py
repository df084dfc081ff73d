"""What a write costs in an index: nothing, unless what the index keeps of the item changes."""

from __future__ import annotations

import orjson
import pytest

from gramme.model.item import AttributeValue, Item
from gramme.model.table import Index, KeyAttribute, LocalIndex, Table
from gramme.node.views import index_units

GROUP = KeyAttribute("group", "S")
NUMBER = KeyAttribute("n", "N")
TABLE = Table(
    1,
    "0" * 12,
    "local",
    "table",
    KeyAttribute("pk", "S"),
    KeyAttribute("sk", "S"),
    indexes=(Index(2, "global", (GROUP,), (NUMBER,), "INCLUDE", ("note",)),),
    local_indexes=(
        LocalIndex(3, "keys", NUMBER, "KEYS_ONLY"),
        LocalIndex(4, "all", NUMBER, "ALL"),
    ),
)
# About a unit and a half, and so two.
LONG = {"S": "x" * 1500}


def an_item(**attributes: AttributeValue) -> Item:
    return {"pk": {"S": "p"}, "sk": {"S": "s"}, **attributes}


def in_all(group: str = "g", n: str = "1", **attributes: AttributeValue) -> Item:
    return an_item(group={"S": group}, n={"N": n}, **attributes)


def units(old: Item | None, new: Item | None) -> dict[str, float]:
    told = index_units(
        TABLE,
        None if old is None else orjson.dumps(old),
        None if new is None else orjson.dumps(new),
    )
    assert told.in_global.keys() <= {"global"}
    assert told.in_local.keys() <= {"keys", "all"}
    return told.in_global | told.in_local


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        (None, an_item(), {}),
        (None, an_item(n={"N": "1"}), {"keys": 1.0, "all": 1.0}),
        (None, in_all(note=LONG), {"global": 2.0, "keys": 1.0, "all": 2.0}),
        (in_all(note=LONG), None, {"global": 2.0, "keys": 1.0, "all": 2.0}),
        (in_all(), in_all(), {}),
        (in_all(), in_all(other=LONG), {"all": 2.0}),
        (in_all(note=LONG), in_all(), {"global": 2.0, "all": 2.0}),
        (in_all(), in_all(note={"S": "x"}), {"global": 1.0, "all": 1.0}),
        (in_all(), in_all(n="2"), {"global": 2.0, "keys": 2.0, "all": 2.0}),
        (in_all(note=LONG), in_all(n="2"), {"global": 3.0, "keys": 2.0, "all": 3.0}),
        (in_all(), in_all(group="h"), {"global": 2.0, "all": 1.0}),
        (in_all(), an_item(n={"N": "1"}), {"global": 1.0, "all": 1.0}),
        (an_item(), an_item(other=LONG), {}),
        (in_all(tags={"SS": ["a", "b"]}), in_all(tags={"SS": ["b", "a"]}), {}),
    ],
    ids=[
        "put of what no index keeps",
        "put of what the local ones keep",
        "put of what all keep",
        "delete",
        "nothing changed",
        "change of what one projects",
        "the larger image counts",
        "change of what two project",
        "key moves",
        "key moves from a larger image",
        "key of one moves",
        "item leaves one",
        "change of what no index keeps",
        "sets have no order",
    ],
)
def test_index_is_charged_for_what_changes_in_it(
    old: Item | None, new: Item | None, expected: dict[str, float]
) -> None:
    assert units(old, new) == expected
