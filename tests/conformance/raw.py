"""One connection in raw bytes, and signatures for what goes over it."""

from __future__ import annotations

import json
import socket
import ssl
from collections.abc import Callable
from dataclasses import dataclass
from hashlib import sha256
from types import TracebackType
from typing import Any, Self
from urllib.parse import urlsplit

import boto3
from botocore.auth import SigV4Auth, SigV4QueryAuth
from botocore.awsrequest import AWSRequest
from botocore.credentials import Credentials

PATIENCE_S = 20.0
JSON = "application/x-amz-json-1.0"


@dataclass(frozen=True, slots=True)
class Answer:
    status: int
    headers: dict[str, str]
    body: bytes

    def json(self) -> Any:
        return json.loads(self.body)


# Sends an operation, its name and the members of its body, and answers what comes back.
Ask = Callable[..., Answer]


class Wire:
    """A connection to the endpoint."""

    def __init__(self, endpoint: str) -> None:
        address = urlsplit(endpoint)
        assert address.hostname is not None
        port = address.port or (443 if address.scheme == "https" else 80)
        plain = socket.create_connection((address.hostname, port), PATIENCE_S)
        plain.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.host = address.netloc
        self._socket = plain
        if address.scheme == "https":
            context = ssl.create_default_context()
            self._socket = context.wrap_socket(plain, server_hostname=address.hostname)
        self._file = self._socket.makefile("rb")

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._file.close()
        self._socket.close()

    def send(self, data: bytes) -> None:
        self._socket.sendall(data)

    def ask(
        self, method: str = "POST", body: bytes = b"", *, path: str = "/", **headers: str
    ) -> Answer:
        self.send(self.request(method, body, path=path, **headers))
        return self.answer(with_body=method != "HEAD")

    def request(
        self, method: str = "POST", body: bytes = b"", *, path: str = "/", **headers: str
    ) -> bytes:
        """The bytes of a request; an underscore in a header's name stands for a hyphen."""
        lines = {"Host": self.host, "Content-Length": str(len(body))}
        lines.update({name.replace("_", "-"): value for name, value in headers.items()})
        if "Transfer-Encoding" in lines:
            del lines["Content-Length"]
        head = "".join(f"{name}: {value}\r\n" for name, value in lines.items())
        return f"{method} {path} HTTP/1.1\r\n{head}\r\n".encode("latin-1") + body

    def answer(self, with_body: bool = True) -> Answer:
        line = self._file.readline()
        assert line.startswith(b"HTTP/1.1 "), line
        headers: dict[str, str] = {}
        while (header := self._file.readline()) != b"\r\n":
            name, _, value = header.decode("latin-1").partition(":")
            headers[name.lower()] = value.strip()
        length = int(headers.get("content-length", "0")) if with_body else 0
        return Answer(int(line.split()[1]), headers, self._file.read(length))

    def rest(self) -> bytes:
        return self._file.read()


class Signer:
    """Signs as an SDK does, with DynamoDB's own keys if it is DynamoDB, and with `test` otherwise."""

    def __init__(
        self,
        endpoint: str,
        region: str,
        credentials: Credentials | None = None,
        service: str = "dynamodb",
    ) -> None:
        self._credentials = credentials or credentials_for(endpoint)
        self._endpoint = endpoint
        self._scope = (service, region)

    def sign(self, operation: str, body: bytes, **headers: str) -> dict[str, str]:
        """The headers of a request; an underscore in a header's name stands for a hyphen."""
        request = AWSRequest(
            "POST",
            self._endpoint + "/",
            {
                "X-Amz-Target": f"DynamoDB_20120810.{operation}",
                "Content-Type": JSON,
                **{name.replace("_", "-"): value for name, value in headers.items()},
            },
            body,
        )
        SigV4Auth(self._credentials, *self._scope).add_auth(request)
        return dict(request.headers.items())

    def presign(self, operation: str, body: bytes) -> tuple[str, dict[str, str]]:
        """The query string and the headers of a request that is signed in its query string."""
        request = AWSRequest(
            "POST",
            self._endpoint + "/",
            {"X-Amz-Target": f"DynamoDB_20120810.{operation}", "Content-Type": JSON},
        )
        scheme = QueryAuth(self._credentials, *self._scope)
        scheme.body = body
        scheme.add_auth(request)
        return urlsplit(str(request.url)).query, dict(request.headers.items())


class QueryAuth(SigV4QueryAuth):
    """Botocore would move the body into the query string, which is not where DynamoDB has it."""

    body = b""

    def payload(self, request: AWSRequest) -> str:
        return sha256(self.body).hexdigest()


def credentials_for(endpoint: str) -> Credentials:
    theirs = boto3.Session().get_credentials() if "amazonaws.com" in endpoint else None
    return theirs or Credentials("test", "test")
