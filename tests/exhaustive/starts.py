"""Where searches begin. Some begin late in a history that needs many steps to get to: with a leader, or with logs."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from gramme.node.raft.configuration import Change, ChangeKind
from gramme.node.raft.messages import AppendEntries, ReplicaId
from gramme.node.raft.settings import Settings
from tests.exhaustive.replicas import renumber
from tests.exhaustive.search import Bounds, Search
from tests.unit.node.raft.cluster import Cluster

# Pre-votes and the check of the quorum make elections rarer, not safer: without them more happens in fewer steps. One
# entry to an append, so that a majority may hold the first and not the second.
SETTINGS = Settings(pre_vote=False, check_quorum=False, append_bytes_max=1)


@dataclass(frozen=True, slots=True)
class Start:
    bounds: Bounds
    voters: int = 3
    learners: tuple[int, ...] = ()
    # Of each replica that has any: the terms of its log, and its own term.
    logs: dict[int, tuple[int, ...]] = field(default_factory=dict)
    terms: dict[int, int] = field(default_factory=dict)
    # What has happened. What it leaves in the network is under way.
    before: Callable[[Cluster], None] = lambda cluster: None

    def search(self) -> Search:
        cluster = Cluster(
            self.voters,
            learners=self.learners,
            settings=SETTINGS,
            logs=self.logs,
            terms=self.terms,
            draw=lambda low, high: low,
        )
        self.before(cluster)
        for shell in cluster.shells.values():
            renumber(shell)
        return Search(list(cluster.shells.values()), self.bounds, cluster.network)


def remove(replica: int) -> Change:
    return Change(ChangeKind.REMOVE, ReplicaId(replica))


def led(cluster: Cluster) -> None:
    """Replica 1 has been elected, and everybody has applied its first entry."""
    cluster[1].campaign()
    cluster.settle()


def led_by_two(cluster: Cluster) -> None:
    """Replica 1 has begun to remove 4, and been cut off; 4 has been elected, and its first entry is on its way."""
    led(cluster)
    cluster[1].propose_configuration(remove(4))
    cluster.cut = {1}
    cluster.settle()
    cluster.lose = lambda message: isinstance(message, AppendEntries)
    cluster[4].campaign()
    cluster.settle()
    assert cluster.leader is cluster[4]
    cluster.network = [message for message in cluster.lost if message.sender == 4]


STARTS = {
    # All three may run for the same term.
    "election": Start(Bounds(terms=1, campaigns=3, proposals=0, crashes=2)),
    "fresh": Start(Bounds(terms=2, campaigns=2, proposals=1, crashes=1, candidates=(1, 2))),
    # A write, a crash and another leader.
    "write": Start(
        Bounds(terms=2, campaigns=1, proposals=1, crashes=1, candidates=(2, 3)), before=led
    ),
    # Small enough to be searched to its end.
    "one successor": Start(
        Bounds(terms=2, campaigns=1, proposals=1, crashes=0, candidates=(2,), instant_flushes=True),
        before=led,
    ),
    "two writes": Start(
        Bounds(
            terms=3, campaigns=2, proposals=2, crashes=0, candidates=(2, 3), instant_flushes=True
        ),
        before=led,
    ),
    # Figure 8 of the paper, with three replicas, at (c): 1 is about to lead again.
    "figure 8": Start(
        Bounds(
            terms=5, campaigns=2, proposals=0, crashes=0, candidates=(1, 3), instant_flushes=True
        ),
        logs={1: (1, 2), 2: (1,), 3: (1, 3)},
        terms={1: 3, 2: 3, 3: 4},
    ),
    # Three logs that agree on nothing but the first entry.
    "conflict": Start(
        Bounds(terms=5, campaigns=2, proposals=0, crashes=1, candidates=(1, 2)),
        logs={1: (1, 2, 2), 2: (1, 3), 3: (1,)},
        terms={1: 3, 2: 3, 3: 3},
    ),
    "learner": Start(
        Bounds(terms=2, campaigns=1, proposals=1, crashes=0, candidates=(2,), instant_flushes=True),
        learners=(4,),
        before=led,
    ),
    # Two leaders that each take the other out, neither knowing of the other.
    "removals": Start(
        Bounds(
            terms=3,
            campaigns=1,
            proposals=0,
            crashes=0,
            changes=(remove(1),),
            candidates=(1,),
            instant_flushes=True,
        ),
        voters=4,
        before=led_by_two,
    ),
    "replacement": Start(
        Bounds(
            terms=2,
            campaigns=1,
            proposals=0,
            crashes=0,
            changes=(
                remove(3),
                Change(ChangeKind.ADD_LEARNER, ReplicaId(3)),
                Change(ChangeKind.PROMOTE, ReplicaId(3)),
            ),
            candidates=(2, 3),
            instant_flushes=True,
        ),
        before=led,
    ),
}
