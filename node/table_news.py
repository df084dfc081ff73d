"""Which tables have changed since when, so that routers are told of changes and not of all tables each time.

Pure. Tables are kept in the order of their last changes, those that are gone among them: a router that is behind by a few
changes is at the end of that order, and nothing before it is looked at.
"""

from __future__ import annotations

from collections.abc import Iterable

from gramme.model.table import TableRecord

# What nobody has been told of. Also what one that has been told nothing yet has been told of.
NOTHING = -1
# Tables that are gone are remembered up to this many. Who is farther behind is told of all.
GONE_MAX = 10_000


class TableNews:
    def __init__(self) -> None:
        # How far in meta's log this has come.
        self.index = NOTHING
        # By the ids of tables. A table that is gone has no record.
        self._changed: dict[int, tuple[int, TableRecord | None]] = {}
        self._gone = 0
        # Nothing is known any more of what went by then.
        self._forgotten = NOTHING

    def update(self, index: int, records: Iterable[TableRecord]) -> None:
        """These are the tables now. Records are compared by identity first."""
        changed, there = self._changed, set[int]()
        if self.index == NOTHING:
            # What has gone before is not known here.
            self._forgotten = index
        self.index = index
        for record in records:
            id = record.table.id
            there.add(id)
            known = changed.get(id)
            if known is None or (known[1] is not record and known[1] != record):
                changed.pop(id, None)
                changed[id] = index, record
        for id in [
            id for id, (_, record) in changed.items() if record is not None and id not in there
        ]:
            del changed[id]
            changed[id] = index, None
            self._gone += 1
        if self._gone > GONE_MAX:
            self._forget()

    def since(self, index: int) -> tuple[list[TableRecord], list[int], bool]:
        """The records that have changed since, the ids of tables that are gone, and whether the former are all there are."""
        if index < max(self._forgotten, 0):
            known = [record for _, record in self._changed.values() if record is not None]
            return known, [], True
        records: list[TableRecord] = []
        gone: list[int] = []
        for id, (at, record) in reversed(self._changed.items()):
            if at <= index:
                break
            if record is not None:
                records.append(record)
            else:
                gone.append(id)
        return records[::-1], gone[::-1], False

    def _forget(self) -> None:
        """Forget the older half of the tables that are gone."""
        going = [(id, at) for id, (at, record) in self._changed.items() if record is None]
        for id, at in going[: len(going) // 2]:
            del self._changed[id]
            self._forgotten = at
        self._gone -= len(going) // 2
