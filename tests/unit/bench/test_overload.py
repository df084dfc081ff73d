"""How many connections count as served, and which goodput is the peak."""

from bench.overload import Step, clean_goodput


def a_step(connections: int, good_per_second: float, errors: int = 0) -> Step:
    return Step("GetItem", "sweep", connections, good_per_second, errors, 1.0, 2.0, 0, 0.0)


def test_connections_that_met_an_error_in_any_round_are_not_served() -> None:
    steps = [a_step(16, 100), a_step(64, 300), a_step(16, 200), a_step(64, 400, errors=1)]

    assert clean_goodput(steps) == {16: 150}
