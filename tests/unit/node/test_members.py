"""A node comes back with the data directory it was first met with, or as somebody else."""

from __future__ import annotations

from collections.abc import Callable, Iterable

import pytest

from gramme.links.api import NotYet, Refused
from gramme.node.engine.api import Family, Operation, Row, WriteStall
from gramme.node.engine.keyspace import member_key
from gramme.node.engine.memory import MemoryEngine
from gramme.node.members import MemberRecord, Members, encode_member

ADDRESSES = {1: "127.0.0.1:1", 2: "127.0.0.1:2", 3: "127.0.0.1:3"}


class Stalling(MemoryEngine):
    """Refuses the next writes."""

    stalls = 1

    def write(self, operations: Iterable[Operation]) -> None:
        if self.stalls:
            self.stalls -= 1
            raise WriteStall
        super().write(operations)


def disk_failed(error: Exception) -> None:
    raise AssertionError from error


def members_in(
    engine: MemoryEngine, disk_failed: Callable[[Exception], None] = disk_failed
) -> Members:
    return Members(engine, 1, "own", ADDRESSES, disk_failed)


def record(engine: MemoryEngine, number: int, record: MemberRecord) -> None:
    engine.write([Row(Family.SYS, member_key(number), encode_member(record))])


async def test_a_node_is_known_by_its_first_directory_from_then_on() -> None:
    members = members_in(MemoryEngine())

    members.recognise(2, "first")
    members.recognise(2, "first")
    members.recognise(3, "another")

    with pytest.raises(Refused, match="known with another data directory"):
        members.recognise(2, "wiped")


async def test_it_is_remembered_over_a_restart() -> None:
    engine = MemoryEngine()
    members_in(engine).recognise(2, "first")

    with pytest.raises(Refused):
        members_in(engine).recognise(2, "wiped")


async def test_a_node_that_is_met_while_the_engine_is_behind_is_told_to_come_again() -> None:
    engine = Stalling()
    members = members_in(engine)

    with pytest.raises(NotYet):
        members.recognise(2, "first")
    engine.stalls = 0
    members.recognise(2, "first")

    assert members.directory_of(2) == "first"


async def test_meeting_a_node_is_durable_when_it_is_answered() -> None:
    engine = MemoryEngine()

    await members_in(engine).meet(2, "first")

    assert members_in(engine.crash()).directory_of(2) == "first"


@pytest.mark.parametrize("number", [0, 1, 4])
async def test_a_number_that_is_nobody_elses_is_refused(number: int) -> None:
    with pytest.raises(Refused, match="not among the other nodes"):
        await members_in(MemoryEngine()).meet(number, "first")


async def test_who_has_a_later_replica_of_meta_has_been_let_in_since() -> None:
    members = members_in(MemoryEngine())
    members.recognise(2, "first", 2)

    members.recognise(2, "new", 40)

    with pytest.raises(Refused):
        members.recognise(2, "wiped")
    members.recognise(2, "first", 2)


async def test_who_was_replaced_is_refused_where_that_is_known() -> None:
    engine = MemoryEngine()
    members = members_in(engine)
    record(engine, 2, MemberRecord("new", 40, since=40))

    with pytest.raises(Refused):
        members.recognise(2, "before", 30)
    members.recognise(2, "newer", 50)


async def test_what_meta_says_stands_above_what_was_met() -> None:
    engine = MemoryEngine()
    members = members_in(engine)
    members.recognise(2, "first")

    record(engine, 2, MemberRecord("new", 40, since=40))

    members.recognise(2, "new")
    with pytest.raises(Refused):
        members.recognise(2, "first")
    assert members.is_gone(39, 2)
    assert not members.is_gone(40, 2)
    assert not members.is_gone(39, 3)


class Failing(MemoryEngine):
    async def flush(self) -> None:
        raise OSError(5, "Input/output error")


@pytest.mark.parametrize("what", ["meet", "keep"])
async def test_a_flush_that_fails_ends_the_process(what: str) -> None:
    """Whoever is told what could not be written down must not go on as if it were."""
    failures: list[Exception] = []
    members = members_in(Failing(), failures.append)

    with pytest.raises(OSError, match="Input/output"):
        await (members.meet(2, "first") if what == "meet" else members.keep([]))

    assert [type(failure) for failure in failures] == [OSError]
