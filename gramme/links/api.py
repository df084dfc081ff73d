"""What a link is to those who talk through it: one end of a stream of frames between two processes.

Frames arrive in order and each once, or the link goes down and says so. What is in a frame is nobody's business here. One
end dials and keeps dialling; the other accepts, and its link is over when it goes down. `Dialler` and `Listener` are gRPC;
a simulated network puts its own in their place.

Sending never waits. A caller with much to say sends one frame, gathers what comes next until `on_idle`, and sends that as
the next frame: frames grow with load, and a lone message waits for nobody.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True, slots=True)
class Identity:
    """Who a process says it is. `protocol` is the version of what it puts into frames."""

    cluster: str
    node: str
    role: str
    protocol: int


@dataclass(frozen=True, slots=True)
class Down:
    """Why a link is down. `dropped` frames were still queued; the first may have been on its way already.

    What was written before them need not have arrived either.

    `refused` means that the other end does not want this process: it will hardly change its mind by being asked again.
    """

    reason: str
    refused: bool = False
    dropped: int = 0


class Refused(Exception):
    """Raised by who is asked to accept a link and does not want to. The message is told to the other end."""


class NotYet(Refused):
    """Raised by who will accept later. Neither end makes a fuss of it: who dialled tries again anyway."""


class Link(Protocol):
    @property
    def up(self) -> bool: ...

    @property
    def idle(self) -> bool:
        """Whether the link is up and a frame would be written at once."""
        ...

    @property
    def queued_bytes(self) -> int:
        """What `send` took and the other end's window has not, bookkeeping included."""
        ...

    def send(self, frame: bytes) -> bool:
        """Take a frame, without waiting. False, and nothing is taken, if the link is down or its queue is full.

        True promises nothing: what the other end does not answer may be lost. An idle link takes any frame. Raises
        ValueError if the frame is larger than a frame may be.
        """
        ...

    def reset(self, reason: str) -> None:
        """Let the link go down as if it had broken, soon: a link that was dialled is then dialled again.

        For an owner that cannot go on with what it was sent, or has lost count of what it sent.
        """
        ...

    def close(self, reason: str = "") -> None:
        """End the link for good, with what is queued. It tells its owner nothing more, and the other end `reason`, if it can."""
        ...


class Events(Protocol):
    """What the owner of a link is told, on the event loop, one call at a time. No call may take long.

    An exception from any of these is a mistake of ours: the loop's exception handler gets it and the link goes down.
    """

    def on_up(self, peer: Identity) -> None:
        """Frames can be sent, to a process that says it is `peer`."""
        ...

    def on_frame(self, frame: bytes) -> None: ...

    def on_idle(self) -> None:
        """All that was sent has been written."""
        ...

    def on_down(self, down: Down) -> None:
        """The link went down, or could not be brought up. One that was dialled tries again; an accepted one is over."""
        ...


class Dial(Protocol):
    def dial(self, address: str, events: Events) -> Link:
        """Make a link that is brought up, and up again whenever it goes down, until it is closed."""
        ...


Accept = Callable[[Link, Identity], Events]
"""Is asked about each link that another process wants, before any frame of it is read. Raises Refused.

The link is not up before `on_up`.
"""

Answerer = Callable[[Identity, bytes], Awaitable[bytes]]
"""Answers a call of its own, from a process that says it is this one, with this question. Raises Refused."""
