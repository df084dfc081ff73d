"""What is sent to etcd, and what is made of h2load's words."""

import pytest

from bench.etcd import Tally, complaint, latencies_ms, put_body, tally_of

SAID = """starting benchmark...
finished in 3.00s, 2721.00 req/s, 247.82KB/s
requests: 8163 total, 8195 started, 8163 done, 8160 succeeded, 3 failed, 0 errored, 0 timeout
status codes: 8160 2xx, 0 3xx, 3 4xx, 0 5xx
"""


def test_a_put_is_a_framed_message_of_two_fields() -> None:
    body = put_body(b"key", b"v" * 300)

    message = b"\x0a\x03key" + b"\x12\xac\x02" + b"v" * 300
    assert body == b"\x00" + len(message).to_bytes(4, "big") + message


def test_what_h2load_counted_is_found_in_its_words() -> None:
    assert tally_of(SAID) == Tally(3.0, started=8195, done=8163, good=8160)
    assert tally_of(SAID.replace("3.00s", "288.28ms")).seconds == pytest.approx(0.28828)


def test_h2load_that_did_not_end_is_no_tally() -> None:
    with pytest.raises(ValueError, match="no route"):
        tally_of("no route to host")


def test_latencies_are_in_order_and_in_milliseconds() -> None:
    assert latencies_ms("17\t200\t7483\n18\t200\t250\n") == [0.25, 7.483]


@pytest.mark.parametrize(
    ("revisions", "is_fine"),
    [(99, False), (100, True), (132, True), (133, False)],
    ids=["one not done", "as answered", "as started", "more than was asked"],
)
def test_each_answered_put_must_be_a_revision(revisions: int, is_fine: bool) -> None:
    tally = Tally(1.0, started=132, done=100, good=100)

    assert (complaint(tally, revisions) == "") is is_fine


def test_another_status_than_200_is_complained_of() -> None:
    assert "3 answers" in complaint(tally_of(SAID), 8163)
