"""Every error a caller can see, with DynamoDB's name for it and its HTTP status.

A class is named as in DynamoDB, less `Exception`. It is raised where the mistake is found and becomes bytes
once: in `router/refusals.py`, or as a gRPC status in `node/server.py`. What is not a `GrammeError` is
either the world failing or a bug of ours, and is never shown to a caller in words. At the end are those of the seam
between a router and a node.
"""

from __future__ import annotations

from typing import ClassVar

PROTOCOL = "com.amazon.coral.service#"
VALIDATE = "com.amazon.coral.validate#"
SERVICE = "com.amazonaws.dynamodb.v20120810#"

# What ResourceInUse begins with, if it is for the state that a table is in.
STILL_IN_USE = "Attempt to change a resource which is still in use: "


class GrammeError(Exception):
    """An error whose name and message go to the caller as they are."""

    type: ClassVar[str]
    status: ClassVar[int] = 400
    # DynamoDB is not of one mind: a few of its errors say `Message`.
    message_field: ClassVar[str] = "message"

    def __init__(self, message: str | None = None) -> None:
        super().__init__(message)
        self.message = message

    def fields(self) -> dict[str, object]:
        """What stands in the JSON body beside `__type` and the message."""
        return {}


class ValidationError(GrammeError):
    """DynamoDB's ValidationException: the request can never succeed as it is."""

    type = VALIDATE + "ValidationException"


class Serialization(GrammeError):
    """The body is not JSON, or a value in it has the wrong JSON type."""

    type = PROTOCOL + "SerializationException"
    message_field = "Message"


class UnknownOperation(GrammeError):
    type = PROTOCOL + "UnknownOperationException"


class MissingAuthenticationToken(GrammeError):
    type = PROTOCOL + "MissingAuthenticationTokenException"

    def __init__(self) -> None:
        super().__init__("Request is missing Authentication Token")


class IncompleteSignature(GrammeError):
    type = PROTOCOL + "IncompleteSignatureException"


class InvalidSignature(GrammeError):
    type = PROTOCOL + "InvalidSignatureException"

    def __init__(
        self,
        message: str = "The request signature we calculated does not match the signature you provided. "
        "Check your AWS Secret Access Key and signing method. "
        "Consult the service documentation for details.",
    ) -> None:
        super().__init__(message)


class UnrecognizedClient(GrammeError):
    type = PROTOCOL + "UnrecognizedClientException"


class ResourceNotFound(GrammeError):
    type = SERVICE + "ResourceNotFoundException"

    def __init__(self, message: str = "Requested resource not found") -> None:
        super().__init__(message)


class ResourceInUse(GrammeError):
    type = SERVICE + "ResourceInUseException"


class TableChanged(ResourceInUse):
    """The table is not what it was when the change to it was worked out. Working it out again may help."""


class TableNotFound(GrammeError):
    """What the operations of backups say where others say ResourceNotFound."""

    type = SERVICE + "TableNotFoundException"


class PolicyNotFound(GrammeError):
    type = SERVICE + "PolicyNotFoundException"


class LimitExceeded(GrammeError):
    type = SERVICE + "LimitExceededException"


class AccessDenied(GrammeError):
    type = PROTOCOL + "AccessDeniedException"

    def __init__(self, message: str = "Access is denied") -> None:
        super().__init__(message)


class ConditionalCheckFailed(GrammeError):
    """The condition did not hold. `item` is the JSON of what it met, if the caller asked to see it."""

    type = SERVICE + "ConditionalCheckFailedException"

    def __init__(self, item: bytes | None = None) -> None:
        super().__init__("The conditional request failed")
        self.item = item


class Throttling(GrammeError):
    """The server refuses work it has no room for. Every SDK retries this one with back-off."""

    type = SERVICE + "ThrottlingException"


class InternalServerError(GrammeError):
    type = SERVICE + "InternalServerError"
    status = 500

    def __init__(
        self, message: str = "The request processing has failed because of an unknown error."
    ) -> None:
        super().__init__(message)


class SeamError(Exception):
    """What a node says to whoever sent it a command, instead of an answer. A caller never sees it as it is."""


class NotLeader(SeamError):
    """Only the group's leader may answer this, and a write only if it is meant for the leader's term.

    `hint` is the id of the node that has the leader, and `term` what it leads in; 0 if that is not known.
    """

    def __init__(self, hint: int = 0, term: int = 0) -> None:
        known = f"the leader is node {hint}, in term {term}"
        super().__init__(known if hint else "the leader is not known")
        self.hint = hint
        self.term = term


class StalePartition(SeamError):
    """The command was routed by a map that the node knows to be wrong. `epoch` is what the node knows."""

    def __init__(self, epoch: int) -> None:
        super().__init__(f"the partition is at epoch {epoch}")
        self.epoch = epoch


class Unavailable(SeamError):
    """Nothing was done. Another replica may do it, or this one later."""


class OutcomeUnknown(SeamError):
    """The write may have happened, or may yet happen. It is never reported as failed."""


class StaleSource(SeamError):
    """The sender of an index's rows has been replaced; it must stop sending."""
