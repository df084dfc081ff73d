"""How much room a disk must have left for a node to take writes.

A write that finds the disk full ends the process, because nobody knows what it left behind. So writes are refused before that,
while there is still room for what the engine does by itself: its log, and tables that are written anew.
"""

from __future__ import annotations

RESERVE_BYTES = 256 << 20
# Of a small disk.
RESERVE_SHARE = 0.05
# Refused once, writes are taken again when there is this much more, or each of them would decide anew.
AGAIN = 1.25


def is_low(free_bytes: int, total_bytes: int, was_low: bool) -> bool:
    reserve = min(RESERVE_BYTES, int(total_bytes * RESERVE_SHARE))
    return free_bytes < (reserve * AGAIN if was_low else reserve)
