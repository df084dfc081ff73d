"""Pure: from a partition key's token to the partition that owns it.

The hash space is the integers of 64 bits. The partitions of a table tile it: each owns `start <= token <= last`,
the first starts at 0 and the last one ends at the greatest token. (Bounds are inclusive so that both fit 64 bits.)
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from hashlib import blake2b
from typing import NewType

Token = NewType("Token", int)
GroupId = NewType("GroupId", int)
TableId = NewType("TableId", int)

TOKEN_SPACE = 1 << 64
TOKEN_BYTES = 8


def token_bytes(seed: bytes, partition_key: bytes) -> bytes:
    """Hash an encoded partition key. The seed is the cluster's own, so nobody can aim at one partition."""
    hashed = token_hash(seed).copy()
    hashed.update(partition_key)
    return hashed.digest()


# A process has one seed; tests have more.
@lru_cache(16)
def token_hash(seed: bytes) -> blake2b:
    """The hash behind `token_bytes`, to be copied before a partition key goes in: the seed has gone in already."""
    return blake2b(digest_size=TOKEN_BYTES, key=seed)


@dataclass(frozen=True, slots=True)
class Partition:
    """A range of tokens of one table or one global index, and the Raft group that keeps it."""

    group: GroupId
    table: TableId
    start: int
    last: int
    epoch: int


class PartitionMap:
    """The partitions of one table, in token order."""

    __slots__ = ("_starts", "partitions")

    def __init__(self, partitions: Sequence[Partition]) -> None:
        ordered = tuple(sorted(partitions, key=lambda partition: partition.start))
        starts = [*(partition.start for partition in ordered), TOKEN_SPACE]
        if starts != [0, *(partition.last + 1 for partition in ordered)]:
            raise ValueError("partitions must tile the hash space")
        self.partitions = ordered
        self._starts = starts[:-1]

    def find(self, token: bytes) -> Partition:
        """The partition that owns a token given as its 8 big-endian bytes."""
        if len(self._starts) == 1:
            return self.partitions[0]
        return self.partitions[bisect_right(self._starts, int.from_bytes(token)) - 1]

    def between(self, first: int, last: int) -> Sequence[Partition]:
        """The partitions that own a token from `first` to `last`, in token order."""
        starts = self._starts
        return self.partitions[bisect_right(starts, first) - 1 : bisect_right(starts, last)]


def segment_range(segment: int, total: int) -> tuple[int, int]:
    """The tokens of one of `total` segments of equal width, as (start, last)."""
    return TOKEN_SPACE * segment // total, TOKEN_SPACE * (segment + 1) // total - 1


def even_ranges(count: int) -> list[tuple[int, int]]:
    """Cut the hash space into `count` ranges of equal width, as (start, last)."""
    return [segment_range(position, count) for position in range(count)]
