"""What a router asks of a node, and what a node answers.

A command is made after everything that can be checked without the stored item has been checked; past this point
nothing handles a raw request. Keys are bytes of `gramme.codec.key`: `token | partition key | sort key`, without the
table's id. Items are DynamoDB JSON bytes with their numbers normalised, ready to store and to send.

Commands and answers encode themselves, as arrays that begin with a number. New fields go last and have a default, so that
a release understands the one before it.
"""

from __future__ import annotations

from typing import Literal

import msgspec

from gramme.errors import Throttling
from gramme.expressions.condition import Condition
from gramme.expressions.projection import Projection
from gramme.expressions.update import UpdateExpression
from gramme.model.item import Item, Values
from gramme.model.table import Table
from gramme.model.version import Version

ReturnValues = Literal["NONE", "ALL_OLD", "ALL_NEW", "UPDATED_OLD", "UPDATED_NEW"]


class Get(msgspec.Struct, frozen=True, gc=False, array_like=True, tag=1):
    key: bytes
    consistent: bool = False
    projection: Projection | None = None


class Found(msgspec.Struct, frozen=True, gc=False, array_like=True, tag=1):
    """`item` is JSON bytes, projected if asked; None where there is no item. `size` is the stored item's."""

    item: bytes | None
    size: int


class Put(msgspec.Struct, frozen=True, gc=False, array_like=True, tag=2):
    """`index_units` asks what the write costs in each index; likewise in the other writes."""

    key: bytes
    item: bytes
    size: int
    condition: Condition | None = None
    values: Values = {}
    return_old: bool = False
    show_item_on_failure: bool = False
    index_units: bool = False


class Delete(msgspec.Struct, frozen=True, gc=False, array_like=True, tag=3):
    key: bytes
    condition: Condition | None = None
    values: Values = {}
    return_old: bool = False
    show_item_on_failure: bool = False
    index_units: bool = False


class Update(msgspec.Struct, frozen=True, gc=False, array_like=True, tag=4):
    """`key_item` holds the key attributes, for the item to begin with if there is none."""

    key: bytes
    key_item: Item
    update: UpdateExpression | None
    condition: Condition | None = None
    values: Values = {}
    return_values: ReturnValues = "NONE"
    show_item_on_failure: bool = False
    index_units: bool = False


class IndexUnits(msgspec.Struct, frozen=True, gc=False, array_like=True):
    """Write units by index name. An index whose rows stay as they are is not here."""

    in_global: dict[str, float]
    in_local: dict[str, float]


class Written(msgspec.Struct, frozen=True, gc=False, array_like=True, tag=2):
    """`attributes` is JSON bytes for the answer's Attributes, or None. Sizes are 0 where there was no item."""

    attributes: bytes | None
    old_size: int
    new_size: int
    index_units: IndexUnits | None = None


class LocalRead(msgspec.Struct, frozen=True, gc=False, array_like=True):
    """That a page is one of a local index, by the index's id.

    `fetches` tells that it shows what the index does not project, which is fetched from the items themselves.
    """

    index: int
    fetches: bool = False


class Query(msgspec.Struct, frozen=True, gc=False, array_like=True, tag=5):
    """Rows with `lower <= key < upper`, all of one partition key, in one partition.

    `start` is the full key of the last row already seen, and is not returned again. `key_names` are the
    attributes that make up LastEvaluatedKey. Keys are those of the table, of a global index, or with `local` of that
    local index.
    """

    lower: bytes
    upper: bytes
    key_names: tuple[str, ...]
    start: bytes | None = None
    forward: bool = True
    limit: int | None = None
    consistent: bool = False
    filter: Condition | None = None
    values: Values = {}
    projection: Projection | None = None
    count_only: bool = False
    local: LocalRead | None = None


class Scan(msgspec.Struct, frozen=True, gc=False, array_like=True, tag=6):
    """Rows with `first <= token <= last`, in one partition; otherwise as in `Query`.

    A page may go on in the next partition, so it is told how much room is left in it: `size_max` for items as
    DynamoDB counts them, `stored_bytes_max` for their rows as they are.
    """

    first: int
    last: int
    key_names: tuple[str, ...]
    size_max: int
    stored_bytes_max: int
    start: bytes | None = None
    limit: int | None = None
    consistent: bool = False
    filter: Condition | None = None
    values: Values = {}
    projection: Projection | None = None
    count_only: bool = False
    local: LocalRead | None = None


class WriteAll(msgspec.Struct, frozen=True, gc=False, array_like=True, tag=7):
    """Writes of one partition that have no conditions, to be done side by side."""

    writes: list[Put | Delete]


class AllWritten(msgspec.Struct, frozen=True, gc=False, array_like=True, tag=5):
    """The answers to a `WriteAll`, in its order. What was not written is None, and `refused` has why, by position."""

    written: list[Written | None]
    refused: dict[int, Throttling] = {}

    def __post_init__(self) -> None:
        if self.refused or None in self.written:
            missing = [position for position, each in enumerate(self.written) if each is None]
            if self.refused.keys() != set(missing):
                raise ValueError("what was refused is not what was not written")

    @staticmethod
    def of(answers: list[Written | Throttling]) -> AllWritten:
        refused = {
            position: answer
            for position, answer in enumerate(answers)
            if isinstance(answer, Throttling)
        }
        written = [None if isinstance(answer, Throttling) else answer for answer in answers]
        return AllWritten(written, refused)

    def answers(self) -> list[Written | Throttling]:
        return [
            self.refused[position] if written is None else written
            for position, written in enumerate(self.written)
        ]


class Page(msgspec.Struct, frozen=True, gc=False, array_like=True, tag=3):
    """`items` is empty for a count; `last_key` is JSON bytes, present when there may be more.

    `size` is that of the rows that were read, `fetched_size` that of the items which a local index made us fetch, and
    `fetched_blocks` the blocks of a read unit's size that each of them took.
    """

    items: list[bytes]
    count: int
    scanned: int
    size: int
    last_key: bytes | None
    stored_bytes: int = 0
    fetched_size: int = 0
    fetched_blocks: int = 0


class CreateTable(msgspec.Struct, frozen=True, tag=True):
    """`table.id` and the ids of its indexes are 0: meta gives them out."""

    table: Table
    partitions: int


class AlterTable(msgspec.Struct, frozen=True, tag=True):
    """Put `table` in the place of `expected`. What items depend on may differ in one index at most.

    An index without an id is new: meta gives it one, and `partitions` partitions. An index that is DELETING will go.
    """

    expected: Table
    table: Table
    partitions: int = 1


class DeleteTable(msgspec.Struct, frozen=True, tag=True):
    """`settles_at_ms` is when the table goes; until then it is DELETING. 0 is at once."""

    account: str
    region: str
    name: str
    settles_at_ms: int = 0


class GetTotals(msgspec.Struct, frozen=True, gc=False, array_like=True, tag=8):
    """Ask a partition for its `Totals`."""


class Totals(msgspec.Struct, frozen=True, gc=False, array_like=True, tag=4):
    """What there is in some partitions together, as of the last flush.

    `local` has the same of each of the table's local indexes, in their order.
    """

    item_count: int
    item_bytes: int
    local: tuple[Totals, ...] = ()


class IndexRow(msgspec.Struct, frozen=True, gc=False, array_like=True):
    """A row to put, or to delete where `body` is None, unless the index has a newer version of it."""

    key: bytes
    body: bytes | None
    size: int
    version: Version


class IndexWrite(msgspec.Struct, frozen=True, array_like=True, tag=9):
    """Rows of a global index, from one source group for one target group. A node sends it to another.

    `epoch` and `term` are the source's; a target refuses older ones than it has seen. Changes up to `watermark`
    will never be sent again.
    """

    source: int
    epoch: int
    term: int
    rows: list[IndexRow]
    watermark: Version


class GetFeed(msgspec.Struct, frozen=True, gc=False, array_like=True, tag=10):
    """Ask the leader of a table's partition how far it has come with a global index, by the index's id."""

    index: int


class SnapshotRows(msgspec.Struct, frozen=True, array_like=True, tag=11):
    """A portion of a snapshot: rows as family, key and value. A node sends it to another.

    `snapshot` describes it, in the words of Raft; `term` is the sender's. `nodes` says where the members are that it names:
    the receiver may never see the entries that told of them.
    """

    term: int
    snapshot: bytes
    number: int
    rows: list[tuple[int, bytes, bytes]]
    last: bool
    nodes: dict[int, int] = {}


class Feed(msgspec.Struct, frozen=True, gc=False, array_like=True, tag=6):
    """`known`: the partition leaves changes for the index. `filled`: the index has all that was there before."""

    known: bool
    filled: bool


# DynamoDB's limit for a page. And ours: a number such as 1E125 counts as 2 bytes and is written with 126, so a page
# is also bound by what it really holds.
PAGE_SIZE_MAX = 1 << 20
PAGE_STORED_BYTES_MAX = 4 << 20

Write = Put | Update | Delete
Command = (
    Get
    | Put
    | Delete
    | Update
    | Query
    | Scan
    | WriteAll
    | GetTotals
    | IndexWrite
    | GetFeed
    | SnapshotRows
)
# An IndexWrite that was done is answered with nothing.
Result = Found | Written | Page | Totals | AllWritten | Feed | None
Administration = CreateTable | AlterTable | DeleteTable
