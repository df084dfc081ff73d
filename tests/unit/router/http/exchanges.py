"""Requests as the gateway hands them on, made without a socket: bare ones, and ones that botocore has signed."""

from __future__ import annotations

from collections.abc import Mapping
from hashlib import sha256
from urllib.parse import urlsplit

from botocore.auth import SigV4Auth, SigV4QueryAuth
from botocore.awsrequest import AWSRequest
from botocore.credentials import Credentials

from gramme.router.http.exchange import Exchange
from gramme.router.http.names import HeaderNames

ENDPOINT = "http://localhost:8000"


class NoLine:
    def answered(self) -> None:
        raise AssertionError("nobody answers here")

    def is_local(self) -> bool:
        return False


def an_exchange(
    headers: Mapping[bytes, bytes], body: bytes = b"{}", target: bytes = b"/"
) -> Exchange:
    names = HeaderNames(tuple(headers))
    return Exchange(NoLine(), b"POST", target, names, dict(headers), body)


def query_of(exchange: Exchange) -> bytes:
    return exchange.target.partition(b"?")[2]


class QueryAuth(SigV4QueryAuth):
    """Botocore would move the body into the query string, which is not where DynamoDB has it."""

    body = b""

    def payload(self, request: AWSRequest) -> str:
        return sha256(self.body).hexdigest()


class Signer:
    """Signs as the AWS SDK for Python does: with a header, or in the query string."""

    def __init__(
        self,
        access_key: str = "AKID",
        secret: str = "secret",
        token: str | None = None,
        region: str = "eu-north-1",
        service: str = "dynamodb",
    ) -> None:
        self._credentials = Credentials(access_key, secret, token)
        self._scope = (service, region)

    def sign(
        self,
        body: bytes = b"{}",
        path: str = "/",
        in_query: bool = False,
        headers: Mapping[str, str] | None = None,
    ) -> Exchange:
        request = AWSRequest(
            "POST",
            ENDPOINT + path,
            {
                "Host": "localhost:8000",
                "X-Amz-Target": "DynamoDB_20120810.Echo",
                "Content-Type": "application/x-amz-json-1.0",
                **(headers or {}),
            },
            None if in_query else body,
        )
        scheme = (QueryAuth if in_query else SigV4Auth)(self._credentials, *self._scope)
        if isinstance(scheme, QueryAuth):
            scheme.body = body
        scheme.add_auth(request)
        url = urlsplit(str(request.url))
        target = url.path + ("?" + url.query if url.query else "")
        wire = {
            name.encode(): value if isinstance(value, bytes) else str(value).encode()
            for name, value in request.headers.items()
        }
        return an_exchange(wire, body, target.encode())
