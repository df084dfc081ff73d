"""What is said of whole tables, as bytes: commands to meta, what they come to, and the tables and partitions there are.

These are rare, so they are plain msgpack with named fields. Bytes that are not what they should be raise `BadFrame`.
"""

from __future__ import annotations

from typing import TypeVar

import msgspec

from gramme.codec.frame import BadFrame, decode_other, encode_other
from gramme.codec.untrusted import UNREADABLE, decode_untrusted
from gramme.commands import Administration
from gramme.model.table import Table, TableRecord

T = TypeVar("T")


class _Outcome(msgspec.Struct, frozen=True, array_like=True):
    """What a command to meta came to."""

    table: Table | None
    error: Exception | None = None


def encode_administration(command: Administration) -> bytes:
    return _encoder.encode(command)


def decode_administration(encoded: bytes) -> Administration:
    return _decode(encoded, _administrations)


def encode_outcome(outcome: Table | Exception) -> bytes:
    if isinstance(outcome, Exception):
        return _encoder.encode(_Outcome(None, outcome))
    return _encoder.encode(_Outcome(outcome))


def decode_outcome(encoded: bytes) -> Table | Exception:
    outcome = _decode(encoded, _outcomes)
    found = outcome.table or outcome.error
    if found is None:
        raise BadFrame("neither a table nor an error")
    return found


def encode_record(record: TableRecord) -> bytes:
    return _encoder.encode(record)


def decode_record(encoded: bytes) -> TableRecord:
    return _decode(encoded, _records)


def _decode(encoded: bytes, decoder: msgspec.msgpack.Decoder[T]) -> T:
    try:
        return decode_untrusted(decoder, encoded)
    except UNREADABLE as error:
        raise BadFrame(str(error)) from error


_encoder = msgspec.msgpack.Encoder(enc_hook=encode_other)
_administrations: msgspec.msgpack.Decoder[Administration] = msgspec.msgpack.Decoder(Administration)
_outcomes = msgspec.msgpack.Decoder(_Outcome, dec_hook=decode_other)
_records = msgspec.msgpack.Decoder(TableRecord)
