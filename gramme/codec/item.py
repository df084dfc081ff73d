"""An item as it is stored: a fixed header, then its DynamoDB JSON, ready to send.

    offset  size
    0       1     format, now 1
    1       1     flags, now 0
    2       4     size of the item in bytes, as DynamoDB counts it
    6       8     version: apply index
    14      4     version: ordinal within the entry
    18      8     stamp: hybrid logical clock
    26      2     stamp: region
    28      8     expiry in seconds since the epoch, or 0
    36      -     JSON, numbers normalised

A read that neither filters nor projects slices the JSON out and decodes nothing.
"""

from __future__ import annotations

import struct

from gramme.model.version import Stamp, Version

FORMAT = 1
_HEADER = struct.Struct(">BBIQIQHQ")
HEADER_BYTES = _HEADER.size
_VERSION = struct.Struct(">QI")
_VERSION_AT = 6


def encode_stored(body: bytes, size: int, version: Version, stamp: Stamp, expiry: int = 0) -> bytes:
    header = _HEADER.pack(
        FORMAT, 0, size, version.apply_index, version.ordinal, stamp.clock, stamp.region, expiry
    )
    return header + body


def body_of(stored: bytes) -> bytes:
    return stored[HEADER_BYTES:]


def size_of(stored: bytes) -> int:
    return int.from_bytes(stored[2:6])


def version_of(stored: bytes) -> Version:
    return Version(*_VERSION.unpack_from(stored, _VERSION_AT))
