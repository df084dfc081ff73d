"""Which of two faults a request is refused for, and what looking for the second may cost."""

from __future__ import annotations

import gzip

import pytest

from gramme.errors import Serialization, ValidationError
from gramme.router.http.exchange import Exchange
from gramme.router.http.unreadable import first_fault
from gramme.router.refusals import LOOKED_THROUGH_BYTES_MAX
from tests.unit.router.http.exchanges import an_exchange

FOUND = ValidationError("found")


def a_put(padding_bytes: int, is_compressed: bool) -> Exchange:
    """A PutItem with a number where DynamoDB wants text, at the end of so many bytes."""
    body = b'{"TableName":%b"t","Item":{"a":{"S":1}}}' % (b" " * padding_bytes)
    headers = {b"X-Amz-Target": b"DynamoDB_20120810.PutItem"}
    if not is_compressed:
        return an_exchange(headers, body)
    return an_exchange({**headers, b"Content-Encoding": b"gzip"}, gzip.compress(body))


@pytest.mark.parametrize("is_compressed", [False, True], ids=["plain", "gzip"])
def test_an_unreadable_value_comes_before_a_wrong_one(is_compressed: bool) -> None:
    exchange = a_put(100, is_compressed)

    assert isinstance(first_fault(exchange, FOUND), Serialization)


@pytest.mark.parametrize("is_compressed", [False, True], ids=["plain", "gzip"])
def test_a_body_of_megabytes_is_not_looked_through_again(is_compressed: bool) -> None:
    exchange = a_put(LOOKED_THROUGH_BYTES_MAX, is_compressed)

    assert first_fault(exchange, FOUND) is FOUND
