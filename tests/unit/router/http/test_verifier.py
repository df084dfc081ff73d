"""Who asks, when only those may who can sign. Botocore's signer says what a good signature is."""

from __future__ import annotations

import time
from datetime import UTC, datetime, timedelta

import pytest

from gramme.clock import VirtualClock
from gramme.errors import (
    GrammeError,
    IncompleteSignature,
    InvalidSignature,
    MissingAuthenticationToken,
    UnrecognizedClient,
)
from gramme.router.http import auth, verifier
from gramme.router.http.credentials import Credential
from gramme.router.http.exchange import Exchange
from gramme.router.http.verifier import Verifier
from gramme.router.operations.context import Caller
from tests.unit.router.http.exchanges import Signer, an_exchange, query_of

CREDENTIALS = {
    "AKID": Credential("111122223333", "secret"),
    "ASIA": Credential("000000000000", "secret", "token"),
}
MISMATCH = (
    "The request signature we calculated does not match the signature you provided. "
    "Check your AWS Secret Access Key and signing method. "
    "Consult the service documentation for details."
)
MINUTE_MS = 60_000


def a_verifier(ahead_ms: int = 0) -> Verifier:
    """One whose clock is so far ahead of the signers'."""
    return Verifier(CREDENTIALS, VirtualClock(time.time_ns() // 1_000_000 + ahead_ms))


def failure_of(exchange: Exchange, verifier: Verifier | None = None) -> GrammeError:
    with pytest.raises(GrammeError) as failure:
        (verifier or a_verifier()).caller(exchange, query_of(exchange))
    return failure.value


def changed(exchange: Exchange, name: bytes, old: bytes, new: bytes) -> Exchange:
    assert old in exchange.headers[name]
    headers = {**exchange.headers, name: exchange.headers[name].replace(old, new)}
    return an_exchange(headers, bytes(exchange.body), exchange.target)


@pytest.mark.parametrize("in_query", [False, True], ids=["header", "query"])
def test_a_good_signature_tells_the_account_and_the_region(in_query: bool) -> None:
    exchange = Signer().sign(b'{"a":1}', in_query=in_query)

    caller = a_verifier().caller(exchange, query_of(exchange))

    assert caller == Caller("111122223333", "eu-north-1")


@pytest.mark.parametrize("in_query", [False, True], ids=["header", "query"])
def test_a_session_token_is_shown_with_a_temporary_key(in_query: bool) -> None:
    exchange = Signer("ASIA", token="token").sign(in_query=in_query)
    verifier = a_verifier()

    for _ in range(2):
        assert verifier.caller(exchange, query_of(exchange)).account == "000000000000"


def test_a_client_is_known_by_its_first_request_and_still_has_to_sign() -> None:
    signer, verifier = Signer(), a_verifier()
    verifier.caller(signer.sign(), b"")

    good = verifier.caller(signer.sign(b'{"a":2}'), b"")
    forged = signer.sign(b'{"a":2}')
    forged.body = b'{"a":3}'

    assert good.account == "111122223333"
    assert failure_of(forged, verifier).message == MISMATCH


def test_what_is_remembered_is_bounded() -> None:
    verifier_ = a_verifier()

    for number in range(auth.CALLERS_MAX + 10):
        verifier_.caller(Signer(region=f"r{number}").sign(), b"")

    assert len(verifier_._grants) <= auth.CALLERS_MAX
    assert len(verifier_._keys) <= verifier._KEYS_MAX


def test_a_client_that_failed_is_not_remembered() -> None:
    verifier = a_verifier()

    failure_of(Signer(secret="guess").sign(), verifier)

    assert not verifier._grants


def test_spaces_and_queries_are_signed_in_their_canonical_form() -> None:
    exchange = Signer().sign(path="/?b=2&a=%20x", headers={"X-Amz-Meta": "  a   b  "})

    assert a_verifier().caller(exchange, query_of(exchange)).region == "eu-north-1"


@pytest.mark.parametrize("first", [True, False], ids=["first request", "later"])
@pytest.mark.parametrize("minutes", [-14, 14])
def test_clocks_may_differ_a_little(minutes: int, first: bool) -> None:
    verifier = a_verifier(minutes * MINUTE_MS)
    if not first:
        verifier.caller(Signer().sign(), b"")

    assert verifier.caller(Signer().sign(), b"")


@pytest.mark.parametrize("first", [True, False], ids=["first request", "later"])
@pytest.mark.parametrize("in_query", [False, True], ids=["header", "query"])
def test_an_old_signature_has_expired(first: bool, in_query: bool) -> None:
    now = datetime.now(UTC).replace(microsecond=0)
    clock = VirtualClock(int(now.timestamp() * 1000))
    verifier = Verifier(CREDENTIALS, clock)
    exchange = Signer().sign(in_query=in_query)
    stamp = stamp_of(exchange)
    if not first:
        verifier.caller(exchange, query_of(exchange))
    clock.advance(16 * MINUTE_MS)

    failure = failure_of(exchange, verifier)

    later = now + timedelta(minutes=16)
    assert isinstance(failure, InvalidSignature)
    assert failure.message == (
        f"Signature expired: {stamp} is now earlier than {text(later - timedelta(minutes=15))} "
        f"({text(later)} - 15 min.)"
    )


def test_a_signature_of_tomorrow_is_not_yet_current() -> None:
    now = datetime.now(UTC).replace(microsecond=0) - timedelta(minutes=20)
    verifier = Verifier(CREDENTIALS, VirtualClock(int(now.timestamp() * 1000)))
    exchange = Signer().sign()

    failure = failure_of(exchange, verifier)

    assert isinstance(failure, InvalidSignature)
    assert failure.message == (
        f"Signature not yet current: {stamp_of(exchange)} is still later than "
        f"{text(now + timedelta(minutes=15))} ({text(now)} + 15 min.)"
    )


def stamp_of(exchange: Exchange) -> str:
    header = exchange.header(b"x-amz-date")
    if header is not None:
        return header.decode()
    return query_of(exchange).partition(b"X-Amz-Date=")[2].partition(b"&")[0].decode()


def text(moment: datetime) -> str:
    return f"{moment:%Y%m%dT%H%M%SZ}"


@pytest.mark.parametrize("date", [b"201", b"Sun, 23 Nov 2014 04:07:43 GMT", b"20261301T000000Z"])
@pytest.mark.parametrize("name", [b"X-Amz-Date", b"Date"])
def test_a_time_is_in_basic_format(name: bytes, date: bytes) -> None:
    good = Signer().sign()
    headers = {key: value for key, value in good.headers.items() if key != b"X-Amz-Date"}

    failure = failure_of(an_exchange({**headers, name: date}))

    assert isinstance(failure, IncompleteSignature)
    assert failure.message == (
        f"Date must be in ISO-8601 'basic format'. Got '{date.decode()}'. "
        "See http://en.wikipedia.org/wiki/ISO_8601"
    )


@pytest.mark.parametrize(
    ("unsigned", "shown"),
    [(b"host;", "'Host' or ':authority'"), (b";x-amz-target", "'X-Amz-Target'")],
)
def test_some_headers_must_be_signed(unsigned: bytes, shown: str) -> None:
    exchange = changed(Signer().sign(), b"Authorization", unsigned, b"")

    failure = failure_of(exchange)

    assert isinstance(failure, InvalidSignature)
    assert failure.message == f"{shown} must be a 'SignedHeader' in the AWS Authorization."


def test_everything_wrong_with_a_scope_is_told_at_once() -> None:
    good = Signer().sign()
    stamp = stamp_of(good)
    scope = f"/{stamp[:8]}/eu-north-1/dynamodb/aws4_request".encode()

    failure = failure_of(changed(good, b"Authorization", scope, b"/b/c!/d/e"))

    assert isinstance(failure, InvalidSignature)
    assert failure.message == (
        "Credential should be scoped to a valid region, not 'c!'. "
        "Credential should be scoped to correct service: 'dynamodb'. "
        "Credential should be scoped with a valid terminator: 'aws4_request', not 'e'. "
        "Date in Credential scope does not match YYYYMMDD from ISO-8601 version of date from HTTP: "
        f"'b' != '{stamp[:8]}', from '{stamp}'."
    )


def test_a_credential_is_for_this_service() -> None:
    failure = failure_of(Signer(service="s3").sign())

    assert isinstance(failure, InvalidSignature)
    assert failure.message == "Credential should be scoped to correct service: 'dynamodb'. "


@pytest.mark.parametrize(
    "exchange",
    [
        Signer("nobody").sign(),
        Signer("ASIA").sign(),
        Signer("ASIA").sign(in_query=True),
        Signer("akid").sign(),
    ],
    ids=["unknown", "no token", "no token in query", "case"],
)
def test_an_unknown_access_key_is_not_recognized(exchange: Exchange) -> None:
    failure = failure_of(exchange)

    assert isinstance(failure, UnrecognizedClient)
    assert failure.message == "The security token included in the request is invalid."


@pytest.mark.parametrize(
    "signer",
    [Signer("ASIA", token="other"), Signer("AKID", token="token")],
    ids=["other", "superfluous"],
)
@pytest.mark.parametrize("in_query", [False, True], ids=["header", "query"])
def test_a_token_that_is_not_the_keys_own_is_told_last(signer: Signer, in_query: bool) -> None:
    failure = failure_of(signer.sign(in_query=in_query))

    assert isinstance(failure, UnrecognizedClient)
    assert failure.message == "The security token included in the request is invalid"


@pytest.mark.parametrize(
    "exchange",
    [
        Signer(secret="guess").sign(),
        Signer(secret="guess").sign(in_query=True),
        Signer().sign(headers={"X-Amz-Content-SHA256": "UNSIGNED-PAYLOAD"}),
        Signer().sign(headers={"X-Amz-Content-SHA256": "0" * 64}),
    ],
    ids=["secret", "secret in query", "unsigned payload", "hash of another body"],
)
def test_another_signature_does_not_match(exchange: Exchange) -> None:
    failure = failure_of(exchange)

    assert isinstance(failure, InvalidSignature)
    assert failure.message == MISMATCH


def test_an_unsigned_request_is_missing_its_token() -> None:
    assert isinstance(failure_of(an_exchange({b"Host": b"a"})), MissingAuthenticationToken)


def test_a_signed_header_that_is_gone_is_missed() -> None:
    good = Signer().sign()
    headers = {name: value for name, value in good.headers.items() if name != b"Content-Type"}

    assert failure_of(an_exchange(headers)).message == MISMATCH


def test_no_number_of_query_parameters_goes_unsigned() -> None:
    good = Signer().sign()
    query = b"?" + b"&".join(b"a=b" for _ in range(1000))

    assert failure_of(an_exchange(good.headers, target=b"/" + query)).message == MISMATCH


@pytest.mark.parametrize(
    ("first", "second"), [(b"host;x-amz-date", b"x-amz-date;host"), (b"host", b"HOST")]
)
def test_headers_are_signed_in_one_order_and_one_case(first: bytes, second: bytes) -> None:
    exchange = changed(Signer().sign(), b"Authorization", first, second)

    assert failure_of(exchange).message == MISMATCH
