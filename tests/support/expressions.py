"""What update, projection and key condition expressions mean, worked out the slow and obvious way.

This shares nothing with `gramme.expressions`: an expression is data here, never text, and every step does what the
documentation says in the order in which it says it. Items are DynamoDB JSON. `written` turns the data into the text that the
real parser is given.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from decimal import Decimal
from itertools import combinations
from typing import Any

Value = dict[str, Any]
Parts = tuple[str | int, ...]
# The right side of a SET: ("value", v), ("path", p), ("if_not_exists", p, side), ("list_append", side, side), or
# ("+", side, side) and ("-", side, side).
Side = tuple[Any, ...]
# (clause, path) of a REMOVE, with a side for a SET, with a value for ADD and DELETE.
Action = tuple[Any, ...]

SETS = ("SS", "NS", "BS")


class Refused(Exception):
    """DynamoDB would not do it."""


def find(item: Value, path: Parts) -> Value | None:
    here: Value | None = {"M": item}
    for part in path:
        if here is None:
            return None
        if isinstance(part, str):
            here = here.get("M", {}).get(part)
        else:
            here = dict(enumerate(here.get("L", []))).get(part)
    return here


def clash(paths: Sequence[Parts]) -> bool:
    """Whether two paths are in each other's way: one leads through the other, or they take one value for two things."""
    for one, other in combinations(paths, 2):
        pairs = list(zip(one, other, strict=False))
        differing = [pair for pair in pairs if pair[0] != pair[1]]
        if not differing or type(differing[0][0]) is not type(differing[0][1]):
            return True
    return False


# Updates.


def update(item: Value, actions: Sequence[Action]) -> Value:
    """The new item. Raises Refused."""
    if clash([action[1] for action in actions]):
        raise Refused("paths")
    # Everything is read before anything is written.
    results = [(action[1], outcome(item, action)) for action in actions]
    loose = loosened({"M": item})
    for path, result in results:
        place(loose, path, result)
    new: Value = tightened(loose)["M"]
    return new


def outcome(item: Value, action: Action) -> Value | None:
    """What an action leaves at its path; None is nothing."""
    clause, path, *rest = action
    if clause == "REMOVE":
        return None
    if clause == "SET":
        return right_side(item, rest[0])
    current, given = find(item, path), rest[0]
    kind = next(iter(given))
    if kind not in (*SETS, "N") or (clause == "DELETE" and kind == "N"):
        raise Refused("operand type")
    if current is None:
        return given if clause == "ADD" else None
    if kind not in current:
        raise Refused("type of the attribute")
    if kind == "N":
        return plus(current, given)
    if clause == "ADD":
        return {kind: [*current[kind], *(new for new in given[kind] if new not in current[kind])]}
    left = [member for member in current[kind] if member not in given[kind]]
    return {kind: left} if left else None


def right_side(item: Value, side: Side) -> Value:
    match side:
        case ("value", value):
            return dict(value)
        case ("path", path):
            found = find(item, path)
            if found is None:
                raise Refused("no such attribute")
            return found
        case ("if_not_exists", path, default):
            found = find(item, path)
            return right_side(item, default) if found is None else found
        case ("list_append", first, second):
            one, other = right_side(item, first), right_side(item, second)
            if "L" not in one or "L" not in other:
                raise Refused("no list")
            return {"L": [*one["L"], *other["L"]]}
        case (sign, first, second):
            one, other = right_side(item, first), right_side(item, second)
            return plus(one, other, 1 if sign == "+" else -1)
    raise AssertionError(side)


def plus(one: Value, other: Value, sign: int = 1) -> Value:
    if "N" not in one or "N" not in other:
        raise Refused("no number")
    total = format(Decimal(one["N"]) + sign * Decimal(other["N"]), "f")
    total = total.rstrip("0").rstrip(".") if "." in total else total
    return {"N": "0" if total == "-0" else total}


def loosened(value: Value) -> Value:
    """A list becomes a dictionary of its positions, so that these stay what they were while elements come and go."""
    if "M" in value:
        return {"M": {name: loosened(inner) for name, inner in value["M"].items()}}
    if "L" in value:
        return {"L": {position: loosened(inner) for position, inner in enumerate(value["L"])}}
    return value


def tightened(value: Value) -> Value:
    if "M" in value:
        return {"M": {name: tightened(inner) for name, inner in value["M"].items()}}
    if "L" in value:
        return {"L": [tightened(inner) for _, inner in sorted(value["L"].items())]}
    return value


def place(loose: Value, path: Parts, result: Value | None) -> None:
    here: Value | None = loose
    for part in path[:-1]:
        here = members(here, part).get(part)
    holder = members(here, path[-1])
    if result is None:
        holder.pop(path[-1], None)
    else:
        holder[path[-1]] = loosened(result)


def members(value: Value | None, part: str | int) -> dict[Any, Value]:
    kind = "M" if isinstance(part, str) else "L"
    if value is None or kind not in value:
        raise Refused("no such place")
    inside: dict[Any, Value] = value[kind]
    return inside


# Projections.


def project(item: Value, paths: Iterable[Parts]) -> Value:
    """Mark every position that is asked for and there, then keep what is marked and what leads to it."""
    marked = [path for path in paths if find(item, path) is not None]
    leading = {path[:length] for path in marked for length in range(len(path))}

    def kept(value: Value, here: Parts) -> Value:
        if here in marked:
            return value
        children = {
            part: kept(inner, (*here, part))
            for part, inner in loosened_once(value)
            if (*here, part) in marked or (*here, part) in leading
        }
        return {"M": children} if "M" in value else {"L": list(children.values())}

    shown: Value = kept({"M": item}, ())["M"]
    return shown


def loosened_once(value: Value) -> list[tuple[str | int, Value]]:
    return list(value["M"].items()) if "M" in value else list(enumerate(value["L"]))


# Key conditions, on the sort key.

COMPARE: dict[str, Callable[[Any, Any], bool]] = {
    "=": lambda x, y: bool(x == y),
    "<": lambda x, y: bool(x < y),
    "<=": lambda x, y: bool(x <= y),
    ">": lambda x, y: bool(x > y),
    ">=": lambda x, y: bool(x >= y),
}


def meets(sort: Any, operator: str, operands: Sequence[Any]) -> bool:
    """Whether a sort key, as a Decimal or as bytes, is one that the condition asks for."""
    if operator == "BETWEEN":
        return bool(operands[0] <= sort <= operands[1])
    if operator == "begins_with":
        return bool(sort.startswith(operands[0]))
    return COMPARE[operator](sort, operands[0])


# Texts.


def written_path(path: Parts) -> str:
    first, *rest = path
    return str(first) + "".join(
        f".{part}" if isinstance(part, str) else f"[{part}]" for part in rest
    )


def written(actions: Sequence[Action], values: Value) -> str:
    """An UpdateExpression; its values are put into `values`."""
    clauses: dict[str, list[str]] = {}
    for clause, path, *rest in actions:
        text = written_path(path)
        if clause == "SET":
            text += f" = {written_side(rest[0], values)}"
        elif clause != "REMOVE":
            text += f" {placed(rest[0], values)}"
        clauses.setdefault(clause, []).append(text)
    return " ".join(f"{clause} {', '.join(texts)}" for clause, texts in clauses.items())


def written_side(side: Side, values: Value) -> str:
    match side:
        case ("value", value):
            return placed(value, values)
        case ("path", path):
            return written_path(path)
        case ("if_not_exists", path, default):
            return f"if_not_exists({written_path(path)}, {written_side(default, values)})"
        case ("list_append", first, second):
            return f"list_append({written_side(first, values)}, {written_side(second, values)})"
        case (sign, first, second):
            return f"{written_side(first, values)} {sign} {written_side(second, values)}"
    raise AssertionError(side)


def placed(value: Value, values: Value) -> str:
    name = f":v{len(values)}"
    values[name] = value
    return name
