"""What only a leader does, followed through changes of leaders: feeding indexes, and taking rows for them."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

import pytest
from msgspec.structs import replace

from gramme.codec.frame import Answer, Request
from gramme.commands import AlterTable, IndexRow, IndexWrite
from gramme.errors import (
    InternalServerError,
    NotLeader,
    OutcomeUnknown,
    StaleSource,
    Throttling,
    Unavailable,
)
from gramme.model.table import Index
from gramme.model.version import Version
from gramme.node.hosted import Hosted
from gramme.node.meta import META_GROUP
from gramme.node.tail.target import IndexTarget
from tests.support.in_process import Cluster, on_cluster
from tests.unit.node.fixtures import BY_COLOUR, INDEXED, PLAIN

INDEX = "by-colour"


async def a_table(cluster: Cluster) -> tuple[int, int]:
    """The groups of a table's only partition and of its index's."""
    entry = await cluster.create(INDEXED)
    (base,) = entry.partitions.partitions
    (index,) = entry.index_partitions[INDEX].partitions
    return base.group, index.group


async def shows(cluster: Cluster, ids: set[str]) -> None:
    """Wait until the index has rows of these items and no others."""
    while await cluster.index_ids("indexed", INDEX) != ids:
        await asyncio.sleep(0.1)


def test_leader_with_an_old_copy_of_meta_removes_no_index() -> None:
    async def scenario(cluster: Cluster) -> None:
        base = await a_plain_table(cluster)
        await cluster.put("plain", "a", colour="red")
        behind = await one_that_leads_nothing(cluster, base)
        hear_again = deafen_to_meta(cluster, behind)
        await change_index(cluster, replace(BY_COLOUR, id=0, phase="ALLOCATING"))
        await cluster.until(lambda: phases(cluster) == ["ACTIVE"], "the index is there")

        await cluster.move(base, behind)
        await cluster.put("plain", "b", colour="red")
        hear_again()

        while await cluster.index_ids("plain", INDEX) != {"a", "b"}:
            await asyncio.sleep(0.1)

    on_cluster(scenario)


def test_leader_with_an_old_copy_of_meta_adds_no_index_that_was_removed() -> None:
    async def scenario(cluster: Cluster) -> None:
        base = await a_plain_table(cluster)
        await change_index(cluster, replace(BY_COLOUR, id=0, phase="ALLOCATING"))
        await cluster.until(lambda: phases(cluster) == ["ACTIVE"], "the index is there")
        behind = await one_that_leads_nothing(cluster, base)
        deafen_to_meta(cluster, behind)
        entry = cluster.entry("plain")
        assert entry is not None
        await change_index(cluster, replace(entry.table.indexes[0], phase="DELETING"))
        await cluster.until(lambda: phases(cluster) == [], "the index is gone")

        await cluster.move(base, behind)
        await cluster.put("plain", "a", colour="red")

        assert cluster.replica(behind, base).replica.settings.table.indexes == ()

    on_cluster(scenario)


async def a_plain_table(cluster: Cluster) -> int:
    entry = await cluster.create(PLAIN)
    (partition,) = entry.partitions.partitions
    return partition.group


async def one_that_leads_nothing(cluster: Cluster, group: int) -> int:
    """A node that leads neither a group nor meta."""
    leaders = (await cluster.led(group), cluster.meta_leader())
    return next(number for number in cluster.members if number not in leaders)


def deafen_to_meta(cluster: Cluster, number: int) -> Callable[[], None]:
    """Let a node hear nothing more of meta. Returns what ends that."""
    log = cluster.node(number).log_of(META_GROUP)
    assert log is not None
    hear = log.hear
    log.hear = lambda node, message: None  # type: ignore[method-assign]

    def end() -> None:
        log.hear = hear  # type: ignore[method-assign]

    return end


async def change_index(cluster: Cluster, index: Index) -> None:
    entry = cluster.entry("plain")
    assert entry is not None
    await cluster.router.administer(AlterTable(entry.table, replace(entry.table, indexes=(index,))))


def phases(cluster: Cluster) -> list[str]:
    entry = cluster.entry("plain")
    assert entry is not None
    return [index.phase for index in entry.table.indexes]


def feeds(hosted: Hosted) -> bool:
    return hosted.duties is not None and hosted.duties.feeds is not None


def target_of(hosted: Hosted) -> IndexTarget | None:
    return None if hosted.duties is None else hosted.duties.target


def a_row(version: int, body: bytes | None = b'{"id":{"S":"a"}}') -> IndexRow:
    return IndexRow(b"\0" * 8 + b"red\0\0a\0\0", body, 10, Version(version, 0))


def a_write(*rows: IndexRow, term: int = 1) -> IndexWrite:
    return IndexWrite(99, 1, term, list(rows), Version(0, 0))


def test_leader_feeds_and_the_others_do_not() -> None:
    async def scenario(cluster: Cluster) -> None:
        base, index = await a_table(cluster)

        for group in (base, index):
            leader = await cluster.led(group)
            for number in cluster.members:
                hosted = cluster.replica(number, group)
                leads = number == leader
                assert feeds(hosted) == (leads and group == base)
                assert (target_of(hosted) is not None) == (leads and group == index)

    on_cluster(scenario)


def test_feeding_goes_on_where_another_replica_leads() -> None:
    async def scenario(cluster: Cluster) -> None:
        base, _ = await a_table(cluster)
        await cluster.put("indexed", "a", colour="red")
        old = await cluster.led(base)
        new = next(number for number in cluster.members if number != old)

        await cluster.move(base, new)
        await cluster.put("indexed", "b", colour="red")

        await shows(cluster, {"a", "b"})
        assert not feeds(cluster.replica(old, base))
        assert feeds(cluster.replica(new, base))
        # And where nobody leads nothing holds up writes.
        assert cluster.replica(old, base).replica.on_admit == []

    on_cluster(scenario)


def test_targets_are_made_anew_whenever_a_replica_begins_to_lead() -> None:
    async def scenario(cluster: Cluster) -> None:
        _, index = await a_table(cluster)
        first = await cluster.led(index)
        second = next(number for number in cluster.members if number != first)
        target = target_of(cluster.replica(first, index))
        await cluster.put("indexed", "a", colour="red")
        await shows(cluster, {"a"})

        await cluster.move(index, second)
        await cluster.put("indexed", "a", colour="blue")
        await cluster.put("indexed", "b", colour="red")
        await cluster.delete("indexed", "b")
        await shows(cluster, {"a"})
        await cluster.move(index, first)

        again = target_of(cluster.replica(first, index))
        assert again is not None
        assert again is not target
        await shows(cluster, {"a"})

    on_cluster(scenario)


def test_index_on_this_node_that_loses_its_leadership_is_fed_on() -> None:
    async def scenario(cluster: Cluster) -> None:
        base, index = await a_table(cluster)
        here = await cluster.led(base)
        await cluster.move(index, here)
        log = cluster.replica(here, index).consensus
        send = log._send
        # Its entries reach nobody, so it will lead no more.
        log._send = lambda node, group, message: None
        await cluster.put("indexed", "a", colour="red")
        await cluster.until(lambda: not log.serving, "it leads no more")
        log._send = send
        assert cluster.leader(base) == here

        await shows(cluster, {"a"})

    on_cluster(scenario)


@pytest.mark.parametrize(
    "refusal",
    [
        Throttling("full"),
        InternalServerError(),
        Unavailable("not now"),
        NotLeader(),
        OutcomeUnknown("who knows"),
    ],
    ids=lambda error: type(error).__name__,
)
def test_index_that_refuses_rows_is_offered_them_again(refusal: Exception) -> None:
    async def scenario(cluster: Cluster) -> None:
        base, index = await a_table(cluster)
        here = await cluster.led(base)
        refusals = 0

        def refusing(hosted: Hosted) -> None:
            take = hosted.take

            async def refuse(write: IndexWrite) -> None:
                nonlocal refusals
                if write.rows and refusals < 5:
                    refusals += 1
                    raise refusal
                await take(write)

            hosted.take = refuse  # type: ignore[method-assign]

        for number in cluster.members:
            refusing(cluster.replica(number, index))
        there = next(number for number in cluster.members if number != here)
        await cluster.move(index, there)

        await cluster.put("indexed", "a", colour="red")

        await shows(cluster, {"a"})
        assert refusals == 5
        assert len(cluster.processes) == 3

    on_cluster(scenario)


def test_rows_that_are_sent_again_are_not_done_before_they_are_held_by_a_quorum() -> None:
    async def scenario(cluster: Cluster) -> None:
        _, index = await a_table(cluster)
        number = await cluster.led(index)
        log, answers = cluster.replica(number, index).consensus, list[Answer]()
        log._send = lambda node, group, message: None
        for again in range(2):
            request = Request(again, index, 1, True, a_write(a_row(5)))
            cluster.node(number).asked(request, answers.append)
        request = Request(2, index, 1, True, a_write(a_row(4)))
        cluster.node(number).asked(request, answers.append)

        await asyncio.sleep(0.1)

        assert answers == []
        await cluster.until(lambda: len(answers) == 3, "they are told")
        assert all(answer.error is not None for answer in answers)

    on_cluster(scenario)


def test_source_that_was_replaced_is_refused() -> None:
    async def scenario(cluster: Cluster) -> None:
        _, index = await a_table(cluster)
        number = await cluster.led(index)
        hosted = cluster.replica(number, index)
        await hosted.take(a_write(a_row(1), term=7))

        with pytest.raises(StaleSource):
            await hosted.take(a_write(a_row(2), term=6))

        other = next(other for other in cluster.members if other != number)
        await cluster.move(index, other)
        with pytest.raises(StaleSource):
            await cluster.replica(other, index).take(a_write(a_row(2), term=6))

    on_cluster(scenario)


def test_more_rows_than_there_is_room_for_are_refused_and_nothing_ends() -> None:
    async def scenario(cluster: Cluster) -> None:
        _, index = await a_table(cluster)
        number = await cluster.led(index)
        node, answers = cluster.node(number), list[Answer]()

        for source in range(100):
            row = IndexRow(b"\0" * 8 + b"%d" % source, b"x" * (256 << 10), 10, Version(1, 0))
            write = IndexWrite(source, 1, 1, [row], Version(0, 0))
            node.asked(Request(source, index, 1, True, write), answers.append)
        await cluster.until(lambda: len(answers) == 100, "all are answered")

        errors = {type(answer.error) for answer in answers}
        assert errors == {type(None), Throttling}

    on_cluster(scenario)
