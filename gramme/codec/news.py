"""What a node tells routers of tables and principals: at first all there is, then what has changed, in frames of a bounded size.

A piece of news is told in parts, each in a frame of its own, and is heard when its last part is there. So it needs no room
beside what else is said, and holds nobody up however many tables there are. Of changes nobody is told twice by the same link;
who hears of them from several nodes knows by the index which of them knew more.
"""

from __future__ import annotations

from collections.abc import Iterator

import msgspec
from msgspec.structs import replace

from gramme.codec.catalog import decode_record, encode_record
from gramme.model.principal import Principal
from gramme.model.table import TableRecord

# What a part holds at most of records, or one record that is larger. Half a millisecond of encoding, or of reading it.
PART_BYTES = 32 << 10
# Ids of tables that are gone, in one part.
PART_GONE = 10_000
# Principals in one part, of some 150 bytes each.
PART_PRINCIPALS = 100


class News(msgspec.Struct, frozen=True):
    """What a node knows of tables, nodes and principals, as of an index of meta's log.

    `is_all` tells that there are no other tables. Otherwise it is what has changed since the news before it on the same link:
    the records that are new or other ones, and the ids of the tables that are `gone`. `principals` are all there are, or None
    if they have not changed.
    """

    index: int
    # The seed of the cluster's hash.
    seed: bytes
    records: list[TableRecord]
    # The address of each node, by its number.
    addresses: dict[int, str]
    gone: list[int] = []
    is_all: bool = True
    principals: list[Principal] | None = None

    @property
    def says_something(self) -> bool:
        return bool(self.is_all or self.records or self.gone or self.principals is not None)


class Part(msgspec.Struct, frozen=True, array_like=True):
    """A piece of a piece of news, which `is_last` ends. Records are encoded."""

    index: int
    seed: bytes
    is_all: bool
    is_last: bool
    records: list[bytes] = []
    gone: list[int] = []
    addresses: dict[int, str] = {}
    principals: list[Principal] | None = None


def parts_of(news: News) -> Iterator[Part]:
    """Each is encoded when it is asked for."""
    encoded: list[bytes] = []
    size = 0
    gone, principals = news.gone, news.principals

    def part() -> Part:
        return Part(news.index, news.seed, news.is_all, False, encoded)

    for record in news.records:
        body = encode_record(record)
        if encoded and size + len(body) > PART_BYTES:
            yield part()
            encoded, size = [], 0
        encoded.append(body)
        size += len(body)
    while len(gone) > PART_GONE:
        yield replace(part(), gone=gone[:PART_GONE])
        encoded, gone = [], gone[PART_GONE:]
    while principals is not None and len(principals) > PART_PRINCIPALS:
        yield replace(part(), principals=principals[:PART_PRINCIPALS])
        encoded, principals = [], principals[PART_PRINCIPALS:]
    last = {"gone": gone, "addresses": news.addresses, "principals": principals}
    yield replace(part(), is_last=True, **last)


class Gathering:
    """The parts that have come by one link."""

    def __init__(self) -> None:
        self._records: list[TableRecord] = []
        self._gone: list[int] = []
        self._principals: list[Principal] = []

    def add(self, part: Part) -> News | None:
        """The news, once its last part is there. Raises BadFrame."""
        self._records += [decode_record(encoded) for encoded in part.records]
        self._gone += part.gone
        self._principals += part.principals or []
        if not part.is_last:
            return None
        records, self._records = self._records, []
        gone, self._gone = self._gone, []
        principals, self._principals = self._principals, []
        told = None if part.principals is None else principals
        return News(part.index, part.seed, records, part.addresses, gone, part.is_all, told)
