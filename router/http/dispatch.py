"""From a request to the operation it names, and from what comes of it to an answer.

The checks come in DynamoDB's order: method and content type, the body as JSON, the target, the caller; the parameters
are the operation's affair. (The size, which comes first of all, is checked while the request is read.)
"""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Mapping
from types import CoroutineType
from typing import Any, TypeVar

import orjson

from gramme.drive import drive
from gramme.errors import (
    GrammeError,
    InternalServerError,
    Serialization,
    UnknownOperation,
)
from gramme.router.http.auth import Authenticate, Authenticator
from gramme.router.http.compression import Corrupt, TooLarge, decompress
from gramme.router.http.exchange import Exchange
from gramme.router.http.extensions.all import EXTENSIONS
from gramme.router.http.extensions.extension import (
    PATH_PREFIX,
    Extension,
    Refused,
    extend,
    message_of,
)
from gramme.router.http.reply import JSON, PLAIN_JSON, TEXT, allow_preflight
from gramme.router.http.unreadable import first_fault
from gramme.router.operations.context import Context, Operation
from gramme.router.refusals import json_of

Value = TypeVar("Value")

log = logging.getLogger(__name__)


_STREAMS_OPERATIONS = frozenset(("DescribeStream", "GetRecords", "GetShardIterator", "ListStreams"))

_CONTENT_TYPES = frozenset((b"application/x-amz-json-1.0", b"application/json"))

_PREFLIGHT = (b"access-control-request-method", b"access-control-request-headers")

# DynamoDB has this body for every 404.
_NOT_FOUND = b"<UnknownOperationException/>\n"


class Dispatcher:
    def __init__(
        self,
        context: Context,
        operations: Mapping[str, Operation],
        extensions: Mapping[str, Extension] = EXTENSIONS,
        body_bytes_max: int = 16 * 1024 * 1024,
        authenticate: Authenticate | None = None,
    ) -> None:
        self._context = context
        self._operations: dict[bytes | None, Operation] = {
            _target(name): operation for name, operation in operations.items()
        }
        self._extensions = extensions
        # Without credentials everybody may ask.
        self._authenticate = authenticate or Authenticator().caller
        # The size limit holds after decompression too.
        self._body_bytes_max = body_bytes_max

    def handle(self, exchange: Exchange) -> None:
        """See to it that `exchange` is answered, now if that is possible. Never raises."""
        try:
            if exchange.method == b"POST" and exchange.target == b"/":
                self._operate(exchange, b"")
            else:
                self._route(exchange)
        except GrammeError as error:
            _reply_error(exchange, error)
        except TooLarge:
            exchange.reply(413, b"", b"")
        except Exception:  # noqa: BLE001 - a bug must cost one request, not the connection
            _reply_bug(exchange)

    def _operate(self, exchange: Exchange, query: bytes) -> None:
        headers = exchange.headers
        names = exchange.names
        body = exchange.body
        if body:
            content_type = headers.get(names.content_type)
            if content_type not in _CONTENT_TYPES and not _is_json(content_type):
                _reply_not_found(exchange)
                return
        if not names.is_plain:
            body = self._decompress(exchange)
        request: Any = None
        if body:
            # orjson refuses what nests deeper than 1024 levels, so no body can exhaust the stack. Of a
            # repeated key the last one counts.
            try:
                request = orjson.loads(body)
            except orjson.JSONDecodeError:
                raise Serialization from None
        operation = self._operations.get(headers.get(names.target))
        if operation is None:
            operation = self._operations.get(headers.get(names.target, b"").strip())
            if operation is None:
                raise UnknownOperation
        caller = self._authenticate(exchange, query)
        if type(request) is not dict:
            # A missing body included: DynamoDB looks for it only here.
            raise Serialization
        answer = operation(self._context, caller, request)
        if type(answer) is not CoroutineType:
            answer = _wait_for(answer)
        drive(answer, _finish, exchange)

    def _decompress(self, exchange: Exchange) -> bytes | bytearray:
        encoding = exchange.header(b"content-encoding")
        if encoding is None:
            return exchange.body
        try:
            return decompress(encoding, exchange.body, self._body_bytes_max)
        except Corrupt:
            # A 500 for a client's mistake, but it is what DynamoDB says.
            raise InternalServerError from None

    def _route(self, exchange: Exchange) -> None:
        """Take the requests that are no operation, or not plainly one."""
        path, _, query = _origin_form(exchange.target).partition(b"?")
        method = exchange.method
        if path.startswith(PATH_PREFIX):
            answer = extend(self._extensions, self._context, exchange, path)
            drive(answer, _finish_extension, exchange)
        elif method == b"POST" and path == b"/":
            self._operate(exchange, query)
        elif method == b"GET" and path == b"/":
            host = exchange.header(b"host") or b""
            exchange.reply(200, TEXT, b"healthy: %b " % host)
        elif method == b"OPTIONS" and exchange.header(b"origin") is not None:
            asked = [exchange.header(name) for name in _PREFLIGHT]
            exchange.reply(200, b"", b"", allow_preflight(*asked))
        else:
            _reply_not_found(exchange)


def _target(operation: str) -> bytes:
    service = "DynamoDBStreams" if operation in _STREAMS_OPERATIONS else "DynamoDB"
    return f"{service}_20120810.{operation}".encode()


async def _wait_for(awaitable: Awaitable[Value]) -> Value:
    return await awaitable


def _is_json(content_type: bytes | None) -> bool:
    kind, _, _ = (content_type or b"").partition(b";")
    return kind.strip().lower() in _CONTENT_TYPES


def _origin_form(target: bytes) -> bytes:
    """The path and query of a request target that may be a whole URL, as proxies send it."""
    if not target.lower().startswith((b"http://", b"https://")):
        return target
    _, slash, path = target.partition(b"//")[2].partition(b"/")
    return slash + path if slash else b"/"


# What comes of it.


def _finish(exchange: Exchange, body: bytes | None, error: BaseException | None) -> None:
    try:
        if type(body) is bytes:
            exchange.reply_ok(body)
        elif isinstance(error, GrammeError):
            _reply_error(exchange, first_fault(exchange, error))
        else:
            _reply_bug(exchange, error)
    except Exception:  # noqa: BLE001 - nobody above us would answer the request
        _reply_bug(exchange)


def _finish_extension(exchange: Exchange, body: bytes | None, error: BaseException | None) -> None:
    if body is not None:
        exchange.reply(200, PLAIN_JSON, body)
    elif isinstance(error, Refused):
        exchange.reply(error.status, PLAIN_JSON, message_of(error), error.headers)
    else:
        _finish(exchange, None, error)


def _reply_not_found(exchange: Exchange) -> None:
    exchange.reply(404, b"", _NOT_FOUND)


def _reply_error(exchange: Exchange, error: GrammeError) -> None:
    exchange.reply(error.status, JSON, json_of(error))


def _reply_bug(exchange: Exchange, error: BaseException | None = None) -> None:
    """Answer for what should not have happened. The client is told nothing of it, the log everything."""
    target = exchange.header(b"x-amz-target")
    log.error("%r failed", target, exc_info=error or True)
    if exchange.answer is None:
        _reply_error(exchange, InternalServerError())
