"""The side file that remembers how far the log was once flushed.

RocksDB recovers a damaged log by silently ending it early. So after each flush the sequence number it covered is
noted here, outside RocksDB, and compared at the next start. Two slots are written in turn, so a torn write leaves the
other one; the file is synced once a second, so at most the last second of flushes goes unwatched.

    slot    8 bytes sequence number, 4 bytes CRC-32 of them; slots at offsets 0 and 512
"""

from __future__ import annotations

import os
import struct
import time
import zlib
from pathlib import Path

_SLOT = struct.Struct(">QI")
_SLOT_OFFSETS = (0, 512)
_SYNC_INTERVAL_S = 1.0


class SequenceFile:
    """`note` belongs to the event loop, `sync_when_due` to the thread that flushes."""

    def __init__(self, path: Path) -> None:
        self._descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
        self._turn = 0
        self._synced_at_s = 0.0
        self.flushed = max(map(self._read, _SLOT_OFFSETS))

    def note(self, sequence: int) -> None:
        """Remember that everything up to `sequence` is on disk."""
        if sequence <= self.flushed:
            return
        self._write(sequence, self._turn)
        self._turn ^= 1
        self.flushed = sequence

    def sync_when_due(self) -> None:
        """Make what was noted durable, if that has not been done for a while."""
        # The interval bounds a cost, not a behaviour, so it follows real time and not the node's clock.
        now_s = time.monotonic()
        if now_s - self._synced_at_s >= _SYNC_INTERVAL_S:
            os.fdatasync(self._descriptor)
            self._synced_at_s = now_s

    def reset(self, sequence: int) -> None:
        """Forget what was promised: the operator has accepted the loss."""
        for turn in range(len(_SLOT_OFFSETS)):
            self._write(sequence, turn)
        os.fsync(self._descriptor)
        self.flushed = sequence

    def close(self) -> None:
        os.fsync(self._descriptor)
        os.close(self._descriptor)

    def _write(self, sequence: int, turn: int) -> None:
        number = sequence.to_bytes(8)
        os.pwrite(self._descriptor, number + zlib.crc32(number).to_bytes(4), _SLOT_OFFSETS[turn])

    def _read(self, offset: int) -> int:
        raw = os.pread(self._descriptor, _SLOT.size, offset)
        if len(raw) < _SLOT.size:
            return 0
        sequence, checksum = _SLOT.unpack(raw)
        return int(sequence) if zlib.crc32(raw[:8]) == checksum else 0
