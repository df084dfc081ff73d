"""This node's replica of meta, which may be absent: while a snapshot is being put into its place, or has yet to come."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from gramme.errors import NotLeader
from gramme.node.consensus import Consensus
from gramme.node.hosting import Ground
from gramme.node.meta import META_GROUP, Meta
from gramme.node.proposals import Member, Round
from gramme.node.raft.messages import InstallSnapshot, ReplicaId


class _Absent:
    """The log that there is not."""

    def admit(self) -> None:
        raise NotLeader(0)

    def join(self, member: Member) -> Round:
        refused = Round()
        refused.flushed.fail(NotLeader(0))
        return refused

    async def confirm(self) -> None:
        raise NotLeader(0)


class MetaCopy:
    """`meta` is another one after each opening."""

    def __init__(
        self,
        ground: Ground,
        nodes: Sequence[int],
        replication: int,
        ship: Callable[[Consensus, ReplicaId], None],
    ) -> None:
        self._ground = ground
        self._nodes = nodes
        self._replication = replication
        self._ship = ship
        # Told when meta may have changed.
        self.on_change: Callable[[], None] = lambda: None
        self.log: Consensus | None = None
        self.meta = Meta(ground.engine, _Absent(), nodes, replication)

    @property
    def leads(self) -> bool:
        return self.log is not None and self.log.serving

    @property
    def leader_node(self) -> int:
        """The node that leads meta as far as this one knows, or 0."""
        return 0 if self.log is None else self.log.leader_node

    async def confirm(self) -> None:
        """Return once all is applied that was answered anywhere before this call. Raises NotLeader."""
        if self.log is None:
            raise NotLeader(0)
        await self.log.confirm()

    def open(self) -> None:
        log = self.log = self._ground.open_log(META_GROUP)
        self.meta = Meta(self._ground.engine, log, self._nodes, self._replication)
        self.meta.on_change = lambda: self.on_change()
        log.machine = self.meta

        def ship(due: InstallSnapshot) -> None:
            self._ship(log, ReplicaId(due.to))

        log.on_snapshot_due = ship
        self._ground.commits.remover = log

    def close(self) -> None:
        """What is known of meta stays known until the replica is opened again."""
        if self.log is not None:
            self.log = None
            self._ground.commits.remover = None
            self._ground.close_log(META_GROUP)
