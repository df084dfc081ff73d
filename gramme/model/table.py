"""What a table is: its keys, its indexes, and what a caller said of it that we only echo."""

from __future__ import annotations

from typing import Any, Literal

import msgspec

KeyType = Literal["S", "N", "B"]
ProjectionType = Literal["ALL", "KEYS_ONLY", "INCLUDE"]


class KeyAttribute(msgspec.Struct, frozen=True, array_like=True):
    name: str
    type: KeyType


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

    @property
    def keys(self) -> tuple[KeyAttribute, ...]:
        return self.hash + self.range


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
    # What CreateTable was given and DescribeTable must echo, but nothing here depends on.
    echo: dict[str, Any] = {}

    @property
    def keys(self) -> tuple[KeyAttribute, ...]:
        return (self.hash,) if self.range is None else (self.hash, self.range)

    def index(self, name: str) -> Index | None:
        return next((index for index in self.indexes if index.name == name), None)

    @property
    def arn(self) -> str:
        return f"arn:aws:dynamodb:{self.region}:{self.account}:table/{self.name}"
