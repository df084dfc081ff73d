"""Whole clusters in situations that a test brings about, where chance rarely does."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from random import Random
from typing import Any

import msgspec

from gramme.node.raft.configuration import Change, ChangeKind
from gramme.node.raft.messages import ReplicaId
from tests.simulate.report import limited
from tests.support.cluster import FIRST_GROUP, Cluster, Shape
from tests.support.deterministic import DeterministicLoop
from tests.support.network import Network
from tests.support.simulated_node import GroupReplica
from tests.unit.node.fixtures import a_put

WAIT_S = 30.0


def run(shape: Shape, script: Callable[[Cluster], Coroutine[Any, Any, None]]) -> None:
    loop = DeterministicLoop()
    network = Network(loop, Random(1))
    cluster = Cluster(loop, network, Random(2), shape)

    async def main() -> None:
        for number in cluster.nodes:
            cluster.start(number)
        await script(cluster)
        cluster.check()

    loop.run(main())


async def until(condition: Callable[[], bool]) -> None:
    async with asyncio.timeout(WAIT_S):
        while not condition():
            await asyncio.sleep(0.1)


async def led(cluster: Cluster) -> GroupReplica:
    await until(lambda: cluster.leader(FIRST_GROUP) is not None)
    leader = cluster.leader(FIRST_GROUP)
    assert leader is not None
    return leader


async def change(cluster: Cluster, kind: ChangeKind, replica: int, home: int = 0) -> None:
    """Let the leader change the group's members, and wait until that is applied."""
    leader = await led(cluster)
    context = msgspec.msgpack.encode({replica: home} if home else {})
    entry = leader.consensus.raft.propose_configuration(Change(kind, ReplicaId(replica)), context)
    if home:
        cluster.place(FIRST_GROUP, ReplicaId(replica), home, leader)
    leader.consensus.pump()
    await until(lambda: leader.consensus.raft.applied_index >= entry.index)


async def hand_over(cluster: Cluster, replica: int) -> None:
    leader = await led(cluster)
    if leader.id != replica:
        leader.consensus.raft.transfer(ReplicaId(replica))
        leader.consensus.pump()
    await until(lambda: (found := cluster.leader(FIRST_GROUP)) is not None and found.id == replica)


def test_a_replica_that_was_away_hears_a_leader_that_joined_meanwhile() -> None:
    async def script(cluster: Cluster) -> None:
        await hand_over(cluster, 1)
        cluster.crash(3, torn=False)
        await change(cluster, ChangeKind.ADD_LEARNER, 4, home=4)
        await change(cluster, ChangeKind.PROMOTE, 4)
        await hand_over(cluster, 4)

        cluster.start(3)

        await until(lambda: not cluster.behind(FIRST_GROUP))
        leader = await led(cluster)
        assert leader.id == 4
        await leader.replica.write(a_put("a", v="1"))

    run(Shape(spares=1), script)


# Any log is too long, and nothing is kept for who is behind.
NO_LOGS = {
    "gramme.node.group_log.LOG_BYTES_MAX": 0,
    "gramme.node.group_log.LOG_BYTES_KEPT": 0,
    "gramme.node.group_log.LOG_BYTES_BEHIND_MAX": 0,
}


def test_a_new_member_is_sent_a_snapshot_though_nobody_else_has_heard_of_it() -> None:
    async def script(cluster: Cluster) -> None:
        await hand_over(cluster, 1)
        leader = await led(cluster)
        await leader.replica.write(a_put("a", v="1"))
        cluster.crash(2, torn=False)
        cluster.crash(3, torn=False)

        learner = Change(ChangeKind.ADD_LEARNER, ReplicaId(4))
        leader.consensus.raft.propose_configuration(learner, msgspec.msgpack.encode({4: 4}))
        cluster.place(FIRST_GROUP, ReplicaId(4), 4, leader)
        leader.consensus.pump()

        await until(lambda: cluster.counts["snapshots"] > 0)

    with limited(NO_LOGS):
        run(Shape(spares=1), script)


def test_a_snapshot_tells_where_those_are_who_joined_before_it() -> None:
    async def script(cluster: Cluster) -> None:
        await hand_over(cluster, 1)
        cluster.crash(3, torn=False)
        await change(cluster, ChangeKind.ADD_LEARNER, 4, home=4)
        leader = await led(cluster)
        await leader.replica.write(a_put("a", v="1"))

        cluster.start(3)

        await until(lambda: not cluster.behind(FIRST_GROUP))
        assert cluster.nodes[3].groups[FIRST_GROUP].consensus.position.nodes[4] == 4

    with limited(NO_LOGS):
        run(Shape(spares=1), script)
