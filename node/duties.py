"""What a replica does while it leads, besides keeping its rows: it feeds the indexes of its table, or takes rows for an index.

All of that keeps things in memory that only a leader keeps up to date, so it is made anew whenever a replica begins to lead,
from what is applied, and stopped when it ceases to. Where a group's entries go, and who else has it, is nothing to its duties: a
replica by itself has them from when it is opened until it is closed.
"""

from __future__ import annotations

from gramme.model.table import TableRecord
from gramme.node.feeds import Feeding, Feeds
from gramme.node.proposals import Commits
from gramme.node.replica import Replica
from gramme.node.tail.target import IndexTarget


class Duties:
    """Of one replica. A replica of a table has `feeds`, one of an index has a `target`."""

    def __init__(
        self, replica: Replica, commits: Commits, record: TableRecord, feeding: Feeding
    ) -> None:
        self.feeds: Feeds | None = None
        self.target: IndexTarget | None = None
        if replica.settings.index is None:
            self.feeds = Feeds(replica, commits, record, feeding)
        else:
            self.target = IndexTarget(feeding.engine, replica)

    def follow(self, record: TableRecord) -> None:
        """Meta's record of the table has changed."""
        if self.feeds is not None:
            self.feeds.follow(record)

    def stop(self) -> None:
        if self.feeds is not None:
            self.feeds.stop()
