"""What a table is: its keys, its indexes, and what a caller said of it that we only echo."""

from __future__ import annotations

from typing import Any, Literal

import msgspec

from gramme.partitions import Partition

KeyType = Literal["S", "N", "B"]
ProjectionType = Literal["ALL", "KEYS_ONLY", "INCLUDE"]
TableStatus = Literal["CREATING", "UPDATING", "DELETING", "ACTIVE"]
IndexPhase = Literal["ALLOCATING", "BACKFILLING", "DELETING", "ACTIVE"]

DAY_MS = 86_400_000


class KeyAttribute(msgspec.Struct, frozen=True, array_like=True):
    name: str
    type: KeyType


class UnitsHistory(msgspec.Struct, frozen=True):
    """When provisioned units last went up and down, 0 for never, and how often down on the day of the last time."""

    increased_at_ms: int = 0
    decreased_at_ms: int = 0
    decreases: int = 0

    def after(self, old: tuple[int, int], new: tuple[int, int], now_ms: int) -> UnitsHistory:
        """DynamoDB counts a change that lowers one of the two as a decrease, whatever the other does."""
        if new[0] < old[0] or new[1] < old[1]:
            return UnitsHistory(self.increased_at_ms, now_ms, self.decreases_on(now_ms) + 1)
        return UnitsHistory(now_ms, self.decreased_at_ms, self.decreases)

    def decreases_on(self, now_ms: int) -> int:
        """How many there were on the UTC day of `now_ms`."""
        return self.decreases if self.decreased_at_ms // DAY_MS == now_ms // DAY_MS else 0


class Index(msgspec.Struct, frozen=True):
    """A global secondary index: a hidden table with an id and partitions of its own.

    `hash` and `range` are tuples because DynamoDB allows up to four attributes in each.
    """

    id: int
    name: str
    hash: tuple[KeyAttribute, ...]
    range: tuple[KeyAttribute, ...]
    projection: ProjectionType
    non_key_attributes: tuple[str, ...] = ()
    provisioned: tuple[int, int] | None = None
    history: UnitsHistory = UnitsHistory()
    # Its OnDemandThroughput and WarmThroughput, which DescribeTable must echo.
    echo: dict[str, Any] = {}
    # The indexes of a new table are ACTIVE from the beginning. One that is added to a table is made and filled first.
    phase: IndexPhase = "ACTIVE"
    # The earliest end of the phase, and how long each lasts at least if the server was told to take its time.
    settles_at_ms: int = 0
    phase_lasts_ms: int = 0

    @property
    def keys(self) -> tuple[KeyAttribute, ...]:
        return self.hash + self.range


class LocalIndex(msgspec.Struct, frozen=True):
    """A local secondary index: the table's partition key with another sort key. Its rows stand beside the items.

    It has an id of its own, which its rows begin with, and no partitions: they are the table's.
    """

    id: int
    name: str
    range: KeyAttribute
    projection: ProjectionType
    non_key_attributes: tuple[str, ...] = ()

    @property
    def keys(self) -> tuple[KeyAttribute, ...]:
        """What its key has beside the table's partition key."""
        return (self.range,)


class Table(msgspec.Struct, frozen=True):
    id: int
    account: str
    region: str
    name: str
    hash: KeyAttribute
    range: KeyAttribute | None
    indexes: tuple[Index, ...] = ()
    created_at_ms: int = 0
    # The random id that DescribeTable shows as TableId; stable from create on.
    uuid: str = ""
    # Read and write units; None is PAY_PER_REQUEST.
    provisioned: tuple[int, int] | None = None
    # What CreateTable was given and DescribeTable or ListTagsOfResource must echo, but nothing here depends on.
    echo: dict[str, Any] = {}
    history: UnitsHistory = UnitsHistory()
    deletion_protection: bool = False
    # When it last became PAY_PER_REQUEST; 0 if that was when it was created, or never.
    on_demand_at_ms: int = 0
    # A table is ACTIVE at once unless the server was told to take its time.
    status: TableStatus = "ACTIVE"
    settles_at_ms: int = 0
    local_indexes: tuple[LocalIndex, ...] = ()

    @property
    def keys(self) -> tuple[KeyAttribute, ...]:
        return (self.hash,) if self.range is None else (self.hash, self.range)

    @property
    def all_indexes(self) -> tuple[Index | LocalIndex, ...]:
        return self.indexes + self.local_indexes

    def index(self, name: str) -> Index | None:
        """The global index of this name."""
        return next((index for index in self.indexes if index.name == name), None)

    def local_index(self, name: str) -> LocalIndex | None:
        return next((index for index in self.local_indexes if index.name == name), None)

    def with_index(self, changed: Index) -> Table:
        """The table with another description of one of its indexes, known by its id."""
        indexes = tuple(changed if index.id == changed.id else index for index in self.indexes)
        return msgspec.structs.replace(self, indexes=indexes)

    @property
    def unsettled_index(self) -> Index | None:
        """The index that is being added or removed. There is never more than one."""
        return next((index for index in self.indexes if index.phase != "ACTIVE"), None)

    @property
    def is_settled(self) -> bool:
        """Whether neither the table nor an index is in a state that is to end."""
        return self.status == "ACTIVE" and self.unsettled_index is None

    @property
    def arn(self) -> str:
        return f"arn:aws:dynamodb:{self.region}:{self.account}:table/{self.name}"


class TableRecord(msgspec.Struct, frozen=True):
    """Meta's row for a table: its definition and the partitions of it and of each index, by index name.

    `placement` has the replicas of each group, by their ids, and the number of the node that each is placed on; the first
    one's node leads first, if it can. It is empty where there is one node only. `founders` has what the placement was at
    first, for groups whose placement has changed since.
    """

    table: Table
    partitions: tuple[Partition, ...]
    index_partitions: dict[str, tuple[Partition, ...]]
    placement: dict[int, dict[int, int]] = {}
    founders: dict[int, dict[int, int]] = {}
