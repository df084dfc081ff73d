"""What who runs a cluster asks meta about principals, and what it answers, as bytes. No answer has a secret.

Plain msgpack with named fields. Bytes that are not what they should be raise `BadFrame`.
"""

from __future__ import annotations

import msgspec

from gramme.codec.frame import BadFrame, decode_other, encode_other
from gramme.codec.untrusted import UNREADABLE, decode_untrusted
from gramme.model.principal import AccessKey, Holder, Principal


class AddPrincipal(msgspec.Struct, frozen=True, tag="add"):
    """The same one may be added again: that changes nothing."""

    principal: Principal


class RemovePrincipal(msgspec.Struct, frozen=True, tag="remove"):
    """If there is none with this access key, it has been removed."""

    access_key: AccessKey


class ListPrincipals(msgspec.Struct, frozen=True, tag="list"):
    pass


PrincipalsCommand = AddPrincipal | RemovePrincipal | ListPrincipals


class _Outcome(msgspec.Struct, frozen=True):
    holders: list[Holder]
    error: Exception | None = None


_encoder = msgspec.msgpack.Encoder(enc_hook=encode_other)
_commands: msgspec.msgpack.Decoder[PrincipalsCommand] = msgspec.msgpack.Decoder(PrincipalsCommand)
_outcomes = msgspec.msgpack.Decoder(_Outcome, dec_hook=decode_other)


def encode_command(command: PrincipalsCommand) -> bytes:
    return _encoder.encode(command)


def decode_command(encoded: bytes) -> PrincipalsCommand:
    try:
        return decode_untrusted(_commands, encoded)
    except UNREADABLE as error:
        raise BadFrame(str(error)) from error


def encode_outcome(outcome: list[Holder] | Exception) -> bytes:
    """All principals there are once the command is done, or why it is not."""
    if isinstance(outcome, Exception):
        return _encoder.encode(_Outcome([], outcome))
    return _encoder.encode(_Outcome(outcome))


def decode_outcome(encoded: bytes) -> list[Holder] | Exception:
    try:
        outcome = decode_untrusted(_outcomes, encoded)
    except UNREADABLE as error:
        raise BadFrame(str(error)) from error
    return outcome.holders if outcome.error is None else outcome.error
