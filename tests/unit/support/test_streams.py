"""Streams deliver all in order or break, and both ends are told."""

from __future__ import annotations

from collections.abc import Callable
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.support.network import Conditions, Fault
from tests.support.streams import PATIENCE_S, RESEND_S, Streams
from tests.unit.support.simulated import DELAY_S, STEADY, Laboratory

MANY = [str(number) for number in range(200)]
BROKEN_A = "broken with a"
BROKEN_B = "broken with b"


def send_all(streams: Streams, frames: list[str], source: str = "a", target: str = "b") -> None:
    for frame in frames:
        assert streams.send(source, target, frame.encode())


@pytest.mark.parametrize("shuffle", [False, True], ids=["in order", "shuffled"])
def test_a_stream_delivers_everything_once_and_in_order(shuffle: bool) -> None:
    lab = Laboratory(Conditions(delay_s=(0.001, 0.5), duplicate=0.5), shuffle=shuffle)
    streams = lab.streams("a", "b")

    send_all(streams, MANY)
    send_all(streams, MANY, "b", "a")
    lab.run()

    assert lab.seen == {"a": MANY, "b": MANY}
    assert not lab.network.counts


@pytest.mark.parametrize(
    ("conditions", "fault"),
    [(Conditions(drop=1), Fault.DROPPED), (Conditions(reorder=1), Fault.REORDERED)],
    ids=["drop", "reorder"],
)
def test_a_lost_or_late_frame_breaks_the_stream_for_both_ends(
    conditions: Conditions, fault: Fault
) -> None:
    lab = Laboratory()
    streams = lab.streams("a", "b")

    send_all(streams, ["delivered"])
    send_all(streams, ["delivered"], "b", "a")
    lab.after(1, lambda: send_all(streams, ["lost with it"], "b", "a"))
    lab.after(1, lambda: send_all(streams, ["lost with it"]))
    lab.after(1, lambda: lab.network.change(conditions))
    lab.after(1, lambda: send_all(streams, ["breaks it"]))
    lab.after(1, lambda: lab.network.change(STEADY))
    lab.after(2, lambda: send_all(streams, ["on a new one"]))
    lab.run()

    assert lab.seen["a"] == ["delivered", BROKEN_B]
    assert lab.seen["b"] == ["delivered", BROKEN_A, "on a new one"]
    assert lab.network.counts == {fault: 1, Fault.BROKEN: 1, Fault.LOST: 3}


def test_what_is_sent_before_an_end_is_told_is_lost() -> None:
    lab = Laboratory()
    streams = lab.streams("a", "b")

    lab.network.change(Conditions(delay_s=STEADY.delay_s, drop=1))
    send_all(streams, ["1"])
    lab.network.change(STEADY)
    lab.after(DELAY_S / 2, lambda: send_all(streams, ["2"]))
    lab.after(DELAY_S * 2, lambda: send_all(streams, ["3"]))
    lab.run()

    assert lab.seen["b"] == [BROKEN_A, "3"]


def test_an_end_is_told_before_it_receives_on_the_new_stream() -> None:
    lab = Laboratory()
    streams = lab.streams("a", "b")

    # The end at a is told at once, the one at b only in ten seconds.
    slow = Conditions(delay_s=(10, 10), drop=1)
    lab.network.change(slow, [("a", "b")])
    send_all(streams, ["1"])
    lab.network.change(STEADY, [("a", "b")])
    lab.after(1, lambda: send_all(streams, ["2"]))
    lab.run()

    assert lab.seen["b"] == [BROKEN_A, "2"]


def test_a_short_cut_only_delays() -> None:
    lab = Laboratory()
    streams = lab.streams("a", "b")

    lab.network.cut([("a", "b")])
    send_all(streams, MANY)
    lab.after(1, lab.network.heal)
    lab.run()

    assert lab.seen["b"] == MANY
    assert 1 < min(lab.arrived_at) <= max(lab.arrived_at) < 1 + DELAY_S + RESEND_S
    assert not lab.network.counts


def test_a_long_cut_breaks_the_stream_and_the_next_one_too() -> None:
    lab = Laboratory()
    streams = lab.streams("a", "b")

    lab.network.cut(lab.network.between("a", "b"))
    send_all(streams, ["1"])
    lab.after(3 * PATIENCE_S, lambda: send_all(streams, ["2"]))
    lab.after(10 * PATIENCE_S, lab.network.heal)
    lab.after(10 * PATIENCE_S, lambda: send_all(streams, ["3"]))
    lab.run()

    assert lab.seen == {"a": [BROKEN_B, BROKEN_B], "b": [BROKEN_A, BROKEN_A, "3"]}
    assert lab.network.counts == {Fault.CUT: 2, Fault.BROKEN: 2, Fault.LOST: 2}


def test_a_one_way_cut_lets_the_other_way_through_until_it_breaks_both() -> None:
    lab = Laboratory()
    streams = lab.streams("a", "b")

    lab.network.cut([("a", "b")])
    send_all(streams, ["held up"])
    lab.after(1, lambda: send_all(streams, ["through"], "b", "a"))
    lab.run()

    assert lab.seen == {"a": ["through", BROKEN_B], "b": [BROKEN_A]}


def test_a_full_stream_refuses_frames_and_loses_none() -> None:
    lab = Laboratory(in_flight_bytes_max=100)
    streams = lab.streams("a", "b")

    lab.network.cut([("a", "b")])
    taken = [streams.send("a", "b", b"x" * 40) for _ in range(4)]
    back = streams.send("b", "a", b"x" * 40)
    lab.after(1, lab.network.heal)
    lab.run()

    assert taken == [True, True, False, False]
    assert back
    assert len(lab.seen["b"]) == 2
    assert lab.network.counts == {Fault.REFUSED: 2}
    assert streams.in_flight_bytes("a", "b") == 0


def test_a_broken_stream_leaves_the_next_one_empty() -> None:
    lab = Laboratory(in_flight_bytes_max=100)
    streams = lab.streams("a", "b")

    lab.network.cut([("a", "b")])
    assert streams.send("a", "b", b"x" * 80)
    lab.after(2 * PATIENCE_S, lab.network.heal)
    lab.after(2 * PATIENCE_S, lambda: send_all(streams, ["y" * 80]))
    lab.run()

    assert lab.seen["b"] == [BROKEN_A, "y" * 80]


def test_a_paused_node_receives_late_without_a_break() -> None:
    lab = Laboratory()
    streams = lab.streams("a", "b")

    lab.network.pause("b")
    send_all(streams, MANY)
    lab.after(50, lambda: lab.network.resume("b"))
    lab.run()

    assert lab.seen["b"] == MANY
    assert set(lab.arrived_at) == {50}
    assert lab.network.counts == {Fault.HELD: len(MANY)}


def test_a_paused_node_is_told_of_a_break_when_it_is_resumed() -> None:
    lab = Laboratory()
    streams = lab.streams("a", "b")

    lab.network.pause("b")
    send_all(streams, ["1"])
    lab.after(1, lambda: lab.network.change(Conditions(drop=1)))
    lab.after(1, lambda: send_all(streams, ["2"]))
    lab.after(5, lambda: lab.network.resume("b"))
    lab.run()

    assert lab.seen == {"a": [BROKEN_B], "b": [BROKEN_A]}


@pytest.mark.parametrize("cut", [False, True], ids=["linked", "cut off"])
def test_the_other_end_of_a_crashed_node_is_told(cut: bool) -> None:
    lab = Laboratory()
    streams = lab.streams("a", "b")
    told_at = PATIENCE_S if cut else DELAY_S

    send_all(streams, ["delivered"])
    send_all(streams, ["delivered"], "b", "a")
    if cut:
        lab.after(1, lambda: lab.network.cut([("b", "a")]))
    lab.after(2, lambda: lab.network.crash("b"))
    lab.after(2 + told_at * 0.9, lambda: lab.seen["a"].append("not told yet"))
    lab.after(2 + told_at * 1.1, lambda: lab.seen["a"].append("told"))
    lab.run()

    assert lab.seen == {"a": ["delivered", "not told yet", BROKEN_B, "told"], "b": ["delivered"]}


def test_a_node_that_is_back_knows_nothing_of_its_old_streams() -> None:
    lab = Laboratory()
    streams = lab.streams("a", "b")

    send_all(streams, ["1"])
    lab.after(DELAY_S / 4, lambda: lab.network.crash("b"))
    lab.after(DELAY_S / 2, lambda: lab.attach(streams, "b"))
    lab.after(DELAY_S / 2, lambda: send_all(streams, ["fresh"], "b", "a"))
    lab.after(1, lambda: send_all(streams, ["2"]))
    lab.run()

    assert lab.seen == {"a": [BROKEN_B, "fresh"], "b": ["2"]}


def test_sending_to_a_node_that_is_down_breaks_the_stream_each_time() -> None:
    lab = Laboratory()
    streams = lab.streams("a")

    send_all(streams, ["1"])
    lab.after(1, lambda: send_all(streams, ["2"]))
    lab.after(2, lambda: lab.attach(streams, "b"))
    lab.after(3, lambda: send_all(streams, ["3"]))
    lab.run()

    assert lab.seen == {"a": [BROKEN_B, BROKEN_B], "b": ["3"]}


@given(st.integers(0, 1 << 30))
@settings(max_examples=100, deadline=None)
def test_between_two_breaks_an_end_receives_a_piece_of_what_was_sent_without_a_gap(
    seed: int,
) -> None:
    lab = Laboratory(Conditions(drop=0.02, reorder=0.02), seed=seed, shuffle=True)
    streams = lab.streams("a", "b")
    random = Random(seed)
    network = lab.network

    def restart() -> None:
        network.crash("b")
        lab.seen["b"].append(BROKEN_A)
        lab.attach(streams, "b")

    actions: list[Callable[[], object]] = [
        lambda: network.pause("b"),
        lambda: network.resume("b"),
        lambda: network.cut([("a", "b")]),
        lambda: network.heal(),
        lambda: network.flap([("b", "a")], up_s=(0.1, 1), down_s=(0.1, 3)),
        restart,
    ]

    for number in range(300):
        lab.after(number / 20, lambda n=number: streams.send("a", "b", str(n).encode()))  # type: ignore[misc]
        lab.after(number / 20, lambda: streams.send("b", "a", b"x"))
    for _ in range(10):
        lab.after(random.uniform(0, 15), random.choice(actions))
    lab.after(16, network.heal)
    lab.after(16, lambda: network.resume("b"))
    lab.after(30, lambda: network.change(STEADY))
    lab.after(50, lambda: streams.send("a", "b", b"300"))
    lab.run()

    last = -1
    whole = True
    for frame in lab.seen["b"]:
        if frame == BROKEN_A:
            whole = False
            continue
        assert int(frame) == last + 1 or (not whole and int(frame) > last), lab.seen["b"]
        last, whole = int(frame), True
    assert last == 300
