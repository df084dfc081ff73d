"""What links may take, and how patient they are: each number beside its reason."""

from __future__ import annotations

from dataclasses import dataclass

MIB = 1024 * 1024


@dataclass(frozen=True, slots=True)
class Limits:
    # The largest request of DynamoDB is 16 MB, and what a frame adds to it is small.
    frame_bytes_max: int = 17 * MIB
    # What one link may have waiting to be written: a large frame and what comes while it is written.
    queue_bytes_max: int = 32 * MIB
    # Streams that others may have open here: hundreds of nodes and routers, with their old ones not yet cleared.
    streams_max: int = 1024
    # A dialler puts one stream on a connection.
    streams_per_connection_max: int = 4
    # From dialling until the other end has accepted: two lost packets and a busy process.
    connect_seconds: float = 5.0
    # A process that is gone or stopped is noticed this long after it was last heard of, at the latest.
    ping_every_seconds: float = 2.0
    ping_answer_seconds: float = 3.0
    # Between attempts. The first is a restart's length; the last bounds how long a healed network stays unused.
    backoff_seconds_min: float = 0.05
    backoff_seconds_max: float = 2.0
    # Strangers: how long a connection may take to begin to speak, and how long it may have nothing to say.
    handshake_seconds: float = 10.0
    idle_connection_seconds: float = 30.0
