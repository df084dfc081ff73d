"""HTTP as the bench speaks it: request bytes with the headers an SDK sends, and one blocking client.

The headers are those of boto3, so that a server pays the honest price of parsing them. The signature is
made up: every peer accepts it on loopback, and so does Gramme.
"""

import json
import socket
from collections.abc import Mapping
from dataclasses import dataclass

ANSWER_TIMEOUT_S = 30.0

AUTHORIZATION = (
    "AWS4-HMAC-SHA256 Credential=bench/20260101/us-east-1/dynamodb/aws4_request, "
    f"SignedHeaders=content-type;host;x-amz-date;x-amz-target, Signature={'0' * 64}"
)
USER_AGENT = (
    "Boto3/1.40.0 md/Botocore#1.40.0 ua/2.1 os/linux#6.1 md/arch#x86_64 lang/python#3.11.7 "
    "md/pyimpl#CPython m/Z,b,E cfg/retry-mode#legacy Botocore/1.40.0"
)


@dataclass(frozen=True, slots=True)
class Address:
    host: str
    port: int

    @property
    def url(self) -> str:
        return f"http://{self.host}:{self.port}/"


@dataclass(frozen=True, slots=True)
class Answer:
    status: int
    body: bytes


def request_text(operation: str, body: str) -> str:
    """The whole HTTP request for `operation`, ASCII only."""
    head = (
        "POST / HTTP/1.1",
        "Host: 127.0.0.1:8000",
        "Accept-Encoding: identity",
        f"X-Amz-Target: DynamoDB_20120810.{operation}",
        "Content-Type: application/x-amz-json-1.0",
        f"User-Agent: {USER_AGENT}",
        "X-Amz-Date: 20260101T000000Z",
        f"Authorization: {AUTHORIZATION}",
        "amz-sdk-invocation-id: 3f6e0a3e-6a0c-4a53-9d8a-0d3f0a3f5b11",
        "amz-sdk-request: attempt=1",
        f"Content-Length: {len(body)}",
    )
    return "\r\n".join(head) + "\r\n\r\n" + body


def request_bytes(operation: str, body: str) -> bytes:
    return request_text(operation, body).encode("ascii")


def answer_in(received: bytes | bytearray) -> tuple[Answer, bool] | None:
    """The answer that `received` holds and whether the connection stays open; None if incomplete."""
    head_end = received.find(b"\r\n\r\n")
    if head_end < 0:
        return None
    head = bytes(received[:head_end]).lower()
    mark = head.find(b"\r\ncontent-length:")
    if mark < 0:
        raise ConnectionError("an answer without Content-Length")
    length_end = head.find(b"\r\n", mark + 2)
    length = int(head[mark + 17 : length_end if length_end > 0 else head_end])
    body_start = head_end + 4
    if len(received) < body_start + length:
        return None
    stays = b"\r\nconnection: close" not in head and not head.startswith(b"http/1.0")
    body = bytes(received[body_start : body_start + length])
    return Answer(int(head[9:12]), body), stays


class Client:
    """A blocking client for set-up: one request at a time on one connection."""

    def __init__(self, address: Address) -> None:
        self._address = address
        self._socket: socket.socket | None = None

    def call(self, operation: str, body: Mapping[str, object]) -> Answer:
        return self.send(request_bytes(operation, json.dumps(body)))

    def send(self, request: bytes) -> Answer:
        if self._socket is None:
            self._socket = connect(self._address)
        self._socket.sendall(request)
        received = bytearray()
        while (complete := answer_in(received)) is None:
            part = self._socket.recv(1 << 18)
            if not part:
                self.close()
                raise ConnectionError("the server closed the connection before its answer")
            received += part
        answer, stays = complete
        if not stays:
            self.close()
        return answer

    def close(self) -> None:
        if self._socket is not None:
            self._socket.close()
            self._socket = None


def connect(address: Address) -> socket.socket:
    opened = socket.create_connection((address.host, address.port), timeout=ANSWER_TIMEOUT_S)
    opened.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return opened
