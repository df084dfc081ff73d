"""Group 0: which tables there are, which partitions keep them, and who may ask.

Meta's rows are in the `sys` family and change through the same commit loop as everything else. Changes are made one at a
time, by whoever holds the lock. The first rows of a new group are in the same batch as the table or the index that names
it, and its last ones go in one batch with the name, so a crash leaves both or neither; ids are given out once and never
again.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection, Iterable, Sequence
from typing import Protocol

import msgspec

from gramme.codec.key import successor
from gramme.commands import Administration, AlterTable, CreateTable, DeleteTable
from gramme.errors import (
    STILL_IN_USE,
    ResourceInUse,
    ResourceNotFound,
    TableChanged,
    ValidationError,
)
from gramme.model.table import Index, Table, TableRecord
from gramme.node.engine.api import Engine, Family, Operation, RangeDelete, Row
from gramme.node.engine.keyspace import (
    SYS_MEMBERS,
    SYS_NEXT_ID,
    SYS_PRINCIPALS,
    SYS_TABLES,
    ReplicaState,
    decode_state,
    decode_table,
    group_range,
    log_position_key,
    member_key,
    state_key,
    table_key,
)
from gramme.node.members import MemberRecord, encode_member
from gramme.node.principals import Principals
from gramme.node.proposals import Commits, Entry, Proposals, Round
from gramme.node.table_records import (
    EMPTY_STATE,
    FIRST_EPOCH,
    Name,
    all_rows,
    first_rows,
    groups_of,
    last_rows,
    name_of,
    record_row,
    shape_of,
    with_status,
    without_index,
)
from gramme.partitions import GroupId, Partition, TableId, even_ranges

META_GROUP = 0


class Follower(Protocol):
    """Who has the groups of a meta that has no other replicas. It follows before whoever changes meta goes on."""

    async def follow(self, record: TableRecord) -> None:
        """The record of a table is durably this one."""
        ...

    def close(self, groups: Collection[int], round: Round) -> None:
        """These groups are removed in this round, with all their rows: they must take no more writes."""
        ...

    def drop(self, table: Table) -> None:
        """A table is durably gone."""
        ...


class Meta:
    def __init__(
        self, engine: Engine, commits: Commits, nodes: Sequence[int] = (), replication: int = 1
    ) -> None:
        """In a cluster `nodes` are those that groups are placed on, `replication` replicas of each."""
        self._engine = engine
        self._nodes = nodes
        self._replication = replication
        # Told when tables may have changed by an entry of the log.
        self.on_change: Callable[[], None] = lambda: None
        # Where meta has no other replicas: then nothing but what is proposed here ever changes.
        self.follower: Follower | None = None
        self.lock = asyncio.Lock()
        self.state_key = state_key(META_GROUP)
        self._proposals = Proposals(commits, self, self._stored_state())
        # The rows of tables as they were last loaded, by their keys.
        self._rows: dict[bytes, tuple[bytes, TableRecord]] = {}
        self.principals = Principals(engine, self._propose)
        self._load()

    def _load(self) -> None:
        raw = self._engine.get(Family.SYS, SYS_NEXT_ID)
        self._next_id = 1 if raw is None else int.from_bytes(raw)
        # Only what has changed is decoded: rows are compared a hundred times faster.
        before, self._rows = self._rows, {}
        for key, raw in self._engine.scan(Family.SYS, SYS_TABLES, successor(SYS_TABLES)):
            known = before.get(key)
            if known is None or known[0] != raw:
                known = raw, decode_table(raw)
            self._rows[key] = known
        self._records: dict[Name, TableRecord] = {}
        self._unsettled: dict[Name, TableRecord] = {}
        for _, record in self._rows.values():
            self._know(record)
        self.principals.load()

    def _know(self, record: TableRecord) -> None:
        name = name_of(record.table)
        self._records[name] = record
        if record.table.is_settled:
            self._unsettled.pop(name, None)
        else:
            self._unsettled[name] = record

    @property
    def index(self) -> int:
        """How far the tables here have come: meta's entries are counted by it."""
        return self._stored_state().index

    def records(self) -> Iterable[TableRecord]:
        return self._records.values()

    def unsettled(self) -> Collection[TableRecord]:
        """Of the tables that are in a state which is to end, or one of whose indexes is."""
        return self._unsettled.values()

    def current(self, table: Table) -> TableRecord | None:
        """What there is now under the name of `table`, if it is the same table."""
        record = self._records.get(name_of(table))
        return record if record is not None and record.table.id == table.id else None

    # Changes, each made by whoever holds the lock

    async def administer(self, command: Administration) -> Table:
        """Returns the table as created or altered, or as it was before it was deleted."""
        match command:
            case CreateTable():
                return (await self.create(command)).table
            case AlterTable():
                return (await self.alter(command)).table
            case DeleteTable():
                record = self.find(command)
                if record.table.status != "DELETING":
                    if command.settles_at_ms:
                        await self.doom(record, command.settles_at_ms)
                    else:
                        await self.delete(record)
                return record.table

    async def create(self, command: CreateTable) -> TableRecord:
        """Raises ResourceInUse if there is such a table."""
        name = name_of(command.table)
        existing = self._records.get(name)
        if existing is not None:
            if existing.table.status == "CREATING":
                raise ResourceInUse(f"{STILL_IN_USE}Table is being created: {command.table.name}")
            raise ResourceInUse(f"Table already exists: {command.table.name}")
        record = self._place(command)
        operations: list[Operation] = [self._next_id_row()]
        for index in (None, *record.index_partitions):
            operations.extend(first_rows(record, index))
        return await self._change(record, operations)

    async def alter(self, command: AlterTable) -> TableRecord:
        """Raises TableChanged if the table is not the expected one.

        A group has its own copy of the table, from which it works. That copy does not change here. Of what the group
        works by only the indexes may, by one, and the group follows by an entry of its own.
        """
        record = self._records.get(name_of(command.expected))
        if record is None or record.table != command.expected:
            raise TableChanged(f"{STILL_IN_USE}Table is being updated: {command.expected.name}")
        altered = msgspec.structs.replace(record, table=command.table)
        added = next((index for index in command.table.indexes if not index.id), None)
        operations: list[Operation] = []
        if added is not None:
            altered = self._place_index(record, command, added)
            operations = [self._next_id_row(), *first_rows(altered, added.name)]
        shape = shape_of(command.table, added)
        assert shape == shape_of(record.table, None), "the shape of a table was altered"
        return await self._change(altered, operations)

    async def change_phase(self, record: TableRecord, index: Index) -> None:
        """Put `index` in the place of what the table's record says of that index."""
        await self._change(msgspec.structs.replace(record, table=record.table.with_index(index)))

    async def remove_index(self, record: TableRecord, index: Index) -> None:
        """Remove an index with all its rows."""
        gone = [partition.group for partition in record.index_partitions[index.name]]
        last = last_rows(record, index.id, index.name)
        await self._change(without_index(record, index), last, gone)

    def find(self, command: DeleteTable) -> TableRecord:
        """The table to be deleted. Raises ResourceNotFound, ResourceInUse, and ValidationError if it is protected."""
        record = self._records.get((command.account, command.region, command.name))
        if record is None:
            raise ResourceNotFound(f"Requested resource not found: Table: {command.name} not found")
        table = record.table
        if table.status == "CREATING":
            raise ResourceInUse(f"{STILL_IN_USE}Table is being created: {table.name}")
        if table.unsettled_index is not None:
            raise ResourceInUse(
                f"{STILL_IN_USE}Cannot delete table while indexes are being created, updated, "
                "or deleted."
            )
        if table.status == "UPDATING":
            raise ResourceInUse(
                f"{STILL_IN_USE}Table: {table.name} is in the process of being updated."
            )
        if table.deletion_protection and table.status != "DELETING":
            raise ValidationError(
                "Resource cannot be deleted as it is currently protected against deletion. "
                "Disable deletion protection first."
            )
        return record

    async def doom(self, record: TableRecord, settles_at_ms: int) -> None:
        """Let a table be DELETING for a while before it is deleted, over restarts too."""
        await self._change(with_status(record, "DELETING", settles_at_ms))

    async def settle(self, record: TableRecord) -> None:
        """Make a table ACTIVE."""
        await self._change(with_status(record, "ACTIVE", 0))

    async def delete(self, record: TableRecord) -> None:
        """Remove a table with all its rows."""
        table = record.table
        operations: list[Operation] = [Row(Family.SYS, table_key(*name_of(table)), None)]
        for local in table.local_indexes:
            operations.append(RangeDelete(Family.LSI, *all_rows(local.id)))
        operations.extend(last_rows(record, table.id, None))
        for index in table.indexes:
            operations.extend(last_rows(record, index.id, index.name))
        await self._propose(operations, groups_of(record)).flushed
        if self.follower is not None:
            del self._records[name_of(table)]
            self._unsettled.pop(name_of(table), None)
            self.follower.drop(table)

    # Nodes

    async def record_members(self, records: dict[int, MemberRecord]) -> None:
        """Have all agree on whose numbers these are."""
        await self._propose([_member_row(*item) for item in records.items()]).flushed

    async def admit(self, number: int, directory: str) -> MemberRecord:
        """Give a number to another data directory. From now on the replicas of the one before are gone."""
        replica = self._take_id()
        while replica <= max(self._nodes):
            # Meta's first replicas have the numbers of their nodes.
            replica = self._take_id()
        record = MemberRecord(directory, replica, since=replica)
        await self._propose([_member_row(number, record), self._next_id_row()]).flushed
        return record

    async def replace_gone(self, record: TableRecord, is_gone: Callable[[int, int], bool]) -> None:
        """Place new replicas where replicas are gone. `is_gone` is asked with a replica's id and its node."""
        placement, founders = dict(record.placement), dict(record.founders)
        for group, placed in record.placement.items():
            if any(is_gone(*item) for item in placed.items()):
                founders.setdefault(group, placed)
                placement[group] = {
                    self._take_id() if is_gone(replica, node) else replica: node
                    for replica, node in placed.items()
                }
        replaced = msgspec.structs.replace(record, placement=placement, founders=founders)
        await self._change(replaced, [self._next_id_row()])

    async def _change(
        self,
        record: TableRecord,
        operations: Iterable[Operation] = (),
        gone: Collection[int] = (),
    ) -> TableRecord:
        """Let a table's record be this one, durably. `operations` happen with it, and remove the groups that are `gone`."""
        await self._propose([record_row(record), *operations], gone).flushed
        if self.follower is not None:
            self._know(record)
            await self.follower.follow(record)
        return record

    def _place(self, command: CreateTable) -> TableRecord:
        """Give the table, its indexes and their partitions their ids."""
        indexes = tuple(
            msgspec.structs.replace(index, id=self._take_id()) for index in command.table.indexes
        )
        local_indexes = tuple(
            msgspec.structs.replace(index, id=self._take_id())
            for index in command.table.local_indexes
        )
        table = msgspec.structs.replace(
            command.table, id=self._take_id(), indexes=indexes, local_indexes=local_indexes
        )
        partitions = self._partitions(table.id, command.partitions)
        index_partitions = {
            index.name: self._partitions(index.id, command.partitions) for index in indexes
        }
        groups = [
            partition.group
            for placed in (partitions, *index_partitions.values())
            for partition in placed
        ]
        return TableRecord(table, partitions, index_partitions, self._replicas(groups))

    def _replicas(self, groups: Sequence[int]) -> dict[int, dict[int, int]]:
        """Spread the replicas of new groups over the nodes, and who leads first too."""
        nodes = self._nodes
        count = min(self._replication, len(nodes))
        return {
            group: {
                self._take_id(): nodes[(group + position) % len(nodes)] for position in range(count)
            }
            for group in (groups if nodes else ())
        }

    def _place_index(self, record: TableRecord, command: AlterTable, added: Index) -> TableRecord:
        placed = msgspec.structs.replace(added, id=self._take_id())
        indexes = (*(index for index in command.table.indexes if index.id), placed)
        partitions = self._partitions(placed.id, command.partitions)
        replicas = self._replicas([partition.group for partition in partitions])
        return msgspec.structs.replace(
            record,
            table=msgspec.structs.replace(command.table, indexes=indexes),
            index_partitions=record.index_partitions | {placed.name: partitions},
            placement=record.placement | replicas,
        )

    def _partitions(self, table_id: int, count: int) -> tuple[Partition, ...]:
        return tuple(
            Partition(GroupId(self._take_id()), TableId(table_id), start, last, FIRST_EPOCH)
            for start, last in even_ranges(count)
        )

    def _take_id(self) -> int:
        self._next_id += 1
        return self._next_id - 1

    def _next_id_row(self) -> Row:
        return Row(Family.SYS, SYS_NEXT_ID, self._next_id.to_bytes(8))

    def _propose(self, operations: list[Operation], gone: Collection[int] = ()) -> Round:
        round = self._proposals.propose(operations)
        if self.follower is not None and gone:
            # In the same step, so that nothing can be written to them after they are removed.
            self.follower.close(gone, round)
        return round

    def take(self, round: Round, *, shown: bool) -> list[Entry]:
        return self._proposals.take()

    def settled(self) -> None:
        pass

    def lead(self, term: int) -> None:
        self._proposals.restart(msgspec.structs.replace(self._stored_state(), term=term))

    def follow(self) -> None:
        self._proposals.restart(self._stored_state())
        self._load()
        self.on_change()

    def caught_up(self) -> None:
        self._load()
        self.on_change()

    def _stored_state(self) -> ReplicaState:
        raw = self._engine.get(Family.RAFT, self.state_key)
        return EMPTY_STATE if raw is None else decode_state(raw)


def meta_ranges() -> list[tuple[Family, bytes, bytes]]:
    """Where meta's rows are, those of its log aside."""
    lower, _ = group_range(META_GROUP)
    return [
        (Family.SYS, SYS_MEMBERS, successor(SYS_MEMBERS)),
        (Family.SYS, SYS_NEXT_ID, successor(SYS_NEXT_ID)),
        (Family.SYS, SYS_PRINCIPALS, successor(SYS_PRINCIPALS)),
        (Family.SYS, SYS_TABLES, successor(SYS_TABLES)),
        (Family.RAFT, lower, log_position_key(META_GROUP)),
    ]


def _member_row(number: int, record: MemberRecord) -> Row:
    return Row(Family.SYS, member_key(number), encode_member(record))
