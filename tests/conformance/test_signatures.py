"""Signature Version 4 against a server that verifies it: what is let in, and in which words the rest is not.

Against DynamoDB itself (`--endpoint`) the keys are those that an SDK finds. Other servers are not asked: few verify.
"""

from __future__ import annotations

import gzip
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from email.utils import parsedate_to_datetime
from pathlib import Path
from typing import Any
from uuid import uuid4

import boto3
import pytest
from botocore.config import Config
from botocore.credentials import Credentials

from tests.conformance.raw import Answer, Signer, Wire, credentials_for
from tests.support.server import Server, StartFailed

FILE = """
[owner]
aws_access_key_id = AKIDOWNER
aws_secret_access_key = wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY
aws_account_id = 111122223333

[guest]
aws_access_key_id = ASIAGUEST
aws_secret_access_key = guest
aws_session_token = a/session+token==
"""
OWNER = Credentials("AKIDOWNER", "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY")
GUEST = Credentials("ASIAGUEST", "guest", "a/session+token==")

PREFIX = "com.amazon.coral.service#"
MISMATCH = (
    "The request signature we calculated does not match the signature you provided. "
    "Check your AWS Secret Access Key and signing method. "
    "Consult the service documentation for details."
)
UNRECOGNIZED = "The security token included in the request is invalid."


@dataclass(frozen=True, slots=True)
class Guarded:
    """A server that verifies signatures, and a key it takes."""

    endpoint: str
    region: str
    credentials: Credentials

    @property
    def is_ours(self) -> bool:
        return "amazonaws.com" not in self.endpoint

    def signer(
        self, credentials: Credentials | None = None, service: str = "dynamodb", region: str = ""
    ) -> Signer:
        return Signer(
            self.endpoint, region or self.region, credentials or self.credentials, service
        )


@pytest.fixture(scope="module")
def guarded(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Guarded]:
    given: str | None = request.config.getoption("--endpoint")
    if given is not None:
        if "amazonaws.com" not in given:
            pytest.skip("nobody knows which keys this server takes")
        yield Guarded(given, boto3.Session().region_name, credentials_for(given))
        return
    file: Path = tmp_path_factory.mktemp("credentials") / "credentials"
    file.write_text(FILE)
    with Server(None, "--credentials", str(file)) as server:
        yield Guarded(f"http://127.0.0.1:{server.port}", "us-east-1", OWNER)


@pytest.fixture
def wire(guarded: Guarded) -> Iterator[Wire]:
    with Wire(guarded.endpoint) as wire:
        yield wire


def assert_refused(answer: Answer, name: str, message: str) -> None:
    assert (answer.status, answer.json()) == (400, {"__type": PREFIX + name, "message": message})
    assert answer.headers["content-type"] == "application/x-amz-json-1.0"
    assert answer.headers["x-amz-crc32"] == str(zlib.crc32(answer.body))


def test_an_sdk_with_the_right_key_is_let_in(guarded: Guarded) -> None:
    client = boto3.client(
        "dynamodb",
        endpoint_url=guarded.endpoint,
        region_name=guarded.region,
        aws_access_key_id=guarded.credentials.access_key,
        aws_secret_access_key=guarded.credentials.secret_key,
        aws_session_token=guarded.credentials.token,
        config=Config(retries={"total_max_attempts": 1}),
    )

    for _ in range(3):
        assert "TableNames" in client.list_tables()


def test_many_requests_of_one_connection_are_each_verified(guarded: Guarded, wire: Wire) -> None:
    signer = guarded.signer()
    for limit in range(1, 6):
        body = b'{"Limit":%d}' % limit
        assert wire.ask(body=body, **signer.sign("ListTables", body)).status == 200

    forged = wire.ask(body=b'{"Limit":9}', **signer.sign("ListTables", b'{"Limit":1}'))

    assert_refused(forged, "InvalidSignatureException", MISMATCH)
    assert wire.ask(body=b"{}", **signer.sign("ListTables", b"{}")).status == 200


def test_a_request_may_be_signed_in_its_query(guarded: Guarded, wire: Wire) -> None:
    query, headers = guarded.signer().presign("ListTables", b"{}")

    good = wire.ask(body=b"{}", path=f"/?{query}", **headers)
    forged = wire.ask(body=b'{"Limit":1}', path=f"/?{query}", **headers)

    assert good.status == 200
    assert_refused(forged, "InvalidSignatureException", MISMATCH)


def test_spaces_in_a_signed_header_are_trimmed_and_collapsed(guarded: Guarded, wire: Wire) -> None:
    headers = guarded.signer().sign("ListTables", b"{}", X_Amz_Meta_Spaces="a b c")
    headers["X-Amz-Meta-Spaces"] = "   a   b    c  "

    assert wire.ask(body=b"{}", **headers).status == 200


def test_the_body_is_signed_as_it_is_sent(guarded: Guarded, wire: Wire) -> None:
    body = gzip.compress(b"{}")
    headers = guarded.signer().sign("ListTables", body, Content_Encoding="gzip")

    assert wire.ask(body=body, **headers).status == 200


def test_a_body_in_chunks_is_signed_as_a_whole(guarded: Guarded, wire: Wire) -> None:
    headers = guarded.signer().sign("ListTables", b"{}")
    framed = b"1\r\n{\r\n1\r\n}\r\n0\r\n\r\n"

    assert wire.ask(body=framed, Transfer_Encoding="chunked", **headers).status == 200


def test_any_host_will_do_if_it_is_signed(guarded: Guarded, wire: Wire) -> None:
    if not guarded.is_ours:
        pytest.skip("DynamoDB is reached by its names")
    host = "123456789012.ddb.us-east-1.example.com"
    headers = guarded.signer().sign("ListTables", b"{}", Host=host)
    headers["Host"] = host

    assert wire.ask(body=b"{}", **headers).status == 200


@pytest.mark.parametrize("secret", ["", "guess", "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEy"])
def test_another_secret_does_not_match(guarded: Guarded, wire: Wire, secret: str) -> None:
    credentials = Credentials(guarded.credentials.access_key, secret, guarded.credentials.token)

    answer = wire.ask(body=b"{}", **guarded.signer(credentials).sign("ListTables", b"{}"))

    assert_refused(answer, "InvalidSignatureException", MISMATCH)


def test_an_unknown_key_is_not_recognized(guarded: Guarded, wire: Wire) -> None:
    signer = guarded.signer(Credentials("AKIDNOBODY", "secret"))

    answer = wire.ask(body=b"{}", **signer.sign("ListTables", b"{}"))

    assert_refused(answer, "UnrecognizedClientException", UNRECOGNIZED)


def test_a_payload_must_be_signed(guarded: Guarded, wire: Wire) -> None:
    headers = guarded.signer().sign("ListTables", b"{}", X_Amz_Content_SHA256="UNSIGNED-PAYLOAD")

    assert_refused(wire.ask(body=b"{}", **headers), "InvalidSignatureException", MISMATCH)


@pytest.mark.parametrize("minutes", [-17, 17])
def test_a_signature_is_good_for_a_quarter_of_an_hour(
    guarded: Guarded, wire: Wire, monkeypatch: pytest.MonkeyPatch, minutes: int
) -> None:
    then = datetime.now(UTC) + timedelta(minutes=minutes)
    monkeypatch.setattr("botocore.auth.get_current_datetime", lambda: then)
    headers = guarded.signer().sign("ListTables", b"{}")

    answer = wire.ask(body=b"{}", **headers)

    stamp = f"{then:%Y%m%dT%H%M%SZ}"
    says = (
        f"Signature expired: {stamp} is now earlier than "
        if minutes < 0
        else f"Signature not yet current: {stamp} is still later than "
    )
    assert answer.json()["__type"] == PREFIX + "InvalidSignatureException"
    assert answer.json()["message"].startswith(says)
    assert answer.json()["message"].endswith(" 15 min.)")
    # An SDK takes the time from here, and signs again.
    told = parsedate_to_datetime(answer.headers["date"])
    assert abs(datetime.now(UTC) - told) < timedelta(minutes=2)


def test_a_signature_of_ten_minutes_ago_is_still_good(
    guarded: Guarded, wire: Wire, monkeypatch: pytest.MonkeyPatch
) -> None:
    then = datetime.now(UTC) - timedelta(minutes=10)
    monkeypatch.setattr("botocore.auth.get_current_datetime", lambda: then)

    assert wire.ask(body=b"{}", **guarded.signer().sign("ListTables", b"{}")).status == 200


def test_a_credential_is_scoped_to_this_service(guarded: Guarded, wire: Wire) -> None:
    headers = guarded.signer(service="s3").sign("ListTables", b"{}")

    assert_refused(
        wire.ask(body=b"{}", **headers),
        "InvalidSignatureException",
        "Credential should be scoped to correct service: 'dynamodb'. ",
    )


@pytest.mark.parametrize(
    ("old", "new", "name", "message"),
    [
        (
            "aws4_request",
            "aws5_request",
            "InvalidSignatureException",
            "Credential should be scoped with a valid terminator: 'aws4_request', not 'aws5_request'. ",
        ),
        (
            "host;",
            "",
            "InvalidSignatureException",
            "'Host' or ':authority' must be a 'SignedHeader' in the AWS Authorization.",
        ),
        (
            "HMAC-SHA256",
            "HMAC-SHA25",
            "IncompleteSignatureException",
            "Unsupported AWS 'algorithm': 'AWS4-HMAC-SHA25' (only AWS4-HMAC-SHA256 for now). ",
        ),
        ("content-type;", "", "InvalidSignatureException", MISMATCH),
        ("Signature=", "Signature=0", "InvalidSignatureException", MISMATCH),
    ],
    ids=["terminator", "host", "algorithm", "other headers", "signature"],
)
def test_each_part_of_the_header_is_checked(
    guarded: Guarded, wire: Wire, old: str, new: str, name: str, message: str
) -> None:
    headers = guarded.signer().sign("ListTables", b"{}")
    assert old in headers["Authorization"]
    headers["Authorization"] = headers["Authorization"].replace(old, new)

    assert_refused(wire.ask(body=b"{}", **headers), name, message)


def test_the_day_of_the_scope_is_that_of_the_request(guarded: Guarded, wire: Wire) -> None:
    headers = guarded.signer().sign("ListTables", b"{}")
    stamp = headers["X-Amz-Date"]
    headers["Authorization"] = headers["Authorization"].replace(f"/{stamp[:8]}/", "/20130609/")

    assert_refused(
        wire.ask(body=b"{}", **headers),
        "InvalidSignatureException",
        "Date in Credential scope does not match YYYYMMDD from ISO-8601 version of date from HTTP: "
        f"'20130609' != '{stamp[:8]}', from '{stamp}'.",
    )


def test_a_time_is_in_basic_format(guarded: Guarded, wire: Wire) -> None:
    headers = guarded.signer().sign("ListTables", b"{}")
    headers["X-Amz-Date"] = "2026-01-01T00:00:00Z"

    assert_refused(
        wire.ask(body=b"{}", **headers),
        "IncompleteSignatureException",
        "Date must be in ISO-8601 'basic format'. Got '2026-01-01T00:00:00Z'. "
        "See http://en.wikipedia.org/wiki/ISO_8601",
    )


def test_a_signature_stands_in_one_place_only(guarded: Guarded, wire: Wire) -> None:
    headers = guarded.signer().sign("ListTables", b"{}")

    assert_refused(
        wire.ask(body=b"{}", path="/?X-Amz-Algorithm", **headers),
        "InvalidSignatureException",
        "Found both 'X-Amz-Algorithm' as a query-string param and 'Authorization' as HTTP header.",
    )


def test_the_operation_cannot_be_exchanged(guarded: Guarded, wire: Wire) -> None:
    headers = guarded.signer().sign("DescribeTable", b'{"TableName":"abc"}')
    headers["X-Amz-Target"] = "DynamoDB_20120810.DeleteTable"

    answer = wire.ask(body=b'{"TableName":"abc"}', **headers)

    assert_refused(answer, "InvalidSignatureException", MISMATCH)


@pytest.mark.parametrize(
    ("operation", "body", "name"),
    [
        ("ListTables", b"{", "SerializationException"),
        ("Nonsense", b"{}", "UnknownOperationException"),
        ("ListTables", b'{"Limit":0}', "InvalidSignatureException"),
        ("ListTables", b'{"Limit":"a"}', "InvalidSignatureException"),
        ("DescribeTable", b"{}", "InvalidSignatureException"),
    ],
)
def test_a_signature_is_checked_after_json_and_target_and_before_parameters(
    guarded: Guarded, wire: Wire, operation: str, body: bytes, name: str
) -> None:
    headers = guarded.signer().sign(operation, b"something else")

    assert wire.ask(body=body, **headers).json()["__type"] == PREFIX + name


# What only a server of our own can show.


@pytest.fixture
def ours(guarded: Guarded) -> Guarded:
    if not guarded.is_ours:
        pytest.skip("needs two keys that we know")
    return guarded


def test_a_temporary_key_is_good_with_its_token_only(ours: Guarded, wire: Wire) -> None:
    good = ours.signer(GUEST).sign("ListTables", b"{}")
    without = ours.signer(Credentials("ASIAGUEST", "guest")).sign("ListTables", b"{}")
    other = ours.signer(Credentials("ASIAGUEST", "guest", "other")).sign("ListTables", b"{}")

    assert wire.ask(body=b"{}", **good).status == 200
    assert_refused(wire.ask(body=b"{}", **without), "UnrecognizedClientException", UNRECOGNIZED)
    assert_refused(
        wire.ask(body=b"{}", **other), "UnrecognizedClientException", UNRECOGNIZED.rstrip(".")
    )


def test_accounts_and_regions_do_not_see_each_others_tables(ours: Guarded, wire: Wire) -> None:
    name = f"t{uuid4().hex}"
    body = (
        b'{"TableName":"%b","BillingMode":"PAY_PER_REQUEST",'
        b'"AttributeDefinitions":[{"AttributeName":"pk","AttributeType":"S"}],'
        b'"KeySchema":[{"AttributeName":"pk","KeyType":"HASH"}]}' % name.encode()
    )

    created = wire.ask(body=body, **ours.signer().sign("CreateTable", body))

    arn = created.json()["TableDescription"]["TableArn"]
    assert arn == f"arn:aws:dynamodb:us-east-1:111122223333:table/{name}"
    assert name in tables_of(wire, ours.signer())
    assert name not in tables_of(wire, ours.signer(region="mars-1"))
    assert name not in tables_of(wire, ours.signer(GUEST))


def tables_of(wire: Wire, signer: Signer) -> Any:
    return wire.ask(body=b"{}", **signer.sign("ListTables", b"{}")).json()["TableNames"]


def test_a_server_without_credentials_does_not_listen_to_the_world() -> None:
    server = Server(None, "--host", "0.0.0.0")

    with pytest.raises(StartFailed) as failure:
        server.start()

    assert failure.value.code == 1
    assert failure.value.errors == (
        "gramme: without credentials everybody who can reach 0.0.0.0 could do everything: "
        "give --credentials, or --insecure-bind if that is meant\n"
    )
