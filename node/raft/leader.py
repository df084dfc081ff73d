"""What a replica has only while it leads: what it knows of the others, and what waits for their answers.

It is made when an election is won and thrown away when leadership ends, so nothing of one term can leak into another.
It decides nothing about terms and votes: `core.py` does.
"""

from __future__ import annotations

from gramme.node.raft.configuration import Configurations
from gramme.node.raft.log import UNKNOWN, RaftLog
from gramme.node.raft.messages import (
    NOBODY,
    AppendEntries,
    AppendResponse,
    Entry,
    Heartbeat,
    InstallSnapshot,
    Message,
    ReplicaId,
    Snapshot,
    TimeoutNow,
)
from gramme.node.raft.progress import PROBE, REPLICATE, SNAPSHOT, UNTOLD, Progress
from gramme.node.raft.quorum import majority, reached_by_majority
from gramme.node.raft.reads import Reads
from gramme.node.raft.settings import Settings

# Entries found for one follower serve the next one too, if it is as far: from, entries, size.
Found = tuple[int, list[Entry], int]


class Leader:
    """One leadership of one replica."""

    def __init__(
        self,
        settings: Settings,
        replica: ReplicaId,
        term: int,
        log: RaftLog,
        configurations: Configurations,
        outbox: list[Message],
    ) -> None:
        self._settings = settings
        self._replica = replica
        self._term = term
        self._log = log
        self._configurations = configurations
        self._outbox = outbox
        # The index of the empty entry this leadership begins with. From it on all entries are of this term.
        self.own_term_index = log.last_index + 1
        self.progress: dict[ReplicaId, Progress] = {}
        self.reads = Reads()
        self.uncommitted_bytes = 0
        self.transfer_to = NOBODY
        # There may be something to send.
        self.stirred = True
        # What is committed is told even to those who are sent no entries.
        self.telling = False
        self.heartbeat_elapsed = 0
        self.adopt_configuration()

    def adopt_configuration(self) -> None:
        """Follow who is in the newest configuration, and nobody else."""
        known = self.progress
        self.progress = {
            member: known.get(member) or Progress(self._log.last_index + 1)
            for member in self._configurations.members
            if member != self._replica
        }
        if self.transfer_to not in self._configurations.voters:
            self.transfer_to = NOBODY
        self.stirred = True

    # What a majority of voters says

    def held_by_majority(self) -> int:
        """The last index that a majority has flushed: for this replica, too, only its own flush counts."""
        progress = self.progress
        replica = self._replica
        return reached_by_majority(
            [
                self._log.persisted if voter == replica else progress[voter].match
                for voter in self._configurations.voters
            ]
        )

    def confirmed_round(self) -> int:
        """The last round of reads that a majority has answered. This replica knows of all."""
        newest = self.reads.newest_round
        return reached_by_majority(
            [
                newest if voter == self._replica else self.progress[voter].round
                for voter in self._configurations.voters
            ]
        )

    def lost_quorum(self) -> bool:
        """Whether too few voters have answered since this was last asked."""
        voters = self._configurations.voters
        heard = sum(voter == self._replica or self.progress[voter].active for voter in voters)
        for progress in self.progress.values():
            progress.active = False
        return heard < majority(len(voters))

    # What followers are sent

    def replicate(self, applied: int) -> None:
        """Send every follower what it may have. `applied` is what a snapshot made now would hold."""
        self.stirred = False
        found: Found | None = None
        for member, progress in self.progress.items():
            found = self._replicate_to(member, progress, applied, found)
        self.telling = False

    def owes_commit(self) -> bool:
        """Whether a follower has everything but the news that it is committed."""
        committed = self._log.committed
        return any(progress.commit_sent < committed for progress in self.progress.values())

    def heartbeat(self) -> None:
        committed, newest_round = self._log.committed, self.reads.newest_round
        for member, progress in self.progress.items():
            # Its log is known to be like ours only up to `match`.
            commit = min(committed, progress.match)
            self._outbox.append(Heartbeat(self._replica, member, self._term, commit, newest_round))

    def _replicate_to(
        self, to: ReplicaId, progress: Progress, applied: int, found: Found | None
    ) -> Found | None:
        log, settings = self._log, self._settings
        while progress.state is not SNAPSHOT:
            first = progress.next
            room = progress.may_send(settings)
            more = room and first <= log.last_index
            told = progress.commit_sent
            telling = self.telling or settings.eager_commits or told == UNTOLD
            tell = telling and told < log.committed
            if not more and not (tell and (room or progress.state is REPLICATE)):
                break
            previous_term = log.term(first - 1)
            if previous_term == UNKNOWN:
                self._send_snapshot(to, progress, applied)
                break
            entries: list[Entry] = []
            size = 0
            if more:
                if found is None or found[0] != first:
                    found = (first, *log.entries(first, log.last_index, settings.append_bytes_max))
                _, entries, size = found
            self._outbox.append(
                AppendEntries(
                    self._replica,
                    to,
                    self._term,
                    first - 1,
                    previous_term,
                    log.committed,
                    entries,
                )
            )
            progress.commit_sent = log.committed
            if entries or progress.state is PROBE:
                progress.sent(first - 1 + len(entries), size)
        return found

    def _send_snapshot(self, to: ReplicaId, progress: Progress, applied: int) -> None:
        snapshot = Snapshot(applied, self._log.term(applied), self._configurations.oldest)
        progress.needs_snapshot()
        self._outbox.append(InstallSnapshot(self._replica, to, self._term, snapshot))

    # What they answer

    def answered(self, response: AppendResponse, progress: Progress) -> bool:
        """Take in an answer. Returns whether more may be committed now."""
        progress.active = True
        log, index = self._log, response.index
        if response.rejected:
            agreed = log.last_of_term_at_most(response.hint_index, response.hint_term)
            self.stirred |= progress.rejected(index, agreed)
            return False
        if index > log.last_index:
            return False
        news = progress.accepted(index)
        if progress.state is SNAPSHOT and progress.match + 1 >= log.first_index:
            # It has caught up by other means, or what the shell shipped has arrived before the shell said so.
            progress.snapshot_over(0)
            progress.accepted(index)
        self.stirred = True
        if self.transfer_to == response.sender:
            self.hasten_transfer()
        return news

    def heard_heartbeat(self, progress: Progress, number: int) -> bool:
        """Take in the answer to a heartbeat. Returns whether reads may be confirmed now."""
        progress.heard()
        if progress.match < self._log.last_index and progress.state is not SNAPSHOT:
            progress.poke()
            self.stirred = True
        if progress.round < number <= self.reads.newest_round:
            progress.round = number
            return True
        return False

    # Handing over

    def begin_transfer(self, to: ReplicaId) -> None:
        self.transfer_to = to
        progress = self.progress[to]
        progress.poke()
        self.stirred = True
        self.hasten_transfer()

    def hasten_transfer(self) -> None:
        """Tell the successor to run as soon as it holds everything."""
        if self.progress[self.transfer_to].match == self._log.last_index:
            self._outbox.append(TimeoutNow(self._replica, self.transfer_to, self._term))

    def farewell(self) -> None:
        """This replica is no voter any more: let the most advanced voter run now, not after a timeout."""
        voters = [voter for voter in self._configurations.voters if voter in self.progress]
        best = max(voters, key=lambda voter: (self.progress[voter].match, -voter))
        self._outbox.append(TimeoutNow(self._replica, best, self._term))
