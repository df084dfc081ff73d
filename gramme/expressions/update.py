"""An UpdateExpression, ready to use: what it makes of an item.

All right-hand sides read the item as it was, and all list indexes mean the positions of that item:
so first every new value is worked out, then the item is rebuilt once along the touched paths. What
is not touched is shared with the old item, and nothing that is given is ever changed.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, assert_never

from gramme.errors import ValidationError
from gramme.expressions import numbers, paths, tree
from gramme.expressions.relations import SETS
from gramme.model.item import AttributeValue, Item, Values

Read = Callable[[Item, Values], AttributeValue]

# What an action leaves at its path: a value, or nothing.
Result = Callable[[Item, Values], AttributeValue | None]

# Paths folded together, as in `paths.Branches`, with an action's number where a path ends.
Targets = dict[str | int, "Targets | int"]

MISSING = "The provided expression refers to an attribute that does not exist in the item"
WRONG_TYPE = "An operand in the update expression has an incorrect data type"
TYPE_MISMATCH = "Type mismatch for attribute to update"
BAD_PATH = "The document path provided in the update expression is invalid for update"


# Bytes of an update, and of each of its actions: measured on the service, which documents none of it.
_COST: Final = 3
_WRITING_COST: Final = 19
_CLEARING_COST: Final = 2
_INDEX_COST: Final = 1
_ARITHMETIC_COST: Final = 50


class UpdateExpression:
    """`attributes` are the top-level attributes it assigns or removes.

    `creates` is false if it only removes: such an update does not bring a missing item into being.
    `nested` tells whether any path goes into an attribute. `size_cost` is what it adds to the item's size where DynamoDB
    holds an update to the largest there may be. `encoded` is the tree as bytes, once somebody has sent it.
    """

    __slots__ = (
        "_flat",
        "_results",
        "_targets",
        "_touched",
        "attributes",
        "creates",
        "encoded",
        "nested",
        "size_cost",
        "tree",
    )

    def __init__(self, update: tree.Update) -> None:
        self.tree = update
        self.encoded: bytes | None = None
        touched = [action.path for action in update.actions]
        self.attributes = frozenset(str(path.parts[0]) for path in touched)
        self.creates = any(isinstance(each, tree.Set | tree.Add) for each in update.actions)
        self.nested = tree.is_nested(update)
        self.size_cost = _COST + sum(map(_size_cost, update.actions))
        self._touched = paths.branches(touched)
        mismatch = TYPE_MISMATCH if update.older else WRONG_TYPE
        self._results = [compile_action(action, mismatch) for action in update.actions]
        self._targets = _targets(touched)
        names = [str(path.parts[0]) for path in touched]
        is_flat = all(len(path.parts) == 1 for path in touched)
        self._flat = list(zip(names, self._results, strict=True)) if is_flat else None

    def apply(self, item: Item, values: Values) -> Item:
        """Return the updated item."""
        if self._flat is None:
            results = [result(item, values) for result in self._results]
            return _rebuild_map(item, self._targets, results)
        updated = item.copy()
        for name, result in self._flat:
            value = result(item, values)
            if value is not None:
                updated[name] = value
            else:
                updated.pop(name, None)
        return updated

    def updated_old(self, old: Item, new: Item) -> Item:
        """What was at the touched paths."""
        return paths.pick(old, self._touched)

    def updated_new(self, old: Item, new: Item) -> Item:
        """What is now at the touched paths: just there, so what shifted into an index counts."""
        return paths.pick(new, self._touched)


def _size_cost(action: tree.Action) -> int:
    if isinstance(action, tree.Remove):
        return _CLEARING_COST
    cost = _WRITING_COST
    if isinstance(action.path.parts[-1], int):
        cost += _INDEX_COST
    if isinstance(action, tree.Set) and isinstance(action.value, tree.Arithmetic):
        cost += _ARITHMETIC_COST
    return cost


def _targets(touched: list[tree.Path]) -> Targets:
    root: Targets = {}
    for number, path in enumerate(touched):
        here = root
        for part in path.parts[:-1]:
            below = here.setdefault(part, {})
            assert isinstance(below, dict)
            here = below
        here[path.parts[-1]] = number
    return root


def _rebuild_map(
    old: dict[str, AttributeValue], targets: Targets, results: list[AttributeValue | None]
) -> dict[str, AttributeValue]:
    new = old.copy()
    for name, target in targets.items():
        assert isinstance(name, str)
        if isinstance(target, dict):
            new[name] = _rebuild(old.get(name), target, results)
            continue
        result = results[target]
        if result is not None:
            new[name] = result
        else:
            new.pop(name, None)
    return new


def _rebuild(
    old: AttributeValue | None, targets: Targets, results: list[AttributeValue | None]
) -> AttributeValue:
    if isinstance(next(iter(targets)), str):
        if old is None or "M" not in old:
            raise ValidationError(BAD_PATH)
        return {"M": _rebuild_map(old["M"], targets, results)}
    if old is None or "L" not in old:
        raise ValidationError(BAD_PATH)
    return {"L": _rebuild_list(old["L"], targets, results)}


def _rebuild_list(
    old: list[AttributeValue], targets: Targets, results: list[AttributeValue | None]
) -> list[AttributeValue]:
    """Indexes past the end append, in their order; what is removed leaves no gap."""
    new: list[AttributeValue | None] = list(old)
    for index, target in sorted(targets.items()):
        assert isinstance(index, int)
        if isinstance(target, dict):
            inner = old[index] if index < len(old) else None
            new[index : index + 1] = [_rebuild(inner, target, results)]
        elif index < len(old):
            new[index] = results[target]
        else:
            new.append(results[target])
    return [element for element in new if element is not None]


def compile_action(action: tree.Action, mismatch: str) -> Result:
    """`mismatch` is what to say of a value that is not of the stored attribute's type."""
    match action:
        case tree.Remove():
            return lambda item, values: None
        case tree.Set(_, value):
            return compile_value(value)
        case tree.Add(path, value):
            return _add(paths.getter(path.parts), value.name, mismatch)
        case tree.Delete(path, value):
            return _delete(paths.getter(path.parts), value.name, mismatch)
        case _:
            assert_never(action)


def compile_value(value: tree.Operand | tree.Arithmetic) -> Read:
    """Return a function that works out the right side of a SET."""
    match value:
        case tree.Value(name):
            return lambda item, values: values[name]
        case tree.Path(parts):
            return _attribute(paths.getter(parts))
        case tree.Arithmetic(operator, left, right):
            combine = numbers.add if operator == "+" else numbers.subtract
            return _arithmetic(compile_value(left), compile_value(right), combine)
        case tree.Call("if_not_exists", (tree.Path(parts), default)):
            return _if_not_exists(paths.getter(parts), compile_value(default))
        case tree.Call("list_append", (left, right)):
            return _list_append(compile_value(left), compile_value(right))
        case _:
            raise AssertionError(value)


def _attribute(get: paths.Getter) -> Read:
    def read(item: Item, values: Values) -> AttributeValue:
        found = get(item)
        if found is None:
            raise ValidationError(MISSING)
        return found

    return read


def _arithmetic(left: Read, right: Read, combine: Callable[[str, str], str]) -> Read:
    def read(item: Item, values: Values) -> AttributeValue:
        one, other = left(item, values), right(item, values)
        if "N" not in one or "N" not in other:
            raise ValidationError(WRONG_TYPE)
        return {"N": combine(one["N"], other["N"])}

    return read


def _if_not_exists(get: paths.Getter, default: Read) -> Read:
    def read(item: Item, values: Values) -> AttributeValue:
        found = get(item)
        return default(item, values) if found is None else found

    return read


def _list_append(left: Read, right: Read) -> Read:
    def read(item: Item, values: Values) -> AttributeValue:
        one, other = left(item, values), right(item, values)
        if "L" not in one or "L" not in other:
            raise ValidationError(WRONG_TYPE)
        return {"L": one["L"] + other["L"]}

    return read


def _add(get: paths.Getter, name: str, mismatch: str) -> Result:
    def result(item: Item, values: Values) -> AttributeValue:
        found, operand = get(item), values[name]
        if found is None:
            return operand
        (kind,) = operand
        if kind not in found:
            raise ValidationError(mismatch)
        if kind == "N":
            return {"N": numbers.add(found["N"], operand["N"])}
        if kind == "L":
            return {"L": found["L"] + operand["L"]}
        return {kind: list(dict.fromkeys(found[kind] + operand[kind]))}

    return result


def _delete(get: paths.Getter, name: str, mismatch: str) -> Result:
    def result(item: Item, values: Values) -> AttributeValue | None:
        found = get(item)
        if found is None:
            return None
        (kind,) = values[name]
        if kind not in found or kind not in SETS:
            raise ValidationError(mismatch)
        gone = set(values[name][kind])
        left = [member for member in found[kind] if member not in gone]
        # A set is never empty: the attribute goes with its last member.
        return {kind: left} if left else None

    return result
