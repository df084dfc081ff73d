"""Which addresses are this machine's own."""

from __future__ import annotations

import pytest

from gramme.loopback import is_loopback_address


@pytest.mark.parametrize(
    ("address", "expected"),
    [
        ("127.0.0.1", True),
        ("127.1.2.3", True),
        ("::1", True),
        ("::ffff:127.0.0.1", True),
        ("0.0.0.0", False),
        ("192.0.2.1", False),
        ("::ffff:192.0.2.1", False),
        ("2001:db8::1", False),
        ("fe80::1%eth0", False),
    ],
)
def test_only_loopback_is_this_machines_alone(address: str, expected: bool) -> None:
    assert is_loopback_address(address) is expected
