"""Errors that travel instead of an answer: as the name of their class, their message, and what else they carry.

Only what is meant to leave a process does: the errors of DynamoDB, and those of the seam. Everything else, and what the
receiver has no class for, becomes InternalServerError without its words.
"""

from __future__ import annotations

import msgspec

from gramme import errors
from gramme.errors import (
    ConditionalCheckFailed,
    GrammeError,
    InternalServerError,
    NotLeader,
    SeamError,
    StalePartition,
)

Error = GrammeError | SeamError

_CLASSES: dict[str, type[Error]] = {
    name: found
    for name, found in vars(errors).items()
    if isinstance(found, type)
    and issubclass(found, Error)
    and found not in (GrammeError, SeamError)
}


class Refusal(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """`item` is that of ConditionalCheckFailed, `number` is NotLeader's hint or StalePartition's epoch, `term` NotLeader's."""

    name: str
    message: str | None
    item: bytes | None = None
    number: int = 0
    term: int = 0


def refusal_of(error: BaseException) -> Refusal:
    name = type(error).__name__
    if _CLASSES.get(name) is not type(error):
        return Refusal(InternalServerError.__name__, InternalServerError().message)
    match error:
        case ConditionalCheckFailed():
            return Refusal(name, error.message, error.item)
        case NotLeader():
            return Refusal(name, None, None, error.hint, error.term)
        case StalePartition():
            return Refusal(name, None, None, error.epoch)
        case GrammeError():
            return Refusal(name, error.message)
        case _:
            return Refusal(name, str(error))


def error_of(refusal: Refusal) -> Error:
    found = _CLASSES.get(refusal.name)
    if found is ConditionalCheckFailed:
        return ConditionalCheckFailed(refusal.item)
    if found is NotLeader:
        return NotLeader(refusal.number, refusal.term)
    if found is StalePartition:
        return StalePartition(refusal.number)
    if found is None:
        return InternalServerError()
    if issubclass(found, SeamError):
        return found(refusal.message)
    # Some classes word their message themselves, from what they are made with. It has been worded.
    error = found.__new__(found)
    GrammeError.__init__(error, refusal.message)
    return error
