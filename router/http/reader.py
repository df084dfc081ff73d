"""Bytes to requests.

The parser is llhttp, by httptools, without leniencies: whatever two servers could read in two ways (both
Content-Length and Transfer-Encoding, folded headers, bare line feeds) is refused. It calls `on_url`, `on_header`,
`on_headers_complete`, `on_body` and `on_message_complete`; a complete request is appended to a queue. Nothing here
writes to a socket or knows what a request means.
"""

from __future__ import annotations

from collections import deque

from httptools import HttpParserError, HttpParserUpgrade, HttpRequestParser

from gramme.router.http.exchange import Exchange, Line
from gramme.router.http.limits import Limits, Usage
from gramme.router.http.names import REMEMBERED, HeaderNames, learn
from gramme.router.http.reply import KEEP_ALIVE

# Where in a request the reader is: before it, in its head, in its body, or after the last one.
IDLE, HEAD, BODY, ENDED = range(4)

# What an h2c upgrade adds to a request; without it the request is an ordinary one.
_UPGRADE_HEADERS = frozenset((b"connection", b"upgrade", b"http2-settings"))


class Refused(Exception):
    """The client sends what we do not take. It is to be told the status and nothing more is read from it."""

    def __init__(self, status: int) -> None:
        super().__init__(status)
        self.status = status


class RequestReader:
    """Reads the requests of one connection.

    `phase` and `requests`, which counts them, say how far it has come. `continue_due` is set when the client
    waits for `100 Continue` before it sends its body. After an `is_last` request `phase` is ENDED, and so it is
    after Refused; then `feed` must not be called again.
    """

    __slots__ = (
        "_body",
        "_body_bytes",
        "_body_digits_safe",
        "_head_bytes_bound",
        "_headers",
        "_limits",
        "_line",
        "_mark",
        "_names",
        "_parsed",
        "_parser",
        "_quiet_bytes",
        "_raw_headers",
        "_target",
        "_upgraded",
        "_usage",
        "continue_due",
        "on_header",
        "phase",
        "requests",
        "retiring",
    )

    def __init__(self, line: Line, limits: Limits, usage: Usage, parsed: deque[Exchange]) -> None:
        self._line = line
        self._limits = limits
        self._usage = usage
        self._parsed = parsed
        self.phase = IDLE
        self.requests = 0
        self.continue_due = False
        # Whether the next request is to be the last.
        self.retiring = False
        self._target = b""
        self._raw_headers: dict[bytes, bytes] = {}
        self._headers: dict[bytes, bytes] = {}
        self._names = HeaderNames(())
        self._body: bytes | bytearray = b""
        self._body_bytes = 0
        # A Content-Length of so few digits cannot be too large.
        self._body_digits_safe = len(str(limits.body_bytes_max)) - 1
        self._upgraded = False
        # The head being read is no longer than this; see also `_check_partial`.
        self._head_bytes_bound = 0
        self._quiet_bytes = 0
        self._mark = (0, 0, 0)
        # The parser calls this for every header; a method of the dict costs no Python frame.
        self.on_header = self._raw_headers.__setitem__
        self._parser = HttpRequestParser(self)

    def feed(self, data: bytes) -> None:
        """Take what has arrived. Raises Refused, after which the requests queued so far are still good."""
        self._head_bytes_bound += len(data)
        try:
            self._parser.feed_data(data)
        except HttpParserUpgrade as upgrade:
            self._go_on_without_upgrade(data[upgrade.args[0] :])
        except HttpParserError as error:
            self._refuse_unless_ended(error)
        if self.phase == IDLE:
            self._head_bytes_bound = 0
        elif self.phase != ENDED:
            self._check_partial(len(data))

    def end(self) -> None:
        """Take no more requests, and forget the one being received."""
        self.phase = ENDED
        self.continue_due = False
        self._usage.body_bytes -= self._body_bytes
        self._body_bytes = 0
        self._body = b""
        self._raw_headers.clear()

    def close(self) -> None:
        self.end()
        # The parser holds our methods: a cycle, which the collector should not have to find.
        del self._parser

    # Called by the parser.

    def on_url(self, part: bytes) -> None:
        self.phase = HEAD
        self._target += part

    def on_headers_complete(self) -> None:
        raw = self._raw_headers
        if self._head_bytes_bound > self._limits.headers_bytes_max:
            self._check_head()
        spelled = tuple(raw)
        self._names = names = REMEMBERED.get(spelled) or learn(spelled)
        self._headers = headers = raw.copy()
        # Trailers will land here; they are never looked at.
        raw.clear()
        self.phase = BODY
        length = headers.get(names.content_length)
        if (
            length is not None
            and len(length) > self._body_digits_safe
            and int(length) > self._limits.body_bytes_max
        ):
            raise Refused(413)
        if not names.is_plain:
            self._heed_rare_headers(names.spelling, headers)

    def on_body(self, part: bytes) -> None:
        size_bytes = len(part)
        self._body_bytes += size_bytes
        self._usage.body_bytes += size_bytes
        if self._body_bytes > self._limits.body_bytes_max:
            raise Refused(413)
        if (
            self._usage.body_bytes > self._limits.buffered_bytes_max
            and self._body_bytes > self._limits.buffered_bytes_exempt
        ):
            raise Refused(503)
        if not self._body:
            self._body = part
        elif isinstance(self._body, bytearray):
            self._body += part
        else:
            # One growing buffer: a body of a million chunks must not become a million objects.
            self._body = bytearray(self._body) + part

    def on_message_complete(self) -> None:
        names = self._names
        parser = self._parser
        if not names.is_plain and b"upgrade" in names.spelling and parser.should_upgrade():
            # The body is still to come: the parser takes what follows for another protocol.
            return
        exchange = Exchange(
            self._line, parser.get_method(), self._target, names, self._headers, self._body
        )
        self._parsed.append(exchange)
        self.requests += 1
        self.phase = IDLE
        self._target = b""
        if self._body_bytes:
            # The bytes are counted until the request is answered.
            self._body = b""
            self._body_bytes = 0
        if self._raw_headers:
            self._raw_headers.clear()
        if not parser.should_keep_alive() or self.retiring:
            exchange.make_last()
            self.phase = ENDED
        elif not names.is_plain and parser.get_http_version() == "1.0":
            exchange.connection = KEEP_ALIVE

    # What is out of the ordinary.

    def _heed_rare_headers(self, spelling: dict[bytes, bytes], headers: dict[bytes, bytes]) -> None:
        coding = spelling.get(b"transfer-encoding")
        if coding is not None and headers[coding].strip().lower() != b"chunked":
            raise Refused(501)
        expect = spelling.get(b"expect")
        if expect is not None and headers[expect].strip().lower() == b"100-continue":
            self.continue_due = self._parser.get_http_version() != "1.0"

    def _check_head(self) -> None:
        if len(self._target) > self._limits.line_bytes_max:
            raise Refused(400)
        sizes_bytes = (len(name) + len(value) + 4 for name, value in self._raw_headers.items())
        if sum(sizes_bytes) > self._limits.headers_bytes_max:
            raise Refused(400)

    def _check_partial(self, read_bytes: int) -> None:
        """Bound what the parser keeps of an unfinished head, or of the trailers of a chunked body.

        The parser does not say how much it keeps, but it is no more than what was read since the request
        last moved: began, came to its body, or got more of it.
        """
        if len(self._target) > self._limits.line_bytes_max:
            self._refuse(400)
        mark = (self.requests, self.phase, self._body_bytes)
        if mark != self._mark:
            self._mark = mark
            self._quiet_bytes = 0
            return
        self._quiet_bytes += read_bytes
        if self._quiet_bytes > self._limits.headers_bytes_max + self._limits.line_bytes_max:
            self._refuse(400)

    def _go_on_without_upgrade(self, rest: bytes) -> None:
        """Read the request as if it had not asked for another protocol; Java's client asks for h2c.

        The parser cannot be told to, so the head goes through a new one, without what made it an upgrade.
        """
        method = self._parser.get_method()
        if method == b"CONNECT" or self._upgraded:
            self._refuse(400)
        self._upgraded = True
        headers = b"".join(
            b"%b: %b\r\n" % header
            for header in self._headers.items()
            if header[0].lower() not in _UPGRADE_HEADERS
        )
        head = b"%b %b HTTP/1.1\r\n%b\r\n" % (method, self._target, headers)
        self._target = b""
        self._parser = HttpRequestParser(self)
        try:
            self._parser.feed_data(head + rest)
        except HttpParserUpgrade:
            self._refuse(400)
        except HttpParserError as error:
            self._refuse_unless_ended(error)

    def _refuse_unless_ended(self, error: HttpParserError) -> None:
        if self.phase == ENDED:
            # The client has sent more after a request with `Connection: close`.
            return
        cause = error.__context__
        if isinstance(cause, Refused):
            self._refuse(cause.status)
        if cause is not None:
            # An exception in a callback that nobody meant to raise: a bug, and no fault of the client's.
            raise cause
        self._refuse(400)

    def _refuse(self, status: int) -> None:
        self.end()
        raise Refused(status)
