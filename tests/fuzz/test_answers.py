"""The judge of answers does find fault with bad ones."""

from __future__ import annotations

from zlib import crc32

import pytest

from tests.fuzz.answers import problem
from tests.support.client import Answer

NOT_FOUND = b'{"__type":"com.amazonaws.dynamodb.v20120810#ResourceNotFoundException","message":"x"}'


def an_answer(body: bytes, status: int = 200, **headers: str) -> Answer:
    usual = {
        "x-amz-crc32": str(crc32(body)),
        "content-type": "application/x-amz-json-1.0",
        "x-amzn-requestid": "A" * 52,
    }
    return Answer(status, usual | {name.replace("_", "-"): headers[name] for name in headers}, body)


@pytest.mark.parametrize(
    ("operation", "answer"),
    [
        ("GetItem", an_answer(b'{"Item":{"a":{"L":[{"S":"x"}]}}}')),
        ("GetItem", an_answer(NOT_FOUND, 400)),
        ("TagResource", an_answer(b"")),
    ],
    ids=["an item", "a refusal", "nothing"],
)
def test_a_good_answer_is_let_through(operation: str, answer: Answer) -> None:
    assert problem(operation, answer) is None


@pytest.mark.parametrize(
    ("operation", "answer", "found"),
    [
        ("GetItem", an_answer(b"{}", 500), "the status is 500"),
        ("GetItem", an_answer(b"{}", x_amz_crc32="1"), "the checksum"),
        ("GetItem", an_answer(b"{}", content_type="text/plain"), "the content type"),
        ("GetItem", an_answer(b"{}", x_amzn_requestid=""), "no request id"),
        ("GetItem", an_answer(b"{"), "not JSON"),
        ("GetItem", an_answer(b"{}", 400), "without a type"),
        ("DescribeLimits", an_answer(NOT_FOUND, 400), "is no error of DescribeLimits"),
        ("GetItem", an_answer(b'{"Thing":1}'), "has ['Thing']"),
        ("GetItem", an_answer(b'{"Item":{"a":{"N":1}}}'), "GetItem.Item[a].N is no string"),
        ("ListTables", an_answer(b'{"TableNames":"a"}'), "ListTables.TableNames is no list"),
    ],
)
def test_a_bad_answer_is_found_out(operation: str, answer: Answer, found: str) -> None:
    assert found in (problem(operation, answer) or "")
