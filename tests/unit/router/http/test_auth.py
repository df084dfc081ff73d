"""Who asks, when everybody may."""

from __future__ import annotations

import pytest

from gramme.errors import IncompleteSignature, InvalidSignature, MissingAuthenticationToken
from gramme.router.http import auth
from gramme.router.http.auth import Authenticator
from gramme.router.operations.context import Caller
from tests.unit.router.http.exchanges import an_exchange


def a_header(
    credential: str = "AKID/20260101/eu-north-1/dynamodb/aws4_request", signature: str = "0" * 64
) -> bytes:
    text = f"AWS4-HMAC-SHA256 Credential={credential}, SignedHeaders=host, Signature={signature}"
    return text.encode()


def caller_of(
    header: bytes | None,
    has_date: bool = True,
    query: bytes = b"",
    authenticator: Authenticator | None = None,
) -> Caller:
    headers = {b"X-Amz-Date": b"20260101T000000Z"} if has_date else {}
    if header is not None:
        headers[b"Authorization"] = header
    return (authenticator or Authenticator()).caller(an_exchange(headers), query)


@pytest.mark.parametrize(
    ("access_key", "account"),
    [
        ("123456789012", "123456789012"),
        ("AKIAIOSFODNN7EXAMPLE", "000000000000"),
        ("1234567890123", "000000000000"),
        ("12345678901", "000000000000"),
        ("fake", "000000000000"),
        ("", "000000000000"),
    ],
)
def test_an_access_key_of_twelve_digits_is_the_account(access_key: str, account: str) -> None:
    header = a_header(f"{access_key}/20260101/us-east-1/dynamodb/aws4_request")

    assert caller_of(header) == Caller(account, "us-east-1")


def test_a_caller_seen_before_is_remembered_whatever_the_signature() -> None:
    authenticator = Authenticator()
    first = caller_of(a_header(signature="0" * 64), authenticator=authenticator)

    second = caller_of(a_header(signature="f" * 64), authenticator=authenticator)

    assert second is first


def test_a_remembered_caller_still_needs_a_date() -> None:
    authenticator = Authenticator()
    caller_of(a_header(), authenticator=authenticator)

    with pytest.raises(IncompleteSignature):
        caller_of(a_header(), has_date=False, authenticator=authenticator)


def test_callers_are_not_remembered_without_end() -> None:
    authenticator = Authenticator()

    for number in range(3 * auth.CALLERS_MAX):
        header = a_header(f"k{number}/d/us-east-1/dynamodb/aws4_request")
        caller_of(header, authenticator=authenticator)

    assert len(authenticator._callers) <= auth.CALLERS_MAX


@pytest.mark.parametrize(
    "header", [None, b"", b"X", b"AWS4", b"Basic YTpi", b"aws4-hmac-sha256 Credential=a"]
)
def test_a_request_without_a_signature_is_missing_its_token(header: bytes | None) -> None:
    with pytest.raises(MissingAuthenticationToken) as failure:
        caller_of(header, query=b"X-Amz-Algorith")

    assert failure.value.message == "Request is missing Authentication Token"


NO_CREDENTIAL = "Authorization header requires 'Credential' parameter. "
NO_SIGNATURE = "Authorization header requires 'Signature' parameter. "
NO_SIGNED_HEADERS = "Authorization header requires 'SignedHeaders' parameter. "
NO_DATE = "Authorization header requires existence of either a 'X-Amz-Date' or a 'Date' header. "


@pytest.mark.parametrize(
    ("header", "has_date", "complaints"),
    [
        ("AWS4-", False, NO_CREDENTIAL + NO_SIGNATURE + NO_SIGNED_HEADERS + NO_DATE),
        ("AWS4- Signature=b Credential=a", True, NO_SIGNED_HEADERS),
        ("AWS4- Signature=b,Credential=a", True, NO_SIGNED_HEADERS),
        ("AWS4- Signature=b, Credential=a", True, NO_SIGNED_HEADERS),
        ("AWS4-HMAC-SHA256 Credential=a, SignedHeaders=host, Signature=", True, NO_SIGNATURE),
    ],
)
def test_an_incomplete_signature_is_told_everything_it_lacks(
    header: str, has_date: bool, complaints: str
) -> None:
    with pytest.raises(IncompleteSignature) as failure:
        caller_of(header.encode(), has_date)

    assert failure.value.message == f"{complaints}Authorization={header}"


def test_what_is_no_pair_is_named_before_what_is_missing() -> None:
    header = "AWS4-HMAC-SHA256 Signature=b,    Credential,    SignedHeaders"

    with pytest.raises(IncompleteSignature) as failure:
        caller_of(header.encode())

    assert failure.value.message == (
        "'Credential' not a valid key=value pair (missing equal-sign) "
        f"in Authorization header: '{header}'."
    )


@pytest.mark.parametrize("credential", ["a", "a/b/c/d", "a/b/c/d/e/f"])
def test_a_credential_has_five_elements(credential: str) -> None:
    with pytest.raises(IncompleteSignature) as failure:
        caller_of(a_header(credential))

    assert failure.value.message == (
        "Credential must have exactly 5 slash-delimited elements, "
        f"e.g. keyid/date/region/service/term, got '{credential}'"
    )


def test_other_algorithms_are_not_supported() -> None:
    header = b"AWS4-ECDSA-P256-SHA256 Credential=a/b/c/d/e, SignedHeaders=host, Signature=0"

    with pytest.raises(IncompleteSignature, match="Unsupported AWS 'algorithm': 'AWS4-ECDSA"):
        caller_of(header)


@pytest.mark.parametrize("region", ["", "a%b", "..", "x" * 65, "é"])
def test_a_region_is_a_name(region: str) -> None:
    header = a_header(f"AKID/20260101/{region}/dynamodb/aws4_request")

    with pytest.raises(InvalidSignature, match="Credential should be scoped to a valid region"):
        caller_of(header)


SIGNED_QUERY = (
    b"X-Amz-Algorithm=AWS4-HMAC-SHA256&X-Amz-Credential=AKID%2F20260101%2Feu-west-3%2Fdynamodb%2Faws4_request"
    b"&X-Amz-Signature=0&X-Amz-SignedHeaders=host&X-Amz-Date=20260101T000000Z"
)


def test_a_signature_may_stand_in_the_query() -> None:
    caller = caller_of(None, has_date=False, query=SIGNED_QUERY)

    assert caller == Caller("000000000000", "eu-west-3")


@pytest.mark.parametrize("query", [SIGNED_QUERY, b"X-Amz-Algorithm"])
def test_a_signature_stands_in_one_place_only(query: bytes) -> None:
    with pytest.raises(InvalidSignature) as failure:
        caller_of(b"X", query=query)

    assert failure.value.message == (
        "Found both 'X-Amz-Algorithm' as a query-string param and 'Authorization' as HTTP header."
    )


def test_an_incomplete_query_is_told_what_it_lacks() -> None:
    with pytest.raises(IncompleteSignature) as failure:
        caller_of(None, has_date=False, query=SIGNED_QUERY.replace(b"Amz-Date", b"Amz-D"))

    assert failure.value.message == (
        "AWS query-string parameters must include 'X-Amz-Date'. "
        "Re-examine the query-string parameters."
    )


def test_a_query_of_too_many_parameters_is_no_signature() -> None:
    with pytest.raises(MissingAuthenticationToken):
        caller_of(None, has_date=False, query=b"&".join(b"a=b" for _ in range(1000)))
