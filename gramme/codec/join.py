"""What a node answers to another one that asks whether it is known, as bytes."""

from __future__ import annotations

from typing import Annotated

import msgspec

from gramme.codec.frame import BadFrame
from gramme.codec.untrusted import UNREADABLE, decode_untrusted

ID_MAX = 2**62


class Welcome(msgspec.Struct, frozen=True):
    """`known` if the asker's number belongs to its data directory, as far as the answering node knows.

    `replica` is the id that meta's replica on the asker has; 0 if meta has not said so.
    """

    known: bool
    replica: Annotated[int, msgspec.Meta(ge=0, le=ID_MAX)] = 0


_encoder = msgspec.msgpack.Encoder()
_decoder = msgspec.msgpack.Decoder(Welcome)


def encode_welcome(welcome: Welcome) -> bytes:
    return _encoder.encode(welcome)


def decode_welcome(encoded: bytes) -> Welcome:
    """Raises BadFrame."""
    try:
        return decode_untrusted(_decoder, encoded)
    except UNREADABLE as error:
        raise BadFrame(str(error)) from error
