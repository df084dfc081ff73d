"""Access keys that come and go while a verifier is in use: nothing of a key outlives it."""

from __future__ import annotations

import pytest

from gramme.clock import SystemClock
from gramme.errors import GrammeError, InvalidSignature, UnrecognizedClient
from gramme.model.principal import Principal
from gramme.router.http.callers import verifier
from gramme.router.http.credentials import Credential, credentials_of
from gramme.router.http.verifier import Verifier
from gramme.signature import SERVICE, TERMINATOR, sign_next, signing_key
from gramme.start import StartRefused
from tests.unit.router.http.exchanges import Signer, query_of

ACCOUNT = "111122223333"
KNOWN = {"AKID": Credential(ACCOUNT, "secret")}


def a_verifier() -> Verifier:
    return Verifier(KNOWN, SystemClock())


def caller_of(verifier: Verifier, signer: Signer, in_query: bool = False) -> str:
    exchange = signer.sign(in_query=in_query)
    return verifier.caller(exchange, query_of(exchange)).account


@pytest.mark.parametrize("in_query", [False, True], ids=["header", "query"])
def test_client_that_was_let_in_is_refused_once_its_key_is_gone(in_query: bool) -> None:
    verifier, signer = a_verifier(), Signer()
    assert caller_of(verifier, signer, in_query) == ACCOUNT

    verifier.replace_credentials({"OTHER": Credential(ACCOUNT, "secret")})

    with pytest.raises(UnrecognizedClient):
        caller_of(verifier, signer, in_query)
    assert caller_of(verifier, Signer("OTHER"), in_query) == ACCOUNT


def test_client_that_signs_with_the_secret_of_before_is_refused() -> None:
    verifier = a_verifier()
    caller_of(verifier, Signer())

    verifier.replace_credentials({"AKID": Credential("0" * 12, "another")})

    with pytest.raises(InvalidSignature):
        caller_of(verifier, Signer())
    assert caller_of(verifier, Signer(secret="another")) == "0" * 12


def test_client_whose_key_has_moved_to_another_account_is_of_that_account() -> None:
    verifier = a_verifier()
    caller_of(verifier, Signer())

    verifier.replace_credentials({"AKID": Credential("0" * 12, "secret")})

    assert caller_of(verifier, Signer()) == "0" * 12


@pytest.mark.parametrize(
    ("now", "goes_on"),
    [
        ({}, False),
        ({"AKID": Credential(ACCOUNT, "another")}, False),
        ({"AKID": Credential("0" * 12, "secret")}, False),
        ({"AKID": Credential(ACCOUNT, "secret"), "OTHER": Credential(ACCOUNT, "x")}, True),
    ],
    ids=["gone", "another secret", "another account", "another key"],
)
def test_stream_goes_on_as_long_as_its_key_is_what_it_was(
    now: dict[str, Credential], goes_on: bool
) -> None:
    verifier, exchange = a_verifier(), Signer().sign()
    _, chain = verifier.begin(exchange)
    stamp, first = exchange.headers[b"X-Amz-Date"], exchange.headers[b"Authorization"][-64:]
    date = stamp[:8].decode()
    key = signing_key("secret", date, "eu-north-1", SERVICE)
    scope = f"{date}/eu-north-1/{SERVICE}/{TERMINATOR}".encode()
    signature = sign_next(key, stamp, scope, first, b"hello")

    verifier.replace_credentials(now)

    if goes_on:
        chain.check(b"hello", signature)
    else:
        with pytest.raises(UnrecognizedClient):
            chain.check(b"hello", signature)


def test_principals_are_credentials_of_their_accounts() -> None:
    shop = Principal("AKIA" + "SHOP" * 4, "shop", ACCOUNT, "s" * 40)

    assert credentials_of([shop]) == {shop.access_key: Credential(ACCOUNT, "s" * 40)}


# Where they come from


def test_nobody_is_known_before_principals_are() -> None:
    empty = verifier("", "0.0.0.0", insecure_bind=False, principals=True)

    assert empty is not None
    with pytest.raises(GrammeError) as failure:
        caller_of(empty, Signer())
    assert isinstance(failure.value, UnrecognizedClient)


def test_principals_and_a_file_of_credentials_are_not_both_taken() -> None:
    with pytest.raises(StartRefused, match="give --principals or --credentials, not both"):
        verifier("credentials", "127.0.0.1", insecure_bind=False, principals=True)
