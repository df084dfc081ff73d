"""What a call may raise: DynamoDB's errors by their names, and what only a client can know."""

from __future__ import annotations

from typing import Any, Final

import orjson

from gramme import errors
from gramme.client.values import Item, item_of
from gramme.errors import GrammeError

TOO_LARGE_STATUS = 413


class ClientError(Exception):
    """A call that came to nothing, and not because DynamoDB has a rule against it."""


class Disconnected(ClientError, ConnectionError):
    """There is no router to talk to. Nothing was done."""


class DeadlineExceeded(ClientError, TimeoutError):
    """No answer came in time. Nothing was done, or it was a read."""


class OutcomeUnknown(ClientError):
    """The write may have happened, or may yet happen: its answer was lost, came too late, or says just that."""


class RequestTooLarge(ClientError):
    """The request is larger than DynamoDB takes. Nothing was done."""


class ServiceError(GrammeError):
    """An error of DynamoDB's that has no class here. `details` is all that was said."""

    def __init__(self, name: str, message: str | None, details: dict[str, Any]) -> None:
        super().__init__(message)
        self.name = name
        self.details = details

    def __str__(self) -> str:
        return f"{self.name}: {self.message}"


class ConditionalCheckFailed(errors.ConditionalCheckFailed):
    """The condition did not hold. `current` is the item it met, if the call asked to see it."""

    def __init__(self, current: Item | None = None) -> None:
        super().__init__()
        self.current = current


_BY_NAME: Final[dict[str, type[GrammeError]]] = {
    kind.type.rpartition("#")[2]: kind
    for kind in (
        errors.AccessDenied,
        errors.IncompleteSignature,
        errors.InternalServerError,
        errors.InvalidSignature,
        errors.LimitExceeded,
        errors.MissingAuthenticationToken,
        errors.PolicyNotFound,
        errors.ResourceInUse,
        errors.ResourceNotFound,
        errors.Serialization,
        errors.TableNotFound,
        errors.Throttling,
        errors.UnknownOperation,
        errors.UnrecognizedClient,
        errors.ValidationError,
    )
}
_CONDITIONAL = ConditionalCheckFailed.type.rpartition("#")[2]


def error_of(status: int, body: bytes) -> Exception:
    """What an answer that is no success is raised as."""
    if status == TOO_LARGE_STATUS:
        return RequestTooLarge("the request is larger than 16 MB")
    try:
        said = orjson.loads(body)
    except orjson.JSONDecodeError:
        said = None
    if not isinstance(said, dict):
        return ServiceError(f"status {status}", None, {})
    name = str(said.get("__type", f"status {status}")).rpartition("#")[2]
    message = said.get("message", said.get("Message"))
    message = None if message is None else str(message)
    if name == _CONDITIONAL:
        return ConditionalCheckFailed(item_of(said["Item"]) if "Item" in said else None)
    kind = _BY_NAME.get(name)
    if kind is None:
        return ServiceError(name, message, said)
    # Some of them know their message by themselves, but what was said is what counts.
    error = kind.__new__(kind)
    GrammeError.__init__(error, message)
    return error
