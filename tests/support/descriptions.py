"""What callbacks and tasks of a loop are, in words."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any


def described(handle: asyncio.Handle) -> str:
    callback: Any = getattr(handle, "_callback", None)
    owner = getattr(callback, "__self__", None)
    if isinstance(owner, asyncio.Task):
        return owner.get_name()
    return str(getattr(callback, "__qualname__", callback))


def place_of(task: asyncio.Task[Any]) -> str:
    """The line at which a waiting task stands, in the innermost coroutine that has one."""
    place = "not begun"
    awaited: Any = task.get_coro()
    while (frame := getattr(awaited, "cr_frame", None)) is not None:
        code = frame.f_code
        place = f"in {code.co_qualname} at {Path(code.co_filename).name}:{frame.f_lineno}"
        awaited = awaited.cr_await
    return place
