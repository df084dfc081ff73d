"""What DynamoDB says of a request that is both unreadable and wrong: that it is unreadable.

It parses a whole request before it judges any part of it. We read attribute values where they are used, in one pass
with judging them, and so may meet the judgement first. Only then, for a request that is refused anyway, is the body
parsed again and looked through for values of the wrong JSON type, if it is no larger than a request for an item would be.
"""

from __future__ import annotations

import orjson

from gramme.errors import GrammeError, ResourceNotFound, Serialization, ValidationError
from gramme.router.http.compression import Corrupt, TooLarge, decompress
from gramme.router.http.exchange import Exchange
from gramme.router.validation.generated import OPERATIONS
from gramme.router.validation.serialization import check_types

# What a request with an unreadable value may be refused with before that value is met.
_JUDGEMENTS = (ValidationError, ResourceNotFound)
# The largest item fits as it is usually written. Nobody else is served meanwhile, and to look through 16 MB of tiny
# values takes more than a second.
LOOKED_THROUGH_BYTES_MAX = 1024 * 1024


def first_fault(exchange: Exchange, found: GrammeError) -> GrammeError:
    """The error to answer with, if `found` is what came of a request."""
    if not isinstance(found, _JUDGEMENTS):
        return found
    target = exchange.headers.get(exchange.names.target, b"").strip()
    shape = OPERATIONS.get(target.rpartition(b".")[2].decode("latin-1"))
    if shape is None:
        return found
    try:
        body = _body(exchange)
        if len(body) > LOOKED_THROUGH_BYTES_MAX:
            return found
        check_types(shape, orjson.loads(body))
    except Serialization as unreadable:
        return unreadable
    except (Corrupt, TooLarge, orjson.JSONDecodeError):
        return found
    return found


def _body(exchange: Exchange) -> bytes | bytearray:
    encoding = exchange.header(b"content-encoding")
    if encoding is None:
        return exchange.body
    return decompress(encoding, exchange.body, LOOKED_THROUGH_BYTES_MAX)
