"""One target under a fuzzer that looks at which lines its bytes have reached. Run by `coverage.py`, as a process of its own.

python -m tests.fuzz.guided TARGET [options and folders of libFuzzer]
"""

from __future__ import annotations

import sys
from importlib import import_module


def main() -> None:
    # Not installed for development: see docs/decisions/0003-coverage-guided-fuzzing.md.
    atheris = import_module("atheris")
    name, *options = sys.argv[1:]
    with atheris.instrument_imports(include=["gramme"]):
        targets = import_module("tests.fuzz.targets")
    atheris.Setup([sys.argv[0], *options], targets.TARGETS[name].run)
    atheris.Fuzz()


if __name__ == "__main__":
    main()
