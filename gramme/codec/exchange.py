"""What a frame between a router and a node holds: requests one way, answers the other, and now and then news of the tables.

Requests and answers are as in `frame.py`, commands to meta and their outcomes as in `catalog.py`, news as in `news.py`: opaque
here, so that what is wrong with one of them spoils nothing else.
"""

from __future__ import annotations

import msgspec

from gramme.codec.frame import BadFrame
from gramme.codec.news import Part
from gramme.codec.untrusted import UNREADABLE, decode_untrusted


class ToNode(msgspec.Struct, array_like=True):
    requests: bytes = b""
    # Commands to meta, with the number their outcome shall have.
    administration: list[tuple[int, bytes]] = []
    # Asks for news: those of after this index of meta's log.
    known: int | None = None


class ToRouter(msgspec.Struct, array_like=True):
    answers: bytes = b""
    outcomes: list[tuple[int, bytes]] = []
    news: Part | None = None


_encoder = msgspec.msgpack.Encoder()
_to_node = msgspec.msgpack.Decoder(ToNode)
_to_router = msgspec.msgpack.Decoder(ToRouter)


def encode_exchange(frame: ToNode | ToRouter) -> bytes:
    return _encoder.encode(frame)


def decode_to_node(frame: bytes) -> ToNode:
    """Raises BadFrame."""
    try:
        return decode_untrusted(_to_node, frame)
    except UNREADABLE as error:
        raise BadFrame(str(error)) from error


def decode_to_router(frame: bytes) -> ToRouter:
    """Raises BadFrame."""
    try:
        return decode_untrusted(_to_router, frame)
    except UNREADABLE as error:
        raise BadFrame(str(error)) from error
