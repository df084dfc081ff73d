"""Puts new replicas in the place of those that are gone: first in meta's records, then in each group's own configuration.

Where meta is led from, records that place a replica on a directory that is gone get a new replica instead. Where a group is led
from, its configuration follows its placement by single steps, each of which waits for the one before:

    add the new replica as a learner; when it has caught up, remove the one that is gone; then let the new one vote

In that order a group never counts on one more voter than it has: the one that is gone is counted, and missed, as long as
it was anyway. Only who is known to be gone is removed. A leader whose copy of meta is old does too little, never too much.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from gramme.errors import NotLeader, OutcomeUnknown
from gramme.node.beat import beat
from gramme.node.consensus import Consensus
from gramme.node.members import MemberRecord, Members
from gramme.node.meta import META_GROUP, Meta
from gramme.node.raft.configuration import Change, ChangeKind
from gramme.node.raft.messages import Configuration, ReplicaId

_STEPS = {
    ChangeKind.ADD_LEARNER: "filling",
    ChangeKind.REMOVE: "removing",
    ChangeKind.PROMOTE: "counting on",
}

POLL_S = 0.2
# A learner that is this near to what is committed has caught up: it receives entries as they come.
NEAR_ENTRIES = 256


def next_change(
    configuration: Configuration,
    placed: Mapping[int, int],
    is_gone: Callable[[int], bool],
    has_caught_up: Callable[[int], bool],
) -> Change | None:
    """The next step from a configuration to the replicas that are `placed`."""
    members = (*configuration.voters, *configuration.learners)
    for replica in placed:
        if replica not in members and not is_gone(replica):
            return Change(ChangeKind.ADD_LEARNER, ReplicaId(replica))
    ready = [one for one in configuration.learners if one in placed and has_caught_up(one)]
    gone = [one for one in members if one not in placed and is_gone(one)]
    waiting = [one for one in configuration.learners if one in placed]
    for replica in gone:
        # The last voter is never removed, and others only once there is who takes their place.
        if replica in configuration.learners or ready or not waiting:
            return Change(ChangeKind.REMOVE, replica)
    return Change(ChangeKind.PROMOTE, ready[0]) if ready else None


class Membership:
    """`logs` are those of this node's replicas, `placement` says where meta places a table's group."""

    def __init__(
        self,
        members: Members,
        meta: Callable[[], Meta],
        leads_meta: Callable[[], bool],
        logs: Mapping[int, Consensus],
        placement: Callable[[int], Mapping[int, int] | None],
        say: Callable[[str], None],
    ) -> None:
        self._members = members
        self._meta = meta
        self._leads_meta = leads_meta
        self._logs = logs
        self._placement = placement
        self._say = say

    async def run(self) -> None:
        while True:
            await beat(POLL_S)
            if self._leads_meta():
                try:
                    await self._lead()
                except (NotLeader, OutcomeUnknown):
                    # Whoever leads meta now goes on.
                    continue
            if any(record.since for record in self._members.records().values()):
                for log in list(self._logs.values()):
                    if log.serving:
                        self._advance(log)

    async def _lead(self) -> None:
        """Keep meta's records up to date."""
        members, meta = self._members, self._meta()
        missing = [number for number in members.addresses if members.record(number) is None]
        if missing:
            known = {number: members.directory_of(number) for number in missing}
            records = {
                number: MemberRecord(directory, replica=number, since=0)
                for number, directory in known.items()
                if directory is not None
            }
            if records:
                async with meta.lock:
                    await meta.record_members(records)
        for record in list(meta.records()):
            if _any_gone(record.placement, members):
                async with meta.lock:
                    current = meta.current(record.table)
                    if current is not None and self._leads_meta():
                        await meta.replace_gone(current, members.is_gone)

    def _advance(self, log: Consensus) -> None:
        placed = self._meta_placement() if log.group == META_GROUP else self._placement(log.group)
        raft = log.raft
        configuration = raft.configurations.newest
        if placed is None or ({*placed} == {*configuration.voters} and not configuration.learners):
            return
        committed, matches = raft.log.committed, raft.matches()

        def is_gone(replica: int) -> bool:
            if log.group == META_GROUP:
                # Whoever leads meta knows all of it.
                return replica not in placed
            return self._members.is_gone(replica, log.node_of(replica))

        def has_caught_up(replica: int) -> bool:
            match = matches.get(ReplicaId(replica), 0)
            return match > 0 and committed < match + NEAR_ENTRIES

        change = next_change(configuration, placed, is_gone, has_caught_up)
        if change is not None:
            added = change.kind is ChangeKind.ADD_LEARNER
            nodes: dict[int, int] = {change.replica: placed[change.replica]} if added else {}
            if log.reconfigure(change, nodes):
                self._say(f"group {log.group}: {_STEPS[change.kind]} replica {change.replica}")

    def _meta_placement(self) -> dict[int, int]:
        records = self._members.records()
        return {
            records[number].replica if number in records else number: number
            for number in self._members.addresses
        }


def _any_gone(placement: Mapping[int, Mapping[int, int]], members: Members) -> bool:
    return any(
        members.is_gone(replica, node)
        for placed in placement.values()
        for replica, node in placed.items()
    )
