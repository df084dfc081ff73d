"""Mistakes of ours in what a link calls: the process's handler of such things decides what becomes of the process."""

from __future__ import annotations

import asyncio


def report(where: str, error: BaseException) -> None:
    asyncio.get_running_loop().call_exception_handler(
        {"message": f"{where} failed", "exception": error}
    )
