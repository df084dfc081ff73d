"""A request's value as DynamoDB shows it in an error: in the words of Java's `toString`.

What is shown is bounded, both in length and in depth: a hostile request must not come back many times its size.
"""

from __future__ import annotations

from itertools import islice
from typing import Any, Final

from gramme.router.validation.measured import members_of, shape_of

LENGTH_MAX: Final = 32768
DEPTH_MAX: Final = 16
# More members than this are not shown, however short.
_MEMBERS_MAX: Final = 1024
_CONTAINERS: Final = {"list": list, "map": dict, "structure": dict}


def echo(name: str, value: Any) -> str:
    return _echo(name, value, DEPTH_MAX)[:LENGTH_MAX]


def _echo(name: str, value: Any, depth: int) -> str:
    if value is None:
        return "null"
    if value is True or value is False:
        return "true" if value else "false"
    if type(value) not in (list, dict):
        return str(value)[:LENGTH_MAX]
    shape = shape_of(name)
    # Past the longest list allowed nobody has looked at types.
    if not depth or type(value) is not _CONTAINERS.get(shape["type"]):
        return "..."
    if shape["type"] == "list":
        return f"[{', '.join(_members(shape['member'], value, depth))}]"
    if shape["type"] == "map":
        texts = _members(shape["value"], value.values(), depth)
        shown = (f"{key}={text}" for key, text in zip(value, texts, strict=False))
        return f"{{{', '.join(shown)}}}"
    shown = (
        f"{member[0].lower()}{member[1:]}={_echo(of, value[member], depth - 1)}"
        for member, of in members_of(name).items()
        if value.get(member) is not None
    )
    return f"{name}({', '.join(shown)})"


def _members(name: str, values: Any, depth: int) -> list[str]:
    texts: list[str] = []
    length = 0
    for value in islice(values, _MEMBERS_MAX):
        text = _echo(name, value, depth - 1)
        texts.append(text)
        length += len(text)
        if length > LENGTH_MAX:
            break
    return texts
