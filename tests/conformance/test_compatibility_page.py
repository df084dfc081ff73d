"""The page on compatibility says what the tests of this folder show, and names tests that are there."""

from __future__ import annotations

import json
import tomllib
from importlib.util import module_from_spec, spec_from_file_location
from types import ModuleType
from typing import Any

import pytest

from tests.conformance import evidence

OUT_OF_DATE = "run make compatibility"


@pytest.fixture(autouse=True)
def page_is_there(request: pytest.FixtureRequest) -> None:
    if request.config.getoption("--evidence"):
        pytest.skip("the page is about to be written")


@pytest.fixture(scope="module")
def maker() -> ModuleType:
    path = evidence.ROOT / "tools" / "make_compatibility.py"
    spec = spec_from_file_location("make_compatibility", path)
    assert spec is not None and spec.loader is not None
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def notes() -> dict[str, Any]:
    return tomllib.loads((evidence.ROOT / "docs" / "compatibility-notes.toml").read_text())


def test_the_page_is_what_the_maker_writes(maker: ModuleType, notes: dict[str, Any]) -> None:
    page = maker.render(evidence.read(), notes)

    assert (evidence.ROOT / "docs" / "compatibility.md").read_text() == page, OUT_OF_DATE


def test_the_notes_name_tests_that_are_there(maker: ModuleType, notes: dict[str, Any]) -> None:
    assert maker.problems(notes) == []


def test_every_test_that_is_named_is_there(request: pytest.FixtureRequest) -> None:
    """Of the files that this run has collected as a whole: in `make test`, all."""
    if request.config.getoption("keyword") or any("::" in each for each in request.config.args):
        pytest.skip("only some tests were collected")
    collected = {evidence.name_of(item.nodeid) for item in request.session.items}
    files = {name.partition("::")[0] for name in collected}

    missing = [
        name
        for name in evidence.promised()
        if name.partition("::")[0] in files and name not in collected
    ]

    assert not missing, OUT_OF_DATE


def test_an_operation_that_is_not_served_is_not_yet(maker: ModuleType) -> None:
    page = maker.render({}, {"off": {}, "echoed": [], "difference": []})

    assert "TransactWriteItems" in page.partition("**Not yet**")[2].partition("\n")[0]
    assert "| [PutItem](#putitem) | no conformance test calls it |" in page
    assert "| `ConditionExpression` | untested |  |" in page


@pytest.mark.parametrize(
    ("node_id", "name"),
    [
        ("tests/conformance/test_a.py::test_b[4 partitions]", "test_a.py::test_b"),
        ("tests/conformance/test_a.py::test_b[1 partitions-c/d]", "test_a.py::test_b[c/d]"),
        ("tests/conformance/test_a.py::test_b[given endpoint-c]", "test_a.py::test_b[c]"),
        ("tests/conformance/test_a.py::test_b[c-4 partitions-d]", "test_a.py::test_b[c-d]"),
        ("tests/conformance/test_a.py::test_b[c-4 partitions]", "test_a.py::test_b[c]"),
        ("tests/conformance/test_a.py::test_b", "test_a.py::test_b"),
    ],
)
def test_a_test_has_one_name_for_any_number_of_partitions(node_id: str, name: str) -> None:
    assert evidence.name_of(node_id) == name


def test_the_evidence_is_sorted_for_short_changes() -> None:
    text = evidence.FILE.read_text()

    assert text == json.dumps(json.loads(text), indent=1, sort_keys=True, ensure_ascii=False) + "\n"
