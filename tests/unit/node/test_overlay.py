"""What is proposed and not settled, over several rounds."""

from __future__ import annotations

from gramme.node.overlay import Overlay


def test_the_newest_value_of_a_key_is_found() -> None:
    overlay: Overlay[int] = Overlay()

    for value in range(4):
        overlay.proposed[b"a"] = value
        overlay.proposed[b"%d" % value] = value
        assert overlay.get(b"a") == value
        overlay.take()
        assert overlay.get(b"a") == value

    assert [overlay.get(b"%d" % value) for value in range(4)] == [0, 1, 2, 3]


def test_a_settled_round_takes_with_it_only_what_no_later_one_has() -> None:
    overlay: Overlay[int] = Overlay()
    for round in range(3):
        overlay.proposed[b"all"] = round
        overlay.proposed[b"%d" % round] = round
        overlay.take()
    overlay.proposed[b"all"] = 3

    overlay.settled()
    assert (overlay.get(b"0"), overlay.get(b"1"), overlay.get(b"2")) == (None, 1, 2)
    overlay.settled()
    assert (overlay.get(b"1"), overlay.get(b"2"), overlay.taken[b"all"]) == (None, 2, 2)
    overlay.settled()

    assert overlay.taken == {}
    assert overlay.get(b"all") == 3


def test_settling_a_round_changes_no_other() -> None:
    overlay: Overlay[int] = Overlay()
    overlay.proposed[b"a"] = 1
    overlay.take()
    overlay.proposed[b"b"] = 2
    overlay.take()
    overlay.settled()
    overlay.proposed[b"c"] = 3
    overlay.take()

    overlay.settled()

    assert overlay.taken == {b"c": 3}
