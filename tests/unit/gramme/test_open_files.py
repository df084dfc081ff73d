"""Who may have how many of the files a process can open."""

from __future__ import annotations

import pytest

from gramme.node.engine.rocks import TABLES_MAX
from gramme.open_files import WANTED, shares
from gramme.router.http.limits import Limits


@pytest.mark.parametrize("files_max", [64, 256, 1024, 4096, WANTED])
def test_an_eighth_of_the_files_is_left_over(files_max: int) -> None:
    found = shares(files_max)

    assert found.tables + found.connections == files_max - files_max // 8


def test_a_server_that_has_what_it_wants_is_held_back_by_its_own_limits_only() -> None:
    found = shares(WANTED)

    assert found.tables >= TABLES_MAX
    assert found.connections >= Limits().connections_max
