"""One end of a link that does what the test says, and keeps what it was given."""

from __future__ import annotations


class FakeLink:
    """`takes` frames more, then its queue is full. It is idle whenever it is up, unless `busy`."""

    def __init__(self, up: bool = True) -> None:
        self.up = up
        self.busy = False
        self.takes = 1_000
        self.queued_bytes = 0
        self.sent: list[bytes] = []
        self.resets: list[str] = []
        self.closed: str | None = None

    @property
    def idle(self) -> bool:
        return self.up and not self.busy

    def send(self, frame: bytes) -> bool:
        if len(frame) > 17 << 20:
            raise ValueError("larger than a frame may be")
        if not self.up or not self.takes:
            return False
        self.takes -= 1
        self.sent.append(frame)
        return True

    def reset(self, reason: str) -> None:
        self.resets.append(reason)

    def close(self, reason: str = "") -> None:
        self.closed = reason
        self.up = False
