"""What a node says of its partitions and replicas to who runs the cluster."""

from __future__ import annotations

from collections.abc import Iterable

from gramme.codec.status import NodeStatus, PartitionStatus, ReplicaRole, ReplicaStatus
from gramme.model.table import TableRecord
from gramme.node.consensus import Consensus
from gramme.node.meta import Meta
from gramme.node.raft.ready import Role


def node_status(
    number: int, meta: Meta, logs: Iterable[Consensus], version: str, data_bytes: int
) -> NodeStatus:
    replicas = [_replica_status(log) for log in logs]
    partitions = _partitions(meta.records())
    return NodeStatus(number, version, data_bytes, meta.index, partitions, replicas)


def _partitions(records: Iterable[TableRecord]) -> list[PartitionStatus]:
    return [
        PartitionStatus(
            partition.group,
            record.table.account,
            record.table.region,
            record.table.name,
            index,
            partition.start,
            partition.last,
            record.placement.get(partition.group, {}),
        )
        for record in records
        for index, partitions in ((None, record.partitions), *record.index_partitions.items())
        for partition in partitions
    ]


def _replica_status(log: Consensus) -> ReplicaStatus:
    raft = log.raft
    return ReplicaStatus(
        log.group,
        _role(log),
        raft.term,
        log.leader_node,
        raft.applied_index,
        raft.log.last_index,
        sorted(
            node
            for replica, node in log.position.nodes.items()
            if replica in raft.configurations.members
        ),
        log.read_rounds,
    )


def _role(log: Consensus) -> ReplicaRole:
    match log.raft.role:
        case Role.LEADER:
            return "leader"
        case Role.CANDIDATE | Role.PRE_CANDIDATE:
            return "candidate"
        case Role.FOLLOWER:
            return "follower" if log.raft.is_voter else "learner"
