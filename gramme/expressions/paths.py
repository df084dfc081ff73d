"""Following document paths into an item, and taking only some paths of it."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from gramme.expressions.tree import Parts, Path
from gramme.model.item import AttributeValue, Item

Getter = Callable[[Item], AttributeValue | None]

# Paths that share a beginning, folded: part -> what comes below it, None where a path ends.
Branches = dict[str | int, "Branches | None"]


def getter(parts: Parts) -> Getter:
    """Return a function that finds what is at a path, or None."""
    first, rest = parts[0], parts[1:]
    assert isinstance(first, str)
    if not rest:
        return lambda item: item.get(first)

    def get(item: Item) -> AttributeValue | None:
        value = item.get(first)
        for part in rest:
            if value is None:
                return None
            value = child(value, part)
        return value

    return get


def child(value: AttributeValue, part: str | int) -> AttributeValue | None:
    """What is in a map under a name, or in a list at an index."""
    found: AttributeValue | None = None
    if isinstance(part, str):
        if "M" in value:
            found = value["M"].get(part)
    elif "L" in value and part < len(value["L"]):
        found = value["L"][part]
    return found


def branches(paths: Iterable[Path]) -> Branches:
    """Fold paths, none of which leads through another."""
    root: Branches = {}
    for path in paths:
        here = root
        for part in path.parts[:-1]:
            below = here.setdefault(part, {})
            assert below is not None
            here = below
        here[path.parts[-1]] = None
    return root


def pick(item: Item, root: Branches) -> Item:
    """The parts of `item` that the paths name, in their places. List elements close ranks."""
    picked: Item = {}
    for name, below in root.items():
        assert isinstance(name, str)
        value = item.get(name)
        if value is not None:
            found = value if below is None else _pick_below(value, below)
            if found is not None:
                picked[name] = found
    return picked


def _pick_below(value: AttributeValue, below: Branches) -> AttributeValue | None:
    # The paths of one branch agree on whether it is a map or a list: a conflict is refused earlier.
    is_list = isinstance(next(iter(below)), int)
    found: list[tuple[str | int, AttributeValue]] = []
    for part, further in sorted(below.items()) if is_list else below.items():
        inner = child(value, part)
        if inner is not None and further is not None:
            inner = _pick_below(inner, further)
        if inner is not None:
            found.append((part, inner))
    if not found:
        return None
    return {"L": [inner for _, inner in found]} if is_list else {"M": dict(found)}
