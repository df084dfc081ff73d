"""What is asked about principals, and answered."""

from __future__ import annotations

import msgspec
import pytest

from gramme.codec.frame import BadFrame
from gramme.codec.principals import (
    AddPrincipal,
    ListPrincipals,
    PrincipalsCommand,
    RemovePrincipal,
    decode_command,
    decode_outcome,
    encode_command,
    encode_outcome,
)
from gramme.errors import LimitExceeded, NotLeader
from gramme.model.principal import Principal

SHOP = Principal("AKIA" + "SHOP" * 4, "shop", "111122223333", "s" * 40)


@pytest.mark.parametrize(
    "command", [AddPrincipal(SHOP), RemovePrincipal(SHOP.access_key), ListPrincipals()]
)
def test_command_comes_back_from_its_bytes(command: PrincipalsCommand) -> None:
    assert decode_command(encode_command(command)) == command


def test_outcome_comes_back_from_its_bytes_without_a_secret() -> None:
    encoded = encode_outcome([SHOP.holder])

    assert decode_outcome(encoded) == [SHOP.holder]
    assert SHOP.secret.encode() not in encoded
    assert decode_outcome(encode_outcome([])) == []


def test_errors_come_back_as_they_are() -> None:
    full = decode_outcome(encode_outcome(LimitExceeded("full")))
    other = decode_outcome(encode_outcome(NotLeader(3, 7)))

    assert isinstance(full, LimitExceeded)
    assert full.message == "full"
    assert isinstance(other, NotLeader)
    assert other.hint == 3


@pytest.mark.parametrize(
    "wrong",
    [
        {"access_key": "AKIA"},
        {"access_key": SHOP.access_key + "\n"},
        {"name": ""},
        {"name": "a b"},
        {"name": "x" * 65},
        {"account": "1"},
        {"secret": "s" * 39},
        {"secret": "]" * 40},
        {"secret": 7},
    ],
)
def test_principal_that_is_none_is_refused_without_its_secret(wrong: dict[str, object]) -> None:
    principal = {**msgspec.to_builtins(SHOP), **wrong}
    encoded = msgspec.msgpack.encode({"type": "add", "principal": principal})

    with pytest.raises(BadFrame) as failure:
        decode_command(encoded)

    assert SHOP.secret not in str(failure.value)
    assert "]]" not in str(failure.value)


@pytest.mark.parametrize(
    "encoded",
    [b"", b"\xc1", b"\x80", encode_command(AddPrincipal(SHOP))[:-1], b"\xdd\xff\xff\xff\xff"],
    ids=["nothing", "no msgpack", "empty", "cut short", "a count that lies"],
)
def test_what_makes_no_sense_is_a_bad_frame(encoded: bytes) -> None:
    with pytest.raises(BadFrame):
        decode_command(encoded)
    with pytest.raises(BadFrame):
        decode_outcome(encoded)


def test_nothing_that_shows_a_principal_shows_its_secret() -> None:
    shown = [repr(SHOP), str(SHOP), repr(AddPrincipal(SHOP)), repr([SHOP]), repr(SHOP.holder)]

    assert not [text for text in shown if SHOP.secret in text]
