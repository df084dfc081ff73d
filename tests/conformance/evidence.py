"""What the conformance tests show of each operation and parameter, and whether they still show it.

`docs/compatibility.json` says of every operation, parameter and error which test has met it and what came of it: the page
`docs/compatibility.md` is made from that. It is gathered by `make compatibility`, from calls that were made in the body of
a test which then passed. In every later run a test that is named there is held to it: one that no longer makes
such a call fails, so the page cannot promise what nobody tries any more.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple

if TYPE_CHECKING:
    from botocore.model import OperationModel, Shape
    from types_boto3_dynamodb import DynamoDBClient

ROOT: Final = Path(__file__).parents[2]
FILE: Final = ROOT / "docs" / "compatibility.json"
SUCCESS: Final = "success"
NOT_BUILT: Final = "not supported yet"
# Of several answers to calls with a parameter the first of these tells most of it.
TELLING: Final = (SUCCESS, "ConditionalCheckFailedException", NOT_BUILT)
# Stands for the call itself, beside its parameters.
CALL: Final = ""

_PARTITIONS = re.compile(r"(?:^|-)(?:\d+ partitions|given endpoint)(?=-|$)")


class Met(NamedTuple):
    """An operation's parameter, written as a path, and what became of a call that had it."""

    operation: str
    parameter: str
    answer: str


class Witness(NamedTuple):
    """The test that has met something."""

    met: Met
    test: str


class Recorder:
    """Listens to a client, and knows what the test that is running has met."""

    def __init__(self) -> None:
        self._met: set[Met] = set()
        # By test: what it has met with any number of partitions.
        self._always: dict[str, set[Met]] = {}

    @property
    def witnesses(self) -> set[Witness]:
        return {Witness(met, test) for test, always in self._always.items() for met in always}

    def listen_to(self, client: DynamoDBClient) -> None:
        client.meta.events.register("before-call.dynamodb", self._before)
        client.meta.events.register("after-call.dynamodb", self._after)

    def begin(self) -> None:
        self._met = set()

    def end(self, test: str) -> set[Met]:
        """What the test that has just passed has met."""
        self._always[test] = self._always.get(test, self._met) & self._met
        return self._met

    def _before(
        self, model: OperationModel, params: Any, context: dict[str, Any], **_: object
    ) -> None:
        body = json.loads(params["body"])
        context["gramme_parameters"] = {CALL, *parameters(model.input_shape, body)}

    def _after(
        self, model: OperationModel, parsed: Any, context: dict[str, Any], **_: object
    ) -> None:
        answer = SUCCESS
        if "Error" in parsed:
            error = parsed["Error"]
            is_built = not error["Message"].endswith(NOT_BUILT)
            answer = error["Code"] if is_built else NOT_BUILT
        for parameter in context["gramme_parameters"]:
            self._met.add(Met(model.name, parameter, answer))


def parameters(shape: Shape | None, value: Any, path: str = "") -> Iterator[str]:
    """The paths of what is in a body, by the service model: lists and maps are looked through, values are not."""
    if shape is None or shape.name == "AttributeValue":
        return
    described: Any = shape
    if shape.type_name == "structure" and isinstance(value, dict):
        for name, inner in value.items():
            if name in described.members:
                below = f"{path}.{name}" if path else name
                yield below
                yield from parameters(described.members[name], inner, below)
    elif shape.type_name == "list" and isinstance(value, list):
        for member in value:
            yield from parameters(described.member, member, path)
    elif shape.type_name == "map" and isinstance(value, dict):
        for member in value.values():
            yield from parameters(described.value, member, path)


def name_of(node_id: str) -> str:
    """A test's name as it is the same for any number of partitions: "test_put_item.py::test_this[that]"."""
    # Only in a file's path is a slash a slash: a test's parameter may have one.
    path, _, test = node_id.partition("::")
    function, bracket, parameters = test.partition("[")
    kept = _PARTITIONS.sub("", parameters.removesuffix("]")).strip("-")
    return f"{path.rpartition('/')[2]}::{function}" + (f"{bracket}{kept}]" if kept else "")


def read() -> dict[str, dict[str, dict[str, str]]]:
    """Operation -> parameter -> answer -> test."""
    if not FILE.exists():
        return {}
    found: dict[str, dict[str, dict[str, str]]] = json.loads(FILE.read_text())
    return found


def promised() -> dict[str, set[Met]]:
    """What each test that is named has met, according to the file."""
    promises: dict[str, set[Met]] = {}
    for operation, parameters in read().items():
        for parameter, answers in parameters.items():
            for answer, test in answers.items():
                promises.setdefault(test, set()).add(Met(operation, parameter, answer))
    return promises


def write(witnesses: set[Witness]) -> None:
    """One witness is enough: a test of the operation's own file if there is one, and one without parameters."""
    chosen: dict[str, dict[str, dict[str, str]]] = {}
    for met, test in sorted(witnesses, key=_preference, reverse=True):
        answers = chosen.setdefault(met.operation, {}).setdefault(met.parameter, {})
        answers[met.answer] = test
    for parameters in chosen.values():
        for parameter, answers in parameters.items():
            if parameter != CALL:
                telling = (*(each for each in TELLING if each in answers), min(answers))[0]
                parameters[parameter] = {telling: answers[telling]}
    FILE.write_text(json.dumps(chosen, indent=1, sort_keys=True, ensure_ascii=False) + "\n")


def _preference(witness: Witness) -> tuple[bool, bool, int, str]:
    own = re.sub(r"(?<!^)(?=[A-Z])", "_", witness.met.operation).lower()
    test = witness.test
    return not test.startswith(f"test_{own}.py"), "[" in test, len(test), test
