"""Every bound of the core, each with its reason."""

from __future__ import annotations

from dataclasses import dataclass

# What an entry costs beside its data, in memory and on the wire.
ENTRY_OVERHEAD_BYTES = 24


@dataclass(frozen=True, slots=True)
class Settings:
    """Times are in ticks of 100 ms. All replicas of a group use the same settings."""

    # Hundreds of idle groups cost little else than their heartbeats.
    heartbeat_ticks: int = 5
    # A follower waits for between once and twice this, drawn anew each time, so that two rarely run at once.
    election_ticks: int = 10
    # At most, once the stream to the leader has broken, which mostly means that its process has ended, or once others are
    # back and nobody leads, as when all were down.
    hurried_ticks: int = 3
    # Off only in the exhaustive search, where they would hide what the rules below them must prevent.
    pre_vote: bool = True
    check_quorum: bool = True

    # Followers are told at once of what is committed. Otherwise by the next entries, by a heartbeat, or when the shell says so:
    # each append of its own costs a frame there, another one back, and the work of both ends.
    eager_commits: bool = True

    # One append is one piece of work for the follower's loop: about a millisecond of decoding and writing.
    append_bytes_max: int = 256 << 10
    # Per follower: enough to fill a link of a millisecond, little enough to hold for a follower that stalls.
    in_flight_appends_max: int = 64
    in_flight_bytes_max: int = 4 << 20
    # Proposed and not yet handed out for apply. Beyond it the proposer is refused, not queued.
    uncommitted_bytes_max: int = 16 << 20
    # One Ready's worth of apply, which is one engine write and keeps the loop waiting.
    committed_bytes_max: int = 512 << 10
    # Persisted entries that stay in memory for followers a little behind.
    cached_bytes_max: int = 128 << 10

    waiting_reads_max: int = 10_000
    # Rounds of ReadIndex under way. A read that comes while all are under way waits for the next.
    read_rounds_max: int = 4

    def __post_init__(self) -> None:
        assert 0 < self.heartbeat_ticks < self.election_ticks
