"""Who should lead, of those who could: leadership leaves a node whose disk is full or slow, and comes home after a fault.

A group's first placed replica leads first, and placements spread that over the nodes. After a node was away its groups are
led by others, so when it has been back for a while they hand leadership over again, a group at a time. A node that is
not fit to lead hands over at once, if there is who is; if there is nobody, it goes on leading and refuses what it must.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from typing import Protocol

from gramme.node.beat import beat
from gramme.node.commit import CommitLoop
from gramme.node.consensus import Consensus
from gramme.node.raft.messages import ReplicaId

POLL_S = 1.0
# A node that has just come back may go again.
HOME_AFTER_S = 10.0
# A node that says nothing for as long may be paused.
HEARD_WITHIN_S = 1.0
# After a transfer that came to nothing.
AGAIN_AFTER_S = 30.0
# A successor this near to the end of the log has it all in a moment.
NEAR_ENTRIES = 256


# A loop or a flush that takes as long keeps everybody waiting.
LAG_S = 1.0
# Who was slow may be so again.
FIT_AGAIN_AFTER_S = 10.0


class Fitness:
    """Whether this node may lead. `tick` is called ten times a second, or as near to it as the loop comes."""

    def __init__(self, commits: CommitLoop) -> None:
        self._commits = commits
        self._ticked_at: float | None = None
        self._slow_until = 0.0
        self._said = self.words

    def tick(self, now: float) -> None:
        before, self._ticked_at = self._ticked_at, now
        flushing_since = self._commits.flushing_since
        slow = flushing_since is not None and now - flushing_since > LAG_S
        if slow or (before is not None and now - before > LAG_S):
            self._slow_until = now + FIT_AGAIN_AFTER_S

    @property
    def words(self) -> str:
        """How it is, for a person."""
        if self._commits.room.is_low:
            return "the disk is nearly full: others lead if they can, and no writes are taken here"
        if self._is_slow:
            return "this node or its disk was slow: others lead if they can"
        return "this node may lead again"

    @property
    def changed(self) -> bool:
        """Whether this has changed since it was last asked."""
        words, self._said = self._said, self.words
        return words != self._said

    @property
    def is_fit(self) -> bool:
        return not self._is_slow and not self._commits.room.is_low

    @property
    def _is_slow(self) -> bool:
        return self._ticked_at is not None and self._ticked_at < self._slow_until


class Peers(Protocol):
    """The other nodes, as this module sees them."""

    def is_fit(self, node: int, up_for_s: float, heard_within_s: float) -> bool:
        """Whether a node has been reachable for as long, spoke as lately, and says that it may lead."""
        ...


class Leadership:
    """`placement` says where meta places a group, None if it does not; `is_fit` whether this node may lead."""

    def __init__(
        self,
        number: int,
        logs: Mapping[int, Consensus],
        peers: Peers,
        placement: Callable[[int], Mapping[int, int] | None],
        is_fit: Callable[[], bool],
    ) -> None:
        self._number = number
        self._logs = logs
        self._peers = peers
        self._placement = placement
        self._is_fit = is_fit
        self._not_before: dict[int, float] = {}

    async def run(self) -> None:
        loop = asyncio.get_running_loop()
        while True:
            await beat(POLL_S)
            self.look(loop.time())

    def look(self, now: float) -> None:
        self._not_before = {group: at for group, at in self._not_before.items() if at > now}
        fit = self._is_fit()
        for group, log in list(self._logs.items()):
            if not log.serving or log.raft.transferring or group in self._not_before:
                continue
            successor = self._home(log) if fit else self._anybody(log)
            if successor is not None:
                self._not_before[group] = now + AGAIN_AFTER_S
                log.hand_over(successor)
                if fit:
                    # One at a time: each is a moment without a leader.
                    return

    def _home(self, log: Consensus) -> ReplicaId | None:
        """The replica that is to lead a group when all is well, if it can and is on another node."""
        placed = self._placement(log.group)
        if not placed:
            return None
        replica, node = next(iter(placed.items()))
        if node == self._number or not self._can_lead(log, ReplicaId(replica), HOME_AFTER_S):
            return None
        return ReplicaId(replica)

    def _anybody(self, log: Consensus) -> ReplicaId | None:
        """The most advanced of those that can lead."""
        matches = log.raft.matches()
        able = [voter for voter in matches if self._can_lead(log, voter, 0.0)]
        return max(able, key=lambda voter: (matches[voter], -voter), default=None)

    def _can_lead(self, log: Consensus, replica: ReplicaId, up_for_s: float) -> bool:
        raft = log.raft
        near = raft.matches().get(replica, 0) + NEAR_ENTRIES > raft.log.last_index
        is_voter = replica in raft.configurations.voters
        return (
            near and is_voter and self._peers.is_fit(log.node_of(replica), up_for_s, HEARD_WITHIN_S)
        )
