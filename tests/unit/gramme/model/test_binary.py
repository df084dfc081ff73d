from __future__ import annotations

from base64 import b64encode

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gramme.errors import Serialization
from gramme.model.binary import binary_size, check_binary


@given(raw=st.binary(max_size=64))
def test_strict_base64_is_measured_by_its_bytes(raw: bytes) -> None:
    text = b64encode(raw).decode()

    assert check_binary(text) == binary_size(text) == len(raw)


@pytest.mark.parametrize(
    ("payload", "message"),
    [
        ("23456", "Base64 encoded length is expected a multiple of 4 bytes but found: 5"),
        ("YQ", "Base64 encoded length is expected a multiple of 4 bytes but found: 2"),
        ("=+/=", "Invalid last non-pad Base64 character dectected"),
        ("+/+=", "Invalid last non-pad Base64 character dectected"),
        ("YR==", "Invalid last non-pad Base64 character dectected"),
        ("====", "Invalid last non-pad Base64 character dectected"),
        ("YW-_", "Invalid Base64 character: '-'"),
        ("YW\nJ", "Invalid Base64 character: '\n'"),
        ("YWé=", "Invalid Base64 character: 'é'"),
        (1, "only base-64-encoded strings are convertible to bytes"),
        (["YQ=="], "Unrecognized collection type class java.nio.ByteBuffer"),
        ({}, "Start of structure or map found where not expected"),
    ],
)
def test_what_is_not_strict_base64_is_refused(payload: object, message: str) -> None:
    with pytest.raises(Serialization) as failure:
        check_binary(payload)

    assert failure.value.message == message
