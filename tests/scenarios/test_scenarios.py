"""Every script gives the trace that is written in it."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.scenarios.interpreter import Interpreter

SCRIPTS = sorted(Path(__file__).parent.glob("*.txt"))


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda script: script.stem)
def test_a_script_gives_its_trace(script: Path) -> None:
    text = script.read_text()

    assert Interpreter().run(text) == text
