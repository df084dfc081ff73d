"""What a replica does with what a leader sends: append, commit, install.

Nothing here trusts a message further than the rules go. What no replica of this program would send (entries that do not
follow one another, a second leader of a term, a commit index beyond the log) changes nothing, and is counted.
"""

from __future__ import annotations

from gramme.node.raft.configuration import Configurations, configurations_in
from gramme.node.raft.election import Draw, Elector
from gramme.node.raft.log import RaftLog
from gramme.node.raft.messages import (
    NOBODY,
    NUMBER_MAX,
    AppendEntries,
    AppendResponse,
    Entry,
    HardState,
    Heartbeat,
    HeartbeatResponse,
    InstallSnapshot,
    ReplicaId,
    Snapshot,
    TimeoutNow,
)
from gramme.node.raft.ready import Role
from gramme.node.raft.settings import Settings


class Follower(Elector):
    """The part of a replica that listens to a leader. Every role may have to."""

    def __init__(
        self,
        settings: Settings,
        replica: ReplicaId,
        hard_state: HardState,
        log: RaftLog,
        configurations: Configurations,
        draw: Draw,
    ) -> None:
        super().__init__(settings, replica, hard_state, log, configurations, draw)
        # Messages that no replica of this program sends: the shell may show them to an operator.
        self.ill_formed = 0
        self._snapshot: Snapshot | None = None
        # The index of the snapshot being installed, or 0.
        self._installing = 0

    def _may_run(self) -> bool:
        """Whether this replica may stand for election.

        One whose log says that it was removed still may, until it knows that to be committed: it may be the only one
        that holds the entry, and refuse its vote to those who lack it. It does not count itself then.
        """
        if self._installing or self.term >= NUMBER_MAX:
            # While a snapshot is being installed, the state it promises is not there yet.
            return False
        configurations = self.configurations
        undecided = configurations.index > self.log.committed
        return self.is_voter or (undecided and self.replica in configurations.voters_before)

    def _follow(self, leader: ReplicaId) -> bool:
        """A leader of our term was heard. Returns False if it cannot be one."""
        if self.leader != leader or self.role is not Role.FOLLOWER:
            if self.leader not in (NOBODY, leader) or self.role is Role.LEADER:
                # A term has one leader, and this is another.
                self.ill_formed += 1
                return False
            self._take_role(Role.FOLLOWER, leader)
        self._elapsed = 0
        return True

    def _on_heartbeat(self, message: Heartbeat) -> None:
        sender = message.sender
        if self._follow(sender):
            self._commit_to(message.commit)
            self._outbox.append(HeartbeatResponse(self.replica, sender, self.term, message.round))

    def _on_append_entries(self, message: AppendEntries) -> None:
        if not self._follow(message.sender):
            return
        log = self.log
        previous, entries = message.previous_index, message.entries
        if previous < log.committed:
            # Old news. What is committed is the same everywhere.
            self._acknowledge(message.sender, log.committed)
        elif not _continues(message):
            self.ill_formed += 1
        elif not log.matches(previous, message.previous_term):
            self._reject(message)
        elif self._accept(entries, previous == log.last_index):
            last = previous + len(entries)
            self._commit_to(min(message.commit, last))
            self._acknowledge(message.sender, last)

    def _accept(self, entries: list[Entry], at_end: bool) -> bool:
        """Append what is new of `entries`, whose predecessor is here and not before the commit index."""
        log = self.log
        if not at_end:
            known = 0
            for entry in entries:
                if not log.matches(entry.index, entry.term):
                    break
                known += 1
            entries = entries[known:]
        if entries:
            found = configurations_in(entries)
            if found is None:
                self.ill_formed += 1
                return False
            self.configurations.truncate(entries[0].index)
            log.extend(entries)
            for index, configuration in found:
                self.configurations.append(index, configuration)
        return True

    def _acknowledge(self, leader: ReplicaId, index: int) -> None:
        """Promise, after the next flush, to hold everything up to `index`. One promise serves for many appends."""
        after = self._outbox_after_persist
        if after:
            last = after[-1]
            if type(last) is AppendResponse and last.to == leader and last.term == self.term:
                index = max(index, last.index)
                after.pop()
        after.append(AppendResponse(self.replica, leader, self.term, index))

    def _reject(self, message: AppendEntries) -> None:
        previous = message.previous_index
        hint = self.log.last_of_term_at_most(previous, message.previous_term)
        hint_term = max(self.log.term(hint), 0)
        self._outbox.append(
            AppendResponse(self.replica, message.sender, self.term, previous, True, hint, hint_term)
        )

    def _commit_to(self, index: int) -> None:
        log = self.log
        if index > log.committed:
            if index > log.last_index:
                # A leader only tells of what it knows to be here. Cutting it to size would commit what may conflict.
                self.ill_formed += 1
                return
            log.committed = index

    def _on_install_snapshot(self, message: InstallSnapshot) -> None:
        snapshot = message.snapshot
        if not self._follow(message.sender):
            return
        log = self.log
        if snapshot.index > log.committed:
            if snapshot.term > self.term or not snapshot.configuration.well_formed():
                self.ill_formed += 1
                return
            if log.matches(snapshot.index, snapshot.term):
                # The entries themselves are here: all that is new is that they are committed.
                log.committed = snapshot.index
            elif self._installing:
                # One at a time. The leader tries again if it must.
                return
            else:
                self._restore(snapshot)
        self._acknowledge(message.sender, log.committed)

    def _restore(self, snapshot: Snapshot) -> None:
        self.log.restore(snapshot.index, snapshot.term)
        self.configurations.reset(snapshot.index, snapshot.configuration)
        self._snapshot = snapshot
        self._installing = snapshot.index

    def _on_timeout_now(self, message: TimeoutNow) -> None:
        """The leader hands over. Nobody else may, so nobody else can unseat it."""
        follows = self.role is Role.FOLLOWER and self.leader == message.sender
        if follows and self._may_run():
            self._run(transfer=True)


def _continues(message: AppendEntries) -> bool:
    """Whether the entries follow one another and their predecessor, as in any log of that term."""
    index, term, last_term = message.previous_index, message.previous_term, message.term
    for entry in message.entries:
        index += 1
        if entry.index != index or not term <= entry.term <= last_term:
            return False
        term = entry.term
    return True
