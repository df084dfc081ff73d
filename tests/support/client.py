"""A very light DynamoDB client for load: one socket, no signature worth the name, no retries.

An SDK spends more time on a request than the server does. This one sends prebuilt headers and reads the
answer by its length. An error the server answered is `Refused`; a connection that ended is `Lost`, and the
outcome of its request unknown.
"""

from __future__ import annotations

import socket
from typing import Any, NamedTuple, Self

import orjson

Json = dict[str, Any]

REGION = "us-east-1"
# These are a service of their own, at the same address.
OF_STREAMS = frozenset(("DescribeStream", "GetRecords", "GetShardIterator", "ListStreams"))
CHUNK_BYTES = 256 * 1024


class Refused(Exception):
    """The server answered, and the answer is an error."""

    def __init__(self, status: int, body: Json) -> None:
        self.status = status
        self.type = str(body.get("__type", "")).rpartition("#")[2]
        self.body = body
        super().__init__(f"{status} {self.type}: {body.get('message') or body.get('Message')}")


class Lost(Exception):
    """The connection ended before an answer came: nobody knows what became of the request."""


class Answer(NamedTuple):
    """An answer as it came; the names of headers are in lower case."""

    status: int
    headers: dict[str, str]
    body: bytes


class Client:
    """A region is a namespace: tables of other regions are not seen."""

    def __init__(self, port: int, timeout_s: float = 30.0, region: str = REGION) -> None:
        try:
            self._socket = socket.create_connection(("127.0.0.1", port), timeout_s)
        except OSError as error:
            raise Lost(str(error)) from error
        self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._head = (
            f"POST / HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\n"
            f"Authorization: {authorization(region)}\r\nX-Amz-Date: 20260101T000000Z\r\n"
            "Content-Type: application/x-amz-json-1.0\r\nX-Amz-Target: "
        )

    def call(self, operation: str, body: Json) -> Json:
        self.send(operation, body)
        return self.receive()

    def ask(self, operation: str, payload: bytes) -> Answer:
        """Send any bytes as the body of a request, and hand out the answer whatever it is."""
        self._send(operation, payload)
        return self._read()

    def send(self, operation: str, body: Json) -> None:
        self._send(operation, orjson.dumps(body))

    def _send(self, operation: str, payload: bytes) -> None:
        service = "DynamoDBStreams" if operation in OF_STREAMS else "DynamoDB"
        head = (
            f"{self._head}{service}_20120810.{operation}\r\nContent-Length: {len(payload)}\r\n\r\n"
        )
        try:
            self._socket.sendall(head.encode() + payload)
        except OSError as error:
            raise Lost(str(error)) from error

    def receive(self) -> Json:
        status, _, payload = self._read()
        body: Json = orjson.loads(payload) if payload else {}
        if status != 200:
            raise Refused(status, body)
        return body

    def _read(self) -> Answer:
        received = b""
        while (end := received.find(b"\r\n\r\n")) < 0:
            received += self._more()
        first, *lines = received[:end].decode("latin-1").split("\r\n")
        pairs = [line.partition(":") for line in lines]
        headers = {name.lower(): value.strip() for name, _, value in pairs}
        parts = [received[end + 4 :]]
        missing = int(headers["content-length"]) - len(parts[0])
        while missing > 0:
            parts.append(self._more())
            missing -= len(parts[-1])
        return Answer(int(first.split()[1]), headers, b"".join(parts))

    def _more(self) -> bytes:
        try:
            chunk = self._socket.recv(CHUNK_BYTES)
        except OSError as error:
            raise Lost(str(error)) from error
        if not chunk:
            raise Lost("the server closed the connection")
        return chunk

    def fileno(self) -> int:
        """For waiting on an answer without reading it."""
        return self._socket.fileno()

    def close(self) -> None:
        self._socket.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()


def authorization(region: str) -> str:
    return (
        f"AWS4-HMAC-SHA256 Credential=test/20260101/{region}/dynamodb/aws4_request, "
        "SignedHeaders=host, Signature=00"
    )
