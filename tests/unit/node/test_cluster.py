"""Nodes of a cluster together: tables come, go and are served on all of them, through crashes and cuts."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable
from contextlib import suppress

import pytest
from msgspec.structs import replace

from gramme.codec.frame import Answer, Request
from gramme.commands import (
    AllWritten,
    Command,
    CreateTable,
    Delete,
    DeleteTable,
    Get,
    Put,
    Query,
    WriteAll,
    Written,
)
from gramme.errors import (
    GrammeError,
    InternalServerError,
    NotLeader,
    OutcomeUnknown,
    ResourceInUse,
    ResourceNotFound,
    StalePartition,
    Throttling,
    Unavailable,
    ValidationError,
)
from gramme.expressions.placeholders import Placeholders
from gramme.node import group_log
from gramme.node.engine.api import Family, Operation, WriteStall
from gramme.node.engine.keyspace import group_range, log_range, token_bound
from gramme.node.raft.messages import Heartbeat, Message, ReplicaId
from gramme.partitions import TOKEN_SPACE
from gramme.router.catalog import CatalogEntry
from tests.support.in_process import ROUTER, Cluster, groups_of, on_cluster
from tests.unit.gramme.expressions.using import n
from tests.unit.node.fixtures import INDEXED, PLAIN


def test_what_was_written_is_read_from_any_replica() -> None:
    async def scenario(cluster: Cluster) -> None:
        await cluster.create(PLAIN, partitions=3)

        for id in "abcdef":
            await cluster.put("plain", id, n=id)

        for id in "abcdef":
            item = await cluster.get("plain", id)
            assert item == {"id": {"S": id}, "n": {"S": id}}

    on_cluster(scenario)


def test_index_rows_find_their_leader_on_another_node() -> None:
    async def scenario(cluster: Cluster) -> None:
        entry = await cluster.create(INDEXED, partitions=3)
        base = {await cluster.led(part.group) for part in entry.partitions.partitions}
        index = {
            await cluster.led(part.group) for part in entry.index_partitions["by-colour"].partitions
        }
        assert len(base | index) > 1

        for id in "abcdef":
            await cluster.put("indexed", id, colour=f"c{id}")

        shown: set[str] = set()

        async def look() -> None:
            shown.update(await cluster.index_ids("indexed", "by-colour"))

        while shown != set("abcdef"):
            await look()

    on_cluster(scenario)


def test_replicas_of_a_table_are_made_on_the_nodes_that_meta_names() -> None:
    async def scenario(cluster: Cluster) -> None:
        entry = await cluster.create(PLAIN, partitions=4)

        await cluster.until(lambda: replicas(cluster) == 4 * 3, "all replicas are there")

        for group in groups_of(entry):
            assert len(places(cluster, group)) == 3

    on_cluster(scenario, nodes=5)


def test_restarted_node_opens_its_replicas_from_their_own_rows() -> None:
    async def scenario(cluster: Cluster) -> None:
        entry = await cluster.create(PLAIN)
        (group,) = groups_of(entry)
        await cluster.put("plain", "a", n="1")
        before = cluster.replica(2, group).consensus.position

        await cluster.crash(2)
        cluster.start(2)

        await cluster.until(lambda: places(cluster, group) == [1, 2, 3], "it is back")
        assert cluster.replica(2, group).consensus.position.replica == before.replica
        await cluster.put("plain", "b", n="2")
        leader = cluster.replica(await cluster.led(group), group)
        await cluster.until(
            lambda: (
                cluster.replica(2, group).replica.flushed_state.checksum
                == leader.replica.flushed_state.checksum
            ),
            "it has caught up",
        )

    on_cluster(scenario)


def test_cluster_that_lost_power_has_all_that_was_answered() -> None:
    async def scenario(cluster: Cluster) -> None:
        await cluster.create(PLAIN, partitions=2)
        for id in "abcdef":
            await cluster.put("plain", id, n=id)

        for number in cluster.members:
            await cluster.crash(number)
        for number in cluster.members:
            cluster.start(number)

        for id in "abcdef":
            assert await cluster.get("plain", id) is not None

    on_cluster(scenario)


def test_dropped_table_is_closed_and_removed_everywhere() -> None:
    async def scenario(cluster: Cluster) -> None:
        entry = await cluster.create(INDEXED, partitions=2)
        for id in "abcdef":
            await cluster.put("indexed", id, colour=id)

        await cluster.drop("indexed")

        await cluster.until(lambda: replicas(cluster) == 0, "no replica is left")
        await asyncio.sleep(2)
        for number in cluster.members:
            assert traces(cluster, number, entry) == []

    on_cluster(scenario)


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("replication", [1, 3])
def test_table_is_dropped_while_it_is_written_to(seed: int, replication: int) -> None:
    async def scenario(cluster: Cluster) -> None:
        entry = await cluster.create(INDEXED, partitions=2)
        places = {id: cluster.place("indexed", id)[1] for id in "abcdefgh"}
        puts = {id: cluster.a_put("indexed", id, colour=id) for id in "abcdefgh"}

        async def write(id: str) -> Exception:
            while True:
                try:
                    await cluster.router.write(places[id], puts[id])
                except GrammeError as error:
                    return error

        async with asyncio.TaskGroup() as tasks:
            writing = [tasks.create_task(write(id)) for id in "abcdefgh"]
            await asyncio.sleep(0.5 + seed / 1_000)
            await cluster.drop("indexed")

        await asyncio.sleep(1)
        failures = {type(task.result()) for task in writing}
        assert failures <= {ResourceNotFound, InternalServerError}
        for number in cluster.members:
            assert traces(cluster, number, entry) == []

    on_cluster(scenario, seed=seed, replication=replication)


def test_node_that_was_down_while_tables_came_and_went_catches_up() -> None:
    async def scenario(cluster: Cluster) -> None:
        gone = await cluster.create(replace(PLAIN, name="gone"))
        await cluster.put("gone", "a")
        # What is asked of a leader of meta that is lost has an outcome that nobody knows.
        down = next(number for number in cluster.members if number != cluster.meta_leader())
        await cluster.crash(down)
        await cluster.drop("gone")
        (group,) = groups_of(await cluster.create(PLAIN))
        await cluster.create(replace(PLAIN, name="brief"))
        await cluster.drop("brief")
        await cluster.put("plain", "a")

        cluster.start(down)

        await cluster.until(lambda: places(cluster, group) == [1, 2, 3], "it has the new table")
        leader = cluster.replica(await cluster.led(group), group)
        await cluster.until(
            lambda: (
                cluster.replica(down, group).replica.flushed_state.checksum
                == leader.replica.flushed_state.checksum
            ),
            "it has the items",
        )
        assert list(cluster.node(down).hosted) == [group]
        assert traces(cluster, down, gone) == []

    on_cluster(scenario)


def test_nodes_that_hear_of_a_table_by_a_snapshot_of_meta_found_their_groups(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """They may be most of those that a group is placed on, and then nobody else can begin it."""
    for bound in ("LOG_BYTES_MAX", "LOG_BYTES_KEPT", "LOG_BYTES_BEHIND_MAX"):
        monkeypatch.setattr(group_log, bound, 0)

    async def scenario(cluster: Cluster) -> None:
        down = [number for number in cluster.members if number != cluster.meta_leader()][:2]
        for number in down:
            await cluster.crash(number)
        while (entry := cluster.entry(PLAIN.name)) is None:
            # Whoever was asked may have gone just now.
            with suppress(InternalServerError, ResourceInUse):
                await cluster.router.administer(CreateTable(replace(PLAIN, id=0), partitions=5))

        for number in down:
            cluster.start(number)

        for group in groups_of(entry):
            await cluster.led(group)
        await cluster.put(PLAIN.name, "a")
        assert await cluster.get(PLAIN.name, "a") is not None

    on_cluster(scenario, nodes=5)


@pytest.mark.parametrize("delay_ms", [0, 1, 2, 3, 4, 6, 8])
def test_meta_may_change_its_leader_in_the_middle_of_create_table(delay_ms: int) -> None:
    async def scenario(cluster: Cluster) -> None:
        async def create() -> None:
            with suppress(InternalServerError, ResourceInUse):
                await cluster.router.administer(CreateTable(replace(PLAIN, id=0), 2))

        async with asyncio.TaskGroup() as tasks:
            creating = tasks.create_task(create())
            await asyncio.sleep(delay_ms / 1_000)
            leader = cluster.meta_leader()
            assert leader is not None
            await cluster.crash(leader)
            await creating
        cluster.start(leader)

        # It is there or it is not, and can be made if it is not.
        await cluster.until(lambda: cluster.meta_leader() is not None, "meta is led")
        with suppress(ResourceInUse):
            await cluster.router.administer(CreateTable(replace(PLAIN, id=0), 2))
        await cluster.until(lambda: cluster.entry("plain") is not None, "the router knows")
        for id in "abcd":
            await cluster.put("plain", id)
        await cluster.until(lambda: replicas(cluster) == 2 * 3, "all replicas are there")

    on_cluster(scenario)


@pytest.mark.parametrize(
    ("group", "epoch", "error"),
    [(999, 1, Unavailable), (None, 2, StalePartition), (None, 0, StalePartition)],
    ids=["unknown group", "newer epoch", "older epoch"],
)
def test_requests_that_do_not_fit_are_refused(
    group: int | None, epoch: int, error: type[Exception]
) -> None:
    async def scenario(cluster: Cluster) -> None:
        entry = await cluster.create(PLAIN)
        known = groups_of(entry)[0]
        answers: list[Answer] = []

        request = Request(1, group or known, epoch, True, Get(b"k"))
        cluster.node(1).asked(request, answers.append)

        assert [type(answer.error) for answer in answers] == [error]

    on_cluster(scenario)


def test_request_that_no_router_would_send_is_answered_alone() -> None:
    async def scenario(cluster: Cluster) -> None:
        entry = await cluster.create(PLAIN)
        (group,) = groups_of(entry)
        node = cluster.node(await cluster.led(group))
        await cluster.put("plain", "a", n="1")
        condition = Placeholders(None, {":n": n(1)}).condition("n = :n")
        answers: list[Answer] = []

        put = replace(cluster.a_put("plain", "a"), condition=condition, values={})
        node.asked(Request(1, group, 1, True, put), answers.append)

        assert [answer.number for answer in answers] == [1]
        assert answers[0].error is not None
        await cluster.put("plain", "b")

    on_cluster(scenario)


def replicas(cluster: Cluster) -> int:
    return sum(len(process.node.hosted) for process in cluster.processes.values())


def places(cluster: Cluster, group: int) -> list[int]:
    """The nodes that have a replica of a group."""
    return sorted(
        number for number, process in cluster.processes.items() if group in process.node.hosted
    )


def traces(cluster: Cluster, number: int, entry: CatalogEntry) -> list[str]:
    """What a node's disk still has of a table that is gone."""
    engine = cluster.disks[number]
    found = []
    for group in groups_of(entry):
        for family, (lower, upper) in (
            (Family.RAFT, group_range(group)),
            (Family.CHANGE, log_range(group)),
        ):
            if list(engine.scan(family, lower, upper)):
                found.append(f"{family.name} of group {group}")
    for id in (entry.table.id, *(index.id for index in entry.table.indexes)):
        lower, upper = token_bound(id, 0), token_bound(id, TOKEN_SPACE)
        for family in (Family.ITEM, Family.DEDUPE):
            if list(engine.scan(family, lower, upper)):
                found.append(f"{family.name} of table {id}")
    return found


def test_node_may_apply_the_last_writes_of_a_table_together_with_its_end() -> None:
    async def scenario(cluster: Cluster) -> None:
        entry = await cluster.create(PLAIN)
        (group,) = groups_of(entry)
        followers = set(cluster.members) - {await cluster.led(group), cluster.meta_leader()}
        number = followers.pop()
        cluster.disks[number].flushes.clear()
        await cluster.put("plain", "a")
        await cluster.put("plain", "b")
        await cluster.drop("plain")
        # Until it has heard that all of this is committed.
        await asyncio.sleep(1)

        cluster.disks[number].flushes.set()

        await cluster.until(lambda: replicas(cluster) == 0, "no replica is left")
        await asyncio.sleep(1)
        assert traces(cluster, number, entry) == []

    on_cluster(scenario)


def test_writes_under_way_when_their_table_goes_are_answered() -> None:
    async def scenario(cluster: Cluster) -> None:
        (group,) = groups_of(await cluster.create(PLAIN))
        number = await cluster.led(group)
        put, answers = cluster.a_put("plain", "a"), list[Answer]()
        # Its entries reach nobody, while it still hears of meta's.
        cluster.replica(number, group).consensus._send = lambda node, group, message: None

        cluster.node(number).asked(Request(1, group, 1, True, put), answers.append)
        cluster.node(number).asked(
            Request(2, group, 1, True, Get(put.key, consistent=True)), answers.append
        )
        await asyncio.sleep(0.01)
        cluster.node(number).asked(Request(3, group, 1, True, put), answers.append)
        await cluster.drop("plain")
        await cluster.until(lambda: replicas(cluster) == 0, "no replica is left")

        assert {answer.number for answer in answers} == {1, 2, 3}

    on_cluster(scenario)


def test_node_ends_while_its_groups_have_no_quorum() -> None:
    async def scenario(cluster: Cluster) -> None:
        (part,) = (await cluster.create(INDEXED)).partitions.partitions
        number = await cluster.led(part.group)
        await cluster.put("indexed", "a", colour="red")
        # About when its tailer saves its cursor.
        await asyncio.sleep(0.9)
        cluster.isolate(number)
        await asyncio.sleep(0.3)

        async with asyncio.timeout(5):
            await cluster.stop(number)

    on_cluster(scenario)


def test_deposed_leader_says_nothing_of_items_it_does_not_know() -> None:
    async def scenario(cluster: Cluster) -> None:
        (group,) = groups_of(await cluster.create(PLAIN))
        old = await cluster.led(group)
        others = [number for number in cluster.members if number != old]
        cluster.isolate(old)
        cluster.cut(ROUTER, cluster.members[old])
        put = cluster.a_put("plain", "a")
        log = cluster.replica(old, group).consensus
        # It never notices that it is alone.
        log.tick = lambda: None  # type: ignore[method-assign]
        await cluster.until(
            lambda: any(cluster.replica(number, group).consensus.serving for number in others),
            "another one leads",
        )
        await cluster.put("plain", "a")
        answers: list[Answer] = []

        asked: list[Command] = [
            Get(put.key, consistent=True),
            Delete(put.key),
            WriteAll([Delete(put.key)]),
            Query(put.key, put.key + b"\0", ("id",), consistent=True),
        ]
        for number, command in enumerate(asked):
            cluster.node(old).asked(Request(number, group, 1, True, command), answers.append)
        await asyncio.sleep(2)

        assert log.serving
        assert answers == []

    on_cluster(scenario)


def test_deposed_leader_of_meta_says_nothing_of_tables_it_does_not_know() -> None:
    async def scenario(cluster: Cluster) -> None:
        old = cluster.meta_leader()
        assert old is not None
        cluster.isolate(old)
        cluster.cut(ROUTER, cluster.members[old])
        log = cluster.node(old)._logs[0]
        log.tick = lambda: None  # type: ignore[method-assign]
        others = [number for number in cluster.members if number != old]
        await cluster.until(
            lambda: any(cluster.node(number).leads_meta for number in others), "another one leads"
        )
        await cluster.create(PLAIN)

        drop = DeleteTable("0" * 12, "local", "plain")
        asked = asyncio.ensure_future(cluster.node(old).administer(drop))
        await asyncio.sleep(2)

        assert log.serving
        assert not asked.done()
        asked.cancel()

    on_cluster(scenario)


def test_delete_that_meta_refuses_hides_no_table() -> None:
    async def scenario(cluster: Cluster) -> None:
        await cluster.create(PLAIN)
        old = cluster.meta_leader()
        assert old is not None
        node = cluster.node(old)
        drop = DeleteTable("0" * 12, "local", "plain")
        cluster.isolate(old)

        dropping = asyncio.ensure_future(node.administer(drop))
        await asyncio.sleep(0.1)

        assert [record.table.name for record in node.news().records] == ["plain"]
        with pytest.raises((NotLeader, OutcomeUnknown)):
            await dropping
        assert [record.table.name for record in node.news().records] == ["plain"]

    on_cluster(scenario)


def test_command_that_waited_for_another_is_refused_if_meta_is_led_elsewhere_by_then() -> None:
    async def scenario(cluster: Cluster) -> None:
        await cluster.create(PLAIN)
        old = cluster.meta_leader()
        assert old is not None
        node = cluster.node(old)
        async with node._meta.lock:
            dropping = asyncio.ensure_future(
                node.administer(DeleteTable("0" * 12, "local", "plain"))
            )
            cluster.isolate(old)
            await cluster.until(lambda: not node.leads_meta, "it leads no more")

        with pytest.raises(NotLeader):
            await dropping
        assert [record.table.name for record in node.news().records] == ["plain"]

    on_cluster(scenario)


def test_large_batch_is_refused_in_part_where_there_is_no_room_for_all_of_it() -> None:
    async def scenario(cluster: Cluster) -> None:
        (group,) = groups_of(await cluster.create(PLAIN))
        node = cluster.node(await cluster.led(group))
        replica = cluster.replica(await cluster.led(group), group).replica
        admitted = 0

        def admit() -> None:
            nonlocal admitted
            admitted += 1
            if admitted == 2:
                raise Throttling("full")

        replica.on_admit.append(admit)
        puts: list[Put | Delete] = [
            cluster.a_put("plain", str(number), text="x" * 150_000) for number in range(4)
        ]
        answers: list[Answer] = []

        node.asked(Request(1, group, 1, True, WriteAll(puts)), answers.append)
        await cluster.until(lambda: answers, "an answer")

        done = answers[0].result
        assert isinstance(done, AllWritten)
        assert [type(each) for each in done.answers()] == [Written, Written, Throttling, Throttling]

    on_cluster(scenario)


def test_node_says_nothing_before_what_it_found_is_flushed() -> None:
    async def scenario(cluster: Cluster) -> None:
        (group,) = groups_of(await cluster.create(PLAIN))
        await cluster.put("plain", "a")
        number = next(other for other in cluster.members if other != cluster.meta_leader())
        key = cluster.place("plain", "a")[0]
        await cluster.stop(number)
        cluster.disks[number].flushes.clear()
        cluster.start(number)
        await asyncio.sleep(0.01)
        node, answers = cluster.node(number), list[Answer]()
        said: list[Message] = []
        node._logs[0]._send = lambda node, group, message: said.append(message)

        me, other = ReplicaId(number), next(one for one in cluster.members if one != number)
        term = node._logs[0].raft.term
        node.heard(other, [(0, Heartbeat(ReplicaId(other), me, term, 0, 1))])
        node.asked(Request(1, group, 1, False, Get(key)), answers.append)

        assert said == []
        assert [type(answer.error) for answer in answers] == [Unavailable]
        cluster.disks[number].flushes.set()

    on_cluster(scenario)


def test_write_that_no_log_could_carry_is_refused_and_its_partition_goes_on() -> None:
    async def scenario(cluster: Cluster) -> None:
        await cluster.create(INDEXED)
        # An item of many numbers such as 1E125 is small in DynamoDB's eyes.
        await cluster.put("indexed", "a", text="x" * (2 << 20))

        with pytest.raises(ValidationError):
            await cluster.put("indexed", "a", text="x" * (3 << 20))

        await cluster.put("indexed", "a", text="small")
        assert await cluster.get("indexed", "a") == {"id": {"S": "a"}, "text": {"S": "small"}}

    on_cluster(scenario)


def test_batch_with_a_write_that_no_log_could_carry_does_nothing() -> None:
    async def scenario(cluster: Cluster) -> None:
        await cluster.create(INDEXED)
        small = cluster.a_put("indexed", "a")
        large = cluster.a_put("indexed", "b", text="x" * (3 << 20))
        partition = cluster.place("indexed", "a")[1]

        with pytest.raises(ValidationError):
            await cluster.router.write_all([(partition, small), (partition, large)])

        assert await cluster.get("indexed", "a") is None

    on_cluster(scenario)


def test_batch_that_was_done_is_not_said_to_have_found_no_room() -> None:
    async def scenario(cluster: Cluster) -> None:
        (group,) = groups_of(await cluster.create(PLAIN))
        number = await cluster.led(group)
        term = cluster.replica(number, group).consensus.raft.term
        put = cluster.a_put("plain", "a")
        request = Request(1, group, 1, True, WriteAll([put]), b"i" * 16, term)
        answers: list[Answer] = []
        cluster.node(number).asked(request, answers.append)
        await cluster.until(lambda: answers, "an answer")

        def full() -> None:
            raise Throttling("full")

        cluster.replica(number, group).replica.on_admit.append(full)
        cluster.node(number).asked(request, answers.append)
        await cluster.until(lambda: len(answers) == 2, "another answer")

        assert answers[1] == answers[0]

    on_cluster(scenario)


@pytest.mark.parametrize("partitions", [-1, 0, 1 << 40])
def test_table_of_impossible_partitions_is_refused(partitions: int) -> None:
    async def scenario(cluster: Cluster) -> None:
        with pytest.raises(ValidationError):
            await cluster.router.administer(CreateTable(replace(PLAIN, id=0), partitions))

        await cluster.create(PLAIN)

    on_cluster(scenario)


def test_stall_of_the_engine_while_a_table_is_made_is_only_a_delay() -> None:
    async def scenario(cluster: Cluster) -> None:
        stalls = 0

        def stalling(
            write: Callable[[Iterable[Operation]], None],
        ) -> Callable[[Iterable[Operation]], None]:
            def stall(operations: Iterable[Operation]) -> None:
                nonlocal stalls
                if cluster.random.random() < 0.5:
                    stalls += 1
                    raise WriteStall
                write(operations)

            return stall

        for disk in cluster.disks.values():
            disk.write = stalling(disk.write)  # type: ignore[assignment,method-assign]

        await cluster.create(PLAIN, partitions=4)
        await cluster.until(lambda: replicas(cluster) == 4 * 3, "all replicas are there")

        for id in "abcd":
            await cluster.put("plain", id)
        assert stalls

    on_cluster(scenario)


def test_waiting_write_survives_a_change_of_leaders() -> None:
    async def scenario(cluster: Cluster) -> None:
        (group,) = groups_of(await cluster.create(PLAIN))
        cluster.isolate(await cluster.led(group))

        done = await cluster.put("plain", "a", n="1")

        assert done.new_size
        assert await cluster.get("plain", "a") is not None

    on_cluster(scenario)


@pytest.mark.parametrize("seed", range(6))
def test_writes_go_on_while_nodes_crash_in_turn(seed: int) -> None:
    async def scenario(cluster: Cluster) -> None:
        await cluster.create(INDEXED, partitions=2)
        written: dict[str, str] = {}

        async def write(name: str) -> None:
            for count in range(30):
                with suppress(InternalServerError):
                    await cluster.put("indexed", name, colour=f"{count}")
                    written[name] = str(count)
                await asyncio.sleep(0.1)

        async with asyncio.TaskGroup() as tasks:
            for name in "abcd":
                tasks.create_task(write(name))
            for number in (1, 2, 3):
                await asyncio.sleep(0.5 + seed / 7)
                await cluster.crash(number)
                await asyncio.sleep(0.7)
                cluster.start(number)

        for name, count in written.items():
            item = await cluster.get("indexed", name)
            assert item is not None
            assert int(item["colour"]["S"]) >= int(count)
        while await cluster.index_ids("indexed", "by-colour") != set("abcd"):
            await asyncio.sleep(0.1)

    on_cluster(scenario, seed=seed)


def test_index_takes_rows_from_its_table_only() -> None:
    async def scenario(cluster: Cluster) -> None:
        entry = await cluster.create(INDEXED)
        (part,) = entry.index_partitions["by-colour"].partitions
        number, answers = await cluster.led(part.group), list[Answer]()
        put = cluster.a_put("indexed", "a", colour="red")
        term = cluster.replica(number, part.group).consensus.raft.term

        for command in (put, WriteAll([put]), Delete(put.key)):
            request = Request(1, part.group, 1, True, command, b"i" * 16, term)
            cluster.node(number).asked(request, answers.append)
        await cluster.until(lambda: len(answers) == 3, "they are answered")

        assert {type(answer.error) for answer in answers} == {InternalServerError}
        for other in cluster.members:
            await cluster.crash(other)
            cluster.start(other)
        await cluster.led(part.group)
        await cluster.put("indexed", "b", colour="red")

    on_cluster(scenario)
