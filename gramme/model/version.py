"""The two orders a write has: its version, local to a partition, and its stamp, global."""

from __future__ import annotations

import msgspec


class Version(msgspec.Struct, frozen=True, order=True, array_like=True, gc=False):
    """(apply index, ordinal within the entry): local to the partition's history, only grows."""

    apply_index: int
    ordinal: int


class Stamp(msgspec.Struct, frozen=True, order=True, array_like=True, gc=False):
    """Hybrid logical clock and region number. The clock is milliseconds << 16 | counter."""

    clock: int
    region: int
