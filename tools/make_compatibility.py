"""Write docs/compatibility.md from what the conformance tests have shown.

    make compatibility

runs the conformance tests with `--evidence`, which leaves docs/compatibility.json, and then this. The page joins three
things: the service model (which operations and parameters there are), what is served, and what a test has met. Nothing is
on it that no test asserts: docs/compatibility-notes.toml has the sentences, and each names its test.
"""

from __future__ import annotations

import ast
import json
import sys
import tomllib
from pathlib import Path
from typing import Any

from gramme.router.operations.all import OPERATIONS as SERVED
from gramme.router.validation.generated import OPERATIONS, SHAPES

ROOT = Path(__file__).parent.parent
DOCS = ROOT / "docs"
PAGE = DOCS / "compatibility.md"
SUCCESS = "success"
NOT_BUILT = "not supported yet"
CONDITION_FAILED = "ConditionalCheckFailedException"

HEAD = """# Will my code work?

Written by `make compatibility` from what the tests assert; do not edit. What is here was seen in a conformance test that passed,
through boto3, with tables of one and of four partitions. Every link leads to the file of such a test, and its name shows when you
point at it. `make test` fails when a test that is named here is gone, or no longer does what it is named for.

Of {total} operations of DynamoDB and DynamoDB Streams, **{served} are served**, {off} more answer that a feature is off, and {missing}
are not there yet.

## Operations

| served | errors that tests have met |
| --- | --- |
{operations}

| answers that it is off | |
| --- | --- |
{disabled}

**Not yet**, answered with `UnknownOperationException`: {unserved}.

## Where it differs from DynamoDB

{differences}

## Parameters

| | means |
| --- | --- |
| **works** | a test sends it and the call succeeds, or fails only because a condition did not hold; see there what is asserted |
| *echoed* | accepted, checked and shown again, and has no other effect |
| **not yet** | refused with a ValidationException that ends in "not supported yet" |
| *unproven* | tests send it only in calls that are refused, with this error, for whatever reason |
| untested | no conformance test sends it |
"""


def main(arguments: list[str]) -> int:
    evidence = json.loads((DOCS / "compatibility.json").read_text())
    notes = tomllib.loads((DOCS / "compatibility-notes.toml").read_text())
    wrong = problems(notes)
    text = render(evidence, notes)
    if "--check" in arguments and PAGE.read_text() != text:
        wrong.append("docs/compatibility.md is out of date: run make compatibility")
    for each in wrong:
        print(each, file=sys.stderr)
    if not wrong and "--check" not in arguments:
        PAGE.write_text(text)
    return 1 if wrong else 0


def problems(notes: dict[str, Any]) -> list[str]:
    """What the notes say of tests or operations that are not there."""
    named = [*notes["off"].values(), *notes["echoed"], *notes["difference"]]
    missing = [note["test"] for note in named if not exists(note["test"])]
    unserved = [name for name in notes["off"] if name not in SERVED]
    return [
        *(f"docs/compatibility-notes.toml: there is no test {name}" for name in missing),
        *(f"docs/compatibility-notes.toml: {name} is not served" for name in unserved),
    ]


def exists(test: str) -> bool:
    """Whether there is a test such as "conformance/test_query.py::test_this"."""
    file, _, function = test.partition("::")
    path = ROOT / "tests" / file
    if not path.exists():
        return False
    tree = ast.parse(path.read_text())
    return any(isinstance(node, ast.FunctionDef) and node.name == function for node in tree.body)


def render(evidence: dict[str, Any], notes: dict[str, Any]) -> str:
    off = notes["off"]
    served = sorted(name for name in SERVED if name not in off)
    unserved = sorted(OPERATIONS.keys() - SERVED.keys())
    head = HEAD.format(
        total=len(OPERATIONS),
        served=len(served),
        off=len(off),
        missing=len(unserved),
        operations="\n".join(
            f"| [{name}](#{name.lower()}) | {errors_of(evidence, name)} |" for name in served
        ),
        disabled="\n".join(f"| {name} | {sentence(off[name])} |" for name in sorted(off)),
        unserved=", ".join(unserved),
        differences="\n".join(f"- {sentence(each)}" for each in notes["difference"]),
    )
    echoed = {
        (operation, note["parameter"]): note
        for note in notes["echoed"]
        for operation in note["operations"]
    }
    return head + "".join(section(name, evidence.get(name, {}), echoed) for name in served)


def sentence(note: dict[str, str]) -> str:
    return f"{note['says']} ({link('test', note['test'])})"


def errors_of(evidence: dict[str, Any], operation: str) -> str:
    """The errors that tests have met, each with a test."""
    met = evidence.get(operation, {}).get("", {})
    if not met:
        return "no conformance test calls it"
    errors = [name for name in sorted(met) if name not in (SUCCESS, NOT_BUILT)]
    return ", ".join(link(name, met[name]) for name in errors)


def section(operation: str, evidence: dict[str, Any], echoed: dict[Any, Any]) -> str:
    members = SHAPES[OPERATIONS[operation]]["members"]
    if not members:
        return f"\n### {operation}\n\nIt has no parameters.\n"
    rows = [
        f"| `{name}` | {cell(operation, name, evidence, echoed)} | {inside(name, shape, evidence)} |"
        for name, shape in members.items()
    ]
    return "\n".join(
        [f"\n### {operation}\n", "| parameter | | inside |", "| --- | --- | --- |", *rows, ""]
    )


def cell(operation: str, name: str, evidence: dict[str, Any], echoed: dict[Any, Any]) -> str:
    note = echoed.get((operation, name))
    kind, test = status(evidence.get(name))
    if note is not None and kind == SUCCESS:
        return f"*echoed*: {sentence(note)}"
    if kind == "":
        return "untested"
    if kind in (SUCCESS, NOT_BUILT):
        return link("**works**" if kind == SUCCESS else "**not yet**", test)
    return f"{link('*unproven*', test)}: {kind}"


def status(answers: dict[str, str] | None) -> tuple[str, str]:
    """What came of a parameter, and the test; "" if no test has it."""
    if not answers:
        return "", ""
    if CONDITION_FAILED in answers:
        answers = {SUCCESS: answers[CONDITION_FAILED], **answers}
    kind = SUCCESS if SUCCESS in answers else min(answers)
    return kind, answers[kind]


def inside(name: str, shape: str, evidence: dict[str, Any]) -> str:
    """What is known of the parameters within a parameter that works."""
    if status(evidence.get(name))[0] != SUCCESS:
        return ""
    words = {SUCCESS: "works", NOT_BUILT: "not yet", "": "untested"}
    known: dict[str, list[str]] = {"works": [], "not yet": [], "unproven": [], "untested": []}
    for path in paths(name, shape):
        kind, _ = status(evidence.get(path))
        # What is within something that nobody has tried goes without saying.
        outer = path.rpartition(".")[0]
        if kind or status(evidence.get(outer))[0] == SUCCESS:
            known[words.get(kind, "unproven")].append(f"`{path.removeprefix(name + '.')}`")
    return "; ".join(f"{word}: {', '.join(names)}" for word, names in known.items() if names)


def paths(prefix: str, shape: str, above: tuple[str, ...] = ()) -> list[str]:
    """The paths of all parameters in a shape; attribute values are one."""
    if shape == "AttributeValue" or shape in above:
        return []
    model = SHAPES[shape]
    found: list[str] = []
    for name, inner in model.get("members", {}).items():
        found += [f"{prefix}.{name}", *paths(f"{prefix}.{name}", inner, (*above, shape))]
    for part in ("member", "value"):
        if part in model:
            found += paths(prefix, model[part], (*above, shape))
    return found


def link(text: str, test: str) -> str:
    """A link to a test's file, with its name. Parameters of a test may have any characters, and are left out."""
    file, _, name = test.partition("::")
    folder = "" if (ROOT / "tests" / file).exists() else "conformance/"
    return f'[{text}](../tests/{folder}{file} "{name.partition("[")[0]}")'


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
