"""Why the core refuses what its own shell asks. Nothing has happened then, and the shell may ask again later.

These never reach a client as they are: the replica turns each into an error the caller can see.
"""

from __future__ import annotations

from gramme.node.raft.messages import NOBODY, ReplicaId


class Refused(Exception):
    """The request was not begun."""


class NotLeader(Refused):
    """Only the leader does this. `leader` is who that may be, or NOBODY."""

    def __init__(self, leader: ReplicaId = NOBODY) -> None:
        super().__init__(f"not the leader; that is {leader or 'unknown'}")
        self.leader = leader


class TransferUnderWay(Refused):
    """Leadership is being handed over, so the log must not grow."""


class TooMuchUncommitted(Refused):
    """Entries that were proposed and not yet handed out for apply fill their bound."""


class TooManyReads(Refused):
    """Reads that wait for a quorum fill their bound."""


class ChangeRefused(Refused):
    """The membership cannot change like that, or not now."""
