"""The one place where an error becomes the JSON that a caller sees, and where it is decided which error that is."""

from __future__ import annotations

import orjson

from gramme.errors import (
    ConditionalCheckFailed,
    GrammeError,
    ResourceNotFound,
    Serialization,
    ValidationError,
)
from gramme.router.validation.generated import OPERATIONS
from gramme.router.validation.serialization import check_types

# What a request with an unreadable value may be refused with before that value is met.
JUDGEMENTS = (ValidationError, ResourceNotFound)
# The largest item fits as it is usually written. Nobody else is served meanwhile, and to look through 16 MB of tiny
# values takes more than a second.
LOOKED_THROUGH_BYTES_MAX = 1024 * 1024


def json_of(error: GrammeError) -> bytes:
    fields: dict[str, object] = {"__type": error.type}
    if error.message is not None:
        fields[error.message_field] = error.message
    if isinstance(error, ConditionalCheckFailed) and error.item is not None:
        fields["Item"] = orjson.Fragment(error.item)
    fields.update(error.fields())
    return orjson.dumps(fields)


def first_fault(operation: str, body: bytes | bytearray, found: GrammeError) -> GrammeError:
    """The error to answer with, if `found` is what came of a request.

    Of a request that is both unreadable and wrong DynamoDB says that it is unreadable: it parses a whole request before
    it judges any part of it. We read attribute values where they are used, in one pass with judging them, and so may meet
    the judgement first. Only then, for a request that is refused anyway, is the body parsed again and looked through for
    values of the wrong JSON type, if it is no larger than a request for an item would be.
    """
    shape = OPERATIONS.get(operation)
    if shape is None or not isinstance(found, JUDGEMENTS) or len(body) > LOOKED_THROUGH_BYTES_MAX:
        return found
    try:
        check_types(shape, orjson.loads(body))
    except Serialization as unreadable:
        return unreadable
    except orjson.JSONDecodeError:
        return found
    return found
