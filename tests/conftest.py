"""Options of the whole test suite."""

from __future__ import annotations

import pytest


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--endpoint",
        metavar="URL",
        help="run the conformance tests against this server instead of starting one",
    )
    parser.addoption(
        "--evidence",
        action="store_true",
        help="write down what the conformance tests show, for docs/compatibility.md; not with -n",
    )
