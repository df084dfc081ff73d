"""How much room a disk must have left for a node to take writes.

A write that finds the disk full ends the process, because nobody knows what it left behind. So writes are refused before that,
while there is still room for what the engine does by itself: what memory holds has to be written out, at the next start
at the latest, and tables are written anew. Somebody looks at the disk ten times a second; in between the bytes are counted.
"""

from __future__ import annotations

RESERVE_BYTES = 256 << 20
# Of a small disk, and of a very small one: an item of 400 KB with five local indexes is a write of 2.4 MB.
RESERVE_SHARE = 0.05
RESERVE_BYTES_MIN = 4 << 20
# Refused once, writes are taken again when there is this much more, or each of them would decide anew.
AGAIN = 1.25
# With less than this share of the reserve a follower takes no more of what its leader sends. What little is written where writes
# are refused, for an election or the removal of a table, has the rest.
OUT = 0.25
# A byte that is written is a byte of the log and one of memory, which will be a byte of a table.
TIMES = 2


class Room:
    """What may still be written until the disk is low. Until somebody has looked that is anything."""

    def __init__(self) -> None:
        self.is_low = False
        self.left_bytes = RESERVE_BYTES
        self._out_bytes = -RESERVE_BYTES

    def look(self, free_bytes: int, total_bytes: int) -> None:
        """`free_bytes` are what nobody has used, and nobody will need for what memory holds."""
        reserve = max(RESERVE_BYTES_MIN, min(RESERVE_BYTES, int(total_bytes * RESERVE_SHARE)))
        again = reserve * AGAIN if self.is_low else reserve
        self.is_low = free_bytes < again
        self.left_bytes = free_bytes - reserve
        self._out_bytes = int(reserve * (OUT - 1))

    def take(self, size_bytes: int) -> None:
        """So much is being written, and nobody looks until the next time."""
        self.left_bytes -= TIMES * size_bytes
        if self.left_bytes < 0:
            self.is_low = True

    def holds(self, size_bytes: int) -> bool:
        """Whether there is room for so much, beside what has been taken."""
        return not self.is_low and TIMES * size_bytes <= self.left_bytes

    @property
    def is_out(self) -> bool:
        """Whether even what others have to say is better not written down here."""
        return self.left_bytes < self._out_bytes
