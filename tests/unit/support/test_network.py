"""Each fault of the simulated network, seen through frames that travel one by one."""

from __future__ import annotations

import pytest

from tests.support.datagrams import Datagrams
from tests.support.network import Conditions, Fault
from tests.unit.support.simulated import DELAY_S, STEADY, Laboratory

MANY = [str(number) for number in range(200)]


def send_all(datagrams: Datagrams, frames: list[str], source: str = "a", target: str = "b") -> None:
    for frame in frames:
        assert datagrams.send(source, target, frame.encode())


def test_frames_take_their_time_and_keep_their_order() -> None:
    lab = Laboratory(Conditions(delay_s=(0.001, 0.5)))
    datagrams = lab.datagrams("a", "b")

    send_all(datagrams, MANY)
    lab.run()

    assert lab.seen["b"] == MANY
    assert 0.001 <= min(lab.arrived_at) < max(lab.arrived_at) <= 0.5001
    assert not lab.network.counts


def test_ordered_frames_keep_their_order_on_a_shuffling_loop() -> None:
    lab = Laboratory(STEADY, shuffle=True)
    datagrams = lab.datagrams("a", "b")

    send_all(datagrams, MANY)
    lab.run()

    assert lab.seen["b"] == MANY


def test_an_unordered_link_lets_frames_overtake_each_other() -> None:
    lab = Laboratory(Conditions(delay_s=(0.001, 0.5)))
    datagrams = lab.datagrams("a", "b", ordered=False)

    send_all(datagrams, MANY)
    lab.run()

    assert lab.seen["b"] != MANY
    assert sorted(lab.seen["b"]) == sorted(MANY)


def test_dropped_frames_do_not_arrive() -> None:
    lab = Laboratory(Conditions(drop=0.3))
    datagrams = lab.datagrams("a", "b")

    send_all(datagrams, MANY)
    lab.run()

    assert lab.seen["b"] == [frame for frame in MANY if frame in lab.seen["b"]]
    assert 30 < len(MANY) - len(lab.seen["b"]) < 90
    assert lab.network.counts == {Fault.DROPPED: len(MANY) - len(lab.seen["b"])}


def test_duplicated_frames_arrive_twice() -> None:
    lab = Laboratory(Conditions(duplicate=0.3))
    datagrams = lab.datagrams("a", "b")

    send_all(datagrams, MANY)
    lab.run()

    assert set(lab.seen["b"]) == set(MANY)
    assert 30 < len(lab.seen["b"]) - len(MANY) < 90
    assert lab.network.counts == {Fault.DUPLICATED: len(lab.seen["b"]) - len(MANY)}


def test_reordered_frames_are_overtaken_and_the_others_are_in_order() -> None:
    lab = Laboratory(Conditions(reorder=0.1))
    datagrams = lab.datagrams("a", "b")

    for number, frame in enumerate(MANY):
        lab.after(number / 1000, lambda frame=frame: send_all(datagrams, [frame]))  # type: ignore[misc]
    lab.run()

    assert sorted(lab.seen["b"]) == sorted(MANY)
    assert lab.seen["b"] != MANY
    in_order = 0
    newest = -1
    for frame in lab.seen["b"]:
        in_order += int(frame) > newest
        newest = max(newest, int(frame))
    assert len(MANY) - in_order <= lab.network.counts[Fault.REORDERED] < 50


def test_a_cut_is_one_way() -> None:
    lab = Laboratory()
    datagrams = lab.datagrams("a", "b")

    lab.network.cut([("a", "b")])
    send_all(datagrams, ["1"])
    send_all(datagrams, ["2"], "b", "a")
    lab.run()

    assert lab.seen == {"a": ["2"], "b": []}
    assert lab.network.counts == {Fault.CUT: 1}


def test_a_cut_loses_what_is_on_its_way_and_healing_brings_nothing_back() -> None:
    lab = Laboratory()
    datagrams = lab.datagrams("a", "b")

    send_all(datagrams, ["1"])
    lab.after(DELAY_S / 2, lambda: lab.network.cut(lab.network.between("a", "b")))
    lab.after(DELAY_S * 2, lab.network.heal)
    lab.after(DELAY_S * 3, lambda: send_all(datagrams, ["2"]))
    lab.run()

    assert lab.seen["b"] == ["2"]


def test_an_isolated_node_hears_and_says_nothing_and_the_others_go_on() -> None:
    lab = Laboratory()
    datagrams = lab.datagrams("a", "b", "c")

    lab.network.cut(lab.network.around("a"))
    for source, target in lab.network.between("a", "b", "c"):
        send_all(datagrams, [source + target], source, target)
    lab.run()

    assert lab.seen == {"a": [], "b": ["cb"], "c": ["bc"]}


def test_a_flapping_link_comes_and_goes_until_it_is_healed() -> None:
    lab = Laboratory()
    datagrams = lab.datagrams("a", "b")

    lab.network.flap([("a", "b")], up_s=(0.5, 1.5), down_s=(2.0, 3.0))
    for tenths in range(900):
        lab.after(tenths / 10, lambda: send_all(datagrams, ["x"]))
    lab.after(50, lab.network.heal)
    lab.run()

    assert 410 < len(lab.seen["b"]) < 600
    assert sum(time < 50 for time in lab.arrived_at) > 100
    assert sum(time > 50 for time in lab.arrived_at) == 400
    assert lab.network.counts[Fault.CUT] > 250


def test_a_full_link_refuses_frames_and_loses_none() -> None:
    lab = Laboratory(in_flight_bytes_max=100)
    datagrams = lab.datagrams("a", "b", "c")

    taken = [datagrams.send("a", "b", b"x" * 40) for _ in range(4)]
    elsewhere = datagrams.send("a", "c", b"x" * 40)
    lab.after(DELAY_S * 2, lambda: send_all(datagrams, ["later"]))
    lab.run()

    assert taken == [True, True, False, False]
    assert elsewhere
    assert lab.seen["b"] == ["x" * 40, "x" * 40, "later"]
    assert lab.network.counts == {Fault.REFUSED: 2}
    assert datagrams.in_flight_bytes("a", "b") == 0


def test_a_frame_larger_than_the_bound_goes_alone() -> None:
    lab = Laboratory(in_flight_bytes_max=100)
    datagrams = lab.datagrams("a", "b")

    assert datagrams.send("a", "b", b"x" * 1000)
    assert not datagrams.send("a", "b", b"x")


@pytest.mark.parametrize(
    "conditions",
    [Conditions(drop=1), Conditions(duplicate=1), Conditions(reorder=1)],
    ids=["dropped", "duplicated", "reordered"],
)
def test_no_fault_leaves_a_link_full(conditions: Conditions) -> None:
    lab = Laboratory(conditions)
    datagrams = lab.datagrams("a", "b")

    send_all(datagrams, MANY)
    lab.run()

    assert datagrams.in_flight_bytes("a", "b") == 0


def test_a_paused_node_receives_late_and_in_order() -> None:
    lab = Laboratory()
    datagrams = lab.datagrams("a", "b")

    lab.network.pause("b")
    send_all(datagrams, ["1", "2"])
    lab.after(5, lambda: send_all(datagrams, ["3"]))
    lab.after(7, lambda: lab.network.resume("b"))
    lab.after(7, lambda: send_all(datagrams, ["4"]))
    lab.run()

    assert lab.seen["b"] == ["1", "2", "3", "4"]
    assert lab.arrived_at == [7, 7, 7, 7 + DELAY_S]
    assert lab.network.counts == {Fault.HELD: 3}


def test_what_a_paused_node_has_not_taken_fills_the_link() -> None:
    lab = Laboratory(in_flight_bytes_max=100)
    datagrams = lab.datagrams("a", "b")
    taken: list[bool] = []

    lab.network.pause("b")
    for second in range(3):
        lab.after(second, lambda: taken.append(datagrams.send("a", "b", b"x" * 40)))
    lab.run()

    assert taken == [True, True, False]


def test_a_paused_node_sends_nothing_until_it_is_resumed() -> None:
    lab = Laboratory()
    datagrams = lab.datagrams("a", "b")

    lab.network.pause("a")
    send_all(datagrams, ["1"])
    lab.after(5, lambda: lab.network.resume("a"))
    lab.run()

    assert lab.arrived_at == [5 + DELAY_S]


def test_a_node_paused_again_by_what_it_receives_waits_for_the_rest() -> None:
    lab = Laboratory()
    datagrams = lab.datagrams("a", "b")

    def receive(source: str, frame: bytes) -> None:
        lab.receiver("b")(source, frame)
        lab.network.pause("b")

    datagrams.attach("b", receive)
    lab.network.pause("b")
    send_all(datagrams, ["1", "2"])
    lab.after(1, lambda: lab.network.resume("b"))
    lab.after(2, lambda: lab.network.resume("b"))
    lab.run()

    assert lab.arrived_at == [1, 2]


@pytest.mark.parametrize("crashing", ["a", "b"], ids=["sender", "receiver"])
def test_a_crash_loses_what_is_on_its_way_though_the_node_is_back_before_that(
    crashing: str,
) -> None:
    lab = Laboratory()
    datagrams = lab.datagrams("a", "b")

    send_all(datagrams, ["1"])
    lab.after(DELAY_S / 4, lambda: lab.network.crash(crashing))
    lab.after(DELAY_S / 2, lambda: datagrams.attach(crashing, lab.receiver(crashing)))
    lab.after(1, lambda: send_all(datagrams, ["2"]))
    lab.run()

    assert lab.seen["b"] == ["2"]
    assert lab.network.counts == {Fault.CRASHED: 1}
    assert datagrams.in_flight_bytes("a", "b") == 0


def test_a_crash_loses_what_a_paused_node_had_not_taken() -> None:
    lab = Laboratory()
    datagrams = lab.datagrams("a", "b")

    lab.network.pause("b")
    send_all(datagrams, ["1", "2"])
    lab.after(1, lambda: lab.network.crash("b"))
    lab.after(2, lambda: datagrams.attach("b", lab.receiver("b")))
    lab.after(3, lambda: send_all(datagrams, ["3"]))
    lab.run()

    assert lab.seen["b"] == ["3"]
    assert lab.network.counts == {Fault.HELD: 2, Fault.CRASHED: 2}


def test_nothing_reaches_or_leaves_a_node_that_is_down() -> None:
    lab = Laboratory()
    datagrams = lab.datagrams("a", "b")

    lab.network.crash("b")
    send_all(datagrams, ["1"])
    send_all(datagrams, ["2"], "b", "a")
    send_all(datagrams, ["3"], "a", "never started")
    lab.run()

    assert lab.seen == {"a": [], "b": []}
    assert lab.network.counts == {Fault.CRASHED: 3}


def test_conditions_are_those_of_one_direction() -> None:
    lab = Laboratory()
    datagrams = lab.datagrams("a", "b")

    lab.network.change(Conditions(drop=1), [("a", "b")])
    send_all(datagrams, ["1"])
    send_all(datagrams, ["2"], "b", "a")
    lab.run()

    assert lab.seen == {"a": ["2"], "b": []}


def test_one_seed_gives_one_run_with_all_faults_at_once() -> None:
    def digest(seed: int) -> str:
        lab = Laboratory(Conditions(drop=0.1, duplicate=0.1, reorder=0.1), seed=seed, shuffle=True)
        datagrams = lab.datagrams("a", "b", "c")
        lab.network.flap(lab.network.around("a"), up_s=(0.1, 0.2), down_s=(0.01, 0.2))
        for number in range(1000):
            source, target = lab.network.random.sample("abc", 2)
            lab.after(number / 500, lambda s=source, t=target: datagrams.send(s, t, b"x"))  # type: ignore[misc]
        lab.run(5)
        return lab.loop.digest

    assert digest(1) == digest(1)
    assert digest(1) != digest(2)
