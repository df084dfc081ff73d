"""What a leader knows of one follower, and how much it may send to it.

    PROBE       where the logs agree is not known: one append at a time, until an answer or a heartbeat's answer comes
    REPLICATE   they agree up to `match`: appends flow ahead of the answers, up to the bounds in flight
    SNAPSHOT    what comes next was compacted away: nothing, until the shell has shipped a snapshot

A lost append is noticed by the next one, which does not fit, and is rejected. If there is no next one, the heartbeat's
answer makes the leader send an empty append (`poke`), which bypasses the bounds, so a full window cannot hang.
"""

from __future__ import annotations

import enum
from collections import deque

from gramme.node.raft.settings import Settings


class ProgressState(enum.Enum):
    PROBE = enum.auto()
    REPLICATE = enum.auto()
    SNAPSHOT = enum.auto()


PROBE = ProgressState.PROBE
REPLICATE = ProgressState.REPLICATE
SNAPSHOT = ProgressState.SNAPSHOT


# Instead of a commit index: send an append even if it says nothing.
UNTOLD = -1


class Progress:
    """Of one follower, learner or voter. `match` only grows as long as the leader leads."""

    __slots__ = (
        "active",
        "commit_sent",
        "in_flight",
        "in_flight_bytes",
        "match",
        "next",
        "probed",
        "round",
        "state",
    )

    def __init__(self, next_index: int) -> None:
        self.state = PROBE
        self.match = 0
        self.next = next_index
        # In PROBE: one append is out.
        self.probed = False
        # Last index and size of each append in flight.
        self.in_flight: deque[tuple[int, int]] = deque()
        self.in_flight_bytes = 0
        # The commit index it was last told, or UNTOLD.
        self.commit_sent = UNTOLD
        # It answered since the leader last checked its quorum.
        self.active = False
        # The newest round of reads it has answered.
        self.round = 0

    def may_send(self, settings: Settings) -> bool:
        if self.state is REPLICATE:
            return (
                len(self.in_flight) < settings.in_flight_appends_max
                and self.in_flight_bytes < settings.in_flight_bytes_max
            )
        return self.state is PROBE and not self.probed

    def sent(self, last_index: int, size_bytes: int) -> None:
        """An append with entries is on its way."""
        if self.state is REPLICATE:
            self.next = last_index + 1
            self.in_flight.append((last_index, size_bytes))
            self.in_flight_bytes += size_bytes
        else:
            self.probed = True

    def accepted(self, index: int) -> bool:
        """It holds everything up to `index`. Returns whether that is news."""
        in_flight = self.in_flight
        while in_flight and in_flight[0][0] <= index:
            self.in_flight_bytes -= in_flight.popleft()[1]
        if self.state is PROBE and index >= self.match:
            self._enter(REPLICATE, max(self.match, index) + 1)
        if index <= self.match:
            return False
        self.match = index
        if self.next <= index:
            self.next = index + 1
        return True

    def rejected(self, index: int, agreed: int) -> bool:
        """It does not hold `index` as we do; the logs may agree up to `agreed`. Returns whether to try again."""
        if index <= self.match:
            return False
        if self.state is PROBE:
            if self.next - 1 != index:
                return False
            self._enter(PROBE, max(min(index, agreed + 1), self.match + 1))
            return True
        if self.state is REPLICATE:
            self._enter(PROBE, self.match + 1)
            return True
        return False

    def heard(self) -> None:
        """It answered a heartbeat, so a probe that is still unanswered may be lost."""
        self.active = True
        self.probed = False

    def poke(self) -> None:
        """Send it an append even if there is nothing to say and no room: its answer shows what was lost."""
        self.commit_sent = UNTOLD

    def unreachable(self) -> None:
        if self.state is REPLICATE:
            self._enter(PROBE, self.match + 1)

    def needs_snapshot(self) -> None:
        self._enter(SNAPSHOT, self.next)

    def snapshot_over(self, index: int) -> None:
        """What can be is that it has all up to `index` now; an append tells."""
        if self.state is SNAPSHOT:
            self._enter(PROBE, max(self.match, index) + 1)
            # Not at once: the next answer to a heartbeat sets the pace, so a snapshot that keeps failing is no loop.
            self.probed = True

    def _enter(self, state: ProgressState, next_index: int) -> None:
        self.state = state
        self.next = next_index
        self.probed = False
        self.in_flight.clear()
        self.in_flight_bytes = 0
