"""What one replica of a group does with what its peers say."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

import msgspec
import pytest

from gramme.commands import Delete, Get, Put, Written
from gramme.errors import ConditionalCheckFailed, NotLeader, OutcomeUnknown
from gramme.expressions.placeholders import Placeholders
from gramme.model.version import Stamp, Version
from gramme.node.apply import item_row
from gramme.node.consensus import SETTINGS
from gramme.node.engine.api import Family, Operation
from gramme.node.engine.keyspace import log_entry_key, table_prefix
from gramme.node.engine.memory import TOTAL_BYTES
from gramme.node.group_log import encode_operations
from gramme.node.raft.messages import (
    AppendResponse,
    Entry,
    EntryKind,
    Heartbeat,
    HeartbeatResponse,
)
from gramme.node.raft.settings import Settings
from gramme.node.rounds import ROUNDS_MAX
from tests.support.simulated_node import let_go
from tests.unit.node.fixtures import GatedEngine, a_delete, a_put, key_of, settle
from tests.unit.node.lone import GROUP, ME, PEER, Lone, found, lone

# Another group of the same node.
BESIDE = 11


def an_entry(term: int, index: int, id: str = "") -> Entry:
    """An entry that puts an item with this id, if there is one."""
    operations: list[Operation] = []
    if id:
        put = a_put(id)
        key, version = table_prefix(GROUP) + put.key, Version(index, 0)
        operations.append(item_row(key, put.item, put.size, version, Stamp(index, 0)))
    return Entry(term, index, EntryKind.NORMAL, encode_operations(operations))


async def rounds_of_one(made: Lone, count: int) -> list[asyncio.Task[Written]]:
    """Writes of different items, each begun when the one before has gone as far as it can."""
    writes = []
    for number in range(count):
        writes.append(asyncio.ensure_future(made.replica.write(a_put(f"{count}-{number}"))))
        await settle()
    return writes


def indexes(made: Lone) -> list[int]:
    rows = made.engine.scan(Family.RAFT, log_entry_key(GROUP, 0), log_entry_key(GROUP, 1 << 32))
    return [int.from_bytes(key[-8:]) for key, _ in rows]


async def test_entries_are_applied_in_order_though_reads_are_confirmed_meanwhile(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    # One write makes an entry, and one entry is all that is applied at once.
    monkeypatch.setattr("gramme.node.proposals.ENTRY_BYTES_MAX", 1)
    async with lone(settings=Settings(committed_bytes_max=1)) as made:
        await made.lead()
        replica = made.replica
        writes = [asyncio.ensure_future(replica.write(a_put("a", n=n))) for n in "123"]
        reads = []
        for _ in range(3):
            reads.append(asyncio.ensure_future(replica.get(Get(key_of("a"), consistent=True))))
            await settle()

        made.receive(made.acknowledgement(), made.heartbeat())
        await settle()

        assert made.consensus.raft.applied_index == made.consensus.raft.log.last_index
        assert all(write.done() for write in writes)
        assert (await replica.get(Get(key_of("a")))).item == a_put("a", n="3").item
        made.receive(made.heartbeat())
        await asyncio.gather(*reads)


async def test_a_round_that_the_log_has_no_room_for_is_proposed_in_parts(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("gramme.node.proposals.ENTRY_BYTES_MAX", 1)
    async with lone(settings=Settings(uncommitted_bytes_max=1)) as made:
        await made.lead()
        writes = [asyncio.ensure_future(made.replica.write(a_put("a", n=n))) for n in "123"]
        await settle()
        assert made.consensus.raft.log.last_index == 2

        await made.acknowledge()
        await made.acknowledge()
        assert not any(write.done() for write in writes)
        await made.acknowledge()

        await asyncio.gather(*writes)
        assert made.stored("a") == a_put("a", n="3").item


async def test_what_was_not_proposed_yet_of_a_round_is_unknown_when_leadership_ends(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("gramme.node.proposals.ENTRY_BYTES_MAX", 1)
    async with lone(settings=Settings(uncommitted_bytes_max=1)) as made:
        await made.lead()
        writes = [asyncio.ensure_future(made.replica.write(a_put("a", n=n))) for n in "12"]
        await settle()

        made.receive(Heartbeat(PEER, ME, 2, 0, 0))
        await settle()

        answers = await asyncio.gather(*writes, return_exceptions=True)
        assert [type(answer) for answer in answers] == [OutcomeUnknown, OutcomeUnknown]


@pytest.mark.parametrize("own_flush", ["before", "after"])
async def test_a_put_is_answered_once_a_majority_has_flushed_it(own_flush: str) -> None:
    async with lone() as made:
        await made.lead()
        made.engine.gate.clear()
        put = asyncio.ensure_future(made.replica.write(a_put("a")))
        await settle()
        answer = made.acknowledgement()
        steps: list[Callable[[], None]] = [made.engine.gate.set, lambda: made.receive(answer)]

        for step in steps if own_flush == "before" else reversed(steps):
            assert not put.done()
            step()
            await settle()

        assert (await put).new_size > 0
        assert made.stored("a") == a_put("a").item


async def test_when_leadership_ends_what_is_under_way_is_unknown_and_the_rest_not_done() -> None:
    async with lone() as made:
        await made.lead()
        under_way = await rounds_of_one(made, ROUNDS_MAX)
        (waiting,) = await rounds_of_one(made, 1)

        made.receive(Heartbeat(PEER, ME, 2, 0, 0))

        answers = await asyncio.gather(*under_way, waiting, return_exceptions=True)
        assert [type(answer) for answer in answers] == [OutcomeUnknown] * ROUNDS_MAX + [NotLeader]
        assert isinstance(answers[-1], NotLeader)
        assert answers[-1].hint == PEER


async def test_rounds_are_under_way_together_and_no_more_of_them_than_the_bound() -> None:
    async with lone() as made:
        await made.lead()
        before = made.consensus.raft.log.last_index
        writes = await rounds_of_one(made, ROUNDS_MAX + 2)
        assert made.consensus.raft.log.last_index == before + ROUNDS_MAX

        await made.acknowledge()

        # What waited shares a round.
        assert made.consensus.raft.log.last_index == before + ROUNDS_MAX + 1
        assert [write.done() for write in writes] == [True] * ROUNDS_MAX + [False] * 2
        await made.acknowledge()
        await asyncio.gather(*writes)


async def test_rounds_are_answered_as_they_are_committed() -> None:
    async with lone() as made:
        await made.lead()
        first, second = await rounds_of_one(made, 2)
        last = made.consensus.raft.log.last_index

        made.receive(AppendResponse(PEER, ME, made.consensus.raft.term, last - 1))
        await settle()

        assert (first.done(), second.done()) == (True, False)
        assert (made.stored("2-0") is None, made.stored("2-1") is None) == (False, True)
        await made.acknowledge()
        await second


async def test_followers_hear_at_once_of_a_round_that_no_other_follows() -> None:
    async with lone() as made:
        await made.lead()
        write = asyncio.ensure_future(made.replica.write(a_put("a")))
        await settle()
        await made.acknowledge()
        await write
        committed = made.consensus.raft.log.committed

        told = [append for append in made.appends() if append.commit == committed]
        assert [(append.to, append.entries) for append in told] == [(PEER, [])]


async def test_followers_hear_of_a_round_by_the_next_one() -> None:
    async with lone() as made:
        await made.lead()
        writes = []
        for id in "ab":
            writes.append(asyncio.ensure_future(made.replica.write(a_put(id))))
            await settle()
        made.sent.clear()
        last = made.consensus.raft.log.last_index

        made.receive(AppendResponse(PEER, ME, made.consensus.raft.term, last - 1))
        await settle()

        assert writes[0].done()
        assert made.appends() == []
        await made.acknowledge()
        await asyncio.gather(*writes)


async def test_a_write_meets_what_earlier_rounds_under_way_did() -> None:
    async with lone() as made:
        await made.lead()
        puts = [a_put("a", n="1"), a_put("b", n="1"), a_put("a", n="2")]
        writes = []
        for put in puts:
            writes.append(asyncio.ensure_future(made.replica.write(put)))
            await settle()
        absent = Placeholders(None, None).condition("attribute_not_exists(id)")
        only_new = msgspec.structs.replace(a_put("a"), condition=absent, show_item_on_failure=True)
        refused = asyncio.ensure_future(made.replica.write(only_new))
        # The third round is under way only when the first one is not any more.
        await made.acknowledge()
        await made.acknowledge()
        made.receive(made.heartbeat())

        with pytest.raises(ConditionalCheckFailed) as failure:
            await refused

        assert failure.value.item == a_put("a", n="2").item
        await asyncio.gather(*writes)


async def test_a_follower_writes_nothing() -> None:
    async with lone() as made:
        with pytest.raises(NotLeader):
            await made.replica.write(a_put("a"))


async def test_strong_reads_share_rounds() -> None:
    async with lone() as made:
        await made.lead()
        get = Get(key_of("a"), consistent=True)

        reads = [asyncio.ensure_future(made.replica.get(get)) for _ in range(100)]
        await settle()

        assert made.heartbeat().round == 1
        assert made.consensus.read_rounds == 1
        made.receive(made.heartbeat())
        await asyncio.gather(*reads)


async def test_a_strong_read_does_not_join_a_round_that_began_before_it() -> None:
    """Another may lead by now, and the others may have answered that round before they voted."""
    async with lone() as made:
        await made.lead()
        get = Get(key_of("a"), consistent=True)
        first = asyncio.ensure_future(made.replica.get(get))
        await settle()
        answered = made.heartbeat()
        later = asyncio.ensure_future(made.replica.get(get))
        await settle()

        made.receive(answered)
        await settle()

        assert (first.done(), later.done()) == (True, False)
        made.receive(made.heartbeat())
        await later


async def test_a_strong_read_is_confirmed_by_who_follows_in_its_own_group() -> None:
    """The same node may follow another one in another group."""
    async with lone() as made:
        found(made.engine, BESIDE)
        beside = Lone(made.engine, SETTINGS, BESIDE, made.commits)
        await made.lead()
        await beside.lead()
        get = Get(key_of("a"), consistent=True)
        reads = [asyncio.ensure_future(each.replica.get(get)) for each in (made, beside)]
        await settle()

        beside.receive(beside.heartbeat())
        await settle()

        assert [read.done() for read in reads] == [False, True]
        made.receive(made.heartbeat())
        await reads[0]
        let_go(beside.consensus)


async def test_a_strong_read_is_refused_when_leadership_ends() -> None:
    async with lone() as made:
        await made.lead()
        read = asyncio.ensure_future(made.replica.get(Get(key_of("a"), consistent=True)))
        await settle()

        made.receive(Heartbeat(PEER, ME, 2, 0, 0))

        with pytest.raises(NotLeader):
            await read


async def test_a_follower_applies_what_is_committed_and_nothing_else() -> None:
    async with lone() as made:
        made.append(1, (0, 0), an_entry(1, 1, "a"), an_entry(1, 2, "b"), commit=1)
        await settle()

        assert made.stored("a") == a_put("a").item
        assert made.stored("b") is None


async def test_a_follower_acknowledges_only_what_is_flushed() -> None:
    async with lone() as made:
        made.engine.gate.clear()
        made.append(1, (0, 0), an_entry(1, 1))
        await settle()
        assert made.sent == []

        made.engine.gate.set()
        await settle()

        assert made.sent == [AppendResponse(ME, PEER, 1, 1)]


async def test_a_follower_whose_disk_is_out_takes_no_entries_until_there_is_room() -> None:
    async with lone() as made:
        made.commits.room.look(0, TOTAL_BYTES)
        made.append(1, (0, 0), an_entry(1, 1))
        made.receive(Heartbeat(PEER, ME, 1, 0, 1))
        await settle()
        # It follows, and votes, and reads may count on it.
        assert made.sent == [HeartbeatResponse(ME, PEER, 1, 1)]
        assert indexes(made) == []

        made.commits.room.look(TOTAL_BYTES, TOTAL_BYTES)
        made.append(1, (0, 0), an_entry(1, 1))
        await settle()

        assert made.sent[1:] == [AppendResponse(ME, PEER, 1, 1)]


async def test_entries_that_were_overwritten_leave_the_disk() -> None:
    async with lone() as made:
        made.append(1, (0, 0), *(an_entry(1, index) for index in (1, 2, 3, 4)))
        await settle()

        made.append(2, (1, 1), an_entry(2, 2))
        await settle()

        assert indexes(made) == [1, 2]
        assert made.consensus.raft.log.last_term == 2


async def test_a_restart_goes_on_from_what_was_flushed() -> None:
    async with lone() as made:
        made.append(1, (0, 0), an_entry(1, 1, "a"), an_entry(1, 2, "b"), commit=1)
        await settle()

    async with lone(GatedEngine(made.engine._flushed)) as again:
        raft = again.consensus.raft
        assert (raft.term, raft.log.last_index, raft.applied_index) == (1, 2, 1)
        assert again.stored("a") == a_put("a").item
        again.append(1, (2, 1), commit=2)
        await settle()
        assert again.stored("b") == a_put("b").item


async def test_a_log_that_grew_too_long_loses_entries_that_are_applied(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("gramme.node.group_log.LOG_BYTES_MAX", 300)
    monkeypatch.setattr("gramme.node.group_log.LOG_BYTES_KEPT", 0)
    async with lone() as made:
        entries = [an_entry(1, index, f"k{index}") for index in range(1, 6)]
        made.append(1, (0, 0), *entries, commit=3)
        await settle()

        assert indexes(made) == [4, 5]
        await made.engine.flush()

    async with lone(GatedEngine(made.engine._flushed)) as again:
        raft = again.consensus.raft
        assert (raft.log.first_index, raft.log.last_index, raft.applied_index) == (4, 5, 3)


async def test_a_condition_that_fails_is_told_only_by_who_still_leads() -> None:
    condition = Placeholders(None, None).condition("attribute_not_exists(id)")
    async with lone() as made:
        await made.lead()
        first = asyncio.ensure_future(made.replica.write(a_put("a")))
        await settle()
        await made.acknowledge()
        await first

        refused = asyncio.ensure_future(
            made.replica.write(msgspec.structs.replace(a_put("a"), condition=condition))
        )
        await settle()
        assert not refused.done()
        made.receive(made.heartbeat())

        with pytest.raises(ConditionalCheckFailed):
            await refused


PRESENT = Placeholders(None, None).condition("attribute_exists(id)")


@pytest.mark.parametrize(
    "write",
    [msgspec.structs.replace(a_put("a"), condition=PRESENT), a_delete("a")],
    ids=["refused", "changes nothing"],
)
async def test_what_a_write_says_of_a_proposed_item_is_said_only_by_who_still_leads(
    write: Put | Delete,
) -> None:
    async with lone() as made:
        await made.lead()
        put = asyncio.ensure_future(made.replica.write(a_put("a")))
        await settle()
        await made.acknowledge()
        await put
        proposed = asyncio.ensure_future(made.replica.write(a_delete("a")))
        await settle()
        answer = asyncio.ensure_future(made.replica.write(write))
        await settle()

        # It may come late, from a peer that has voted for somebody else since.
        await made.acknowledge()
        assert proposed.done()
        assert not answer.done()
        made.receive(made.heartbeat())
        await settle()

        (outcome,) = await asyncio.gather(answer, return_exceptions=True)
        assert isinstance(outcome, (ConditionalCheckFailed, Written))
