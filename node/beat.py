"""Sleeps that end together: what looks at something now and then shares its wake-ups with others.

Waking a process that sleeps costs more than most of what it then looks at, and an idle node should be idle.
"""

from __future__ import annotations

import asyncio


async def beat(period_s: float) -> None:
    """Sleep until the loop's time is a multiple of `period_s`, for between half of it and one and a half."""
    now = asyncio.get_running_loop().time()
    wait_s = period_s - now % period_s
    if wait_s < period_s / 2:
        wait_s += period_s
    await asyncio.sleep(wait_s)
