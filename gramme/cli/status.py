"""Pure: what all nodes say of themselves, put together, and shown to a person or a program."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import msgspec

from gramme.codec.status import NodeStatus, PartitionStatus, ReplicaStatus
from gramme.partitions import TOKEN_SPACE

# The group of what the nodes know together: tables and where they are.
META_GROUP = 0
PARTITION_COLUMNS = (
    *("TABLE", "INDEX", "GROUP", "RANGE", "LEADER", "TERM", "READ ROUNDS"),
    "REPLICAS (NODE:APPLIED)",
)
UNITS = ("bytes", "kB", "MB", "GB", "TB")


class NodeLine(msgspec.Struct, frozen=True):
    """`reason` is why a node is unreachable."""

    number: int
    address: str
    up: bool
    reason: str = ""
    version: str = ""
    data_bytes: int = 0


class ReplicaLine(msgspec.Struct, frozen=True):
    """`role` is "unknown" if the node cannot be asked, "missing" if it has no such replica; then the rest is null.

    `lag` is how many entries the leader has applied and this replica has not, null if nobody leads. `read_rounds` is how
    often it has asked a majority, for strong reads, whether it leads.
    """

    node: int
    role: str
    applied: int | None = None
    last: int | None = None
    lag: int | None = None
    read_rounds: int | None = None


class PartitionLine(msgspec.Struct, frozen=True):
    """`leader` is a node, or 0. Group 0 has no table. `start` and `last` are tokens, in hexadecimal."""

    group: int
    account: str
    region: str
    table: str
    index: str | None
    start: str
    last: str
    share: float
    leader: int
    term: int
    replicas: list[ReplicaLine]


class ClusterStatus(msgspec.Struct, frozen=True):
    nodes: list[NodeLine]
    partitions: list[PartitionLine]

    @property
    def is_led(self) -> bool:
        """Whether every partition has a leader."""
        return all(partition.leader for partition in self.partitions)


def put_together(
    addresses: Sequence[str], answers: Mapping[int, NodeStatus | str]
) -> ClusterStatus:
    """`answers` has what each node said, by its number, or why there is no answer."""
    said = {number: one for number, one in answers.items() if isinstance(one, NodeStatus)}
    nodes = [
        _node_line(number, address, answers[number])
        for number, address in enumerate(addresses, start=1)
    ]
    newest = max(said.values(), key=lambda one: one.meta_index, default=None)
    everybody = {number: number for number in answers}
    meta = PartitionStatus(META_GROUP, "", "", "", None, 0, TOKEN_SPACE - 1, everybody)
    known = [] if newest is None else newest.partitions
    known = sorted(known, key=_order)
    return ClusterStatus(nodes, [_partition_line(one, said) for one in (meta, *known)])


def _node_line(number: int, address: str, answer: NodeStatus | str) -> NodeLine:
    if isinstance(answer, str):
        return NodeLine(number, address, False, answer)
    return NodeLine(number, address, True, "", answer.version, answer.data_bytes)


def _order(one: PartitionStatus) -> tuple[str, str, str, str, int]:
    return one.account, one.region, one.table, one.index or "", one.start


def _partition_line(one: PartitionStatus, said: Mapping[int, NodeStatus]) -> PartitionLine:
    replicas = {
        number: replica
        for number, status in said.items()
        for replica in status.replicas
        if replica.group == one.group
    }
    leading = [number for number, replica in replicas.items() if replica.role == "leader"]
    # One that was cut off may still take itself for the leader of a term before.
    leader = max(leading, key=lambda number: replicas[number].term, default=0)
    members = replicas[leader].members if leader else sorted(one.placement.values())
    return PartitionLine(
        one.group,
        one.account,
        one.region,
        one.table,
        one.index,
        f"{one.start:016x}",
        f"{one.last:016x}",
        (one.last - one.start + 1) / TOKEN_SPACE,
        leader,
        max((replica.term for replica in replicas.values()), default=0),
        [
            _replica_line(node, node in said, replicas.get(node), replicas.get(leader))
            for node in members
        ],
    )


def _replica_line(
    node: int, is_up: bool, replica: ReplicaStatus | None, leader: ReplicaStatus | None
) -> ReplicaLine:
    if replica is None:
        return ReplicaLine(node, "missing" if is_up else "unknown")
    # Both were asked at nearly the same time, and a follower may have been asked later.
    lag = None if leader is None else max(0, leader.applied - replica.applied)
    return ReplicaLine(node, replica.role, replica.applied, replica.last, lag, replica.read_rounds)


# For a person


def as_text(status: ClusterStatus) -> str:
    nodes = [("NODE", "ADDRESS", "STATE", "DATA", "VERSION")]
    for node in status.nodes:
        state = "up" if node.up else f"unreachable: {node.reason}"
        size = _size(node.data_bytes) if node.up else "-"
        nodes.append((str(node.number), node.address, state, size, node.version or "-"))
    namespaces = {(one.account, one.region) for one in status.partitions if one.table}
    partitions: list[tuple[str, ...]] = [PARTITION_COLUMNS]
    for one in status.partitions:
        name = one.table or "(meta)"
        if one.table and len(namespaces) > 1:
            name = f"{one.account}/{one.region}/{name}"
        share = f"{one.share:.1%}" if one.table else "-"
        leader = str(one.leader) if one.leader else "none"
        rounds = sum(replica.read_rounds or 0 for replica in one.replicas)
        replicas = "  ".join(map(_replica_text, one.replicas))
        index = one.index or "-"
        partitions.append(
            (name, index, str(one.group), share, leader, str(one.term), str(rounds), replicas)
        )
    return f"{aligned(nodes)}\n\n{aligned(partitions)}"


def _replica_text(replica: ReplicaLine) -> str:
    if replica.applied is None:
        return f"{replica.node}:{replica.role}"
    behind = f" ({replica.lag} behind)" if replica.lag else ""
    return f"{replica.node}:{replica.applied}{behind}"


def aligned(rows: Sequence[tuple[str, ...]]) -> str:
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return "\n".join(
        "   ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
        for row in rows
    )


def _size(size_bytes: int) -> str:
    size, unit = float(size_bytes), 0
    while size >= 1000 and unit < len(UNITS) - 1:
        size, unit = size / 1000, unit + 1
    return f"{size:.0f} {UNITS[unit]}" if unit == 0 else f"{size:.1f} {UNITS[unit]}"
