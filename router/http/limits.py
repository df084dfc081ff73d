"""What a client may take of the gateway, and how much is taken now.

Every number that bounds a connection stands here with its reason. The sizes are DynamoDB's own; the times are
ours, long enough for a slow link and short enough that a client who says nothing costs nothing for long.
"""

from __future__ import annotations

from dataclasses import dataclass

KIB = 1024
MIB = 1024 * 1024


@dataclass(frozen=True, slots=True)
class Limits:
    # Beyond this a new connection is closed as soon as it is accepted.
    connections_max: int = 8192
    # Requests of one connection that may wait for their answers before we stop reading from it.
    unanswered_max: int = 32
    # DynamoDB's limits: a request, its request line, and its headers.
    body_bytes_max: int = 16 * MIB
    line_bytes_max: int = 16 * KIB
    headers_bytes_max: int = 16 * KIB
    # Bodies held at one time, over all connections; beyond this a request is refused with 503, unless its body
    # is small: those who send much must not be able to keep everybody else out.
    buffered_bytes_max: int = 512 * MIB
    buffered_bytes_exempt: int = 64 * KIB
    # A refused client is still writing: we read this much so that it gets to our answer.
    drain_bytes_max: int = 64 * MIB
    drain_seconds: float = 5.0
    # From the first byte of a request to the end of its headers, and from there to the end of its body.
    head_seconds: float = 20.0
    body_seconds: float = 120.0
    # A connection without a request. SDKs keep theirs for a minute or so and must not lose a race to us.
    idle_seconds: float = 300.0
    # A client that does not read its answers.
    write_seconds: float = 60.0
    # How often the times above are looked at; they are no more exact than this.
    sweep_seconds: float = 1.0


class Usage:
    """What all connections of one server hold together."""

    __slots__ = ("body_bytes",)

    def __init__(self) -> None:
        self.body_bytes = 0
