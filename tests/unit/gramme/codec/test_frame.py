"""Frames of commands and answers: they arrive as they were sent, and bytes that are no frame harm nobody."""

from __future__ import annotations

import tracemalloc
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gramme.codec.frame import (
    OPERATIONS_MAX,
    Answer,
    BadFrame,
    Request,
    decode_answers,
    decode_requests,
    encode_answers,
    encode_requests,
)
from gramme.commands import AllWritten, Found, Get, GetTotals, Page, Put, Update, Written
from gramme.errors import (
    ConditionalCheckFailed,
    InternalServerError,
    NotLeader,
    OutcomeUnknown,
    Throttling,
)
from gramme.expressions import tree
from gramme.expressions.condition import Condition
from gramme.model.values import DEPTH_MAX
from tests.support.examples import examples
from tests.unit.gramme.codec.drawn import Drawn, plain
from tests.unit.gramme.codec.test_trees import SEEDS, damaged

ID = b"0123456789abcdef"
EXISTS = Condition(tree.Call("attribute_exists", (tree.Path(("a",)),)))


def requests(drawn: Drawn) -> list[Request]:
    return [
        Request(number, drawn.number(), drawn.number(), drawn.flag(), drawn.command(), ID, 7)
        for number in range(drawn.random.randrange(6))
    ]


def answers(drawn: Drawn) -> list[Answer]:
    return [Answer(number, drawn.result()) for number in range(drawn.random.randrange(6))]


@given(SEEDS)
@settings(max_examples=examples(300), deadline=None)
def test_requests_arrive_as_they_were_sent(seed: int) -> None:
    sent = requests(Drawn(seed))

    assert plain(decode_requests(encode_requests(sent))) == plain(sent)


@given(SEEDS)
@settings(max_examples=examples(300), deadline=None)
def test_answers_arrive_as_they_were_sent(seed: int) -> None:
    sent = answers(Drawn(seed))

    assert plain(decode_answers(encode_answers(sent))) == plain(sent)


def test_requests_of_a_frame_share_an_expression() -> None:
    sent = [Request(number, 1, 1, True, Put(b"k", b"{}", 2, EXISTS)) for number in (1, 2)]

    first, second = decode_requests(encode_requests(sent))

    assert isinstance(first, Request) and isinstance(second, Request)
    assert isinstance(first.command, Put) and isinstance(second.command, Put)
    assert first.command.condition is second.command.condition is not None


def test_an_error_is_an_answer() -> None:
    sent = [
        Answer(1, Found(b"{}", 2)),
        Answer(2, None, ConditionalCheckFailed(b'{"a":{"S":"b"}}')),
        Answer(3, None, NotLeader(7)),
        Answer(4, None, KeyError("a bug of ours")),
    ]

    received = decode_answers(encode_answers(sent))

    assert received[0] == sent[0]
    assert [type(answer.error) for answer in received[1:]] == [
        ConditionalCheckFailed,
        NotLeader,
        InternalServerError,
    ]
    assert plain(received[1:3]) == plain(sent[1:3])
    assert "a bug of ours" not in str(received[3].error)


def test_some_writes_of_many_may_be_refused() -> None:
    written = Written(None, 0, 5)
    refusal = Throttling("index by-colour is behind")

    (received,) = decode_answers(
        encode_answers([Answer(1, AllWritten.of([written, refusal, written]))])
    )

    assert isinstance(received.result, AllWritten)
    first, second, third = received.result.answers()
    assert first == third == written
    assert isinstance(second, Throttling)
    assert second.message == "index by-colour is behind"


# One bad element


UNKNOWN_COMMAND = [2, 1, 1, True, [99], b""]
BAD_REQUESTS: list[Any] = [
    [2],
    UNKNOWN_COMMAND,
    [2, 1, 1, True, None, b""],
    [2, 1, 1, "yes", [8], b""],
    [2, 1, 1, True, [8], ID + b"x"],
    [2, 1, 1, True, [2, b"k", b"{}", 2, b"no tree"], b""],
    [2, 1, 1, True, [2, b"k", b"{}", 2, ["Call"]], b""],
    [2, 1, 1, True, [2, b"k", b"{}", 2, None, {":v": 5}], b""],
    [2, 1, 1, True, [4, b"k", {}, None, None, {}, "SOME_OLD"], b""],
]


@pytest.mark.parametrize("bad", BAD_REQUESTS, ids=repr)
def test_a_request_that_cannot_be_read_is_answered_and_spoils_no_other(bad: Any) -> None:
    good = [1, 1, 1, True, [8], b""]
    also_good = [3, 1, 1, True, [2, b"k", b"{}", 2], ID]

    first, second, third = decode_requests(msgspec.msgpack.encode([good, bad, also_good]))

    assert first == Request(1, 1, 1, True, GetTotals())
    assert isinstance(second, Answer)
    assert (second.number, type(second.error)) == (2, InternalServerError)
    assert third == Request(3, 1, 1, True, Put(b"k", b"{}", 2), ID)


BAD_ANSWERS: list[Any] = [
    [2],
    [2, [99]],
    [2, [1, "{}", 2]],
    [2, [5, [None, [2, None, 0, 0]], {}]],
    [2, [5, [[2, None, 0, 0]], {0: ["Throttling", "a"]}]],
    [2, [5, [None], {0: ["Serialization", "a"]}]],
    [2, None, ["Throttling"]],
    [2, None, ["ConditionalCheckFailed", "a", "no bytes"]],
    [2, None, "Throttling"],
]


@pytest.mark.parametrize("bad", BAD_ANSWERS, ids=repr)
def test_an_answer_that_cannot_be_read_is_an_unknown_outcome_and_spoils_no_other(bad: Any) -> None:
    good = [1, [1, b"{}", 2]]

    first, second, third = decode_answers(msgspec.msgpack.encode([good, bad, good]))

    assert first == third == Answer(1, Found(b"{}", 2))
    assert (second.number, second.result, type(second.error)) == (2, None, OutcomeUnknown)


def test_texts_that_are_not_utf8_spoil_no_other() -> None:
    update = Update(b"k", {"bad!": {"S": "x"}}, None)
    frame = encode_requests([Request(1, 1, 1, True, update), Request(2, 1, 1, True, GetTotals())])

    first, second = decode_requests(frame.replace(b"bad!", b"bad\xff"))

    assert isinstance(first, Answer)
    assert second == Request(2, 1, 1, True, GetTotals())


def test_fields_of_a_later_release_are_passed_over() -> None:
    request = [1, 1, 1, True, [1, b"k", True, None, "new"], b"", 7, False, "new"]

    assert decode_requests(msgspec.msgpack.encode([request])) == [
        Request(1, 1, 1, True, Get(b"k", True), b"", 7)
    ]


def test_fields_that_an_earlier_release_does_not_send_have_their_defaults() -> None:
    assert decode_answers(msgspec.msgpack.encode([[1, [3, [], 0, 0, 0, None]]])) == [
        Answer(1, Page([], 0, 0, 0, None))
    ]


# Bytes that are anything

READERS: tuple[Callable[[bytes], Any], ...] = (decode_requests, decode_answers)
BITS = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-(2**63), 2**64 - 1),
    st.integers(0, 9),
    st.floats(),
    st.binary(max_size=20),
    st.text(max_size=8),
    st.sampled_from([ID, "ConditionalCheckFailed", "NONE", "Path", "S"]),
    st.builds(
        msgspec.msgpack.Ext, st.integers(-128, 127).filter(lambda code: code != -1), st.binary()
    ),
    st.datetimes(timezones=st.just(UTC)),
)
ANYTHING = st.recursive(
    BITS,
    lambda inner: st.one_of(
        st.lists(inner, max_size=9),
        st.dictionaries(st.one_of(st.text(max_size=3), st.integers(0, 3)), inner, max_size=3),
    ),
    max_leaves=30,
)
ELEMENTS = st.lists(
    st.one_of(
        ANYTHING,
        st.tuples(st.integers(0, 9), st.integers(0, 9), st.just(1), st.booleans(), ANYTHING),
        st.tuples(
            st.integers(0, 9),
            st.lists(ANYTHING, max_size=9).flatmap(
                lambda fields: st.integers(1, 9).map(lambda tag: [tag, *fields])
            ),
        ),
    ),
    max_size=4,
)


def read(frame: bytes) -> None:
    for decode in READERS:
        try:
            elements = decode(frame)
        except BadFrame:
            continue
        assert all(isinstance(element, Request | Answer) for element in elements)


@given(st.binary())
@settings(max_examples=examples(300), deadline=None)
def test_any_bytes_are_a_frame_or_none(frame: bytes) -> None:
    read(frame)


@given(ELEMENTS)
@settings(max_examples=examples(150), deadline=None)
def test_any_values_are_a_frame_or_none(elements: list[Any]) -> None:
    read(msgspec.msgpack.encode(elements))


@given(SEEDS)
@settings(max_examples=examples(500), deadline=None)
def test_damaged_frames_are_frames_or_none(seed: int) -> None:
    drawn = Drawn(seed)

    for frame in (encode_requests(requests(drawn)), encode_answers(answers(drawn))):
        read(damaged(drawn.random, frame))


def test_a_frame_that_was_cut_off_anywhere_is_none() -> None:
    command = Put(b"key", b'{"a":{"S":"b"}}', 3, EXISTS, {":v": {"L": [{"N": "1"}]}})
    frame = encode_requests([Request(number, 1, 1, True, command, ID) for number in range(3)])

    for length in range(len(frame)):
        with pytest.raises(BadFrame):
            decode_requests(frame[:length])


@pytest.mark.parametrize(
    "frame",
    [
        b"",
        b"\x00",
        b"\xc0",
        b"\x80",
        b"\xc1",
        b"\x91\xc1",
        b"\x91\x01",
        b"\x91\x90",
        b"\x91\x91\xc0",
        b"\x90\x00",
        b"\x91" * 1_000_000,
        b"\x81\x01" * 1_000_000,
        b"\x91\x96\x01\x01\x01\xc3\x94\x01\xc4\x01" + b"\x91" * 1_000_000,
        b"\xdd\xff\xff\xff\xff",
        b"\xdd\xff\xff\xff\xff" * 100_000,
        b"\xdf\xff\xff\xff\xff\x01\x01",
        b"\xc6\xff\xff\xff\xff\x01",
        b"\xdb\xff\xff\xff\xff\x01",
    ],
    ids=lambda frame: frame[:12].hex(),
)
def test_what_is_no_frame_is_refused(frame: bytes) -> None:
    for decode in READERS:
        with pytest.raises(BadFrame):
            decode(frame)


def test_a_frame_has_an_end() -> None:
    for element in ([1, 1, 1, True, [8], b""], [1]):
        full = msgspec.msgpack.encode([element] * OPERATIONS_MAX)
        too_full = msgspec.msgpack.encode([element] * (OPERATIONS_MAX + 1))

        assert len(decode_requests(full)) == OPERATIONS_MAX
        with pytest.raises(BadFrame):
            decode_requests(too_full)


def test_values_may_be_as_deep_as_dynamodb_lets_them() -> None:
    value: Any = {"S": "a"}
    for _ in range(DEPTH_MAX):
        value = {"L": [value]}
    request = Request(1, 1, 1, True, Put(b"k", b"{}", 2, EXISTS, {":v": value}))

    assert plain(decode_requests(encode_requests([request]))) == plain([request])


@pytest.mark.parametrize(
    "level", [b"\xdd", b"\x81\xa1v\xdd", b"\xdf"], ids=["lists", "mixed", "maps"]
)
def test_counts_that_the_bytes_do_not_bear_out_cost_no_memory(level: bytes) -> None:
    # At each of a hundred levels an array says it has as many elements as there are bytes.
    size = 200_000
    head = b"\x91\x95\x01\x01\x01\xc3\x93\x04\xc4\x01k"
    frame = head + (level + size.to_bytes(4)) * 100 + b"\x01" * size

    tracemalloc.start()
    for decode in READERS:
        with pytest.raises(BadFrame):
            decode(frame)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()

    assert peak < 20 * size


def test_what_is_decoded_is_no_larger_than_a_multiple_of_the_frame() -> None:
    empty_maps: dict[str, Any] = {":v": {"L": [{} for _ in range(100_000)]}}
    frame = encode_requests([Request(1, 1, 1, True, Put(b"k", b"{}", 2, None, empty_maps))])

    tracemalloc.start()
    decode_requests(frame)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()

    assert peak < 100 * len(frame)


def test_dates_are_no_reason_to_fail() -> None:
    values = {":v": {"S": datetime(1, 1, 1, tzinfo=UTC)}}

    read(msgspec.msgpack.encode([[1, 1, 1, True, [2, b"k", b"{}", 2, None, values], b""]]))
