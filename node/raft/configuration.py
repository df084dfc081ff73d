"""Who is in the group, at every index of the log that matters.

A configuration is in force from the moment its entry is *appended*, committed or not, as in the paper; so it goes
again when that entry is overwritten. Why that is safe with one voter changed at a time:

- The majorities of two configurations that differ by one voter share a replica. So whoever leads by the one and whoever
  leads by the other cannot both have been elected in one term, nor can one miss what the other committed.
- A leader appends a configuration only when the one before is committed (here: applied), so the configurations that
  can be in force at the same time are always neighbours.
- It first commits an entry of its own term. Without that two leaders could each append a neighbour of the same old
  configuration, and those two would not be neighbours of each other.

The alternative, in force when *applied*, needs a promise that no replica runs for election while it holds a committed
and unapplied configuration, and so makes the commit index something that must never be lost. Here it may be.
"""

from __future__ import annotations

import enum

import msgspec

from gramme.node.raft.messages import Configuration, Entry, EntryKind, ReplicaId, decode_membership
from gramme.node.raft.refusals import ChangeRefused


class ChangeKind(enum.Enum):
    ADD_LEARNER = enum.auto()
    ADD_VOTER = enum.auto()
    # From learner to voter.
    PROMOTE = enum.auto()
    # A voter or a learner.
    REMOVE = enum.auto()


class Change(msgspec.Struct, frozen=True, gc=False):
    """One step. Nothing else moves from one configuration to another, so two in a row are always neighbours."""

    kind: ChangeKind
    replica: ReplicaId


def changed(old: Configuration, change: Change) -> Configuration:
    """Return the neighbour of `old` that `change` leads to. Raises ChangeRefused."""
    replica, voters, learners = change.replica, old.voters, old.learners
    known = replica in voters or replica in learners
    match change.kind:
        case ChangeKind.ADD_LEARNER if not known:
            new = Configuration(voters, (*learners, replica))
        case ChangeKind.ADD_VOTER if not known:
            new = Configuration((*voters, replica), learners)
        case ChangeKind.PROMOTE if replica in learners:
            new = Configuration((*voters, replica), _without(learners, replica))
        case ChangeKind.REMOVE if known:
            new = Configuration(_without(voters, replica), _without(learners, replica))
        case _:
            raise ChangeRefused(f"{change.kind.name} of replica {replica} does not fit {old}")
    if not new.well_formed():
        raise ChangeRefused(f"{change.kind.name} of replica {replica} leaves no usable group")
    return new


def configuration_of(entry: Entry) -> Configuration | None:
    """The configuration an entry of that kind holds, or None when it holds none that can be."""
    try:
        configuration = decode_membership(entry.data).configuration
    except msgspec.DecodeError:
        return None
    return configuration if configuration.well_formed() else None


def configurations_in(entries: list[Entry]) -> list[tuple[int, Configuration]] | None:
    """Every configuration in `entries` with its index. None when one of them is ill-formed."""
    found: list[tuple[int, Configuration]] = []
    for entry in entries:
        if entry.kind is EntryKind.CONFIGURATION:
            configuration = configuration_of(entry)
            if configuration is None:
                return None
            found.append((entry.index, configuration))
    return found


class Configurations:
    """The configuration as of the applied index, and those of the entries after it."""

    def __init__(self, index: int, configuration: Configuration) -> None:
        self._history: list[tuple[int, Configuration]] = []
        self.reset(index, configuration)

    def reset(self, index: int, configuration: Configuration) -> None:
        """Forget everything else: a snapshot says so."""
        self._history = [(index, configuration)]
        self._take_newest()

    def append(self, index: int, configuration: Configuration) -> None:
        self._history.append((index, configuration))
        self._take_newest()

    def truncate(self, index: int) -> None:
        """The entries from `index` on are gone."""
        if self.index >= index:
            while self._history[-1][0] >= index:
                self._history.pop()
            self._take_newest()

    def applied(self, index: int) -> None:
        """Nothing up to `index` can be overwritten."""
        history = self._history
        if len(history) > 1 and history[1][0] <= index:
            while len(history) > 1 and history[1][0] <= index:
                del history[0]
            self._take_newest()

    @property
    def oldest(self) -> Configuration:
        """The one in force at the applied index."""
        return self._history[0][1]

    def _take_newest(self) -> None:
        # Read on every message, so not computed there.
        self.index, self.newest = self._history[-1]
        self.voters = self.newest.voters
        # Of the configuration before, if the newest is not applied; else of the newest.
        self.voters_before = self._history[-2:][0][1].voters
        self.members = (*self.newest.voters, *self.newest.learners)


def _without(members: tuple[ReplicaId, ...], replica: ReplicaId) -> tuple[ReplicaId, ...]:
    return tuple(member for member in members if member != replica)
