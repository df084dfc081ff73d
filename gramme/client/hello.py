"""How a stream is begun and its messages are signed; what for, is in proto/gramme/v1/gateway.proto."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import UTC, datetime

from gramme.signature import (
    ALGORITHM,
    SERVICE,
    STAMP_FORMAT,
    STREAM_TARGET,
    TERMINATOR,
    canonical_headers,
    sign,
    sign_next,
    signing_key,
)
from gramme.v1.gateway_pb2 import Hello


@dataclass(frozen=True, slots=True)
class Credentials:
    region: str
    access_key: str
    secret_key: str = field(repr=False)
    session_token: str | None = field(default=None, repr=False)


class Signer:
    """Signs the messages of one stream, in their order."""

    def __init__(self, key: bytes, stamp: bytes, scope: bytes, first: bytes) -> None:
        self._key = key
        self._stamp = stamp
        self._scope = scope
        self._previous = first

    def sign(self, content: bytes) -> bytes:
        self._previous = sign_next(self._key, self._stamp, self._scope, self._previous, content)
        return self._previous


def hello_for(
    credentials: Credentials, host: str, challenge: bytes, now_ms: int
) -> tuple[Hello, Signer]:
    stamp = datetime.fromtimestamp(now_ms // 1000, UTC).strftime(STAMP_FORMAT)
    date = stamp[: len("20260101")]
    scope = f"{date}/{credentials.region}/{SERVICE}/{TERMINATOR}"
    headers = {
        b"host": host.encode(),
        b"x-amz-date": stamp.encode(),
        b"x-amz-target": STREAM_TARGET,
    }
    if credentials.session_token is not None:
        headers[b"x-amz-security-token"] = credentials.session_token.encode()
    names = tuple(sorted(headers))
    signed_headers = b";".join(names)
    lines = canonical_headers(names, {name: name for name in names}, headers)
    key = signing_key(credentials.secret_key, date, credentials.region, SERVICE)
    signature = sign(key, stamp.encode(), scope.encode(), b"", lines, signed_headers, challenge)
    authorization = (
        f"{ALGORITHM.decode()} Credential={credentials.access_key}/{scope}, "
        f"SignedHeaders={signed_headers.decode()}, Signature={signature.decode()}"
    )
    hello = Hello(
        host=host,
        date=stamp,
        authorization=authorization,
        security_token=credentials.session_token or "",
    )
    return hello, Signer(key, stamp.encode(), scope.encode(), signature)
