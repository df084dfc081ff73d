"""aioboto3, whose botocore is not the one of the tests: its scenarios are played in its own environment."""

from __future__ import annotations

import pytest

from tests.clients.installed import Programs, installed
from tests.clients.scenarios import HERE, scenarios

FILE = HERE / "aioboto3_scenarios.py"


@pytest.mark.parametrize("scenario", scenarios(FILE))
def test_aioboto3(programs: Programs, endpoint: str, scenario: str) -> None:
    python = installed("aioboto3") / "bin" / "python"

    programs.run(python, FILE, endpoint, scenario)
