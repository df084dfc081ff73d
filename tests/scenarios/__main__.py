"""`python -m tests.scenarios` writes the traces of all scripts anew."""

from __future__ import annotations

from tests.scenarios.interpreter import Interpreter
from tests.scenarios.test_scenarios import SCRIPTS

for script in SCRIPTS:
    script.write_text(Interpreter().run(script.read_text()))
    print(script.name)
