"""What an extension is: a path of our own under `/_gramme/`, for whoever tests an application on this machine.

No SDK asks for such a path. An extension is not signed for, and so answers callers on this machine only, whatever address
the server listens on. It speaks plain JSON: an object, or `{"message": ...}` with the status of a refusal.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import Any

import orjson

from gramme.router.http.exchange import Exchange
from gramme.router.operations.context import Context

PATH_PREFIX = b"/_gramme/"

# Given the parsed body, None if there is none, tells what to answer, or raises Refused.
Handler = Callable[[Context, Any], Awaitable[Mapping[str, object]]]

# What an extension does, by method.
Extension = Mapping[str, Handler]


class Refused(Exception):
    def __init__(self, status: int, message: str, headers: bytes = b"") -> None:
        super().__init__(message)
        self.status = status
        self.headers = headers


async def extend(
    extensions: Mapping[str, Extension], context: Context, exchange: Exchange, path: bytes
) -> bytes:
    """What the extension at `path` answers. Raises Refused."""
    if not exchange.line.is_local():
        raise Refused(403, "extensions answer callers on the server's own machine only")
    if exchange.header(b"origin") is not None:
        # A page from anywhere, which somebody on this machine looks at, calls from this machine too.
        raise Refused(403, "extensions do not answer web pages")
    extension = extensions.get(path.removeprefix(PATH_PREFIX).decode("latin-1"))
    if extension is None:
        raise Refused(404, f"there is no such extension; there is: {', '.join(sorted(extensions))}")
    handler = extension.get(exchange.method.decode("latin-1"))
    if handler is None:
        methods = ", ".join(extension)
        raise Refused(405, f"it takes {methods}", b"Allow: %b\r\n" % methods.encode())
    return orjson.dumps(await handler(context, _request_of(exchange)))


def message_of(refused: Refused) -> bytes:
    return orjson.dumps({"message": str(refused)})


def _request_of(exchange: Exchange) -> Any:
    if not exchange.body:
        return None
    try:
        return orjson.loads(exchange.body)
    except orjson.JSONDecodeError as error:
        raise Refused(400, f"the body is not JSON: {error}") from None
