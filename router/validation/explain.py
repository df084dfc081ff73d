"""What is wrong with a request that does not fit its operation's shape, in DynamoDB's words.

This is the slow half of the interpreter: it is walked only after the fast half has said no. It looks at everything
and tells of all mistakes at once, up to a bound, as the service does.
"""

from __future__ import annotations

from itertools import islice
from typing import Any, Final, NamedTuple

from gramme.errors import ValidationError
from gramme.router.validation.constraints import broken, declared
from gramme.router.validation.echo import echo
from gramme.router.validation.generated import OPERATIONS
from gramme.router.validation.measured import TERSE, check_first, members_of, shape_of
from gramme.router.validation.serialization import check_types

# The service stops counting here.
FAULTS_MAX: Final = 10

_NOT_NULL = "Member must not be null"


class Path(NamedTuple):
    """Where a value is: as most operations spell it, and as the terse ones do."""

    lower: str = ""
    exact: str = ""

    def field(self, name: str) -> Path:
        return self._add(name[0].lower() + name[1:], name)

    def member(self, key: str | int) -> Path:
        return self._add(f"{key}.member", f"{key}.member")

    def _add(self, lower: str, exact: str) -> Path:
        if not self.lower:
            return Path(lower, exact)
        return Path(f"{self.lower}.{lower}", f"{self.exact}.{exact}")


class Faults:
    """The mistakes found so far, as text."""

    def __init__(self, terse: bool) -> None:
        self._terse = terse
        self.texts: list[str] = []

    @property
    def full(self) -> bool:
        return len(self.texts) >= FAULTS_MAX

    def add(self, name: str, value: Any, path: Path, constraint: str) -> None:
        if self.full:
            return
        if self._terse and constraint.startswith("Member must have"):
            found = f"Value at '{path.exact}'"
        elif value is None:
            found = f"Value null at '{path.lower}'"
        else:
            found = f"Value '{echo(name, value)}' at '{path.lower}'"
        self.texts.append(f"{found} failed to satisfy constraint: {constraint}")

    def throw(self) -> None:
        if self.texts:
            count = len(self.texts)
            noun = "error" if count == 1 else "errors"
            raise ValidationError(f"{count} validation {noun} detected: {'; '.join(self.texts)}")


def explain(operation: str, body: dict[str, Any]) -> None:
    """Raise what DynamoDB would say of `body`. Returns if nothing is wrong with it after all."""
    name = OPERATIONS[operation]
    check_types(name, body)
    check_first(operation, body)
    faults = Faults(operation in TERSE)
    _look_at_table(name, body, faults)
    faults.throw()
    _look_inside(name, body, Path(), faults)
    faults.throw()


def _look_at_table(name: str, body: dict[str, Any], faults: Faults) -> None:
    """A table's name that cannot be one is told of alone, whatever else is wrong, and by one constraint."""
    table = body.get("TableName")
    shape = members_of(name).get("TableName")
    if table is not None and shape is not None:
        for constraint in broken(shape, table)[-1:]:
            faults.add(shape, table, Path().field("TableName"), constraint)


def _look_at(name: str, value: Any, path: Path, faults: Faults) -> None:
    for constraint in broken(name, value):
        faults.add(name, value, path, constraint)
    _look_inside(name, value, path, faults)


def _look_inside(name: str, value: Any, path: Path, faults: Faults) -> None:
    kind = shape_of(name)["type"]
    if kind == "structure" and name != "AttributeValue":
        required = shape_of(name).get("required", ())
        for member, of in members_of(name).items():
            inside = value.get(member)
            if inside is not None:
                _look_at(of, inside, path.field(member), faults)
            elif member in required:
                faults.add(of, None, path.field(member), _NOT_NULL)
    elif kind == "list":
        _look_inside_list(name, value, path, faults)
    elif kind == "map":
        _look_inside_map(name, value, path, faults)


def _look_inside_list(name: str, value: list[Any], path: Path, faults: Faults) -> None:
    of = shape_of(name)["member"]
    most = shape_of(name).get("max")
    if any(member is not None and broken(of, member) for member in islice(value, most)):
        faults.add(name, value, path, f"Member must satisfy constraint: {declared(of)}")
    for position, member in enumerate(islice(value, most), 1):
        if faults.full:
            return
        if member is None:
            faults.add(of, None, path.member(position), _NOT_NULL)
        else:
            _look_inside(of, member, path.member(position), faults)


def _look_inside_map(name: str, value: dict[str, Any], path: Path, faults: Faults) -> None:
    shape = shape_of(name)
    of = shape["value"]
    # What has these values is left to `gramme.model.values`, names and all.
    if of == "AttributeValue":
        return
    if any(broken(shape["key"], key) for key in value):
        faults.add(name, value, path, f"Map keys must satisfy constraint: {declared(shape['key'])}")
    if any(member is not None and broken(of, member) for member in value.values()):
        # The keys of a batch are a list in a structure of their own, which says so itself.
        faults.add(name, value, path, f"Map value must satisfy constraint: {declared(of)}")
    for key, member in value.items():
        if faults.full:
            return
        if member is None:
            faults.add(of, None, path.member(key), _NOT_NULL)
        else:
            _look_inside(of, member, path.member(key), faults)
