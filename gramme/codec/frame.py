"""Many commands, or many answers, as the bytes of one message between a router and a node, or two nodes.

A frame is a msgpack array of requests, or of answers. Each is an array in its turn, of the fields below in their order,
which is also how commands are encoded. An expression is in it as the bytes of its tree, an error as a `Refusal`.

The bytes of a frame come from the network. Those that are no frame raise `BadFrame`, whatever they are. In a frame, what is
wrong with one element spoils no other: a request that cannot be read becomes the answer to it, and an answer that cannot
be read says that the outcome is not known. What a decoder cannot see is whether values suit their expression: the router
has checked that, and a process that is not of the cluster gets no stream.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Sequence
from typing import Annotated, Any, Final, TypeVar

import msgspec

from gramme.codec.refusals import Refusal, error_of, refusal_of
from gramme.codec.trees import (
    decode_condition,
    decode_projection,
    decode_update,
    encode_expression,
)
from gramme.codec.untrusted import UNREADABLE, decode_untrusted
from gramme.commands import Command, Result
from gramme.errors import InternalServerError, OutcomeUnknown, Throttling
from gramme.expressions.condition import Condition
from gramme.expressions.projection import Projection
from gramme.expressions.update import UpdateExpression

E = TypeVar("E")

REQUEST_ID_BYTES: Final = 16
# More than a stream ever has waiting. What cannot be read costs more than its bytes, so there must be an end to it.
OPERATIONS_MAX: Final = 4_096
# A frame is decoded and handled in one go, so what waits is cut into frames of this size. A larger operation has one of
# its own, and beyond the second bound no link would take it.
FRAME_BYTES: Final = 1 << 20
OPERATION_BYTES_MAX: Final = 16 << 20


# The head of a msgpack array of up to 65,535 elements.
_ARRAY_16: Final = 0xDC
_ARRAY: Final = struct.Struct(">BH")


class BadFrame(Exception):
    """The bytes are not a frame. Whoever sends them has a bug, or is not one of us: the stream must end."""


class Request(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """A command for a group. Its answer has the same `number`.

    A write that has an `id`, of 16 bytes, takes effect once, however often it is sent, and only in `term`, so that it does
    not take effect late. If it is the `first` of its id nobody needs to look whether it was done. `epoch` is that of the map by which it was routed. `strong` asks for an answer that only the
    group's leader can give.
    """

    number: int
    group: int
    epoch: int
    strong: bool
    command: Command
    id: Annotated[bytes, msgspec.Meta(max_length=REQUEST_ID_BYTES)] = b""
    term: int = 0
    first: bool = False


class Answer(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """What a request came to: its result, or an error."""

    number: int
    result: Result
    error: Exception | None = None


class _Numbered(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """As much of a request or an answer as must be there."""

    number: int


def encode_requests(requests: Sequence[Request]) -> bytes:
    """At most OPERATIONS_MAX."""
    assert len(requests) <= OPERATIONS_MAX
    return _encoder.encode(requests)


def encode_operation(operation: Request | Answer) -> bytes:
    """One element of a frame."""
    return _encoder.encode(operation)


def frame_of(elements: Sequence[bytes]) -> bytes:
    """A frame of elements that are encoded already. At most OPERATIONS_MAX."""
    assert len(elements) <= OPERATIONS_MAX
    return b"".join([_ARRAY.pack(_ARRAY_16, len(elements)), *elements])


def decode_requests(frame: bytes) -> list[Request | Answer]:
    """The requests, and in the place of those that cannot be read what they are to be answered. Raises BadFrame."""
    return _decode(frame, _requests, _request)


def encode_answers(answers: Sequence[Answer]) -> bytes:
    """At most OPERATIONS_MAX."""
    assert len(answers) <= OPERATIONS_MAX
    return _encoder.encode(answers)


def decode_answers(frame: bytes) -> list[Answer]:
    """Raises BadFrame."""
    return _decode(frame, _answers, _answer)


def _decode(
    frame: bytes,
    all_at_once: msgspec.msgpack.Decoder[list[E]],
    one: Callable[[msgspec.Raw], E],
) -> list[E]:
    try:
        return decode_untrusted(all_at_once, frame)
    except UNREADABLE:
        pass
    try:
        return [one(element) for element in decode_untrusted(_elements, frame)]
    except UNREADABLE as error:
        raise BadFrame(str(error)) from error


def _request(element: msgspec.Raw) -> Request | Answer:
    try:
        return _one_request.decode(element)
    except UNREADABLE:
        number = _numbered.decode(element).number
        return Answer(number, None, InternalServerError())


def _answer(element: msgspec.Raw) -> Answer:
    try:
        return _one_answer.decode(element)
    except UNREADABLE as error:
        number = _numbered.decode(element).number
        return Answer(number, None, OutcomeUnknown(f"the answer cannot be read: {error}"))


def encode_other(value: Any) -> bytes | Refusal:
    """What is sent in the place of an expression or an error."""
    if isinstance(value, BaseException):
        return refusal_of(value)
    return encode_expression(value)


def decode_other(type: type, sent: Any) -> object:
    """What `encode_other` was given. BadTree is a ValueError, of which msgspec makes a DecodeError."""
    return _DECODE_OTHER[type](sent)


def _decode_error(sent: Any) -> Exception:
    return error_of(msgspec.convert(sent, Refusal))


_DECODE_OTHER: Final[dict[Any, Callable[[Any], object]]] = {
    Condition: decode_condition,
    UpdateExpression: decode_update,
    Projection: decode_projection,
    Exception: _decode_error,
    Throttling: _decode_error,
}

_FEW: Final = msgspec.Meta(max_length=OPERATIONS_MAX)

_encoder = msgspec.msgpack.Encoder(enc_hook=encode_other)
_elements = msgspec.msgpack.Decoder(Annotated[list[msgspec.Raw], _FEW])
_numbered = msgspec.msgpack.Decoder(_Numbered)
_one_request = msgspec.msgpack.Decoder(Request, dec_hook=decode_other)
_one_answer = msgspec.msgpack.Decoder(Answer, dec_hook=decode_other)
_requests: msgspec.msgpack.Decoder[list[Request | Answer]] = msgspec.msgpack.Decoder(
    Annotated[list[Request], _FEW], dec_hook=decode_other
)
_answers: msgspec.msgpack.Decoder[list[Answer]] = msgspec.msgpack.Decoder(
    Annotated[list[Answer], _FEW], dec_hook=decode_other
)
