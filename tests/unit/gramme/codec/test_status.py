"""What a node says of itself, as bytes and back."""

from __future__ import annotations

import pytest

from gramme.codec.frame import BadFrame
from gramme.codec.status import (
    NodeStatus,
    PartitionStatus,
    ReplicaStatus,
    decode_status,
    encode_status,
)

PARTITION = PartitionStatus(3, "0" * 12, "eu", "Music", "by-year", 0, (1 << 64) - 1, {4: 1})
REPLICA = ReplicaStatus(3, "learner", 2, 1, 10, 12, [1, 2, 3])
STATUS = NodeStatus(2, "0.1.0", 1 << 40, 7, [PARTITION], [REPLICA])


def test_what_is_said_comes_back() -> None:
    assert decode_status(encode_status(STATUS)) == STATUS


@pytest.mark.parametrize(
    "encoded",
    [b"", b"\xc1", b"\x80", encode_status(STATUS)[:-1], b"\xdd\xff\xff\xff\xff", b"\x91" * 5000],
    ids=["nothing", "no msgpack", "empty", "cut short", "a count that lies", "deep"],
)
def test_what_makes_no_sense_is_a_bad_frame(encoded: bytes) -> None:
    with pytest.raises(BadFrame):
        decode_status(encoded)
