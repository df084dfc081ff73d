"""Opening a replica by its own rows. What meta says of its group only tells that it is here."""

from __future__ import annotations

from gramme.clock import Clock
from gramme.node.engine.api import Engine, Family
from gramme.node.engine.keyspace import decode_settings, decode_state, settings_key, state_key
from gramme.node.proposals import Commits
from gramme.node.replica import Replica


def open_replica(
    engine: Engine, commits: Commits, clock: Clock, group: int, *, replicated: bool = False
) -> Replica:
    """`replicated` says that there are other replicas, so that `commits` is a log and not the commit loop."""
    settings_row = engine.get(Family.RAFT, settings_key(group))
    state_row = engine.get(Family.RAFT, state_key(group))
    assert settings_row is not None and state_row is not None, f"group {group} has lost its rows"
    settings, state = decode_settings(settings_row), decode_state(state_row)
    replica = Replica(engine, commits, clock, settings, state, replicated=replicated)
    replica.watched = settings.index is None and bool(settings.table.indexes)
    return replica
