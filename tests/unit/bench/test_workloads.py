"""The requests that the bench sends are whole, and of the length they claim."""

import json
import random

import pytest

from bench.wire import answer_in
from bench.workloads import (
    DATA_SLOT,
    NOISE,
    PARTITION_SLOT,
    Dataset,
    Workload,
    data_for,
    item_text,
    split_at_slots,
    workloads,
)
from bench.wrk import script

DATASET = Dataset(items=100, data_bytes=1000)


@pytest.mark.parametrize("workload", workloads(DATASET), ids=lambda workload: workload.name)
def test_a_request_is_as_long_as_it_says(workload: Workload) -> None:
    request = workload.request(random.Random(1))

    head, _, body = request.partition(b"\r\n\r\n")
    assert f"Content-Length: {len(body)}".encode() in head
    asked = json.loads(body)
    assert asked.get("TableName") == "bench" or list(asked["RequestItems"]) == ["bench"]


@pytest.mark.parametrize("workload", workloads(DATASET), ids=lambda workload: workload.name)
def test_the_script_for_wrk_has_no_slot_left(workload: Workload) -> None:
    text = script(workload, seed=1)

    assert "<partition>" not in text
    assert "<sort>" not in text
    assert "<data>" not in text


def test_text_is_split_around_its_slots() -> None:
    pieces = split_at_slots(f"a{PARTITION_SLOT}b{DATA_SLOT}")

    assert pieces == ("a", PARTITION_SLOT, "b", DATA_SLOT)


def test_data_wraps_around_the_noise() -> None:
    data = data_for(len(NOISE) - 1, 2 * len(NOISE))

    assert len(data) == 2 * len(NOISE)
    assert data[:2] == NOISE[-1] + NOISE[0]


def test_items_of_one_partition_key_are_numbered_in_order() -> None:
    keys = [json.loads(item_text(number, 10)) for number in (24, 25)]

    assert [(key["pk"]["S"], key["sk"]["S"]) for key in keys] == [
        ("p00000000", "s24"),
        ("p00000001", "s00"),
    ]


WHOLE = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}"


@pytest.mark.parametrize("missing", [1, 2, 5, len(WHOLE)])
def test_a_partial_answer_is_not_an_answer(missing: int) -> None:
    assert answer_in(WHOLE[: len(WHOLE) - missing]) is None


@pytest.mark.parametrize(
    ("received", "stays"),
    [
        (WHOLE, True),
        (WHOLE.replace(b"\r\n\r\n", b"\r\nConnection: close\r\n\r\n"), False),
        (WHOLE.replace(b"1.1", b"1.0"), False),
    ],
    ids=["keep-alive", "close", "old protocol"],
)
def test_an_answer_says_whether_the_connection_stays(received: bytes, stays: bool) -> None:
    complete = answer_in(received)

    assert complete is not None
    assert (complete[0].status, complete[0].body, complete[1]) == (200, b"{}", stays)
