"""What one effective write leaves in the change log, for indexes, regions and streams to read."""

from __future__ import annotations

import msgspec

from gramme.model.version import Stamp, Version


class Change(msgspec.Struct, frozen=True, array_like=True):
    """`old` and `new` are items as JSON bytes; None where there was, or is, no item. Never both None."""

    key: bytes
    version: Version
    stamp: Stamp
    old: bytes | None
    new: bytes | None
