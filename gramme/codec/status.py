"""What a node says of itself to who runs the cluster, as bytes.

Plain msgpack with named fields, so that two releases understand each other in what they have in common.
"""

from __future__ import annotations

from typing import Literal

import msgspec

from gramme.codec.frame import BadFrame
from gramme.codec.untrusted import UNREADABLE, decode_untrusted

# A learner receives everything and is counted in nothing.
ReplicaRole = Literal["leader", "follower", "candidate", "learner"]


class PartitionStatus(msgspec.Struct, frozen=True):
    """A partition as meta knows it. `placement` has the node of each replica, by the replica's id."""

    group: int
    account: str
    region: str
    table: str
    # None for a partition of the table itself.
    index: str | None
    start: int
    last: int
    placement: dict[int, int]


class ReplicaStatus(msgspec.Struct, frozen=True):
    """A replica as its own node sees it. `leader` is the node that leads, or 0 if none is known here."""

    group: int
    role: ReplicaRole
    term: int
    leader: int
    # The last entry of the log that is applied, and the last one that there is.
    applied: int
    last: int
    # The nodes that the group is on.
    members: list[int]
    # How often it has asked a majority, for strong reads, whether it still leads: since it was opened.
    read_rounds: int = 0


class NodeStatus(msgspec.Struct, frozen=True):
    """`meta_index` says how old the partitions are: of two nodes, the one with the greater number knows more."""

    number: int
    version: str
    data_bytes: int
    meta_index: int
    partitions: list[PartitionStatus]
    replicas: list[ReplicaStatus]


_encoder = msgspec.msgpack.Encoder()
_decoder = msgspec.msgpack.Decoder(NodeStatus)


def encode_status(status: NodeStatus) -> bytes:
    return _encoder.encode(status)


def decode_status(encoded: bytes) -> NodeStatus:
    """Raises BadFrame."""
    try:
        return decode_untrusted(_decoder, encoded)
    except UNREADABLE as error:
        raise BadFrame(str(error)) from error
