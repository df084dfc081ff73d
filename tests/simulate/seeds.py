"""What a seed runs: groups of replicas, where frames are lost, doubled and overtaken, or whole nodes and routers."""

from __future__ import annotations

from collections.abc import Callable

from tests.simulate.report import Report
from tests.simulate.run import simulate_groups
from tests.simulate.whole.run import simulate_whole

KINDS: dict[str, Callable[[int], Report]] = {"groups": simulate_groups, "whole": simulate_whole}


def kind_of(seed: int) -> str:
    return "groups" if seed % 3 == 0 else "whole"


def simulate(seed: int, kind: str | None = None) -> Report:
    return KINDS[kind or kind_of(seed)](seed)
