"""One request and the place where its answer goes."""

from __future__ import annotations

from typing import Protocol

from gramme.router.http.compression import COMPRESS_ABOVE_BYTES, choose_encoding, compress
from gramme.router.http.names import HeaderNames
from gramme.router.http.reply import ALLOW_ORIGIN, CLOSE, JSON, encode, encode_ok, without_body


class Line(Protocol):
    """The connection an exchange belongs to."""

    def answered(self) -> None:
        """One of the connection's exchanges has got its answer, perhaps not the oldest one."""
        ...

    def is_local(self) -> bool:
        """Whether the client is on this machine, and nowhere else."""
        ...


class Exchange:
    """A request, complete, and its answer once there is one.

    `headers` are spelled as the client does, see `header`; of a repeated one it has the last. An answer may be given
    at any time, and leaves when those of all earlier requests of the connection have left.
    """

    __slots__ = (
        "answer",
        "body",
        "connection",
        "headers",
        "is_last",
        "line",
        "method",
        "names",
        "refusal",
        "target",
    )

    def __init__(
        self,
        line: Line,
        method: bytes,
        target: bytes,
        names: HeaderNames,
        headers: dict[bytes, bytes],
        body: bytes | bytearray,
    ) -> None:
        self.line = line
        self.method = method
        self.target = target
        self.names = names
        self.headers = headers
        self.body = body
        # The Connection header of the answer, a whole line, if it needs one.
        self.connection = b""
        # The connection ends when this one is answered.
        self.is_last = False
        # The status with which the connection answers in our stead, because the request is not even HTTP.
        self.refusal = 0
        self.answer: bytes | None = None

    def header(self, name: bytes) -> bytes | None:
        """The value of a header by its name in lower case."""
        return self.headers.get(self.names.spelling.get(name, b""))

    def make_last(self) -> None:
        self.is_last = True
        self.connection = CLOSE

    def reply_ok(self, body: bytes) -> None:
        """Answer with an operation's result."""
        is_plain = self.names.is_plain and not self.connection
        if is_plain and (len(body) <= COMPRESS_ABOVE_BYTES or self._encoding_for(body) is None):
            self.answer = encode_ok(body)
            self.line.answered()
        else:
            self.reply(200, JSON, body)

    def reply(self, status: int, content_type: bytes, body: bytes, headers: bytes = b"") -> None:
        """Answer with any status. `headers` are further header lines, each with its line end."""
        headers += self.connection
        if self.header(b"origin") is not None:
            headers += ALLOW_ORIGIN
        encoding = self._encoding_for(body)
        if encoding is not None:
            body = compress(encoding, body)
            headers += b"Content-Encoding: %b\r\n" % encoding.encode()
        answer = encode(status, content_type, body, headers)
        self.answer = without_body(answer) if self.method == b"HEAD" else answer
        self.line.answered()

    def _encoding_for(self, body: bytes) -> str | None:
        """How an answer is to be compressed, if it is."""
        if len(body) <= COMPRESS_ABOVE_BYTES:
            return None
        return choose_encoding(self.headers.get(self.names.accept_encoding, b""))
