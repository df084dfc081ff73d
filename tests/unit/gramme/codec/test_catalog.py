"""Tables, their partitions and what is done to them go to another process and come back the same."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gramme.codec.catalog import (
    decode_administration,
    decode_outcome,
    decode_record,
    encode_administration,
    encode_outcome,
    encode_record,
)
from gramme.codec.frame import BadFrame
from gramme.commands import Administration, AlterTable, CreateTable, DeleteTable
from gramme.errors import TableChanged
from gramme.model.table import (
    Index,
    KeyAttribute,
    LocalIndex,
    Table,
    TableRecord,
    UnitsHistory,
)
from gramme.partitions import GroupId, Partition, TableId, even_ranges

ID = KeyAttribute("id", "S")
AT = KeyAttribute("at", "N")
BY_COLOUR = Index(8, "by-colour", (KeyAttribute("colour", "B"),), (AT, ID), "INCLUDE", ("a", "é"))
TABLE = Table(
    7,
    "000000000000",
    "eu-west-1",
    "things",
    ID,
    AT,
    (BY_COLOUR,),
    uuid="u",
    provisioned=(5, 6),
    echo={"Tags": [{"Key": "a", "Value": "b"}], "SSE": {"Enabled": True}},
    history=UnitsHistory(1, 2, 3),
    status="UPDATING",
    local_indexes=(LocalIndex(9, "by-time", AT, "ALL"),),
)
PARTITIONS = tuple(
    Partition(GroupId(group), TableId(7), start, last, 3)
    for group, (start, last) in enumerate(even_ranges(3))
)


@pytest.mark.parametrize(
    "command",
    [
        CreateTable(TABLE, 4),
        AlterTable(TABLE, TABLE.with_index(BY_COLOUR), 2),
        DeleteTable("000000000000", "eu-west-1", "things", 5),
    ],
    ids=lambda command: type(command).__name__,
)
def test_commands_to_meta_arrive_as_they_were_sent(command: Administration) -> None:
    assert decode_administration(encode_administration(command)) == command


def test_a_table_is_what_a_command_comes_to() -> None:
    assert decode_outcome(encode_outcome(TABLE)) == TABLE


def test_an_error_is_what_a_command_comes_to() -> None:
    received = decode_outcome(encode_outcome(TableChanged("work it out again")))

    assert isinstance(received, TableChanged)
    assert received.message == "work it out again"


def test_a_table_arrives_with_its_partitions() -> None:
    record = TableRecord(TABLE, PARTITIONS, {"by-colour": PARTITIONS[:1]})

    assert decode_record(encode_record(record)) == record


@given(st.binary())
def test_any_other_bytes_are_refused(encoded: bytes) -> None:
    readers: tuple[Any, ...] = (decode_administration, decode_record, decode_outcome)
    for decode in readers:
        with pytest.raises(BadFrame):
            decode(encoded)


@pytest.mark.parametrize("encoded", [b"\x91" * 10_000, b"\x91\xc0", b"\x92\xc0\xc0", b"\x80"])
def test_what_says_nothing_is_refused(encoded: bytes) -> None:
    with pytest.raises(BadFrame):
        decode_outcome(encoded)
