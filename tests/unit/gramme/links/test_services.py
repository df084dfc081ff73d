"""How a message holds a frame."""

from __future__ import annotations

import pytest

from gramme.links.services import PEER, STORAGE, NotAFrame, Service

SIZES = (1, 127, 128, 16_383, 16_384, 2_097_151, 2_097_152)


@pytest.mark.parametrize("service", [PEER, STORAGE], ids=["peer", "storage"])
def test_a_frame_is_encoded_as_protobuf_does_it(service: Service) -> None:
    for size in SIZES:
        frame = b"x" * size

        encoded = service.encode(frame)

        assert encoded == service.message(content=frame).SerializeToString()
        assert service.decode(encoded) == frame
    assert service.decode(service.encode(b"")) == b""


def test_what_another_release_adds_to_a_message_is_passed_over() -> None:
    with_field_2 = PEER.encode(b"frame") + b"\x12\x03new"

    assert PEER.decode(with_field_2) == b"frame"


@pytest.mark.parametrize("message", [b"\xff\xff\xff", b"\x0a\x05abc"], ids=["garbage", "truncated"])
def test_what_protobuf_cannot_read_is_no_frame(message: bytes) -> None:
    with pytest.raises(NotAFrame):
        PEER.decode(message)
