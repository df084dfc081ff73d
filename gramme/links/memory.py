"""Memory for frames, kept instead of given back to the kernel and taken again with each frame.

glibc returns what is free at the top of its heap beyond 128 KB, and takes blocks beyond that from the kernel one by one:
with frames of 100 KB the pages that are taken, zeroed and returned cost three times as much as all the rest. It thinks
again when a large block is freed: from then on blocks up to that size come from the heap, and twice as much is kept.
"""

from __future__ import annotations

# Larger than most frames. Twice this is kept free at the most.
BLOCK_BYTES = 8 << 20


def keep_memory() -> None:
    """Once in a process that has links. It costs no time, as nobody writes to the block; other allocators ignore it."""
    block = bytes(BLOCK_BYTES)
    del block
